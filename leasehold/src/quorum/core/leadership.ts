/**
 * Leading: proposing what clients want, and feeding the others from the log.
 *
 * Requests queue while the own disk is busy and become slots together when it is free: the batch grows with the load, and
 * there is no timer to tune. A slot holds only requests whose keys have the same holders, so that a slow holder delays its
 * own keys and no others.
 *
 * Every peer has a cursor into the log. Entries are sent once, ahead of their acknowledgements; a peer that reports a gap, or
 * says nothing new from one heartbeat to the next, is fed from its last acknowledgement again. Nothing is queued for a
 * slow peer: the log is the queue. A peer that needs slots from before the snapshot gets the snapshot.
 *
 * A leader that has not heard from a majority for an election time, or whose disk has not answered for as long, stops leading:
 * its clients are better served by another.
 */

import { type Instant, instant, later } from '../../runtime/time.ts';
import type { Ballot } from './ballot.ts';
import { type Electorate, holdersOf, isQuorum, type Mask, memberOf, UNCHANGED } from './configuration.ts';
import type { Context } from './context.ts';
import { fitting } from './fitting.ts';
import type { Gap, Installing } from './messages.ts';
import { batch, bytesOf, NO_SESSION, type Operation, type Request } from './operation.ts';
import { installOf, Outgoing } from './transfer.ts';

interface Cursor {
  /** The next slot to send. */
  next: number;
  /** What it had acknowledged at the last heartbeat. */
  ackedAtHeartbeat: number;
  heardAt: Instant;
  /** The snapshot that is on the way. */
  transfer: Outgoing | undefined;
  /** The part under way is not sent again before then. */
  installAt: Instant;
  /** Whether it has no seat; then until when it is fed without asking again. */
  learnerUntil: Instant | undefined;
}

interface Transfer {
  readonly to: string;
  readonly until: Instant;
  isTold: boolean;
}

const NEVER = instant(Number.NEGATIVE_INFINITY);

export class Leadership {
  readonly ballot: Ballot;
  readonly #context: Context;
  readonly #cursors = new Map<string, Cursor>();
  readonly #sessionsHeard = new Map<number, Instant>();
  /** By {@link keyOf}: a copy of a request takes the place of the copy that still waits. */
  #queue = new Map<string, Request>();
  #hasBegun = false;
  #heartbeatAt: Instant;
  #diskFreeAt: Instant;
  #transfer: Transfer | undefined;

  constructor(context: Context, ballot: Ballot, now: Instant) {
    this.#context = context;
    this.ballot = ballot;
    this.#heartbeatAt = now;
    this.#diskFreeAt = now;
    for (const peer of context.peers) this.#cursor(peer, now);
  }

  get wakeAt(): Instant {
    return this.#heartbeatAt;
  }

  /** Whether everybody should know that no proposals are taken at present. */
  get isTransferring(): boolean {
    return this.#transfer !== undefined;
  }

