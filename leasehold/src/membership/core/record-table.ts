/**
 * The newest known record of every server.
 *
 * Records travel from the publisher to all linked peers, and from there over relays (`relays.ts`). Any of these messages may be lost, and a relay may be badly chosen, so
 * heartbeats list the versions of the sender's component, and a receiver that has newer records sends them:
 *
 *  (a) records of its own component that the peer does not list, if the two are linked;
 *  (b) any record that the peer lists in an older version. This covers records outside the component too: a server that
 *      restarted with a clock that went back is known to the others by a greater incarnation, is in nobody's
 *      component for that reason, and must be told.
 *
 * Most of the time two servers have the same records, so a heartbeat carries a digest of the versions. Equal digests mean one component with equal versions in both tables, and
 * then neither (a) nor (b) has anything to send. Of the peers whose digests differ, a few are asked with each heartbeat: these get the versions (`record-flood.ts`). The few are drawn anew
 * each time, so every peer that has the missing records is asked at some time, and records that do not change any more reach everybody. Records that arrived within the last heartbeat are on
 * their way to the peer, and are left to the next one.
 *
 * A record outside the component is forgotten after a while, or names that come and go would add up. The greatest number
 * ever seen is never forgotten, because view ids must grow.
 */

import { digest } from '../../runtime/digest.ts';
import { type Instant, instant, later, latest } from '../../runtime/time.ts';
import { type Attachment, compareAttachments } from './attachment.ts';
import { Graph } from './graph.ts';
import {
  areSameMembers,
  compareIncarnations,
  type Incarnation,
  keyOf,
  type MemberId,
} from './incarnation.ts';
import type { ServerRecord, Version } from './messages.ts';

interface Kept {
  readonly record: ServerRecord;
  /** When the proposal in the record first arrived, however often links have changed since. */
  readonly proposedAt: Instant;
  readonly arrivedAt: Instant;
}

interface Summary {
  readonly changes: number;
  readonly versions: readonly Version[];
  readonly digest: string;
}

const DIGEST_LENGTH = 16;

