/**
 * The tokens of one key that are away: granted to other processes and, as far as the owner knows, not used yet.
 *
 * A token that is away may be used at any instant, so the bucket must leave room for it: bucket + away ≤ burst, always. Without
 * that rule a bucket would fill up while a batch lies idle, and both could be spent in the same instant.
 *
 *     tokens        away ended or was used: the bucket may fill again, at its rate
 *     burst ────────────┬────────
 *            away ▒▒▒▒▒▒│     ╱
 *     ──────────────────┤ ╱          the bucket does not jump: what was used is used
 *           bucket      │
 *     0 ────────────────┴───────►
 *
 * A bucket is one number, the instant at which it would be full (`local/bucket.ts`). `away` tokens keep that instant at least
 * `away × msPerToken` ahead of now. When tokens cease to be away at an instant, the bucket begins to fill from there. {@link
 * Loans.fullAt} goes through these instants in order.
 */

import type { Rate } from '../local/rate.ts';
import type { Right } from './directory.ts';
import type { HandedKey, Leftover } from './messages.ts';

interface Loan {
  readonly borrower: string;
  readonly id: number;
  tokens: number;
  readonly until: number;
}

export class Loans {
  /** In order of their ends, since all live equally long. */
  readonly #loans: Loan[] = [];
  #away = 0;
  #fullAt = Number.NEGATIVE_INFINITY;
  #lookedAt = Number.NEGATIVE_INFINITY;
  #msPerToken = 0;

  get away(): number {
    return this.#away;
  }

  /**
   * The earliest instant at which the bucket can be full. Forgets the loans that have ended.
   *
   * The reserve of a part of the limit counts as away, too. A cut since the last look counts with all that was away at that look: less may have
   * been away at the cut, so this is never too early.
   */
  fullAt({ burst, msPerToken }: Rate, { at: now, share, cuts }: Right): number {
    const missingMs = (cutShare: number): number => (this.#away + (1 - cutShare) * burst) * msPerToken;
    for (const cut of cuts) {
      if (cut.at >= this.#lookedAt) this.#fullAt = Math.max(this.#fullAt, cut.at + missingMs(cut.share));
    }
    for (let first = this.#loans[0]; first !== undefined && first.until <= now; first = this.#loans[0]) {
      this.#fullAt = Math.max(this.#fullAt, first.until + missingMs(share));
      this.#away -= first.tokens;
      this.#loans.shift();
    }
    this.#lookedAt = now;
    this.#msPerToken = msPerToken;
    this.#fullAt = Math.max(this.#fullAt, now + missingMs(share));
    return this.#fullAt;
  }

  add(borrower: string, id: number, tokens: number, until: number): void {
    this.#loans.push({ borrower, id, tokens, until });
    this.#away += tokens;
  }

  /**
   * The borrower says what is left of its batches. Batches of the ask `id` and later are not meant: their answers may be on their
   * way. An old report that comes late only repeats more than is true.
   */
  report(borrower: string, id: number, left: readonly Leftover[], rate: Rate, right: Right): void {
    if (this.#loans.length === 0) return;
    this.fullAt(rate, right);
    for (const loan of this.#loans) {
      if (loan.borrower !== borrower || loan.id >= id) continue;
      const tokens = Math.min(loan.tokens, left.find((each) => each.id === loan.id)?.tokens ?? 0);
      this.#away -= loan.tokens - tokens;
      loan.tokens = tokens;
    }
  }

  /** For the next owner of the key: when the bucket may be full by what is known of loans that have ended, and the loans. */
  handed(at: number): Pick<HandedKey, 'fullMs' | 'msPerToken' | 'loans'> {
    const loans = this.#loans.map(({ until, ...loan }) => ({ ...loan, ms: until - at }));
    return { fullMs: this.#fullAt - at, msPerToken: this.#msPerToken, loans };
  }

  /** Loans of the last owner of the key. */
  take({ loans, msPerToken }: HandedKey, at: number): void {
    this.#msPerToken = Math.max(this.#msPerToken, msPerToken);
    for (const { borrower, id, tokens, ms } of loans) this.add(borrower, id, tokens, at + ms);
    this.#loans.sort((one, other) => one.until - other.until);
  }

  /** Nothing is away, the tokens that were away are replaced, and the bucket is kept from being full by its reserve at most. */
  isOver(now: number, reserveMs: number): boolean {
    const replacedAt = (this.#loans.at(-1)?.until ?? now) + this.#away * this.#msPerToken;
    return replacedAt <= now && this.#fullAt <= now + reserveMs;
  }

  /** No more is away, or not replaced yet, than fills up in `spare`. */
  isSpare(now: number, reserveMs: number, spare: number): boolean {
    return this.#away * this.#msPerToken <= spare && this.#fullAt <= now + reserveMs + spare;
  }
}
