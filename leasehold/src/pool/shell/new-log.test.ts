import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it, vi } from 'vitest';
import { inMemory } from '../../log/file/fence.ts';
import { openFileLog } from '../../log/file/file-log.ts';
import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openDirectory } from '../../node/storage.ts';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { joinPool } from './owner/join-pool.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { startManager } from './manager/start-manager.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-new-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

const pool = { pool: 'presence', url: 'http://10.0.0.5' };
const settings = { listen: '127.0.0.1:0', defaults: { leaseMs: 1_500 } } as const;

describe('a Manager on a new log', () => {
  it('grants nothing that an owner still holds from a Manager that kept its log in memory', async () => {
    const first = await startManager({ ...settings, firstStart: true });
    await using cutOff = await joinPool({ ...pool, managers: [first.address], name: 'a' });
    const number = await cutOff.whenOwned('alice');
    await first.close();
    await using second = await startManager(settings);
    await using owner = await joinPool({ ...pool, managers: [second.address], name: 'b' });
    const next = await owner.whenOwned('alice');
    expect(cutOff.check('alice')).toBeUndefined();
    expect(next).toBeGreaterThan(number);
  });

  it('says for how long it waits, and how to skip that', async () => {
    const logger = listeningLogger();
    await using _ = await startManager({ ...settings, defaults: {}, logger });
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: 'waiting 14 s for leases of an earlier log to expire before granting keys',
        next: expect.stringContaining('firstStart: true (--first-start)'),
      }),
    );
  });

  it('does not wait if it is the first, but begins above the clock all the same', async () => {
    const nowMs = Date.now();
    await using manager = await startManager({ ...settings, firstStart: true });
    expect(manager.observe().waitsUntil).toBeUndefined();
    await using owner = await joinPool({ ...pool, managers: [manager.address], name: 'a' });
    expect(await owner.whenOwned('alice')).toBeGreaterThan(nowMs - 1);
  });

  it('has no second owner although it is called the first, if an owner holds leases of the Manager before it', async () => {
    const { manager: address } = await lastingAddresses('manager');
    const logger = listeningLogger();
    const start = () =>
      startManager({
        ...settings,
        listen: `127.0.0.1:${Number(address.split(':')[1])}`,
        logger,
        firstStart: true,
      });
    const enter = (name: string) =>
      joinPool({ managers: [address], pool: 'presence', name, url: `http://${name}`, logger: silent });
    const before = await start();
    await using old = await enter('old');
    const number = await old.whenOwned('alice');
    await before.close();
    await using _ = await start();
    const both: string[] = [];
    let young: PoolOwner | undefined;
    const joining = enter('young');
    void joining.then((owner) => (young = owner));
    await vi.waitUntil(
      () => {
        const [one, two] = [old.check('alice'), young?.check('alice')];
        if (one !== undefined && two !== undefined) both.push(`${one} and ${two}`);
        return two !== undefined || (one ?? number) !== number;
      },
      { timeout: 60_000, interval: 2 },
    );
    expect(both).toEqual([]);
    expect(logger.lines).toContainEqual(
      expect.objectContaining({
        level: 'warn',
        message: expect.stringContaining('firstStart is not true: a client has seen an earlier log'),
      }),
    );
    await (await joining).close();
  }, 120_000);

  it('waits although it is called the first, if another process began its log', async () => {
    const directory = join(folder, 'begun');
    const storage = await openDirectory(directory);
    await using _ = await openFileLog({
      ...{ storage, runtime: nodeRuntime(), logger: silent, randomId, onFatal: () => {} },
      lock: async () => inMemory,
      beginAbove: () => 5,
    });
    await using manager = await startManager({
      ...settings,
      logger: silent,
      store: { directory },
      firstStart: true,
    });
    expect(manager.observe().waitsUntil).toBeDefined();
  });

  it('is never the first of Managers that keep nothing', async () => {
    const store = { flease: { name: 'a', peers: { a: '127.0.0.1:1' } } };
    await expect(startManager({ ...settings, store, firstStart: true })).rejects.toThrow('option firstStart');
  });
});
