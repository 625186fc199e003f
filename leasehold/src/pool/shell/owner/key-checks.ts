/**
 * The questions about keys, each with one reading of the clock: is the key ours, has it been, and until when?
 *
 * The machine may have been suspended since the last input, and then the clock may have stood still while leases ended. So every question
 * asks about that, with the same reading. The guard says so once, and the core may be busy: an effect of the core can make the application check something.
 * So the answer stays true until the core has been told, and nothing is served before that.
 */

import { checkKeyHash, hashKey, type Key, keyHash } from '../../../runtime/keys/hash.ts';
import { highOf, lowOf } from '../../../runtime/keys/position.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { SuspensionGuard } from '../../../runtime/suspension.ts';
import { earliest, type Instant } from '../../../runtime/time.ts';
import type { NumberedSpan } from '../../core/messages.ts';
import type { Phase, Piece } from '../../core/owner/piece.ts';
import type { Owner, OwnerEffect } from '../../core/owner/owner.ts';
import type { Leases } from '../state/leased-map.ts';
import type { KeyHolder } from './held-keys.ts';

/** Signals abort when a twentieth of the lease is left. */
const WARNING_SHARE = 20;

const words = new Uint32Array(2);

/** New work may begin, unless it has to wait for a moment. */
export const isServed = (phase: Phase): boolean => phase === 'serving' || phase === 'stopping';

/** @internal */
export class KeyChecks implements KeyHolder, Leases {
  readonly #core: Owner;
  readonly #guard: SuspensionGuard;
  readonly #runtime: Runtime;
  readonly #input: (act: (now: Instant) => readonly OwnerEffect[]) => void;
  /** The machine was suspended and the core does not know yet, because the core is busy. */
  #coreIsUnaware = false;

  /** @param input gives the core an input */
  constructor(
    core: Owner,
    guard: SuspensionGuard,
    runtime: Runtime,
    input: (act: (now: Instant) => readonly OwnerEffect[]) => void,
  ) {
    this.#core = core;
    this.#guard = guard;
    this.#runtime = runtime;
    this.#input = input;
  }

  /** Everything that could be served at this instant, with the numbers. */
  ranges(): readonly NumberedSpan[] {
    const now = this.#runtime.now();
    if (this.#wasSuspended(now)) return [];
    return this.#core.pieces.filter(({ phase, until }) => isServed(phase) && now < until);
  }

  check(key: Key): number | undefined {
    const now = this.#runtime.now();
    if (this.#wasSuspended(now)) return undefined;
    if (typeof key === 'bigint') return this.#core.check(highOf(checkKeyHash(key)), lowOf(key), now);
    hashKey(key, words);
    return this.#core.check(words[0] as number, words[1] as number, now);
  }

  isHeld(key: Key, number: number): boolean {
    const now = this.#runtime.now();
    if (this.#wasSuspended(now)) return false;
    if (typeof key === 'bigint') return this.#core.isHeld(highOf(checkKeyHash(key)), lowOf(key), number, now);
    hashKey(key, words);
    return this.#core.isHeld(words[0] as number, words[1] as number, number, now);
  }

  heldSince(high: number, low: number, number: number, now: Instant): number | undefined {
    return this.#wasSuspended(now) ? undefined : this.#core.heldSince(high, low, number, now);
  }

  /** The first number of the unbroken time for which the key is held; undefined: not servable now. */
  tenure(key: Key): number | undefined {
    if (this.check(key) === undefined) return undefined;
    return this.#pieceOf(key)?.since;
  }

  all(): readonly Readonly<Piece>[] {
    return this.#core.pieces.filter(({ phase }) => phase !== 'released');
  }

  /** When the lease on a key that was held under `number` ends if nothing more is heard. */
  endOf(key: Key, number: number): Instant | undefined {
    if (!this.isHeld(key, number) && !this.isOnItsWay(key, number)) return undefined;
    const piece = this.#pieceOf(key);
    return piece?.revokeBy === undefined ? piece?.until : earliest(piece.until, piece.revokeBy);
  }

  isOnItsWay(key: Key, number: number): boolean {
    const piece = this.#pieceOf(key);
    if (piece === undefined || (piece.phase !== 'frozen' && piece.phase !== 'handed')) return false;
    const now = this.#runtime.now();
    if (now >= piece.until || this.#wasSuspended(now)) return false;
    return piece.since <= number && number <= piece.number;
  }

  warningMs(): number {
    return this.#core.leaseMs / WARNING_SHARE;
  }

  #pieceOf(key: Key): Readonly<Piece> | undefined {
    const position = keyHash(key);
    return this.#core.pieceAt(highOf(position), lowOf(position));
  }

  #wasSuspended(now: Instant): boolean {
    if (!this.#coreIsUnaware && !this.#guard.wasSuspended(now)) return false;
    this.#coreIsUnaware = true;
    this.#input((present) => (this.#coreIsUnaware ? this.#tellSuspended(present) : []));
    return true;
  }

  #tellSuspended(now: Instant): OwnerEffect[] {
    const effects = this.#core.suspended(now);
    this.#coreIsUnaware = false;
    return effects;
  }
}
