/**
 * Records on their way: the own record is published whenever there is something new to say, records of others are passed on, and those that a peer lacks
 * are sent again. `record-table.ts` argues why that suffices.
 */

import { type Instant, later } from '../../runtime/time.ts';
import { areSameMembers, isSameIncarnation } from './incarnation.ts';
import type { Link } from './link.ts';
import type { Links } from './links.ts';
import type { MemberSettings } from './member-settings.ts';
import type { Message, ServerRecord, Version } from './messages.ts';
import type { RecordTable } from './record-table.ts';
import { passesOn } from './relays.ts';

/** How many peers of each kind are asked for records that may be missing, with each heartbeat. */
const ASKED_MAX = 4;

const NOBODY: ReadonlySet<string> = new Set();

type Send = (to: string, message: Message) => void;

export class RecordFlood {
  readonly #table: RecordTable;
  readonly #links: Links;
  readonly #send: Send;
  readonly #random: () => number;
  readonly #heartbeatMs: number;
  #sequence = 0;
  #isUnsent = false;

  constructor(table: RecordTable, links: Links, { random, durations }: MemberSettings, send: Send) {
    this.#table = table;
    this.#links = links;
    this.#random = random;
    this.#heartbeatMs = durations.heartbeatMs;
    this.#send = send;
  }

  /** The record of this server, if there is anything new to say. */
  publish(said: Omit<ServerRecord, 'sequence'>, now: Instant): void {
    const old = this.#table.of(said.name);
    const isSame =
      old !== undefined &&
      old.proposal === said.proposal &&
      old.hasLeft === said.hasLeft &&
      old.list === said.list &&
      isSameIncarnation(old.incarnation, said.incarnation) &&
      areSameMembers(old.links, said.links) &&
      areSameMembers(old.cannotReach, said.cannotReach);
    if (isSame) return;
    this.#sequence += 1;
    this.#table.put({ ...said, sequence: this.#sequence }, now);
    this.#isUnsent = true;
  }

  /** Sends the own record, if there is a new one: once for all that changed in one input. */
  flush(self: string): void {
    if (this.#isUnsent) this.repeat(self);
  }

  /** @param source the peer that sent the record of another server */
  passOn(record: ServerRecord, source: string, self: string): void {
    const message: Message = { kind: 'records', records: [record] };
    const relay = { name: self, servers: this.#table.records.size, random: this.#random };
    for (const name of this.#links.unlistedBy(record, source))
      if (passesOn(relay, record, this.#table.of(name))) this.#send(name, message);
  }

  /** Sends the own record, as it may have been lost. */
  repeat(self: string): void {
    this.#isUnsent = false;
    const record = this.#table.of(self);
    if (record === undefined) return;
    const message: Message = { kind: 'records', records: [record] };
    for (const { name } of this.#links.up()) this.#send(name, message);
  }

  /** Sends a peer with these versions the records that are newer here, unless they arrived within the last heartbeat and are on their way to the peer too. */
  repair(link: Link, versions: readonly Version[], self: string, now: Instant): void {
    const component = link.isUp ? this.#table.graph.component(self) : NOBODY;
    const records = this.#table.lackedBy(versions, component, later(now, -this.#heartbeatMs));
    if (records.length > 0) this.#send(link.name, { kind: 'records', records });
  }

  /**
   * The versions for the heartbeats to these peers: a few of those whose records differ, drawn anew each time, as one answer is enough. A few are neighbours, which send
   * everything, and a few are not: these may know of a greater incarnation of this server.
   */
  versionsFor(links: Iterable<Link>, self: string): ReadonlyMap<string, readonly Version[]> {
    const { digest, versions } = this.#table.summary(self);
    const neighbours = this.#table.graph.neighbours(self);
    const differing = [...links].filter((link) => link.digest !== digest);
    const asked = new Map<string, readonly Version[]>();
    for (const isNeighbour of [true, false]) {
      const some = differing.filter(({ name }) => neighbours.has(name) === isNeighbour);
      for (const { name } of this.#drawn(some)) asked.set(name, versions);
    }
    return asked;
  }

  #drawn(links: readonly Link[]): readonly Link[] {
    if (links.length <= ASKED_MAX) return links;
    const first = Math.floor(this.#random() * links.length);
    return Array.from({ length: ASKED_MAX }, (_, step) => links[(first + step) % links.length] as Link);
  }
}
