/**
 * Whether two members that are in a view of one number mean the same view. The number alone does not say so: whoever
 * edits the list of peers and restarts members one by one, without a higher view, makes two groups of one name.
 *
 *     a, c   view 1   {a, b, c}         {a, c} is a majority of the one, {b, d} of the other,
 *     b, d   view 1   {a, b, d}         and they have nobody in common
 *
 * So every packet carries a digest of the names in the view of its sender, and of those in the view before:
 *
 *  - Other **members** under the same number contradict each other, always.
 *  - The members **before** do so only if both know of some. One that was started once the change was settled is told
 *    of none, and rightly, so it agrees with everybody. One that was told of some keeps their digest for as long as
 *    it is in the view, also when it needs them no more: to settle is not to be in another view, and whoever settled
 *    by the word of the wrong ones must not look like the rest from then on.
 *
 * A missing `before` where it is still needed cannot be told from one that is rightly missing by any digest. But
 * whoever hears a member in an earlier view, and was told of nobody before, was started too soon: `member.ts`.
 *
 * Thirty-two bits are enough against mistakes, of which one in four thousand million goes unnoticed. Against malice
 * nothing here would do, for a member that lies can tell everybody what they want to hear.
 */

import type { View } from './view.ts';

export interface ViewDigest {
  readonly members: number;
  /** 0 if it was told of none. */
  readonly before: number;
}

export const digestOf = ({ members, before }: Pick<View, 'members' | 'before'>): ViewDigest => ({
  members: hashOf(members),
  before: before === undefined ? 0 : hashOf(before),
});

/** Whether they cannot both be of the same view. */
export const contradict = (one: ViewDigest, other: ViewDigest): boolean =>
  one.members !== other.members || (one.before !== other.before && one.before !== 0 && other.before !== 0);

const OFFSET_BASIS = 0x811c_9dc5;
const PRIME = 0x0100_0193;

/** FNV-1a of the names in the order of their UTF-16 units, each as UTF-8 and a byte that is in none. Never 0. */
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
