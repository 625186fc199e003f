/**
 * The messages between processes that share limits.
 *
 *     borrower ── ask ──► owner        "I need 1 token of key ann and would take 12; of batch 7 I have 3 left"
 *     borrower ◄── grant ── owner      "Here are 12, for GRANT_MS from when you asked"
 *     borrower ◄── denial ── owner     "There are none; ask again in 80 ms": denials until then cost no message
 *     borrower ◄── later ── owner      "I do not mint for this key now": it has another owner, or none that may begin yet
 *
 *     leaving owner ── hand-over ──► next owner   "I mint nothing any more; of your keys from now on ann lacks 7 tokens, and 3 of them are with ben"
 *     leaving owner ◄── taken ── next owner
 *
 * The limit travels with the ask, because it may depend on the customer's plan, and no code of the application runs at the owner.
 */

/** Of a limiter, in UTF-16 units. */
export const NAME_MAX = 100;

/** Servers of a group. A forged number must not make the parts of a limit vanish. */
export const SERVERS_MAX = 1_000;

/** The level at which a new owner of a key begins. */
export type WhenLost = 'full' | 'empty';

/** Part of a batch that its borrower has not used. */
export interface Leftover {
  /** The ask that the batch answered. */
  readonly id: number;
  readonly tokens: number;
}

export interface Ask {
  readonly kind: 'ask';
  /** Grows with every ask of this process. At most one ask for a key is under way. */
  readonly id: number;
  readonly limiter: string;
  readonly key: string;
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
  /** The limit is the one that the limiter was made with, and should be the same in every process. */
  readonly isDefault: boolean;
  readonly whenLost: WhenLost;
  /** How many processes can share the limit, as the asking process was told; 0 on a pool. */
  readonly maxServers: number;
  /** Fewer tokens are of no use. Whole, as are all tokens that travel. */
  readonly need: number;
  /** 0: the ask is only a report. No answer comes. */
  readonly want: number;
  /**
   * All that is left of earlier batches for this key. A batch that is not named is used up or was never accepted: an answer counts
   * only while its ask is the one under way.
   */
  readonly left: readonly Leftover[];
}

/** The bucket of a key was cut to a part of its size. */
export interface Cut {
  readonly share: number;
  /** The last instant of this share, by the minting clock. */
  readonly at: number;
}

/** A loan of the process that hands over. */
export interface HandedLoan {
  readonly borrower: string;
  readonly id: number;
  readonly tokens: number;
  /** Until the end of the loan, by the minting clock; not positive: the loan has ended, and the owner has not looked since. */
  readonly ms: number;
}

/** The level of a key. Keys that are not named are full. */
export interface HandedKey {
  readonly limiter: string;
  readonly key: string;
  /** Until the bucket is full, were nothing away; by the minting clock, in which a token takes as long everywhere. */
  readonly fullMs: number;
  /** How long a token of a loan that has ended takes to come back. */
  readonly msPerToken: number;
  readonly loans: readonly HandedLoan[];
}

/** A process that leaves says what became of the keys that another owns from now on. It has minted nothing since it read these levels, and never will again. */
export interface HandOver {
  readonly kind: 'hand-over';
  readonly id: number;
  readonly page: number;
  readonly pages: number;
  readonly scope: string;
  readonly ageMs: number;
  /** As of now: `at` is not positive. */
  readonly cuts: readonly Cut[];
  readonly keys: readonly HandedKey[];
}

export type Answer =
  | {
      readonly kind: 'grant';
      readonly id: number;
      readonly tokens: number;
      /** Whole tokens that the owner still has, and when the key would be full, for headers and status. */
      readonly remaining: number;
      readonly resetMs: number;
    }
  | { readonly kind: 'denial'; readonly id: number; readonly retryAfterMs: number; readonly resetMs: number }
  | { readonly kind: 'later'; readonly id: number }
  /** This page of the hand-over has come. */
  | { readonly kind: 'taken'; readonly id: number; readonly page: number };
