/**
 * Changes of the configuration, as a leader may propose them.
 *
 * One member at a time comes or goes, so the majorities of two configurations that follow each other always overlap; and since
 * the commit rule asks for both anyway, that is belt and braces. What needs care is the *seat* of a member that lost its
 * disk: its directory is new, so the member is new (another storage id), and the old process may still live and read
 * under the old seat. The newcomer therefore takes a seat that is free in every configuration that counts, and the same
 * change removes the old member.
 *
 * A member that is removed holds nothing from then on. The change is itself committed as if every member held it, so when it
 * is committed the removed member has either accepted it, or every promise to it has run out.
 */

import { type Configuration, freeSeat, isSeated, type Placement } from './configuration.ts';

export type Change =
  | { readonly kind: 'placement'; readonly placement: Placement }
  | { readonly kind: 'add'; readonly storage: string }
  | { readonly kind: 'remove'; readonly storage: string }
  | { readonly kind: 'replace'; readonly storage: string; readonly by: string };

export type ChangeRefusal =
  | 'already-a-member'
  | 'not-a-member'
  | 'leader-must-transfer-first'
  | 'no-member-would-be-left'
  | 'no-free-seat';

/** The configuration after the change, or why it cannot be. `counting` has the newest configuration first. */
export function changed(
  counting: readonly Configuration[],
  change: Change,
  leader: string,
): Configuration | ChangeRefusal {
  const newest = counting[0] as Configuration;
  const { members } = newest;
  switch (change.kind) {
    case 'placement':
      return { ...newest, placement: change.placement };
    case 'add':
      return seated(newest, counting, change.storage);
    case 'remove':
      if (!isSeated(newest, change.storage)) return 'not-a-member';
      if (change.storage === leader) return 'leader-must-transfer-first';
      if (members.length === 1) return 'no-member-would-be-left';
      return { ...newest, members: members.filter(({ storage }) => storage !== change.storage) };
    case 'replace': {
      if (!isSeated(newest, change.storage)) return 'not-a-member';
      if (change.storage === leader) return 'leader-must-transfer-first';
      const next = seated(newest, counting, change.by);
      if (typeof next === 'string') return next;
      return { ...next, members: next.members.filter(({ storage }) => storage !== change.storage) };
    }
  }
}

function seated(
  newest: Configuration,
  counting: readonly Configuration[],
  storage: string,
): Configuration | ChangeRefusal {
  if (isSeated(newest, storage)) return 'already-a-member';
  const seat = freeSeat(counting);
  return seat === undefined ? 'no-free-seat' : { ...newest, members: [...newest.members, { seat, storage }] };
}
