/**
 * One bucket of tokens, as one number: the instant at which the bucket is full again (GCRA).
 *
 *     tokens
 *     burst ─────╮       ╭──────────   the bucket is full from `fullAt` on
 *                │     ╱
 *                │   ╱                 every token that is used moves `fullAt` later by `msPerToken`
 *                │ ╱
 *     0          ╰┴──────┴─────────►
 *               now    fullAt
 *
 * What the limiter promises of one bucket: in any interval of length t, at most `limit × t + burst` tokens are used.
 * Proof. Let the interval be [a, b]. A charge moves `fullAt` from at least its own instant, so the charges within the
 * interval move `fullAt` by their sum, beginning at `a` or later. The last charge left `fullAt` at most `refillMs` after its own instant,
 * so at most at `b + refillMs`. Hence the sum of the charges is at most `(b − a) + refillMs` milliseconds, which is
 * `limit × (b − a) + burst` tokens. ∎ With refunds this is true of the tokens charged less the tokens refunded in the interval: a refund moves
 * `fullAt` back, but never before the instant of the refund.
 *
 * An instant in the past, however far, means the same as now: full. So a bucket that is full need not be remembered.
 */

import type { Rate } from './rate.ts';

/**
 * Sums of thirds are not whole in binary. Without this slack the third of three tokens could be refused for a
 * ten-billionth of a millisecond. The slack is part of a comparison and of no sum: it does not add up.
 */
const SLACK_TOKENS = 0.001;
const FULL_RETRY_MS = 1_000;

/** When the bucket will be full, if `cost` tokens are taken now. */
export const fullAfter = (fullAt: number, now: number, cost: number, rate: Rate): number =>
  (fullAt > now ? fullAt : now) + cost * rate.msPerToken;

/** How long until a bucket that would be full at `fullAt` owes nothing; not positive if it owes nothing now. */
export const debtMs = (fullAt: number, now: number, rate: Rate): number => fullAt - now - rate.refillMs;

/** Whether a bucket may be charged so far that it would owe this. */
export const isPermitted = (debt: number, rate: Rate): boolean => debt <= SLACK_TOKENS * rate.msPerToken;

/**
 * A bucket that lacks no more than this may be forgotten when the room is needed: one token, which the key then has back, and never its last one. So a flood of
 * keys that are used once pushes itself out, and a key without tokens keeps its debt.
 */
export const spareMs = ({ msPerToken, refillMs }: Rate): number =>
  Math.max(0, Math.min(msPerToken, refillMs - msPerToken));

/** When a request finds no room for its key, room may be there soon: each new key looks at other places of the table. */
export const retryWhenFullMs = ({ msPerToken }: Rate): number => Math.min(msPerToken, FULL_RETRY_MS);

/** Whole tokens in the bucket. */
export function wholeTokensIn(fullAt: number, now: number, rate: Rate): number {
  const missing = fullAt > now ? (fullAt - now) / rate.msPerToken : 0;
  return missing >= rate.burst ? 0 : Math.floor(rate.burst - missing + SLACK_TOKENS);
}
