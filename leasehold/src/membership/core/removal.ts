/**
 * Which servers have to go, of a set in which some cannot reach each other. While a conflict remains, the server in most conflicts is taken
 * out; of equals, the one with the greater name. Servers with the same records come to the same answer.
 */

import type { MemberId } from './incarnation.ts';
import type { ServerRecord } from './messages.ts';

/**
 * @param records of the servers of the set
 * @param isIn whether this process, and not another of the same name, is in the set
 */
export function removedOf(
  records: readonly ServerRecord[],
  isIn: (member: MemberId) => boolean,
): ReadonlySet<string> {
  const removed = new Set<string>();
  for (;;) {
    const worst = mostConflicting(records, removed, isIn);
    if (worst === undefined) return removed;
    removed.add(worst);
  }
}

function mostConflicting(
  records: readonly ServerRecord[],
  removed: ReadonlySet<string>,
  isIn: (member: MemberId) => boolean,
): string | undefined {
  const counts = new Map<string, number>();
  const count = (name: string): void => void counts.set(name, (counts.get(name) ?? 0) + 1);
  for (const { name, cannotReach } of records) {
    if (removed.has(name)) continue;
    for (const other of cannotReach) {
      if (removed.has(other.name) || !isIn(other)) continue;
      count(name);
      count(other.name);
    }
  }
  let worst: string | undefined;
  for (const [name, conflicts] of counts) {
    const most = worst === undefined ? 0 : (counts.get(worst) ?? 0);
    if (worst === undefined || conflicts > most || (conflicts === most && name > worst)) worst = name;
  }
  return worst;
}
