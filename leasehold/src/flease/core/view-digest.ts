/**
 * Whether two members in a view of one number mean the same view. The number alone does not say so: an operator who
 * edits the list of peers and restarts members one by one, without a higher view, makes two groups of one name.
 *
 *     a, c   view 1   {a, b, c}         {a, c} is a majority of the one, {b, d} of the other,
 *     b, d   view 1   {a, b, d}         and they have no member in common
 *
 * So every packet carries a digest of the members in the sender's view, and of those in the view before:
 *
 *  - Other **members** under the same number always contradict each other.
 *  - The members **before** contradict only if both sides name some. A member that was started after the change was
 *    settled rightly names none, and agrees with every other. A member that was started with some keeps their digest as
 *    long as it is in the view, also when it no longer needs them: settling does not change the view, and a member that
 *    settled with the wrong ones must not look like the rest from then on.
 *
 * No digest can tell a `before` that is missing too soon from one that is rightly missing. But a member that hears a
 * peer in an earlier view, and was started without old members, was started too soon: `member.ts`.
 *
 * Thirty-two bits are enough against mistakes, of which one in four thousand million goes unnoticed. Against malice
 * nothing here would help, because a lying member can send each peer the digest that the peer expects.
 */

import type { View } from './view.ts';

export interface ViewDigest {
  readonly members: number;
  /** 0 if the member was started without old members. */
  readonly before: number;
}

export const digestOf = ({ members, before }: Pick<View, 'members' | 'before'>): ViewDigest => ({
  members: hashOf(members),
  before: before === undefined ? 0 : hashOf(before),
});

/** Whether the two digests cannot be of the same view. */
export const contradict = (one: ViewDigest, other: ViewDigest): boolean =>
  one.members !== other.members || (one.before !== other.before && one.before !== 0 && other.before !== 0);

const OFFSET_BASIS = 0x811c_9dc5;
const PRIME = 0x0100_0193;

/**
 * FNV-1a of the names in the order of their UTF-16 units, each as UTF-8 and a byte that occurs in no UTF-8. Never 0.
 */
function hashOf(names: readonly string[]): number {
  let hash = OFFSET_BASIS;
  const add = (byte: number): void => {
    hash = Math.imul(hash ^ byte, PRIME);
  };
  for (const name of [...names].sort()) {
    for (const byte of encoder.encode(name)) add(byte);
    add(NO_UTF8);
  }
  return hash >>> 0 || 1;
}

const encoder = new TextEncoder();
const NO_UTF8 = 0xff;
