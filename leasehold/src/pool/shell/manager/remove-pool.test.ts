import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it, vi } from 'vitest';
import { AsyncDisposableStack } from '../../../runtime/async-disposable-stack.ts';
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

  it('goes on when the caller gives up, who is told that the outcome is not known', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'leasehold-remove-pool-'));
    await using stack = new AsyncDisposableStack();
    stack.defer(() => rm(directory, { recursive: true }));
    const manager = stack.use(
      await startManager({ listen: '127.0.0.1:0', firstStart: true, store: { directory } }),
    );
    const begin = async (name: string): Promise<void> => {
      const owner = await joinPool({ managers: [manager.address], pool: name, name: 'a', url: 'http://a' });
      await owner.whenOwned('alice');
      await owner.close();
    };
    const isThere = (name: string): boolean => manager.observe().state.pools.has(name);

    await begin('one');
    await expect(manager.removePool('one', { signal: AbortSignal.abort('given up') })).rejects.toBe(
      'given up',
    );
    await expect(manager.stepDown({ signal: AbortSignal.abort('given up') })).rejects.toBe('given up');
    expect(isThere('one')).toBe(true);

    const giveUp = new AbortController();
    const first = expect(manager.removePool('one', { signal: giveUp.signal })).rejects.toBe('given up');
    giveUp.abort('given up');
    await first;
    await vi.waitUntil(() => !isThere('one'), { timeout: LONG_MS });

    await begin('two');
    const second = expect(manager.removePool('two', { timeoutMs: 0 })).rejects.toMatchObject({
      ...{ code: 'OUTCOME_UNKNOWN', module: 'manager', retryable: false, isOutcomeKnown: false },
    });
    // The timer is due before the disk can have answered.
    for (const endMs = performance.now() + 20; performance.now() < endMs; );
    await second;
    await vi.waitUntil(() => !isThere('two'), { timeout: LONG_MS });
  });
});
