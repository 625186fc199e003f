/**
 * Names the members through which alone a part of the view reaches the rest directly (rule S9). Amounts then cross a narrow bridge, or the overlay,
 * and shares follow demand slowly. The limit holds all the same, so this is a warning.
 *
 * The graph has an edge between two members unless one of them has the other on its blacklist. For each member, the others fall into the parts that are
 * connected without that member. A choke point is a member without which the graph is in several parts, or nothing at all if the graph
 * is in several parts already. If no member lacks more than half of its links, there is none: without any one member, the others still have links to half
 * of the rest, so each two of them are linked or share a neighbour. This is nearly always so, and then nothing is searched.
 */

export interface ChokePoint {
  /** The smaller side. */
  readonly side: readonly string[];
  /** The member between the two sides; none if only the overlay connects them. */
  readonly through: readonly string[];
}

export function chokePoint(
  members: readonly string[],
  blacklists: ReadonlyMap<string, readonly string[]>,
): ChokePoint | undefined {
  const cuts = new Set<string>();
  const missing = new Map<string, number>();
  for (const [name, others] of blacklists) {
    for (const other of others) {
      if (cuts.has(`${name} ${other}`)) continue;
      cuts.add(`${name} ${other}`).add(`${other} ${name}`);
      for (const end of [name, other]) missing.set(end, (missing.get(end) ?? 0) + 1);
    }
  }
  if (members.length < 3 || Math.max(0, ...missing.values()) <= (members.length - 2) / 2) return undefined;
  const isLink = (one: string, other: string): boolean => !cuts.has(`${one} ${other}`);
  for (const without of [undefined, ...members]) {
    const rest = members.filter((name) => name !== without);
    const [first = ''] = rest;
    const found = new Set([first]);
    for (const name of found) for (const other of rest) if (isLink(name, other)) found.add(other);
    if (found.size === rest.length) continue;
    const outside = rest.filter((name) => !found.has(name));
    const side = outside.length <= found.size ? outside : [...found];
    return { side, through: without === undefined ? [] : [without] };
  }
  return undefined;
}
