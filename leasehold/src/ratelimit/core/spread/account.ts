/**
 * The account between this process and one peer: amounts that travel over links that lose, repeat and reorder messages, and that are
 * neither lost nor counted twice (paper, section 6.2.1).
 *
 *     giver                                         receiver
 *     items  4 5 6   lo = 3, cur = 6  ── (3, 6] and their sum ──►  seen = 5, notes: 4 → a, 5 → b
 *                                                                  adds sum − (a + b), notes 6, seen = 6
 *     drops items ≤ 6, lo = 6         ◄── seen = 6 ──────────────
 *
 * **Why the total is conserved.** An item is taken from the giver's amount before the item is first sent. Each message has the sum of *all*
 * items above `lo`, and `lo` is a number that the receiver has acknowledged. So a message with `cur > seen` contains every item that the
 * receiver lacks, and of those that the receiver has, exactly the ones above `lo`, which its notes add up to. The receiver adds the
 * difference: the items in (seen, cur]. A message with `cur ≤ seen` contains nothing new. Hence every item up to `seen` was added once, and none above.
 *
 * **Reconciling.** Over a link that is cut, items would stay out for ever. Then the two processes talk over other servers. The receiver says up to which
 * number it has seen the giver's items, and voids the rest up to `cur`: a message that arrives later finds `seen = cur`. The giver takes the rest
 * back. The receiver remembers its answer, because a repeated question must get the same one.
 *
 * An amount is a list of numbers: `[credits]`, or `[value, weight]` of push-sum.
 */

export type Amount = readonly number[];

/** All items above `lo`, of which the last has the number `cur`. */
export interface Transfer {
  readonly lo: number;
  readonly cur: number;
  readonly amount: Amount;
}

interface Item {
  readonly number: number;
  readonly amount: Amount;
}

export class Account {
  // Given.
  #acknowledged = 0;
  #last = 0;
  #items: Item[] = [];
  #sendings = 0;
  #sentAt: number = Number.NEGATIVE_INFINITY;
  // Received.
  #seen = 0;
  #notes: Item[] = [];
  #voided: { readonly cur: number; readonly seen: number } | undefined;

  /** Whether items are out that the peer has not acknowledged. */
  get isOutstanding(): boolean {
    return this.#items.length > 0;
  }

  /** Sendings since the peer last acknowledged something new. */
  get sendings(): number {
    return this.#sendings;
  }

  get sentAt(): number {
    return this.#sentAt;
  }

  get seen(): number {
    return this.#seen;
  }

  get last(): number {
    return this.#last;
  }

  /** The amount has been subtracted from the giver's already. */
  give(amount: Amount): void {
    this.#last += 1;
    this.#items.push({ number: this.#last, amount });
  }

  send(now: number): Transfer {
    this.#sendings += 1;
    this.#sentAt = now;
    return { lo: this.#acknowledged, cur: this.#last, amount: sum(this.#items) };
  }

  acknowledge(seen: number): void {
    if (seen <= this.#acknowledged || seen > this.#last) return;
    this.#acknowledged = seen;
    this.#items = this.#items.filter(({ number }) => number > seen);
    this.#sendings = 0;
  }

  /** The part of this transfer that is new here. */
  receive({ lo, cur, amount }: Transfer): Amount | undefined {
    if (cur <= this.#seen) return undefined;
    this.#notes = this.#notes.filter(({ number }) => number > lo);
    const news = minus(amount, sum(this.#notes));
    this.#notes.push({ number: cur, amount: news });
    this.#seen = cur;
    return news;
  }

  /** Gives up on everything up to `cur` that has not arrived, and says up to where it has. */
  void(cur: number): number {
    if (this.#voided === undefined || cur > this.#voided.cur) {
      this.#voided = { cur, seen: Math.min(cur, this.#seen) };
      this.#seen = Math.max(this.#seen, cur);
      this.#notes = this.#notes.filter(({ number }) => number > cur);
    }
    return this.#voided.seen;
  }

  /** The items that the peer has voided, if this is the answer to the present state of the account. */
  takeBack(cur: number, seen: number): Amount | undefined {
    if (cur !== this.#last || this.#items.length === 0) return undefined;
    const lost = sum(this.#items.filter(({ number }) => number > seen));
    this.#items = [];
    this.#acknowledged = cur;
    this.#sendings = 0;
    return lost;
  }

  /** Items that are out and that this peer's side has not seen: for checks from outside. */
  *unseenBy(peer: Account | undefined): Generator<Amount> {
    const seen = peer?.seen ?? 0;
    for (const { number, amount } of this.#items) if (number > seen) yield amount;
  }
}

const sum = (items: readonly Item[]): Amount => {
  const [first, ...others] = items;
  if (first === undefined) return [];
  return others.reduce((total, { amount }) => plus(total, amount), first.amount);
};

export const plus = (one: Amount, other: Amount): Amount =>
  one.length === 0 ? other : one.map((value, index) => value + (other[index] ?? 0));

const minus = (one: Amount, other: Amount): Amount => one.map((value, index) => value - (other[index] ?? 0));
