/**
 * Which members an attempt asks. A majority is enough, and every member that is asked has to work.
 *
 *     idle         all members: a slow or dead member delays nothing
 *     busy         only a majority, of those that answered fastest recently; ┤ after a while, the rest as well
 *
 * In a group of three, asking a majority halves the messages and the work per lease, which counts when there is much
 * to do. Safety does not depend on the choice: a majority has to say yes in any case. The cost is that an attempt
 * waits for a member that has just died; so a member that was late, or refused, is asked last from then on.
 */

import type { Quorums } from './view.ts';

/** From this many attempts under way, a member is busy. */
export const BUSY_FROM = 64;

export class QuorumPicker {
  readonly #quorums: Quorums;
  readonly #busyFrom: number;
  /** Ourselves, then the others, the fastest first. */
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

  /** The members to ask, with so many attempts under way. */
  pick(underWay: number): readonly string[] {
    return underWay < this.#busyFrom ? this.#quorums.everybody : this.#few;
  }

  /** The answer of this member completed a majority. */
  wasQuick(member: string): void {
    if (!this.#few.includes(member)) this.#move(member, 1);
  }

  wasLate(member: string): void {
    this.#move(member, this.#order.length - 1);
  }

  #move(member: string, to: number): void {
    const from = this.#order.indexOf(member);
    if (from < 1) return; // Our own acceptor is always asked first.
    this.#order.splice(from, 1);
    this.#order.splice(to, 0, member);
    this.#few = this.#fewest();
  }

  /** The shortest prefix that makes a quorum. */
  #fewest(): readonly string[] {
    let set = 0;
    return this.#order.filter((member) => {
      if (this.#quorums.suffices(set)) return false;
      set = this.#quorums.with(set, member);
      return true;
    });
  }
}
