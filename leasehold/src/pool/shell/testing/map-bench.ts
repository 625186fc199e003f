/** Leased maps of an owner that gives and takes keys as the test says, with a clock that stands still. */

import { type Key, keyHash } from '../../../runtime/keys/hash.ts';
import { hashOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import { type Instant, instant } from '../../../runtime/time.ts';
import type { HeldKey } from '../owner/held-keys.ts';
import { LeasedMap } from '../state/leased-map.ts';
import { type LeasedMapOptions, resolveLeasedMap } from '../state/leased-map-options.ts';
import type { Tenure } from '../state/partitions.ts';

/** Half of the ring, by the first bit of a position. */
export const HALVES: readonly [Span, Span] = [
  { start: 0n, end: RING_SIZE / 2n },
  { start: RING_SIZE / 2n, end: RING_SIZE },
];

const halfOf = (key: Key): number => Number(keyHash(key) >> 63n);

const namesIn = (half: number): string[] =>
  Array.from({ length: 40 }, (_, index) => `key-${index}`).filter((key) => halfOf(key) === half);

/** Names of keys in the lower half. */
export const LOWER: string[] = namesIn(0);
/** And in the upper half. */
export const UPPER: string[] = namesIn(1);

export interface Lease extends Tenure {
  readonly number: number;
}

export const whole = (number: number, since: number = number): Lease => ({
  ...{ start: 0n, end: RING_SIZE, number, since },
});
export const half = (index: 0 | 1, number: number, since: number = number): Lease => ({
  ...HALVES[index],
  ...{ number, since },
});

export interface MapBench<T> {
  readonly map: LeasedMap<T>;
  /** The present instant, and the timers that wait. */
  readonly clock: { now: Instant; due: readonly { readonly at: number; readonly wake: () => void }[] };
  /** As guarded work has it, under the present number of the key, or under an earlier one. */
  hold(key?: Key, lease?: number): HeldKey;
  /** Time passes, and the timers that are due by then go off. */
  pass(ms: number): void;
  /** From now on exactly these are held. */
  lease(...next: readonly Lease[]): void;
}

/** An owner whose keys are given and taken by the test, and a clock that stands still. */
export function mapBench<T = string>(options: LeasedMapOptions<T> = {}, name?: string): MapBench<T> {
  let leases: readonly Lease[] = [whole(5)];
  const clock = { now: instant(1_000), due: [] as { at: number; wake: () => void }[] };
  const heldAt = (position: bigint, number: number): Lease | undefined =>
    leases.find(
      (lease) =>
        lease.start <= position && position < lease.end && lease.since <= number && number <= lease.number,
    );
  const map = new LeasedMap<T>({
    ...{ name, settings: resolveLeasedMap(name, options), freezes: name !== undefined },
    leases: {
      heldSince: (high, low, number) => heldAt(hashOf(high, low), number)?.since,
      isHeld: (key, number) => heldAt(keyHash(key), number) !== undefined,
      tenure: (key) => leases.find(({ start, end }) => start <= keyHash(key) && keyHash(key) < end)?.since,
      all: () => leases,
    },
    runtime: {
      now: () => clock.now,
      ...{ wallMs: () => 0, uptimeMs: () => 0, random: () => 0.5 },
      wakeAt: (at, wake) => {
        const timer = { at, wake };
        clock.due.push(timer);
        return { [Symbol.dispose]: () => (clock.due = clock.due.filter((other) => other !== timer)) };
      },
    },
  });
  const hold = (key: Key = 'alice', lease?: number): HeldKey => {
    const found = leases.find(({ start, end }) => start <= keyHash(key) && keyHash(key) < end);
    const number = lease ?? found?.number ?? 0;
    return {
      ...{ key, number, signal: new AbortController().signal, [Symbol.dispose]: () => {} },
      isHeld: () => heldAt(keyHash(key), number) !== undefined,
    };
  };
  const pass = (ms: number): void => {
    const until = clock.now + ms;
    for (;;) {
      const [next] = clock.due.filter(({ at }) => at <= until).sort((a, b) => a.at - b.at);
      if (next === undefined) break;
      clock.due = clock.due.filter((other) => other !== next);
      clock.now = instant(Math.max(clock.now, next.at));
      next.wake();
    }
    clock.now = instant(until);
  };
  return { map, hold, pass, clock, lease: (...next) => void (leases = next) };
}
