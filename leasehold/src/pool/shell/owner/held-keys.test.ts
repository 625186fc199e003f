import { LeaseLostError } from '../../../runtime/errors.ts';
import { getEventListeners } from 'node:events';
import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../../node/tcp/socket-script.ts';
import { keyHash } from '../../../runtime/keys/hash.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { type Instant, later } from '../../../runtime/time.ts';

import { HeldKeys } from './held-keys.ts';

/** An owner whose lease on everything ends at `until`. */
function bench(leaseMs = 1_000) {
  const runtime = new HandMovedRuntime();
  const lease: { until: Instant | undefined; isOnItsWay: boolean } = {
    ...{ until: later(runtime.now(), leaseMs), isOnItsWay: false },
  };
  const keys = new HeldKeys(
    {
      isHeld: () => !lease.isOnItsWay && lease.until !== undefined && runtime.now() < lease.until,
      endOf: () => lease.until,
      isOnItsWay: () => lease.isOnItsWay,
      warningMs: () => 50,
    },
    runtime,
  );
  return { runtime, lease, keys };
}

describe('the signal of a held key', () => {
  it('aborts a little before the lease ends', () => {
    const { runtime, keys } = bench();
    const { signal } = keys.hold('alice', 7);
    runtime.pass(949);
    expect(signal.aborted).toBe(false);
    runtime.pass(1);
    expect(signal.reason).toBeInstanceOf(LeaseLostError);
    expect(signal.reason).toMatchObject({ code: 'LEASE_LOST', details: { key: 'alice', number: 7 } });
  });

  it('does not abort while the lease is renewed', () => {
    const { runtime, lease, keys } = bench();
    const { signal } = keys.hold('alice', 7);
    for (let renewal = 0; renewal < 10; renewal += 1) {
      runtime.pass(500);
      lease.until = later(runtime.now(), 1_000);
    }
    expect(signal.aborted).toBe(false);
  });

  it('aborts at once when the key is lost, and no other', () => {
    const { keys } = bench();
    const [alice, bob] = [keys.hold('alice', 7).signal, keys.hold('bob', 7).signal];
    const position = keyHash('alice');
    keys.lost(RangeSet.of([{ start: position, end: position + 1n }]));
    expect([alice.aborted, bob.aborted]).toEqual([true, false]);
  });

  it('is aborted from the start if the key is lost already', () => {
    const { lease, keys } = bench();
    lease.until = undefined;
    expect(keys.hold('alice', 7).signal.aborted).toBe(true);
  });

  it('looks again when there is less time than there was', () => {
    const { runtime, lease, keys } = bench();
    const { signal } = keys.hold('alice', 7);
    lease.until = later(runtime.now(), 100);
    keys.shortened();
    runtime.pass(50);
    expect(signal.aborted).toBe(true);
  });

  it('costs nothing that is not asked for, and nothing once it is disposed', () => {
    const { runtime, keys } = bench();
    const held = keys.hold('alice', 7);
    expect([keys.watched, runtime.timers]).toEqual([0, 0]);
    expect(held.signal.aborted).toBe(false);
    expect([keys.watched, runtime.timers]).toEqual([1, 1]);
    held[Symbol.dispose]();
    expect([keys.watched, runtime.timers]).toEqual([0, 0]);
  });

  it('follows the signal of the caller, too', () => {
    const { keys } = bench();
    const stop = new AbortController();
    const { signal } = keys.hold('alice', 7, stop.signal);
    stop.abort(new Error('shutting down'));
    expect(signal.reason).toEqual(new Error('shutting down'));
    expect(keys.watched).toBe(0);
    expect(keys.hold('alice', 7, stop.signal).signal.reason).toEqual(new Error('shutting down'));
  });

  it.each(['disposed', 'lost'])('leaves nothing behind with that signal once it is %s', (how) => {
    const { keys } = bench();
    const stop = new AbortController();
    const held = keys.hold('alice', 7, stop.signal);
    const { signal } = held;
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(1);
    if (how === 'lost') keys.lost(RangeSet.everything);
    else held[Symbol.dispose]();
    expect(getEventListeners(stop.signal, 'abort')).toHaveLength(0);
    stop.abort(new Error('shutting down'));
    expect(signal.aborted).toBe(how === 'lost');
  });

  it('aborts with the first check that fails, if the event loop was blocked and its timer is late', () => {
    const { runtime, lease, keys } = bench();
    const held = keys.hold('alice', 7);
    const { signal } = held;
    lease.until = runtime.now();
    expect(signal.aborted).toBe(false);
    expect(held.isHeld()).toBe(false);
    expect(signal.aborted).toBe(true);
  });

  it('does not abort by a look at a key on its way to another owner, which may stay', () => {
    const { runtime, lease, keys } = bench();
    const held = keys.hold('alice', 7);
    const { signal } = held;
    lease.isOnItsWay = true;
    expect([held.isHeld(), signal.aborted]).toEqual([false, false]);
    lease.isOnItsWay = false;
    expect([held.isHeld(), signal.aborted]).toEqual([true, false]);
    lease.isOnItsWay = true;
    runtime.pass(950);
    expect(signal.aborted).toBe(true);
  });
});
