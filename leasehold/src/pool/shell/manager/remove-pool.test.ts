import { describe, expect, it, vi } from 'vitest';
import { joinPool } from '../owner/join-pool.ts';
import { connectLookup } from '../lookup/connect-lookup.ts';
import { startManager } from './start-manager.ts';

const LONG_MS = 30_000;
const pool = 'presence';

describe('removing a pool', { timeout: LONG_MS }, () => {
  it('is refused while an owner is in it, and done when it has left; look-ups are told that everything is lost', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool, name: 'a', url: 'http://a' });
    const number = await owner.whenOwned('alice');
    const lost: boolean[] = [];
    await using lookup = await connectLookup({
      managers,
      pool,
      onLoss: (loss) => void lost.push(loss.has('bob')),
    });
    await lookup.whenFound('alice');

    await expect(manager.removePool(pool)).rejects.toMatchObject({
      ...{ code: 'POOL_IN_USE', retryable: true, details: { pool, owners: ['a'] } },
      message: expect.stringContaining('Stop these servers'),
    });
    expect(owner.check('alice')).toBe(number);

    await owner.close();
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
