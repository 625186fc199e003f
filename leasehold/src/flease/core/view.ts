/**
 * Which members are in the group, and how many of them make a majority. Views are numbered; a member goes from one to
 * the next and never back.
 *
 * **Replacing a member.** Majorities of two views need not intersect: of {a, b, c} and {a, b, d}, {a, c} and {b, d}
 * do not. So a view names the members of the one before, and until the change is *settled* an attempt needs a
 * majority of both, among members that have moved:
 *
 *     view 7   {a, b, c}
 *     view 8   {a, b, d} after {a, b, c}    two majorities       ├ settled: one
 *               a, b, c move               ├─── lease + 2 × skew ──┤
 *
 * A member that has moved refuses attempts of the old view. Once a majority of the old members has moved, no attempt
 * of the old view can begin to succeed. An attempt that was half written before may still complete, with the answer
 * of a member that has not moved. Its lease stems from an asking before the last of that majority moved, so after
 * `lease + 2 × skew` the lease is over at every acceptor (the same sum as in `register.ts`). From then on a majority
 * of the new members is enough.
 *
 * No member moves on to view 9 before view 8 is settled, and no member may be started with an older view than it had:
 * a process without a disk cannot know that, so it is a rule for the operator. A member that leaves the group moves
 * as well, and runs until all others say that the change is settled: of {a, b} and {a, d}, a alone is no majority of
 * the old members, so without b the group could go neither on nor back. Once one member has said so, others may be
 * started without the old members.
 *
 * Moving costs no lease and no pause: leases go on as long as both majorities answer. A new member recovers first,
 * like any member that has just started.
 */

import { invalidOption } from '../../runtime/errors.ts';

/** The longest name of a member or a group, in UTF-16 units, as `length` counts. */
export const NAME_CHARACTERS_MAX = 128;

export interface View {
  /** From 1. */
  readonly number: number;
  readonly members: readonly string[];
  /** The members of the view before, while the change is not settled. */
  readonly before: readonly string[] | undefined;
}

/** Together with the members of the view before they must fit into one word of bits. */
export const MEMBERS_MAX = 15;

export const majorityOf = (members: number): number => Math.floor(members / 2) + 1;

/** @throws {InvalidArgumentError} naming the broken rule */
export function checkView({ number, members, before }: View): void {
  if (!Number.isSafeInteger(number) || number < 1) {
    throw invalidOption('view', number, 'it must be a whole number from 1');
  }
  checkMembers('peers', members);
  if (before !== undefined) checkMembers('before', before);
}

function checkMembers(option: string, members: readonly string[]): void {
  if (members.length === 0) throw invalidOption(option, 'empty', 'a group needs a member');
  if (members.length > MEMBERS_MAX) {
    throw invalidOption(option, `${members.length} members`, `there may be at most ${MEMBERS_MAX}`);
  }
  for (const member of members) {
    if (member.length === 0 || member.length > NAME_CHARACTERS_MAX) {
      const rule = `a name has 1 to ${NAME_CHARACTERS_MAX} characters`;
      throw invalidOption(option, JSON.stringify(member), rule);
    }
  }
  const twice = members.find((member, place) => members.indexOf(member) !== place);
  if (twice !== undefined) {
    throw invalidOption(option, twice, 'two members cannot have one name');
  }
}

/** Sets of members as bits, over both views, so that each member counts once. */
export class Quorums {
  readonly #bits = new Map<string, number>();
  readonly #members: number;
  readonly #membersNeeded: number;
  readonly #before: number;
  readonly #beforeNeeded: number;
  readonly everybody: readonly string[];

  constructor({ members, before }: Pick<View, 'members' | 'before'>) {
    this.everybody = [...new Set([...members, ...(before ?? [])])];
    this.everybody.forEach((member, place) => {
      this.#bits.set(member, place);
    });
    this.#members = this.#maskOf(members);
    this.#membersNeeded = majorityOf(members.length);
    this.#before = this.#maskOf(before ?? []);
    this.#beforeNeeded = before === undefined ? 0 : majorityOf(before.length);
  }

  has(member: string): boolean {
    return this.#bits.has(member);
  }

  /** The set with this member added. */
  with(set: number, member: string): number {
    const bit = this.#bits.get(member);
    return bit === undefined ? set : set | (1 << bit);
  }

  includes(set: number, member: string): boolean {
    const bit = this.#bits.get(member);
    return bit !== undefined && (set & (1 << bit)) !== 0;
  }

  /** Whether this set is a quorum: a majority of each view that counts. */
  suffices(yes: number): boolean {
    return (
      countBits(yes & this.#members) >= this.#membersNeeded &&
      countBits(yes & this.#before) >= this.#beforeNeeded
    );
  }

  /** Whether a quorum is still possible after these refusals. */
  canSuffice(no: number): boolean {
    return (
      countBits(this.#members & ~no) >= this.#membersNeeded &&
      countBits(this.#before & ~no) >= this.#beforeNeeded
    );
  }

  #maskOf(members: readonly string[]): number {
    return members.reduce((set, member) => this.with(set, member), 0);
  }
}

function countBits(set: number): number {
  let count = 0;
  for (let rest = set; rest !== 0; rest &= rest - 1) count += 1;
  return count;
}
