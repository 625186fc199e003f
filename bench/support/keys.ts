/**
 * Keys that nobody has looked at yet.
 *
 * The keys of a real service come from the network: each string was made a moment ago, from bytes, and
 * is asked about once. So they are made here in small batches just before they are needed. Keeping
 * millions of them instead would measure how long memory takes to bring up an old string, and asking
 * about the same ones again how well a ring remembers, or a processor guesses.
 *
 * Each is cut out of a long random text, one place further on every time; when the text has been
 * used up, there is another one. It is a flat string, not one put together from parts, which the
 * first reader would have to join.
 */

import { Buffer } from 'node:buffer';
import { Random } from '../../leasehold/src/sim/random.ts';

const SHORTEST = 16;
const LONGEST = 40;
const TEXT_LENGTH = 2 ** 18;
const ALPHABET = 'abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789:/-_.';

export const KEYS_ARE: string = `${SHORTEST} to ${LONGEST} characters, each made just before and asked for once`;

export class FreshKeys {
  readonly #random: Random;
  readonly #text: Buffer = Buffer.alloc(TEXT_LENGTH);
  #at = TEXT_LENGTH;

  constructor(seed: number) {
    this.#random = new Random(seed);
  }

  /** So many keys, all of which are `wanted`. */
  take(count: number, wanted: (key: string) => boolean = () => true): readonly string[] {
    const keys: string[] = [];
    while (keys.length < count) {
      if (this.#at + LONGEST > TEXT_LENGTH) this.#write();
      const length = SHORTEST + Math.floor(this.#random.next() * (LONGEST - SHORTEST + 1));
      const key = this.#text.toString('latin1', this.#at, this.#at + length);
      if (wanted(key)) keys.push(key);
      this.#at += 1;
    }
    return keys;
  }

  #write(): void {
    for (let at = 0; at < TEXT_LENGTH; at += 1) {
      this.#text[at] = ALPHABET.charCodeAt(Math.floor(this.#random.next() * ALPHABET.length));
    }
    this.#at = 0;
  }
}
