/**
 * A statement that a Manager signs, so that it can believe it later: "the log was at this position in this term".
 *
 * Owners and look-ups repeat to every Manager how much of the log they have heard of, and a Manager that hears of more
 * than there is halts (`rollback-detector.ts`). Every process that reaches the port can claim a position. So each position that a
 * Manager tells carries a stamp, made with the key of the history, and a claim counts only with its stamp.
 *
 *     stamp = the first 16 bytes of HMAC-SHA-256(key, "leasehold-seen-1\0" ‖ term ‖ position ‖ history), in hexadecimal
 *
 * with term and position as 8 bytes, big-endian, and the history in UTF-8. Only committed positions are told, so a true
 * stamp is of something that was committed: its bearer can halt a store that went back in time, and no other.
 *
 * A claim is checked only where it would change something, which is seldom: a position that is known to be there needs no
 * proof. So the checks cost one HMAC per false claim, and the stamps one per position that is told.
 */

import type { History } from '../../../log/history.ts';
import { keyedDigest, sameDigest } from '../../../runtime/digest.ts';
import type { Seen } from '../messages.ts';

const STAMP_BYTES = 16;
const PURPOSE = 'leasehold-seen-1\0';

export class Stamps {
  readonly history: string;
  readonly #key: Uint8Array | undefined;
  #last: { readonly term: number; readonly position: number; readonly stamp: string } | undefined;

  constructor({ history, key }: History) {
    this.history = history;
    this.#key = key === undefined ? undefined : Buffer.from(key, 'hex');
  }

  /** The stamp of a committed position; undefined if this history has no key. */
  of(term: number, position: number): string | undefined {
    if (this.#key === undefined) return undefined;
    if (this.#last?.term !== term || this.#last.position !== position) {
      const stamp = Buffer.from(this.#compute(this.#key, term, position)).toString('hex');
      this.#last = { term, position, stamp };
    }
    return this.#last.stamp;
  }

  /** Whether a Manager that knew the key has told this position. */
  isTrue({ history, term, position, stamp }: Seen): boolean {
    if (stamp === undefined || this.#key === undefined || history !== this.history) return false;
    return sameDigest(Buffer.from(stamp, 'hex'), this.#compute(this.#key, term, position));
  }

  #compute(key: Uint8Array, term: number, position: number): Uint8Array {
    const counters = Buffer.alloc(16);
    counters.writeBigUInt64BE(BigInt(term));
    counters.writeBigUInt64BE(BigInt(position), 8);
    return keyedDigest(key, PURPOSE, counters, this.history).subarray(0, STAMP_BYTES);
  }
}
