/** The graph of a group as something to draw, worked out from the status: servers, lines between them, and routes over others. */

import type { GroupMemberStatus } from '../status.ts';

/**
 * `link`: both list each other. `route`: such a link, and this server reaches a member over it through others. `one-way`: one of the two lists the other.
 * `conflict`: one cannot reach the other at all. `down`: both are in the view, and neither lists the other.
 */
export type EdgeKind = 'link' | 'route' | 'one-way' | 'conflict' | 'down';

export interface Edge {
  readonly one: string;
  readonly other: string;
  readonly kind: EdgeKind;
}

type Facts = Pick<GroupMemberStatus, 'name' | 'graph' | 'peers' | 'view'>;

/** Every server that is known, sorted. */
export const namesOf = ({ name, graph, peers }: Facts): string[] =>
  [...new Set([name, ...graph.map((node) => node.name), ...peers.map((peer) => peer.name)])].sort();

export function edgesOf(facts: Facts): Edge[] {
  const names = namesOf(facts);
  const nodes = new Map(facts.graph.map((node) => [node.name, node]));
  const routed = new Set<string>();
  for (const name of names) {
    const route = routeTo(facts, name);
    if (route.length < 3) continue;
    for (const [index, stop] of route.entries())
      if (index > 0) routed.add(pair(route[index - 1] ?? '', stop));
  }
  const lists = (one: string, other: string): boolean => nodes.get(one)?.links.includes(other) === true;
  const avoids = (one: string, other: string): boolean =>
    nodes.get(one)?.cannotReach.includes(other) === true;
  const isMember = (name: string): boolean => facts.view?.members.includes(name) === true;
  const edges: Edge[] = [];
  for (const [index, one] of names.entries()) {
    for (const other of names.slice(index + 1)) {
      const listed = Number(lists(one, other)) + Number(lists(other, one));
      const kind = ((): EdgeKind | undefined => {
        if (avoids(one, other) || avoids(other, one)) return 'conflict';
        if (listed === 2) return routed.has(pair(one, other)) ? 'route' : 'link';
        if (listed === 1) return 'one-way';
        return isMember(one) && isMember(other) ? 'down' : undefined;
      })();
      if (kind !== undefined) edges.push({ one, other, kind });
    }
  }
  return edges;
}

/** The servers on a shortest path from this one, both ends included; empty if there is none. */
export function routeTo({ name: self, graph }: Facts, to: string): string[] {
  const nodes = new Map(graph.map((node) => [node.name, node]));
  const before = new Map<string, string | undefined>([[self, undefined]]);
  for (const [name] of before) {
    for (const next of nodes.get(name)?.links ?? []) {
      const isMutual = nodes.get(next)?.links.includes(name) === true;
      if (isMutual && nodes.get(next)?.hasLeft === false && !before.has(next)) before.set(next, name);
    }
  }
  const route: string[] = [];
  for (
    let stop: string | undefined = before.has(to) ? to : undefined;
    stop !== undefined;
    stop = before.get(stop)
  )
    route.unshift(stop);
  return route;
}

const pair = (one: string, other: string): string => JSON.stringify([one, other].sort());
