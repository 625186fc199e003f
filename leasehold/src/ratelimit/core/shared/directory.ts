/**
 * Which process mints the tokens of a key, and how many: a pool answers this (`shell/pool-directory.ts`), or a group (`group-directory.ts`).
 *
 * The limit rests on one rule: **at no instant do the rights of all processes to mint the same key add up to more than the limit.** On a pool one process has
 * the whole right. In a group a server has as much of the right as there are members it mints for. `find` is only a hint.
 */

import type { Instant } from '../../../runtime/time.ts';
import type { Heir } from './hand-over.ts';
import type { Cut } from './messages.ts';
import { LOAN_MS } from './timing.ts';

export interface Directory {
  /** The right of this process to mint the tokens of a key; undefined: there is none at this instant. */
  rightTo(limiter: string, key: string, now: Instant): Right | undefined;

  /** The process to ask for tokens, or undefined. Never this process. */
  find(limiter: string, key: string): string | undefined;

  /** How many processes share the limits, this one among them, as last known; undefined: that was never known. */
  members?(): number | undefined;

  /** Every key is decided by an owner that may mint, as far as this process can tell. */
  isReady?(now: Instant): boolean;

  /** Why this process owns nothing although it should, in words; undefined: it owns something, or cannot be expected to. */
  whyCutOff?(): string | undefined;

  /** The processes that own from now on what this one owned; each once, as soon as it is known. This process mints nothing any more. */
  heirs?(now: Instant): readonly Heir[];
  /** There are keys of this process, which leaves, whose next owner is not known yet. */
  readonly hasHeirless?: boolean;
  /** The present instant of the minting clock, if keys of this scope may be taken over from a process that mints them no more; undefined: they may not. */
  mayTake?(from: string, scope: string, now: Instant): number | undefined;
  /** Takes these keys over: they are owned without a gap. */
  take?(from: string, scope: string, ageMs: number, cuts: readonly Cut[], now: Instant): void;

  /** When the directory has to look again, if it has to. */
  readonly wakeAt?: Instant | undefined;
  wake?(now: Instant): void;

  /** How many processes can share a limit, as this one was told; undefined where it does not matter. */
  readonly maxServers?: number;
  /** Another process was told this maxServers. The greater one counts. */
  heardMaxServers?(maxServers: number): void;
}

/**
 * A right to mint a key, good for one instant.
 *
 * A process with a part of the right counts by a clock of its own, the *minting clock*, which runs slower by that part and stands still without
 * a right. So a bucket that fills at the whole rate by the minting clock fills at its part of the rate.
 */
export interface Right {
  /** The present instant by the minting clock. */
  readonly at: number;
  /** When this process began to own the key, by the minting clock and with no other owner in between. */
  readonly since: number;
  /** Every token that an earlier owner has lent is void. */
  readonly isOpen: boolean;
  /** The part of the limit and of the burst, above 0 and at most 1. */
  readonly share: number;
  /** Smaller shares of earlier instants: the bucket was cut to them then. */
  readonly cuts: readonly Cut[];
}

const NO_CUTS: readonly Cut[] = [];

/** The right of the only owner, which began at `since` when the last holder had stopped. */
export const wholeRight = (since: Instant, now: Instant): Right => ({
  at: now,
  since,
  isOpen: isOpen(since, now),
  share: 1,
  cuts: NO_CUTS,
});

/** May a process that owns the key since then mint? */
export const isOpen = (since: Instant, now: Instant): boolean => now >= since + LOAN_MS;
