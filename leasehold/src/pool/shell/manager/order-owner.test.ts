import { describe, expect, it } from 'vitest';
import { joinPool } from '../owner/join-pool.ts';
import { startManager } from './start-manager.ts';

const LONG_MS = 30_000;
const pool = 'presence';

describe('an order to an owner', { timeout: LONG_MS }, () => {
  it('is refused if the pool has no such owner, and the error names those there are', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    await expect(manager.order(pool, { kind: 'drain', owner: 'a' })).rejects.toMatchObject({
      ...{ code: 'UNKNOWN_OWNER', retryable: false, message: expect.stringContaining('it has none') },
    });
    await using owner = await joinPool({ managers: [manager.address], pool, name: 'b', url: 'http://b' });
    await owner.whenOwned('alice');
    await expect(manager.order(pool, { kind: 'cordon', owner: 'a' })).rejects.toMatchObject({
      ...{ code: 'UNKNOWN_OWNER', details: { pool, owner: 'a', owners: ['b'] } },
    });
  });

  it('is refused if the keys of the owner do not move with their state, and nothing is taken from it', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    const number = await owner.whenOwned('alice');
    for (const kind of ['drain', 'cordon'] as const)
      await expect(manager.order(pool, { kind, owner: 'a' })).rejects.toMatchObject({
        ...{ code: 'CANNOT_MOVE', retryable: false, message: expect.stringContaining('joinPool({ moves') },
      });
    await manager.order(pool, { kind: 'uncordon', owner: 'a' });
    expect(owner.check('alice')).toBe(number);
  });
});
