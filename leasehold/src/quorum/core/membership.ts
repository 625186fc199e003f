/**
 * Changes of the configuration, as a leader may propose them.
 *
 * One member at a time comes or goes, so the majorities of two configurations that follow each other always overlap; and since
 * the commit rule asks for both anyway, that is belt and braces. What needs care is the *seat* of a member that lost its
 * disk: its directory is new, so the member is new (another storage id), and the old process may still live and read
 * under the old seat. The newcomer therefore takes a seat that is free in every configuration that counts, and the same
 * change removes the old member.
 *
 * **Exactly once.** A change names storage ids, not names, and an id that was removed is never seated again: the configuration
 * remembers it. So a change takes effect at most once, however often it is repeated and however late a copy arrives: a
 * repeated `add` finds the member seated, or removed since, and a repeated `remove` finds it removed. A copy of a change that is
 * in force is answered as the change was.
 *
 * A member that is removed holds nothing from then on. The change is itself committed as if every member held it, so when it
 * is committed the removed member has either accepted it, or every promise to it has run out.
 */

import {
  type Configuration,
  freeSeat,
  isSeated,
  type ReaderMap,
  type ReaderMapChange,
  type ProposedConfiguration,
  UNCHANGED,
} from './configuration.ts';

/** Each member more makes writes slower. There are more seats, for newcomers that take the place of an old member. */
export const MEMBERS_MAX = 7;

export type Change =
  | { readonly kind: 'placement'; readonly placement: ReaderMap | ReaderMapChange }
  | { readonly kind: 'add'; readonly storage: string }
  | { readonly kind: 'remove'; readonly storage: string }
  | { readonly kind: 'replace'; readonly storage: string; readonly by: string };

export type ChangeRefusal =
  | 'already-a-member'
  | 'not-a-member'
  | 'leader-must-step-down-first'
  | 'no-member-would-be-left'
  | 'no-free-seat'
  | 'too-many-members'
  | 'no-other-member'
  | 'removed-before';

/** The configuration after the change, or why it cannot be. `counting` has the newest configuration first. */
export function changed(
  counting: readonly Configuration[],
  change: Change,
  leader: string,
): ProposedConfiguration | ChangeRefusal {
  const newest: ProposedConfiguration = { ...(counting[0] as Configuration), placement: UNCHANGED };
  const { members } = newest;
  switch (change.kind) {
    case 'placement':
      return { ...newest, placement: change.placement };
    case 'add':
      if (members.length >= MEMBERS_MAX && !isSeated(newest, change.storage)) return 'too-many-members';
      return seated(newest, counting, change.storage);
    case 'remove':
      if (!isSeated(newest, change.storage)) return 'not-a-member';
      if (members.length === 1) return 'no-member-would-be-left';
      if (change.storage === leader) return 'leader-must-step-down-first';
      return without(newest, change.storage);
    case 'replace': {
      if (!isSeated(newest, change.storage)) return 'not-a-member';
      if (change.storage === leader) return 'leader-must-step-down-first';
      const next = seated(newest, counting, change.by);
      if (typeof next === 'string') return next;
      return without(next, change.storage);
    }
  }
}

/** Whether the change has been made: a copy of it has nothing left to do. */
export function isInForce({ members, removed, placement }: Configuration, change: Change): boolean {
  const isMember = (id: string): boolean => members.some(({ storage }) => storage === id);
  switch (change.kind) {
    case 'placement':
      return isAutomatic(change.placement) && isAutomatic(placement); // Tables that were chosen since stay.
    case 'add':
      return isMember(change.storage);
    case 'remove':
      return removed.includes(change.storage);
    case 'replace':
      return isMember(change.by) && removed.includes(change.storage);
  }
}

export const isAutomatic = (placement: ReaderMap | ReaderMapChange): boolean =>
  placement.mode === 'chosen' && placement.automatic !== undefined;

function without(configuration: ProposedConfiguration, storage: string): ProposedConfiguration {
  const members = configuration.members.filter((member) => member.storage !== storage);
  return { ...configuration, members, removed: [...configuration.removed, storage] };
}

function seated(
  newest: ProposedConfiguration,
  counting: readonly Configuration[],
  storage: string,
): ProposedConfiguration | ChangeRefusal {
  if (isSeated(newest, storage)) return 'already-a-member';
  if (newest.removed.includes(storage)) return 'removed-before';
  const seat = freeSeat(counting);
  return seat === undefined ? 'no-free-seat' : { ...newest, members: [...newest.members, { seat, storage }] };
}
