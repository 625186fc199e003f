/**
 * Whom to ask. A majority is enough, and it has to do all the work that it is asked for.
 *
 *     at leisure   everybody: whoever is slow or dead is not waited for
 *     busy         as few as make a majority, those who were quickest of late; ┤ after a while, the rest as well
 *
 * Of three members that halves what is said and done for a lease, and it is when there is much to do that it counts.
 * It makes no difference to what is promised: a majority has to say yes, whoever is asked. What it costs is that
 * somebody who has just fallen silent is waited for, by those who are asked just then; so who was late, or refused,
 * is asked last from then on.
 */

import type { Quorums } from './view.ts';

/** So many attempts under way make a member busy. */
export const BUSY_FROM = 64;

export class Audience {
  readonly #quorums: Quorums;
  readonly #busyFrom: number;
  /** Ourselves, and then the others, the quickest first. */
  readonly #order: string[];
  #few: readonly string[];

  constructor(self: string, quorums: Quorums, busyFrom: number) {
    const { everybody } = quorums;
    this.#quorums = quorums;
    this.#busyFrom = busyFrom;
    this.#order = everybody.includes(self)
      ? [self, ...everybody.filter((id) => id !== self)]
      : [...everybody];
    this.#few = this.#fewest();
  }

  /** Whom to ask, with so many attempts under way. */
  of(underWay: number): readonly string[] {
    return underWay < this.#busyFrom ? this.#quorums.everybody : this.#few;
  }

  /** Its answer was the one that was waited for. */
  wasQuick(member: string): void {
    if (!this.#few.includes(member)) this.#move(member, 1);
  }

  wasLate(member: string): void {
    this.#move(member, this.#order.length - 1);
  }

  #move(member: string, to: number): void {
    const from = this.#order.indexOf(member);
    if (from < 1) return; // We ask ourselves first, always.
    this.#order.splice(from, 1);
    this.#order.splice(to, 0, member);
    this.#few = this.#fewest();
  }

  /** As many of the first as are enough. */
  #fewest(): readonly string[] {
    let set = 0;
    return this.#order.filter((member) => {
      if (this.#quorums.suffices(set)) return false;
      set = this.#quorums.with(set, member);
      return true;
    });
  }
}