  /**
   * Queues requests; false if there are too many. Replicas and clients send a request again while it is not answered. If each copy became a part of a slot, a leader whose
   * disk is slow would decide copies, and callers would send more of them meanwhile. The latest copy counts: the replica that sent it has the caller.
   */
  take(requests: readonly Request[], now: Instant): boolean {
    const keys = requests.map(keyOf);
    const more = keys.reduce((count, key) => count + (this.#queue.has(key) ? 0 : 1), 0);
    if (this.#queue.size + more > this.#context.limits.requestsWaiting) return false;
    for (const [at, request] of requests.entries()) {
      this.#queue.set(keys[at] as string, request);
      if (request.session !== 0) this.#sessionsHeard.set(request.session, now);
    }
    return true;
  }

  /** Whether the configuration with which the term begins is in the log. */
  get hasBegun(): boolean {
    return this.#hasBegun;
  }

  /**
   * The term begins with a configuration that names its leader. Nothing follows slot 1 before that is chosen (M5): until then all initial
   * members must still be there, and a log with slot 2 proves that they no longer must.
   */
  begin(): void {
    const { log, self } = this.#context;
    if (this.#hasBegun || (log.last >= 1 && log.chosen < 1)) return;
    this.#hasBegun = true;
    const newest = log.newestConfiguration;
    const leader = memberOf(newest, self)?.seat;
    // At the beginning the members may have been told different ones: the first leader's counts.
    const placement = log.newestConfigurationSlot === 0 ? newest.placement : UNCHANGED;
    this.append({
      kind: 'configuration',
      configuration: { ...newest, leader, quorum: 'majority', placement },
    });
  }

  /** Makes slots of what has queued, if the disk and the window allow it. */
  propose(now: Instant): void {
    const { journal, log, limits } = this.#context;
    this.begin();
    if (!journal.isBusy) this.#diskFreeAt = now;
    const mustWait = journal.isBusy || log.chosen < 1 || this.#transfer !== undefined;
    if (mustWait || this.#queue.size === 0) return;
    const queue = this.#queue;
    this.#queue = new Map();
    const groups = new Map<Mask, { readonly requests: Request[]; bytes: number }>();
    for (const [key, request] of queue) {
      const needed = this.#holders(request);
      const group = groups.get(needed);
      const bytes = bytesOf(request.command);
      const isOpen =
        group !== undefined &&
        group.requests.length < limits.requestsPerSlot &&
        group.bytes + bytes <= limits.bytesPerSlot;
      if (isOpen) {
        group.requests.push(request);
        group.bytes += bytes;
      } else if (log.last + groups.size - log.chosen >= limits.slotsInFlight || group !== undefined)
        this.#queue.set(key, request);
      else groups.set(needed, { requests: [request], bytes });
    }
    for (const { requests } of groups.values()) this.append(batch(requests));
  }

  append(operation: Operation): void {
    this.#context.acceptor.propose(this.ballot, operation);
  }

  /** Heartbeats, sessions that have run out, the end of a transfer. */
  wake(now: Instant): void {
    if (now < this.#heartbeatAt) return;
    this.#heartbeatAt = later(now, this.#context.durations.heartbeatEveryMs);
    this.#expireSessions(now);
    if (this.#transfer !== undefined && this.#transfer.until <= now) this.#transfer = undefined;
    for (const [peer, cursor] of this.#cursors) {
      const acked = this.#acked(peer);
      if (acked === cursor.ackedAtHeartbeat && acked >= 0) cursor.next = Math.min(cursor.next, acked + 1);
      cursor.ackedAtHeartbeat = acked;
      this.#send(peer, cursor, now);
    }
  }

  /** Sends every peer what it has not been sent. */
  feed(now: Instant): void {
    const { log } = this.#context;
    const { peers } = this.#context;
    for (const peer of peers) this.#cursor(peer, now);
    for (const [peer, cursor] of this.#cursors) {
      const isGone = !peers.has(peer) && (cursor.learnerUntil ?? NEVER) <= now;
      if (isGone) {
        endTransfer(cursor);
        this.#cursors.delete(peer);
      } else if (cursor.next <= log.last && cursor.next > log.base) this.#send(peer, cursor, now);
    }
    this.#keepSlots(now);
    this.#continueTransfer();
  }

  /** Slots behind a snapshot that is on the way are kept, as long as the receiver is heard. */
  #keepSlots(now: Instant): void {
    const since = later(now, -5 * this.#context.durations.electionMs);
    let keepAfter = Number.POSITIVE_INFINITY;
    for (const cursor of this.#cursors.values()) {
      if (cursor.heardAt < since) endTransfer(cursor);
      keepAfter = Math.min(keepAfter, cursor.transfer?.slot ?? keepAfter);
    }
    this.#context.keepAfter = keepAfter;
  }

  heard(peer: string, now: Instant): void {
    const cursor = this.#cursors.get(peer);
    if (cursor === undefined) return;
    cursor.heardAt = now;
    cursor.next = Math.max(cursor.next, this.#acked(peer) + 1);
  }

  /** A peer needs slots, or values of a snapshot. */
  lacks(peer: string, message: Gap | Installing, now: Instant): void {
    if (message.kind === 'gap') this.#gap(peer, message.from, now);
    else this.#installing(peer, message, now);
  }

  #gap(peer: string, from: number, now: Instant): void {
    const cursor = this.#cursors.get(peer);
    if (cursor === undefined) return;
    cursor.heardAt = now;
    if (from === cursor.next) return;
    cursor.next = from;
    this.#send(peer, cursor, now);
  }

  /** A part of a snapshot has arrived: the next one follows. */
  #installing(peer: string, { slot, next }: Installing, now: Instant): void {
    const cursor = this.#cursors.get(peer);
    if (cursor?.transfer?.slot !== slot) return;
    cursor.heardAt = now;
    if (next === 0 && cursor.transfer.part.first > 0)
      endTransfer(cursor); // The peer has lost what had arrived.
    else if (!cursor.transfer.advance(next)) return; // The part under way is sent again after a while.
    cursor.installAt = now;
    this.#send(peer, cursor, now);
  }

  /** This replica leads no longer. */
  end(): void {
    for (const cursor of this.#cursors.values()) endTransfer(cursor);
  }

  /** A replica without a seat wants to be fed. */
  join(learner: string, now: Instant): void {
    const { electionMs } = this.#context.durations;
    this.#cursor(learner, now).learnerUntil = later(now, 5 * electionMs);
  }

  /** Whether enough peers and the disk have answered within an election time. */
  isAlive(now: Instant): boolean {
    const since = later(now, -this.#context.durations.electionMs);
    return (
      this.#diskFreeAt >= since &&
      this.#context.log.countingConfigurations.every((each) => this.#hears(each, since))
    );
  }

  /**
   * Whether a configuration could be decided at once by those that are heard, and all of its new members follow. A newcomer that still needs a snapshot could not vote,
   * and the cell would tolerate one loss less than it should.
   */
  canDecide(configuration: Electorate, now: Instant): boolean {
    const { log, limits, durations, self } = this.#context;
    const since = later(now, -durations.electionMs);
    const isNear = ({ storage }: { storage: string }): boolean =>
      storage === self ||
      (this.#acked(storage) >= Math.max(log.base, log.last - limits.slotsBehind) &&
        this.#heardAt(storage) >= since); // A directory that is gone acknowledged once, too.
    const known = new Set(log.newestConfiguration.members.map(({ storage }) => storage));
    const newcomers = configuration.members.filter(({ storage }) => !known.has(storage));
    return newcomers.every(isNear) && this.#hears(configuration, since);
  }

  /**
   * Whether a majority of the newest members will know, even after a restart, that a slot is committed. If only the leader knew
   * that a change of members is committed and were lost, the others would go on needing a majority of the old members.
   */
  isSettled(slot: number): boolean {
    const { log, acknowledged, journal, self } = this.#context;
    const settledAt = (storage: string): number =>
      storage === self ? journal.durableCommitted : (acknowledged.of(storage)?.settled ?? -1);
    return isQuorum(log.newestConfiguration, (storage) => settledAt(storage) >= slot);
  }

  /** Stops proposing until the member has everything; then that member is told to lead. */
  transfer(to: string, now: Instant): void {
    this.#transfer = { to, until: later(now, this.#context.durations.electionMs), isTold: false };
  }

  /** This replica can lead no longer: the member that has most of the log is told to, of those that are heard and have room. */
  handOver(now: Instant): void {
    const { log, self, room, durations } = this.#context;
    const since = later(now, -durations.electionMs);
    const [best] = log.newestConfiguration.members
      .map(({ storage }) => storage)
      .filter((each) => each !== self && !room.isFullAt(each, now) && this.#heardAt(each) >= since)
      .sort((a, b) => this.#acked(b) - this.#acked(a));
    if (best !== undefined) this.transfer(best, now);
  }

  #continueTransfer(): void {
    const transfer = this.#transfer;
    if (transfer === undefined || transfer.isTold) return;
    if (this.#acked(transfer.to) < this.#context.log.last) return;
    transfer.isTold = true;
    this.#context.send(transfer.to, { kind: 'lead-now', ballot: this.ballot });
  }

  #hears(configuration: Electorate, since: Instant): boolean {
    const { self } = this.#context;
    return isQuorum(configuration, (storage) => storage === self || this.#heardAt(storage) >= since);
  }

  #heardAt(peer: string): Instant {
    return this.#cursors.get(peer)?.heardAt ?? NEVER;
  }

  #acked(peer: string): number {
    return this.#context.acknowledged.of(peer)?.upTo ?? -1;
  }

  #cursor(peer: string, now: Instant): Cursor {
    const known = this.#cursors.get(peer);
    if (known !== undefined) return known;
    // It probably has what is chosen; if not, it reports a gap.
    const next = this.#context.log.chosen + 1;
    const cursor = {
      next,
      ackedAtHeartbeat: -1,
      heardAt: now,
      installAt: now,
      transfer: undefined,
      learnerUntil: undefined,
    };
    this.#cursors.set(peer, cursor);
    return cursor;
  }

  #send(peer: string, cursor: Cursor, now: Instant): void {
    const { log, acceptor, limits, durations } = this.#context;
    const { merged } = acceptor;
    const { ballot } = this;
    const { chosen, committed } = log;
    if (cursor.next > log.base) {
      const first = cursor.next;
      const furthest = Math.min(log.last, first + limits.entriesPerMessage - 1);
      const operations = fitting(
        log.slice(first, furthest).map(({ operation }) => operation),
        limits.bytesPerMessage,
      );
      const last = first + operations.length - 1;
      this.#context.send(peer, { kind: 'accept', ballot, merged, first, operations, chosen, committed });
      cursor.next = last + 1;
      endTransfer(cursor);
    } else if (cursor.installAt <= now) {
      if (cursor.transfer !== undefined && cursor.transfer.slot < log.base) endTransfer(cursor);
      cursor.transfer ??= new Outgoing(this.#context);
      this.#context.send(peer, installOf(ballot, merged, cursor.transfer.part));
      cursor.installAt = later(now, durations.electionMs / 2);
    } else {
      const first = log.last + 1;
      this.#context.send(peer, { kind: 'accept', ballot, merged, first, operations: [], chosen, committed });
    }
  }

  #holders({ command }: Request): Mask {
    let holders = 0;
    if (command.kind !== 'transaction') return holders;
    for (const configuration of this.#context.log.countingConfigurations) {
      for (const action of command.actions)
        if (action.do !== 'get') holders |= holdersOf(configuration, action.key);
    }
    return holders;
  }

  #expireSessions(now: Instant): void {
    const { machine, durations, self, life } = this.#context;
    for (const session of machine.sessions.open) {
      const heardAt = this.#sessionsHeard.get(session);
      if (heardAt === undefined) this.#sessionsHeard.set(session, now);
      else if (later(heardAt, durations.sessionMs) <= now) {
        this.#sessionsHeard.set(session, now);
        const command = { kind: 'expire-session', session } as const;
        const request = { session: 0, number: 0, answeredBelow: 0, command, origin: self, life, id: 0 };
        this.#queue.set(`expire ${session}`, request);
      }
    }
  }
}

/** Equal for copies of one request alone. What has no session is a request of one replica, which numbers these. */
const keyOf = ({ session, number, origin, life, id }: Request): string =>
  session === NO_SESSION ? `${origin} ${life} ${id}` : `${session} ${number}`;

function endTransfer(cursor: Cursor): void {
  cursor.transfer?.release();
  cursor.transfer = undefined;
}
