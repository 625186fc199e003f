/**
 * The holders of an object should be the set of members with the largest
 *
 *     Σ reads(h) × round trip(h, leader)  over holders h   -   weight × Σ writes(o) × added latency(o, set)  over all members o
 *
 * which is the time that readers save minus the time that writers lose; `weight` says how many milliseconds of readers one of a writer is
 * worth (`weight.ts`). Few objects have counts to go by, so counts are mixed with likely ones: everybody reads a little (a
 * tenth of a read), and half of the expected writes follow from the reads by the ratio of all writes to all reads of that member.
 *
 * The present holders stay unless another set is better by a tenth: a change costs an entry of the log that everybody must accept.
 *
 * Nothing here can make a read stale: it says only which configuration is proposed, and the log's rules hold for any.
 */

import { contains, type Latencies } from './latencies.ts';

/** Every member is taken to have read an object that often besides. */
const READS_BEFORE = 0.1;

/** By so much of its worth another set must be better. */
const HYSTERESIS = 0.1;

/** The traffic of objects or slices: for each of them, one after the other, a number for each member. */
export interface Traffic {
  readonly reads: Float64Array;
  readonly writes: Float64Array;
}

export class Chooser {
  readonly #latencies: Latencies;
  /** Weighted, by place of the set and member. */
  readonly #addedMs: Float64Array;
  readonly #writesPerRead: Float64Array;
  readonly #savings: Float64Array;
  readonly #expectedWrites: Float64Array;
  /** By how much the set that was chosen last is worth more than the present one. */
  gain = 0;

  /** @param writesPerRead of all keys, by member */
  constructor(latencies: Latencies, weight: number, writesPerRead: readonly number[]) {
    const { members, sets } = latencies;
    this.#latencies = latencies;
    this.#addedMs = new Float64Array(2 ** members * members);
    for (const set of sets)
      for (let member = 0; member < members; member += 1)
        this.#addedMs[set * members + member] = weight * latencies.addedMs(member, set);
    this.#writesPerRead = Float64Array.from(writesPerRead);
    this.#savings = new Float64Array(members);
    this.#expectedWrites = new Float64Array(members);
  }

  /**
   * The set for the object or slice whose numbers begin at `first`; negative counts are taken for 0. Writes count with this share
   * of their weight.
   */
  choose({ reads, writes }: Traffic, first: number, present: number, share = 1): number {
    const { sets, members, remoteReadMs } = this.#latencies;
    for (let member = 0; member < members; member += 1) {
      const read = Math.max(0, reads[first + member] as number);
      const written = Math.max(0, writes[first + member] as number);
      const ratio = this.#writesPerRead[member] as number;
      this.#savings[member] = (read + READS_BEFORE) * (remoteReadMs[member] as number);
      this.#expectedWrites[member] = share * (written / 2 + (read / 2 + READS_BEFORE) * ratio);
    }
    const presentWorth = this.#worth(present, members);
    let best = present;
    let bestWorth = presentWorth + HYSTERESIS * Math.abs(presentWorth);
    for (let at = 0; at < sets.length; at += 1) {
      const set = sets[at] as number;
      const worth = this.#worth(set, members);
      if (worth <= bestWorth) continue;
      best = set;
      bestWorth = worth;
    }
    this.gain = best === present ? 0 : bestWorth - presentWorth;
    return best;
  }

  /** By how much one set is worth more than another, for the object or slice that was chosen for last. */
  advantage(set: number, over: number): number {
    const { members } = this.#latencies;
    return this.#worth(set, members) - this.#worth(over, members);
  }

  #worth(set: number, members: number): number {
    let worth = 0;
    const first = set * members;
    for (let member = 0; member < members; member += 1) {
      if (contains(set, member)) worth += this.#savings[member] as number;
      worth -= (this.#expectedWrites[member] as number) * (this.#addedMs[first + member] as number);
    }
    return worth;
  }
}