export class RecordTable {
  readonly #kept = new Map<string, Kept>();
  /** The graph that the records describe. A record with another proposal and the same links leaves the graph as it is. */
  readonly graph: Graph = new Graph(this.#kept);
  readonly #outsideSince = new Map<string, Instant>();
  #greatestNumber = 0;
  #changes = 0;
  #edgesChangedAt: Instant = instant(Number.NEGATIVE_INFINITY);
  #summary: Summary | undefined;

  /** How often anything in the table has changed: whatever follows from the records alone is the same while this is. */
  get changes(): number {
    return this.#changes;
  }

  get records(): ReadonlyMap<string, { readonly record: ServerRecord; readonly proposedAt: Instant }> {
    return this.#kept;
  }

  /** When a record last arrived that changed the graph. */
  get edgesChangedAt(): Instant {
    return this.#edgesChangedAt;
  }

  get greatestNumber(): number {
    return this.#greatestNumber;
  }

  of(name: string): ServerRecord | undefined {
    return this.#kept.get(name)?.record;
  }

  /** The record of this process, and not of another one under the same name. */
  ofProcess({ name, incarnation }: MemberId): ServerRecord | undefined {
    const record = this.of(name);
    return record !== undefined && compareIncarnations(record.incarnation, incarnation) === 0
      ? record
      : undefined;
  }

  proposedAt(name: string): Instant | undefined {
    return this.#kept.get(name)?.proposedAt;
  }

  /** The highest attachment of a client in the lists of the other servers, and how many clients these list. */
  listedElsewhere(client: string, self: string): { highest: Attachment | undefined; count: number } {
    let highest: Attachment | undefined;
    let count = 0;
    for (const { record } of this.#kept.values()) {
      if (record.name === self) continue;
      count += record.list.clients.length;
      const listed = record.list.clients.find(({ name }) => name === client);
      if (listed !== undefined && (highest === undefined || compareAttachments(listed, highest) > 0))
        highest = listed;
    }
    return { highest, count };
  }

  /** When the holds of all these servers are over: each counts from the arrival of its proposal. */
  holdsOverAt(members: readonly MemberId[], now: Instant): Instant {
    let overAt = now;
    for (const { name } of members) {
      const kept = this.#kept.get(name);
      if (kept !== undefined) overAt = latest(overAt, later(kept.proposedAt, kept.record.proposal.holdMs));
    }
    return overAt;
  }

  /** A process that holds no record here has had a view with this number. */
  raiseNumber(number: number): void {
    this.#greatestNumber = Math.max(this.#greatestNumber, number);
  }

  isNews(record: ServerRecord): boolean {
    const known = this.of(record.name);
    return known === undefined || isNewer(record, known);
  }

  put(record: ServerRecord, now: Instant): void {
    const known = this.#kept.get(record.name);
    const isSameProposal =
      known !== undefined &&
      known.record.proposal.number === record.proposal.number &&
      compareIncarnations(known.record.incarnation, record.incarnation) === 0;
    const proposedAt = isSameProposal ? known.proposedAt : now;
    this.#kept.set(record.name, { record, proposedAt, arrivedAt: now });
    this.#changes += 1;
    if (known === undefined || !hasSameEdges(known.record, record)) {
      this.graph.update(record.name);
      this.#edgesChangedAt = now;
    }
    this.raiseNumber(record.proposal.number);
  }

  /** The versions of the records of this server's component, for a heartbeat, and their digest. Worked out once for each change. */
  summary(self: string): Summary {
    if (this.#summary?.changes === this.#changes) return this.#summary;
    const versions: Version[] = [];
    let text = '';
    for (const name of [...this.graph.component(self)].sort()) {
      const record = this.of(name);
      if (record === undefined) continue;
      const { incarnation, sequence } = record;
      versions.push({ name, incarnation, sequence });
      text += `${keyOf(record)}@${sequence} `;
    }
    this.#summary = { changes: this.#changes, versions, digest: digest(text).slice(0, DIGEST_LENGTH) };
    return this.#summary;
  }

  /**
   * What a peer lacks that lists these versions.
   *
   * @param component of the own server, if the peer is linked to it
   * @param before later records are on their way to the peer
   */
  lackedBy(versions: readonly Version[], component: ReadonlySet<string>, before: Instant): ServerRecord[] {
    const theirs = new Map(versions.map((version) => [version.name, version]));
    const lacked: ServerRecord[] = [];
    for (const { record, arrivedAt } of this.#kept.values()) {
      if (arrivedAt > before) continue;
      const known = theirs.get(record.name);
      const isLacked = known === undefined ? component.has(record.name) : isNewer(record, known);
      if (isLacked) lacked.push(record);
    }
    return lacked;
  }

  /** Forgets the servers that have been outside the component for too long, and returns their names. */
  forget(component: ReadonlySet<string>, now: Instant, forgetMs: number): string[] {
    const forgotten: string[] = [];
    for (const name of this.#kept.keys()) {
      if (component.has(name)) {
        this.#outsideSince.delete(name);
        continue;
      }
      const since = this.#outsideSince.get(name);
      if (since === undefined) this.#outsideSince.set(name, now);
      else if (now - since >= forgetMs) forgotten.push(name);
    }
    for (const name of forgotten) {
      this.#kept.delete(name);
      this.#outsideSince.delete(name);
      this.graph.update(name);
    }
    if (forgotten.length > 0) this.#changes += 1;
    return forgotten;
  }
}

interface Numbered {
  readonly incarnation: Incarnation;
  readonly sequence: number;
}

/** Whether two records of one server mean the same for the graph. */
const hasSameEdges = (one: ServerRecord, other: ServerRecord): boolean =>
  one.hasLeft === other.hasLeft &&
  compareIncarnations(one.incarnation, other.incarnation) === 0 &&
  areSameMembers(one.links, other.links) &&
  areSameMembers(one.cannotReach, other.cannotReach);

const isNewer = (one: Numbered, other: Numbered): boolean =>
  (compareIncarnations(one.incarnation, other.incarnation) || one.sequence - other.sequence) > 0;
