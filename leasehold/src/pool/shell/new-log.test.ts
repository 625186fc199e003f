import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from 'vitest';
import { inMemory } from '../../log/file/fence.ts';
import { openFileLog } from '../../log/file/file-log.ts';
import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openDirectory } from '../../node/storage.ts';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { joinPool } from './join-pool.ts';
import { startManager } from './start-manager.ts';

const folder = mkdtempSync(join(tmpdir(), 'leasehold-new-log-'));
afterAll(() => rmSync(folder, { recursive: true }));

const pool = { pool: 'presence', url: 'http://10.0.0.5' };
const settings = { port: 0, http: false, defaults: { leaseMs: 1_500 } } as const;

describe('a Manager on a new log', () => {
  it('grants nothing that an owner still holds from a Manager that kept its log in memory', async () => {
    const first = await startManager({ ...settings, firstStart: true });
    await using cutOff = await joinPool({ ...pool, managers: [first.address], name: 'a' });
    const number = await cutOff.whenOwned('alice');
    await first.close();
    await using second = await startManager(settings);
    await using owner = await joinPool({ ...pool, managers: [second.address], name: 'b' });
    const next = await owner.whenOwned('alice');
    expect(cutOff.checkLeaseNow('alice')).toBeUndefined();
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

  it('waits although it is called the first, if another process began its log', async () => {
    const directory = join(folder, 'begun');
    const storage = await openDirectory(directory);
    await using _ = await openFileLog({
      ...{ storage, runtime: nodeRuntime(), logger: silent, randomId, onFatal: () => {} },
      lock: async () => inMemory,
      beginAbove: () => 5,
    });
    await using manager = await startManager({ ...settings, logger: silent, directory, firstStart: true });
    expect(manager.observe().waitsUntil).toBeDefined();
  });

  it('is never the first of Managers that keep nothing', async () => {
    const store = { flease: { id: 'a', peers: { a: '127.0.0.1:1' } } };
    await expect(startManager({ ...settings, store, firstStart: true })).rejects.toThrow('option firstStart');
  });
});
