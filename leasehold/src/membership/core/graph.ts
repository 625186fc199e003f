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
 * that server. The set has no bound on the hops between two members: "all servers within three hops" is not transitive, and the ends of a
 * chain of five would disagree for ever. A packet makes at most `HOPS_MAX` hops (`overlay.ts`), so members that are further apart cannot confirm a view to each other.
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
  readonly #neighbours = new Map<string, Set<string>>();
  /** How many servers have a neighbour. */
  #linkedCount = 0;
  #membership: Membership | undefined;
  readonly #nextHops = new Map<string, ReadonlyMap<string, string>>();

  /** @param records which may change: {@link update} */
  constructor(records: Records) {
    this.#records = records;
    for (const name of records.keys()) this.update(name);
  }

  /** The record of this server is another one, or is gone. With 50 servers, only the edges of that server are looked at, and not all 2,450. */
  update(name: string): void {
    const record = this.#records.get(name)?.record;
    for (const other of this.neighbours(name)) this.#set(other).delete(name);
    this.#set(name).clear();
    for (const link of record?.links ?? []) {
      if (record === undefined || !this.#isEdge(record, link)) continue;
      this.#set(name).add(link.name);
      this.#set(link.name).add(name);
    }
    if (record === undefined) this.#neighbours.delete(name);
    this.#linkedCount = 0;
    for (const { size } of this.#neighbours.values()) if (size > 0) this.#linkedCount += 1;
    this.#nextHops.clear();
  }

  neighbours(name: string): ReadonlySet<string> {
    return this.#neighbours.get(name) ?? NOBODY;
  }

  component(start: string, without: ReadonlySet<string> = NOBODY): Set<string> {
    const found = new Set([start]);
    for (const name of found) {
      if (found.size === this.#linkedCount) break; // Nobody is left to be found: most often, all servers are linked to each other.
      for (const next of this.neighbours(name)) if (!without.has(next)) found.add(next);
    }
    return found;
  }

  /** The servers that belong in a view with this one, this one included. */
  membersWith(name: string): Set<string> {
    const component = this.component(name);
    const records = [...component].flatMap((each) => this.#records.get(each)?.record ?? []);
    const removed = removedOf(records, (member) => component.has(member.name) && this.#isPresent(member));
    if (removed.size === 0) return component;
    return removed.has(name) ? new Set([name]) : this.component(name, removed);
  }

  /** {@link membersWith} this process, as a set of processes. The same object for as long as the set is the same. */
  membershipWith(self: SetMember): Membership {
    const names = this.membersWith(self.name);
    const known = this.#membership;
    const isSame = (member: SetMember): boolean => {
      const present = names.has(member.name) ? this.#setMember(member.name, self) : undefined;
      return (
        present?.listVersion === member.listVersion &&
        isSameIncarnation(present.incarnation, member.incarnation)
      );
    };
    if (known?.members.length === names.size && known.members.every(isSame)) return known;
    this.#membership = membershipOf([...names].flatMap((name) => this.#setMember(name, self) ?? []));
    return this.#membership;
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

  #set(name: string): Set<string> {
    let neighbours = this.#neighbours.get(name);
    if (neighbours === undefined) {
      neighbours = new Set();
      this.#neighbours.set(name, neighbours);
    }
    return neighbours;
  }

  /** A server as its record says, and this one as it is. */
  #setMember(name: string, self: SetMember): SetMember | undefined {
    if (name === self.name) return self;
    const record = this.#records.get(name)?.record;
    return record && { name, incarnation: record.incarnation, listVersion: record.list.version };
  }

  #isEdge(one: ServerRecord, { name, incarnation }: MemberId): boolean {
    const other = this.#records.get(name)?.record;
    if (other === undefined || one.hasLeft || other.hasLeft) return false;
    return isSameIncarnation(incarnation, other.incarnation) && lists(other, one);
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
