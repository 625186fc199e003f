/**
 * Common complaints about lock libraries, each as a test: locks that are returned after they have expired, signals
 * that do not abort while the loop is blocked, work that goes on when somebody else has the lock, and "no quorum"
 * without a reason.
 */

import { getEventListeners } from 'node:events';
import { describe, expect, it, vi } from 'vitest';
import { UnavailableError } from '../../runtime/errors.ts';
import type { NoMajority } from '../core/errors.ts';
import { freePeers, join, LEASE_MS, TestGroup } from './testing/groups.ts';

const LONG_MS = 30_000;

/** Nothing else in this process happens meanwhile. */
function block(ms: number): void {
  const end = performance.now() + ms;
  while (performance.now() < end);
}

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('a lease that is returned', { timeout: LONG_MS }, () => {
  it('has not run out, whenever the process was blocked while it was asked for', async () => {
    const leaseMs = 400;
    await using group = await TestGroup.start(['a', 'b', 'c'], { leaseMs, clockSkewMs: 20 });
    for (let turns = 0; turns < 5; turns += 1) {
      const asking = group.of('a').acquire(`r${turns}`);
      for (let passed = 0; passed < turns; passed += 1) await turn();
      block(1.3 * leaseMs);
      const lease = await asking;
      expect(lease.isHeld(), `blocked after ${turns} turns`).toBe(true);
    }
  });

  it('has not run out either if the process was blocked when it had just been granted', async () => {
    const leaseMs = 200;
    await using alone = await TestGroup.start(['a'], { leaseMs, clockSkewMs: 20 });
    const a = alone.of('a');
    // A group of one agrees at once; only the callers have not been told yet.
    const asking = [a.acquire('r'), a.acquireIfFree('s'), a.acquire('t', { timeoutMs: 10 * leaseMs })];
    block(1.3 * leaseMs);
    for (const lease of await Promise.all(asking)) expect(lease?.isHeld()).toBe(true);
    expect(a.status()).toMatchObject({ held: 3, waiting: 0 });
  });
});

describe('a process that was blocked for longer than its lease', { timeout: LONG_MS }, () => {
  it('finds it ended at the first look, and the next holder has a higher number', async () => {
    await using group = await TestGroup.start();
    const lease = await group.of('a').acquire('r');
    const { signal } = lease;
    const heard = vi.fn();
    signal.addEventListener('abort', heard);
    const next = group.of('b').acquire('r');
    await vi.waitUntil(() => group.of('b').status().attempts > 0, { timeout: 5_000, interval: 1 });
    expect([signal.aborted, lease.isHeld()]).toEqual([false, true]);

    block(1.3 * LEASE_MS);
    expect(signal.aborted).toBe(true);
    expect(heard).toHaveBeenCalledOnce();
    expect(lease.isHeld()).toBe(false);
    expect(() => signal.throwIfAborted()).toThrow('has expired');
    const { number } = await next;
    expect(number).toBeGreaterThan(lease.number);
    expect(lease.isHeld()).toBe(false);
  });

  it('finds so by isHeld() alone, or by throwIfAborted() alone', async () => {
    await using group = await TestGroup.start();
    const [one, other] = await Promise.all([group.of('a').acquire('r1'), group.of('a').acquire('r2')]);
    const { signal } = other;
    block(1.3 * LEASE_MS);
    expect(one.isHeld()).toBe(false);
    expect(one.signal.aborted).toBe(true);
    expect(() => signal.throwIfAborted()).toThrow(/lease on "r2" .* has expired/);
  });
});

describe('one signal', { timeout: LONG_MS }, () => {
  it('can end everything that is waited for, and nobody takes that for a leak', async () => {
    await using group = await TestGroup.start(['a']);
    const a = group.of('a');
    await using _ = await a.acquire('r');
    const stop = new AbortController();
    const waiting = Array.from({ length: 20 }, () => a.acquire('r', { signal: stop.signal }));
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    stop.abort('enough');
    const ends = await Promise.allSettled(waiting);
    expect(ends.map((end) => (end as PromiseRejectedResult).reason)).toEqual(Array(20).fill('enough'));
  });
});

describe('a resource without a name', { timeout: LONG_MS }, () => {
  it('is refused before anything is waited for', async () => {
    await using a = await join('a', await freePeers('a'));
    await expect(a.watch('').next()).rejects.toThrow('option resource is empty');
    expect(a.status().recovery).toBeDefined();
  });
});

describe('without a majority', { timeout: LONG_MS }, () => {
  it('one is told what each member did', async () => {
    await using group = await TestGroup.start(['a', 'b', 'c'], {}, 2);
    const [a, b] = [group.of('a'), group.of('b')];
    await b.close();
    await using _ = await join('b', group.peers);
    await vi.waitUntil(() => a.status().peers[0]?.connected, { timeout: 5_000, interval: 2 });
    const why = await a.acquire('r', { timeoutMs: 250 }).catch((error: unknown) => error);
    expect(why).toBeInstanceOf(UnavailableError);
    const { details, message, code, retryable } = why as NoMajority;
    const { reasons } = details;
    expect([code, retryable, Object.keys(reasons)]).toEqual(['NO_MAJORITY', true, ['b', 'c']]);
    expect(reasons['b']).toMatch(/^recovers for 0\.\d s$/);
    expect(reasons['c']).toMatch(/^not connected: cannot reach 127\.0\.0\.1:\d+: no process listens there/);
    const inJson = { name: 'UnavailableError', code: 'NO_MAJORITY', details: { resource: 'r', reasons } };
    expect(JSON.parse(JSON.stringify(why))).toMatchObject(inJson);
    expect(message).toContain(
      'no majority for "r": 2 of 3 members have to agree, and these did not: b (recovers',
    );
  });

  it('a request that does not wait is told as well', async () => {
    await using group = await TestGroup.start(['a', 'b', 'c'], {}, 1);
    await expect(group.of('a').acquireIfFree('s')).rejects.toThrow(UnavailableError);
    await expect(group.of('a').holder('s')).rejects.toThrow(UnavailableError);
  });

  it('a request that waits goes on waiting, and gets the lease when there is a majority', async () => {
    await using group = await TestGroup.start(['a', 'b', 'c'], {}, 1);
    const waiting = group.of('a').acquire('r');
    await using _ = await join('b', group.peers);
    expect((await waiting).isHeld()).toBe(true);
  });
});
