/**
 * Keys stay where they are: the placement of a pool whose keys move with their state.
 *
 * A move costs a short stop and the sending of the state, so nothing moves that need not, but for what evens the pool out when it is quiet
 * (`even-widths.ts`). The keys of an owner that drains, and keys without
 * an owner, go to an owner that takes keys: to the next process under the name of their owner, if there is one, otherwise to the
 * owner with the least part of the ring. An owner that is cordoned keeps what it has.
 *
 * Otherwise rows are neither cut nor joined: each is a piece of work that one owner can take over from another.
 */

import { handsAllOver } from '../messages.ts';
import { evenWidths } from './even-widths.ts';
import type { Placement, Policy, PolicyMember } from './policy.ts';

export const sticky: Policy = {
  name: 'sticky',
  adaptive: true,
  place: ({ rows, members, balance }) => {
    const byIncarnation = new Map(members.map((member) => [member.incarnation, member]));
    const targets = members.filter(isTarget);
    const width = new Map<string, bigint>();
    const note = (incarnation: string, span: { readonly start: bigint; readonly end: bigint }): void => {
      width.set(incarnation, (width.get(incarnation) ?? 0n) + (span.end - span.start));
    };
    const stays = ({ owner }: { readonly owner: string | undefined }): boolean => {
      const member = owner === undefined ? undefined : byIncarnation.get(owner);
      return member !== undefined && !handsAllOver(member.intent);
    };
    for (const row of rows) if (row.owner !== undefined && stays(row)) note(row.owner, row);
    const placements: Placement[] = [];
    for (const row of rows) {
      const { start, end, owner } = row;
      let incarnation = stays(row) ? owner : undefined;
      if (incarnation === undefined) {
        incarnation = successor(owner, byIncarnation, targets) ?? leastLoaded(targets, width) ?? owner;
        if (incarnation !== undefined) note(incarnation, row);
      }
      if (incarnation !== undefined && byIncarnation.has(incarnation))
        placements.push({ start, end, incarnation });
    }
    if (balance === undefined) return placements;
    return evenWidths(
      placements,
      targets.map(({ incarnation }) => incarnation),
      balance,
    );
  },
};

const isTarget = ({ intent = 'stay' }: PolicyMember): boolean => intent === 'stay';

function successor(
  owner: string | undefined,
  members: ReadonlyMap<string, PolicyMember>,
  targets: readonly PolicyMember[],
): string | undefined {
  const name = owner === undefined ? undefined : members.get(owner)?.name;
  return targets.find((target) => target.name === name && target.incarnation !== owner)?.incarnation;
}

function leastLoaded(
  targets: readonly PolicyMember[],
  width: ReadonlyMap<string, bigint>,
): string | undefined {
  let least: string | undefined;
  for (const { incarnation } of targets)
    if (least === undefined || (width.get(incarnation) ?? 0n) < (width.get(least) ?? 0n)) least = incarnation;
  return least;
}
