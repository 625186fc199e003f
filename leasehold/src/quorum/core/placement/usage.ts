/**
 * What one replica knows about its own clients and links, for the choice of holders: a report to the leader, every `reportEveryMs`.
 *
 * Counts fade with a half-life of some minutes, so a report stands alone: a leader that was elected a moment ago learns everything with the
 * next round of reports. Memory is bounded, however many keys there are: 16,384 counters and 256 slices.
 *
 * The round trip to a member is the shortest time between a question for a lease and its promise in the last two periods. Longer ones
 * were spent waiting in a process.
 */

import type { Instant } from '../../../runtime/time.ts';
import { type Counted, TrafficCounters } from './traffic-counters.ts';

export interface Usage {
  /** Of the last period: reads of keys by clients of this replica, and how many of them were answered at once, from memory. */
  readonly reads: number;
  readonly localReads: number;
  /** Faded, by slice of the hash space. */
  readonly sliceReads: readonly number[];
  readonly sliceWrites: readonly number[];
  /** Faded; the objects that are used most. */
  readonly objects: readonly Counted[];
  /** To other members, in milliseconds, by storage id. */
  readonly roundTrips: ReadonlyMap<string, number>;
}

/** Slices of the hash space that a chosen placement has. */
export const SLICES = 256;

export const COUNTERS = 16_384;

/** What is left of a count after each period. */
export const FADING = 0.95;

export class UsageMeter {
  readonly #objects = new TrafficCounters(COUNTERS);
  readonly #sliceReads = new Float64Array(SLICES);
  readonly #sliceWrites = new Float64Array(SLICES);
  #reads = 0;
  #localReads = 0;
  #roundTrips = new Map<string, number>();
  #earlierRoundTrips = new Map<string, number>();

  read(object: number): void {
    this.#reads += 1;
    this.#objects.read(object);
    add(this.#sliceReads, object);
  }

  /** So many of the reads were answered at once. */
  answeredLocally(reads: number): void {
    this.#localReads += reads;
  }

  wrote(object: number): void {
    this.#objects.write(object);
    add(this.#sliceWrites, object);
  }

  promised(by: string, askedAt: Instant, now: Instant): void {
    this.#roundTrips.set(by, Math.min(now - askedAt, this.#roundTrips.get(by) ?? Number.POSITIVE_INFINITY));
  }

  /** The report of the period that ends now; the next one begins. */
  report(): Usage {
    const roundTrips = new Map(this.#earlierRoundTrips);
    for (const [by, ms] of this.#roundTrips) roundTrips.set(by, Math.min(ms, roundTrips.get(by) ?? ms));
    const usage = {
      reads: this.#reads,
      localReads: this.#localReads,
      sliceReads: Array.from(this.#sliceReads),
      sliceWrites: Array.from(this.#sliceWrites),
      objects: this.#objects.counts(),
      roundTrips,
    };
    this.#reads = 0;
    this.#localReads = 0;
    this.#earlierRoundTrips = this.#roundTrips;
    this.#roundTrips = new Map();
    this.#objects.decay(FADING);
    for (let slice = 0; slice < SLICES; slice += 1) {
      this.#sliceReads[slice] = (this.#sliceReads[slice] as number) * FADING;
      this.#sliceWrites[slice] = (this.#sliceWrites[slice] as number) * FADING;
    }
    return usage;
  }
}

export const sliceOf = (object: number): number => object & (SLICES - 1);

function add(slices: Float64Array, object: number): void {
  const slice = sliceOf(object);
  slices[slice] = (slices[slice] as number) + 1;
}
