/**
 * Two members with one name: the later one joined because the earlier one was gone, leaves or drains. The keys belong to the later one.
 */

import type { Member } from '../table.ts';

/** Of each name, the member that joined last. */
export function latestByName(members: ReadonlyMap<string, Member>): ReadonlyMap<string, Member> {
  const latest = new Map<string, Member>();
  for (const member of members.values()) {
    const other = latest.get(member.name);
    if (other === undefined || other.joinedAt <= member.joinedAt) latest.set(member.name, member);
  }
  return latest;
}

/** Whether another process has joined under the name of this member since. */
export const hasSuccessor = (incarnation: string, members: ReadonlyMap<string, Member>): boolean => {
  const member = members.get(incarnation);
  if (member === undefined) return false;
  for (const other of members.values())
    if (other.name === member.name && other.joinedAt > member.joinedAt) return true;
  return false;
};
