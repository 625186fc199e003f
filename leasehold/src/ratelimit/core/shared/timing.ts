/**
 * How long a batch of tokens lives, on both sides of a loan.
 *
 *     borrower   ask ├──────────── batch, GRANT_MS ───────────┤ unused tokens are gone
 *                     ╲         ╱ grant
 *     owner            ├────────────── loan, LOAN_MS ─────────────────┤ the tokens are nowhere any more
 *
 * The borrower counts from the instant of the ask, the owner from the instant of the grant, which is later. The owner
 * counts longer by as much as one clock may run faster than another, and by the longest suspension of the borrower's machine that goes
 * unnoticed. So no token of a loan is used after the loan has ended at the owner.
 *
 * A new owner of a key does not know the loans of its predecessor, and waits for `LOAN_MS` before minting (`minter.ts`).
 */

import { holdMsOf } from '../../../runtime/lease-time.ts';

/** Longer loses fewer tokens of slow keys; shorter lets the next owner of a key begin sooner. */
export const GRANT_MS = 400;

/** A suspension that is longer makes a borrower drop its batches. */
export const SUSPENSION_TOLERANCE_MS = 40;

export const LOAN_MS: number = holdMsOf({
  leaseMs: GRANT_MS,
  suspensionToleranceMs: SUSPENSION_TOLERANCE_MS,
});

/**
 * Used tokens count as away until the borrower reports them. That would keep a bucket small that is full again in less than this time;
 * for such a bucket the borrower reports at once.
 */
export const REPORT_BELOW_MS: number = 1.5 * LOAN_MS;
