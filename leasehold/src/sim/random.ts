/**
 * Chance that can be had again: the same seed draws the same numbers, always and everywhere.
 *
 * A world has many parts that draw: links, timers, workloads. If all drew from one stream, one more draw in one part
 * would change every later draw in all the others, and a seed that showed a bug yesterday would show nothing today.
 * Hence {@link Random.fork}: a stream of its own for each part. A fork depends on the seed and the label alone, not on
 * earlier draws.
 *
 * The generator is sfc32; the 128 bits of state are filled from the seed through a mixing function, so that seeds 1,
 * 2, 3, … give streams that have nothing to do with each other.
 */

import { invalidOption } from '../runtime/errors.ts';

export class Random {
  // The origin of the stream; `fork` needs nothing else.
  readonly #high: number;
  readonly #low: number;
  // The state. Kept as signed 32-bit integers, which V8 stores without allocating.
  #a: number;
  #b: number;
  #c: number;
  #counter = 1;

  /** @param seed a whole number from 0 to 2^53 - 1 */
  constructor(seed: number, label = '') {
    if (!Number.isSafeInteger(seed) || seed < 0) {
      throw invalidOption('seed', seed, 'it must be a whole number from 0 to 2^53 - 1');
    }
    let high = Math.floor(seed / 2 ** 32) | 0;
    let low = seed | 0;
    for (let i = 0; i < label.length; i++) {
      high = mix(high ^ label.charCodeAt(i));
      low = mix((low + high) | 0);
    }
    this.#high = high;
    this.#low = low;
    this.#a = mix(low ^ 0x2545f491);
    this.#b = mix(high ^ this.#a);
    this.#c = mix(low ^ this.#b);
    for (let i = 0; i < 12; i++) this.#step();
  }

  /**
   * A stream of its own, made from this one's seed and the label. Neither stream disturbs the other. The same label
   * gives the same stream again, so use each label once.
   */
  fork(label: string): Random {
    // 21 + 32 bits: as much of the two words as one seed can carry.
    return new Random((this.#high >>> 11) * 2 ** 32 + (this.#low >>> 0), `/${label}`);
  }

  /** In [0, 1). */
  next(): number {
    return (this.#step() >>> 0) / 2 ** 32;
  }

  /** True with this probability. */
  chance(probability: number): boolean {
    return this.next() < probability;
  }

  /** In [low, high). */
  between(low: number, high: number): number {
    return low + this.next() * (high - low);
  }

  /** A whole number from low to high, both included. */
  integer(low: number, high: number): number {
    return low + Math.floor(this.next() * (high - low + 1));
  }

  /** One of them; none may be missing. */
  pick<T>(items: readonly T[]): T {
    if (items.length === 0) throw new RangeError('there is nothing to pick from');
    return items[Math.floor(this.next() * items.length)] as T;
  }

  /** The same items in any order, as a new array. */
  shuffle<T>(items: readonly T[]): T[] {
    const shuffled = items.slice();
    for (let i = shuffled.length - 1; i > 0; i--) {
      const j = Math.floor(this.next() * (i + 1));
      const moved = shuffled[i] as T;
      shuffled[i] = shuffled[j] as T;
      shuffled[j] = moved;
    }
    return shuffled;
  }

  /** How long one waits for something that happens once every `mean` on average. */
  exponential(mean: number): number {
    return -mean * Math.log(1 - this.next());
  }

  #step(): number {
    const sum = (((this.#a + this.#b) | 0) + this.#counter) | 0;
    this.#counter = (this.#counter + 1) | 0;
    this.#a = this.#b ^ (this.#b >>> 9);
    this.#b = (this.#c + (this.#c << 3)) | 0;
    this.#c = (((this.#c << 21) | (this.#c >>> 11)) + sum) | 0;
    return sum;
  }
}

/** Spreads every bit of a 32-bit word over all of them (the finalizer of MurmurHash3, offset). */
function mix(word: number): number {
  let x = (word + 0x9e3779b9) | 0;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return x ^ (x >>> 16);
}
