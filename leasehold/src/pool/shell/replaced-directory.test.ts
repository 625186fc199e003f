import { cp, link, mkdir, mkdtemp, rename, rm, stat, unlink } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { segmentName } from '../../log/file/format.ts';
import { silent } from '../../runtime/logger.ts';
import { joinPool } from './owner/join-pool.ts';
import type { PoolManager } from './manager/pool-manager.ts';
import { startManager } from './manager/start-manager.ts';

const pool = { pool: 'presence', url: 'http://10.0.0.5', logger: silent };
const options = { listen: '127.0.0.1:0', logger: silent, defaults: { leaseMs: 1_500 } } as const;
const patience = { timeout: 30_000, interval: 10 };

let folder: string;
let directory: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'leasehold-replaced-'));
  directory = join(folder, 'data');
});
afterEach(() => rm(folder, { recursive: true }));

const failureOf = (manager: PoolManager): Promise<unknown> => manager.closed;

describe('the data directory of a Manager that leads', () => {
  it.each([
    ['its lock file was removed', () => unlink(join(directory, 'lock'))],
    ['its lock file was replaced', () => replaced(join(directory, 'lock'))],
  ])('is refused to a second Manager, although %s', async (_, meddle) => {
    await using manager = await startManager({ ...options, store: { directory }, firstStart: true });
    await meddle();
    await expect(startManager({ ...options, store: { directory } })).rejects.toMatchObject({
      code: 'LOCKED',
    });
    expect(manager.observe().role).toBe('leading');
  });

  it('is refused to a second Manager under another path', async () => {
    await using manager = await startManager({ ...options, store: { directory }, firstStart: true });
    const moved = join(folder, 'moved');
    await rename(directory, moved);
    await expect(startManager({ ...options, store: { directory: moved } })).rejects.toMatchObject({
      code: 'LOCKED',
    });
    await failureOf(manager);
  });

  it('ends the Manager that led on it when it was replaced, and the next one waits for its leases', async () => {
    await using first = await startManager({ ...options, store: { directory }, firstStart: true });
    await using cutOff = await joinPool({ ...pool, managers: [first.address], name: 'a' });
    const number = await cutOff.whenOwned('alice');
    await rename(directory, join(folder, 'old'));
    await mkdir(directory);
    await using second = await startManager({ ...options, store: { directory } });
    expect(await failureOf(first)).toMatchObject({ code: 'LOG_REPLACED', retryable: false, path: directory });
    await using owner = await joinPool({ ...pool, managers: [second.address], name: 'b' });
    const next = await owner.whenOwned('alice');
    expect(cutOff.check('alice')).toBeUndefined();
    expect(next).toBeGreaterThan(number);
  });

  it('ends the Manager that led on it when the file that it writes to was replaced', async () => {
    await using manager = await startManager({ ...options, store: { directory }, firstStart: true });
    const segment = join(directory, segmentName(1));
    await replaced(segment);
    expect(await failureOf(manager)).toMatchObject({ code: 'LOG_REPLACED', path: segment });
  });

  it('follows a change of the configuration in how often it looks', async () => {
    await using manager = await startManager({ ...options, store: { directory }, firstStart: true });
    manager.configure({ defaults: { leaseMs: 600 } });
    await vi.waitUntil(() => {
      const { leadsUntil } = manager.observe();
      return leadsUntil !== undefined && leadsUntil - performance.now() < 140;
    }, patience);
  });
});

describe('a copy of the data directory', () => {
  it('halts the Manager on it that an owner or look-up has seen more than', async () => {
    const original = await startManager({ ...options, store: { directory }, firstStart: true });
    const port = Number(original.address.split(':').at(-1));
    const copy = join(folder, 'copy');
    await cp(directory, copy, { recursive: true });
    await using owner = await joinPool({ ...pool, managers: [original.address], name: 'a' });
    await owner.whenOwned('alice');
    await original.close();
    await using manager = await startManager({
      ...options,
      store: { directory: copy },
      listen: `127.0.0.1:${port}`,
    });
    await vi.waitUntil(() => manager.observe().role === 'halted', patience);
  });
});

describe('a copy of the data directory that is made of hard links', () => {
  it('gets files of its own when a Manager starts on it, so that two never write to one', async () => {
    await using original = await startManager({ ...options, store: { directory }, firstStart: true });
    await using _owner = await joinPool({ ...pool, managers: [original.address], name: 'a' });
    const copy = join(folder, 'copy');
    await mkdir(copy);
    const segment = segmentName(1);
    await link(join(directory, segment), join(copy, segment));
    await using _other = await startManager({ ...options, store: { directory: copy } });
    const inodes = await Promise.all(
      [directory, copy].map(async (at) => (await stat(join(at, segment))).ino),
    );
    expect(new Set(inodes).size).toBe(2);
  });
});

/** The same content in another file under the same name. */
async function replaced(path: string): Promise<void> {
  await cp(path, `${path}.new`);
  await rename(`${path}.new`, path);
}
