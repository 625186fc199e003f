/**
 * Records on their way: the own record is published whenever there is something new to say, records of others are passed on, and those that a peer lacks
 * are sent again. `record-table.ts` argues why that suffices.
 */

import type { Instant } from '../../runtime/time.ts';
import { areSameMembers, isSameIncarnation } from './incarnation.ts';
import type { Links } from './links.ts';
import type { Message, ServerRecord, Version } from './messages.ts';
import type { RecordTable } from './record-table.ts';

type Send = (to: string, message: Message) => void;

export class RecordFlood {
  readonly #table: RecordTable;
  readonly #links: Links;
  readonly #send: Send;
  #sequence = 0;

  constructor(table: RecordTable, links: Links, send: Send) {
    this.#table = table;
    this.#links = links;
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
    const record = { ...said, sequence: this.#sequence };
    this.#table.put(record, now);
    this.passOn(record, undefined);
  }

  /** @param source the peer that sent the record; undefined for the own one */
  passOn(record: ServerRecord, source: string | undefined): void {
    const message: Message = { kind: 'records', records: [record] };
    for (const name of this.#links.receiversOf(record, source)) this.#send(name, message);
  }

  /** Says the own record again, in case of a loss. */
  repeat(self: string): void {
    const record = this.#table.of(self);
    if (record !== undefined) this.passOn(record, undefined);
  }

  /** Sends a peer with these versions the records that are newer here. */
  repair(peer: string, versions: readonly Version[], self: string): void {
    const records = this.#table.lackedBy(versions, this.#table.graph.component(self));
    if (records.length > 0) this.#send(peer, { kind: 'records', records });
  }
}
