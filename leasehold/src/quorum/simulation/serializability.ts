/**
 * Strict serializability, in the order of the log.
 *
 * Every write has its place in the log, so the order of writes is known and only reads have to be fitted in. A history is strictly
 * serializable if there is no cycle of: a write before the next write of the same key; a write before a read that saw it; a
 * read before the write that replaced what it saw; and whatever returned before another was called.
 *
 * Real time would need an edge for every pair. Instead, instants are nodes in a chain: an operation points to the instant of its
 * return, and every instant to the operations that are called after it.
 *
 *     op a ──► t1 ──► t2 ──► t3
 *                      └──► op b          b was called after t2
 */

export interface HistoryNode {
  readonly name: string;
  readonly calledMs: number;
  /** Infinity if it never returned. */
  readonly returnedMs: number;
  /** The place in the log of what it wrote, and the keys; undefined if it wrote nothing. */
  readonly wrote: { readonly revision: number; readonly keys: readonly string[] } | undefined;
  /** For each key, the revision that it saw; 0 for none. */
  readonly saw: readonly (readonly [key: string, revision: number])[];
}

/** The names along a cycle, or undefined if there is none. */
export function findCycle(nodes: readonly HistoryNode[]): string[] | undefined {
  const edges: number[][] = nodes.map(() => []);
  addConflicts(nodes, edges);
  addRealTime(nodes, edges);
  return cycleIn(edges)?.flatMap((at) => nodes[at]?.name ?? []);
}

function addConflicts(nodes: readonly HistoryNode[], edges: number[][]): void {
  const writers = new Map<string, { readonly revision: number; readonly at: number }[]>();
  nodes.forEach(({ wrote }, at) => {
    for (const key of wrote?.keys ?? []) {
      const list = writers.get(key) ?? [];
      writers.set(key, list);
      list.push({ revision: wrote?.revision ?? 0, at });
    }
  });
  for (const list of writers.values()) {
    list.sort((a, b) => a.revision - b.revision);
    list.forEach(({ at }, place) => {
      const next = list[place + 1];
      if (next !== undefined) edges[at]?.push(next.at);
    });
  }
  nodes.forEach(({ saw }, at) => {
    for (const [key, revision] of saw) {
      const list = writers.get(key) ?? [];
      const writer = list.find((each) => each.revision === revision);
      if (writer !== undefined && writer.at !== at) edges[writer.at]?.push(at);
      const next = list.find((each) => each.revision > revision);
      if (next !== undefined && next.at !== at) edges[at]?.push(next.at);
    }
  });
}

function addRealTime(nodes: readonly HistoryNode[], edges: number[][]): void {
  const returns = nodes.map(({ returnedMs }) => returnedMs).filter((ms) => ms !== Number.POSITIVE_INFINITY);
  const instants = [...new Set(returns)].sort((a, b) => a - b);
  const first = edges.length;
  instants.forEach((_, place) => edges.push(place + 1 < instants.length ? [first + place + 1] : []));
  nodes.forEach(({ calledMs, returnedMs }, at) => {
    const returned = instants.indexOf(returnedMs);
    if (returned >= 0) edges[at]?.push(first + returned);
    const before = lastBelow(instants, calledMs);
    if (before >= 0) edges[first + before]?.push(at);
  });
}

function lastBelow(sorted: readonly number[], limit: number): number {
  let [low, high] = [0, sorted.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((sorted[middle] as number) < limit) low = middle + 1;
    else high = middle;
  }
  return low - 1;
}

/** Removes nodes that nothing points to until none is left; if some are, one can walk backwards into a cycle. */
function cycleIn(edges: readonly (readonly number[])[]): number[] | undefined {
  const incoming = new Int32Array(edges.length);
  for (const targets of edges) for (const target of targets) incoming[target] = (incoming[target] ?? 0) + 1;
  const free: number[] = [];
  incoming.forEach((count, at) => {
    if (count === 0) free.push(at);
  });
  let removed = 0;
  for (let at = free.pop(); at !== undefined; at = free.pop()) {
    removed += 1;
    for (const target of edges[at] ?? []) {
      incoming[target] = (incoming[target] ?? 0) - 1;
      if (incoming[target] === 0) free.push(target);
    }
  }
  if (removed === edges.length) return undefined;
  const isLeft = (at: number): boolean => (incoming[at] ?? 0) > 0;
  const path: number[] = [];
  for (let at = incoming.findIndex((count) => count > 0); ; ) {
    const seen = path.indexOf(at);
    if (seen >= 0) return path.slice(seen).reverse();
    path.push(at);
    at = edges.findIndex((targets, from) => isLeft(from) && targets.includes(at));
  }
}
