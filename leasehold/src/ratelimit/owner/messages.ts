/**
 * The messages between processes that share limits.
 *
 *     borrower ── ask ──► owner        "I need 1 token of key ann and would take 12; of batch 7 I have 3 left"
 *     borrower ◄── grant ── owner      "Here are 12, for GRANT_MS from when you asked"
 *     borrower ◄── denial ── owner     "There are none; ask again in 80 ms": denials until then cost no message
 *     borrower ◄── later ── owner      "I do not mint for this key now": it has another owner, or none that may begin yet
 *
 * The limit travels with the ask, because it may depend on the customer's plan, and no code of the application runs at the owner.
 */

/** The level at which a new owner of a key begins. */
export type OnLoss = 'full' | 'empty';

/** Part of a batch that its borrower has not used. */
export interface Leftover {
  /** The ask that the batch answered. */
  readonly id: number;
  readonly tokens: number;
}

export interface Ask {
  /** Grows with every ask of this process. At most one ask for a key is under way. */
  readonly id: number;
  readonly limiter: string;
  readonly key: string;
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
  /** The limit is the one that the limiter was made with, and should be the same in every process. */
  readonly isDefault: boolean;
  readonly onLoss: OnLoss;
  /** How many processes can share the limit, as the asking process was told; 0 on a pool. */
  readonly size: number;
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
  | { readonly kind: 'later'; readonly id: number };
