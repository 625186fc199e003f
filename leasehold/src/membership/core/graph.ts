/**
 * The graph that the records describe, with its consequences: which servers belong together, and over which servers a
 * packet travels. Servers with the same records compute the same answers; nothing else is agreed on.
 *
 * **Edge.** Two servers have an edge if each lists the present incarnation of the other, and neither has left.
 *
 * **Conflict.** A server that cannot reach a member over the overlay says so in its record. The two must not stay in one view,
 * or a view would hold members that cannot talk: this is how messages and views share their fate. A conflict names an
 * incarnation, so a restart ends the conflict.
 *
 * **Membership.** While a conflict remains in the component, a server is taken out (`removal.ts`). A server that is taken out is alone; each other server belongs to the component that remains around
 * that server. There is no bound on the hops between two members: "all servers within three hops" is not transitive, and the ends of a
 * chain of five would disagree for ever.
 */

import {
  type Incarnation,
  isSameIncarnation,
  type MemberId,
  type Membership,
  membershipOf,
  type SetMember,
} from './incarnation.ts';
import type { ServerRecord } from './messages.ts';
import { removedOf } from './removal.ts';

type Records = ReadonlyMap<string, { readonly record: ServerRecord }>;

const NOBODY: ReadonlySet<string> = new Set();

export class Graph {
  readonly #records: Records;
  readonly #neighbours = new Map<string, string[]>();
  #membership: { readonly self: SetMember; readonly set: Membership } | undefined;
  readonly #nextHops = new Map<string, ReadonlyMap<string, string>>();

  constructor(records: Records) {
    this.#records = records;
    for (const { record } of records.values()) {
      const neighbours = record.links
        .filter(({ name }) => this.#isEdge(record, name))
        .map(({ name }) => name);
      this.#neighbours.set(record.name, neighbours);
    }
  }

  neighbours(name: string): readonly string[] {
    return this.#neighbours.get(name) ?? [];
  }

  component(start: string, without: ReadonlySet<string> = NOBODY): Set<string> {
    const found = new Set([start]);
    for (const name of found) {
      for (const next of this.neighbours(name)) if (!without.has(next)) found.add(next);
    }
    return found;
  }

  /** The servers that belong in a view with this one, this one included. */
  membersWith(name: string): Set<string> {
    const component = this.component(name);
    const records = [...component].flatMap((each) => this.#records.get(each)?.record ?? []);
    const removed = removedOf(records, (member) => component.has(member.name) && this.#isPresent(member));
    return removed.has(name) ? new Set([name]) : this.component(name, removed);
  }

  /** {@link membersWith} this process, as a set of processes. Worked out once for each graph, incarnation and list of clients. */
  membershipWith(self: SetMember): Membership {
    const known = this.#membership;
    const isSame = known?.self.name === self.name && known.self.incarnation === self.incarnation;
    if (isSame && known.self.listVersion === self.listVersion) return known.set;
    const members: SetMember[] = [];
    for (const name of this.membersWith(self.name)) {
      const record = this.#records.get(name)?.record;
      if (name === self.name) members.push(self);
      else if (record !== undefined)
        members.push({ name, incarnation: record.incarnation, listVersion: record.list.version });
    }
    const set = membershipOf(members);
    this.#membership = { self, set };
    return set;
  }

  /** The first server on a shortest path, or undefined if there is no path. */
  nextHop(from: string, to: string): string | undefined {
    let hops = this.#nextHops.get(from);
    if (hops === undefined) {
      hops = this.#hopsFrom(from);
      this.#nextHops.set(from, hops);
    }
    return hops.get(to);
  }

  #hopsFrom(from: string): Map<string, string> {
    const hops = new Map<string, string>();
    const queue = [from];
    for (const name of queue) {
      for (const next of this.neighbours(name)) {
        if (next === from || hops.has(next)) continue;
        hops.set(next, hops.get(name) ?? next);
        queue.push(next);
      }
    }
    return hops;
  }

  #isEdge(one: ServerRecord, name: string): boolean {
    const other = this.#records.get(name)?.record;
    if (other === undefined || one.hasLeft || other.hasLeft) return false;
    return lists(one, other) && lists(other, one);
  }

  #isPresent({ name, incarnation }: MemberId): boolean {
    const record = this.#records.get(name)?.record;
    return record !== undefined && isSameIncarnation(record.incarnation, incarnation);
  }
}

/** The links of a record by name. A record never changes, and is in many graphs: with 50 servers, a search of its list for each edge is dear. */
const linksByName = new WeakMap<ServerRecord, ReadonlyMap<string, Incarnation>>();

export function linksOf(record: ServerRecord): ReadonlyMap<string, Incarnation> {
  let links = linksByName.get(record);
  if (links === undefined) {
    links = new Map(record.links.map((link) => [link.name, link.incarnation]));
    linksByName.set(record, links);
  }
  return links;
}

function lists(record: ServerRecord, { name, incarnation }: MemberId): boolean {
  const listed = linksOf(record).get(name);
  return listed !== undefined && isSameIncarnation(listed, incarnation);
}
