import { describe, expect, it, vi } from 'vitest';
import { joinPool } from './join-pool.ts';
import { openLookup } from './open-lookup.ts';
import { startManager } from './start-manager.ts';

const LONG_MS = 30_000;
const pool = 'presence';

describe('removing a pool', { timeout: LONG_MS }, () => {
  it('is refused while an owner is in it, and done when it has left; look-ups are told that everything is lost', async () => {
    await using manager = await startManager({ port: 0, http: false, firstStart: true });
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    const number = await owner.whenOwned('alice');
    const lost: boolean[] = [];
    await using lookup = await openLookup({
      managers,
      pool,
      onLoss: (loss) => void lost.push(loss.has('bob')),
    });
    await lookup.whenFound('alice');

    await expect(manager.removePool(pool)).rejects.toMatchObject({
      ...{ code: 'POOL_IN_USE', retryable: true, pool, owners: ['a'] },
      message: expect.stringContaining('Stop these servers'),
    });
    expect(owner.checkLeaseNow('alice')).toBe(number);

    await owner.leave();
    const before = lost.length;
    expect(await manager.removePool(pool)).toBe(true);
    expect(manager.observe().state.pools.has(pool)).toBe(false);
    await vi.waitUntil(() => lost.length > before, { timeout: LONG_MS });
    expect([lost.at(-1), lookup.find('alice')]).toEqual([true, undefined]);
    expect(await manager.removePool(pool)).toBe(false);

    await using next = await joinPool({ managers, pool, name: 'b', url: 'http://b' });
    expect(await next.whenOwned('alice')).toBeGreaterThan(number);
    expect((await lookup.whenFound('alice')).name).toBe('b');
  });
});
