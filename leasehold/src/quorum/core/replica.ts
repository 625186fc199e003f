/**
 * One replica: the parts put together. The arguments are in the parts; this file says who is asked what, and in which order.
 *
 *     messages, requests, time ──► Replica ──► persist, send, answer
 *
 *       Acceptor      what is promised and accepted        Leadership   proposals, feeding
 *       Candidacy     becoming the leader                  judge()      chosen, committed
 *       LeaseMachine  promises given and held              Reads        answers without the log
 *
 * Every input ends in {@link Replica.#settle}: what is durable is acknowledged, what is acknowledged is judged, what is committed is
 * answered, what waits is tried again. So no input has to think of what may have become possible through it.
 *
 * States of the role:
 *
 *     follower ──election time──► pre-candidate ──majority──► candidate ──majority──► leader
 *        ▲                             │                          │                     │
 *        └──── a higher ballot, a leader's message, no majority ──┴─────────────────────┘
 *
 * This file does no I/O and reads no clock: inputs take `now`, which must be read *after* the message or request left the
 * socket, because a promise that is judged by an earlier reading ends too early.
 */

import { present, unreachable } from '../../runtime/assert.ts';
import type { Core } from '../../runtime/driver.ts';
import { type Instant, later, soonest } from '../../runtime/time.ts';
import type { Acceptor } from './acceptor.ts';
import { Application } from './application.ts';
import { type Ballot, ballotAfter } from './ballot.ts';
import { Changes } from './changes.ts';
import { Judge } from './commit.ts';
import { isQuorumOfEach, isSeated, memberOf } from './configuration.ts';
import { Context, type Effect, type ReplicaOptions, type ReplicaView } from './context.ts';
import { Candidacy, type Merged } from './election.ts';
import { type Claimed, KeyClaim } from './key-claim.ts';
import { Leadership } from './leadership.ts';
import { LeaseExchange } from './lease-exchange.ts';
import type { Change } from './membership.ts';
import type { Accepted, Message, PreVote, Refused } from './messages.ts';
import { isReadOnly, NO_SESSION } from './operation.ts';
import { Placing, type PlacingStatus } from './placing.ts';
import { type Peeked, type ReadMode, Reads } from './reads.ts';
import { type ReplicaCall, Requests, type Submission } from './requests.ts';
import { type Standing, Standings } from './standing.ts';
import { Serving } from './serving.ts';
import { Saving } from './transfer.ts';

type Role =
  | { readonly name: 'follower'; readonly leader: string | undefined }
  | { readonly name: 'pre-candidate'; readonly ballot: Ballot; readonly votes: Set<string> }
  | { readonly name: 'candidate'; readonly candidacy: Candidacy }
  | { readonly name: 'leader'; readonly leadership: Leadership };

export type { ReplicaCall, Submission };

/** So long after the last frame the marks follow it to the disk (D1). */
const MARKS_AFTER_MS = 50;

export class Replica implements Core<Effect> {
  readonly #context: Context;
  readonly #acceptor: Acceptor;
  readonly #standings: Standings;
  readonly #saving: Saving;
  readonly #serving: Serving;
  readonly #reads: Reads;
  readonly #requests: Requests;
  readonly #exchange: LeaseExchange;
  readonly #application: Application;
  readonly #claim: KeyClaim;
  readonly #changes: Changes;
  readonly #placing: Placing;
  readonly #judge: Judge = new Judge();
  #role: Role = { name: 'follower', leader: undefined };
  #heardLeaderAt: Instant;
  #electAt: Instant;
  #marksAt: Instant | undefined;
  /** The highest ballot that anybody has mentioned. */
  #highestBallot: Ballot = 0;
  /** The instant of the last input. */
  #now: Instant;

  constructor(options: ReplicaOptions, now: Instant) {
    const context = new Context(options, now);
    this.#context = context;
    this.#standings = new Standings(context, options.vouched);
    this.#saving = new Saving(context);
    this.#serving = new Serving(context);
    this.#acceptor = context.acceptor;
    this.#changes = new Changes(context);
    this.#placing = new Placing(context, this.#changes);
    this.#requests = new Requests(context);
    const self = this;
    this.#reads = new Reads(context, this.#placing, {
      get leader() {
        return self.#leader === context.self ? undefined : self.#leader;
      },
      log: (keys, deliver) => this.#requests.readThroughLog(keys, this.#now, deliver),
    });
    this.#claim = new KeyClaim(context, this.#reads);
    this.#heardLeaderAt = now;
    this.#electAt = this.#drawElection(now);
    this.#now = now;
    this.#exchange = new LeaseExchange(context, now);
    const { log } = context;
    const { entries, chosen, committed, isRepaired } = options.recovered;
    for (const entry of entries) log.set(log.last + 1, present(entry, `slot ${log.last + 1} of the disk`));
    log.choose(Math.min(Math.max(chosen, log.last >= 2 ? 1 : 0), log.last)); // Slot 2 proves that slot 1 is chosen (M5).
    for (let slot = log.base + 1; slot <= Math.min(committed, log.chosen); slot += 1) log.commit(slot);
    context.acceptor.learnt();
    if (isRepaired) context.journal.rebase(log.base);
    this.#application = new Application(context, this.#saving, (slot, operation, results) => {
      context.show(slot, operation, results); // First: a caller in this process that hears the answer has seen the change.
      this.#requests.committed(slot, operation, results);
    });
  }

  get wakeAt(): Instant | undefined {
    const { log, leases } = this.#context;
    const role = this.#role;
    let at = soonest(this.#exchange.wakeAt, role.name === 'leader' ? role.leadership.wakeAt : this.#electAt);
    at = soonest(at, soonest(this.#reads.wakeAt, this.#requests.wakeAt));
    const isWaiting = log.committed < log.last;
    if (isWaiting) at = soonest(at, leases.nextExpiry(this.#now));
    return soonest(soonest(at, this.#marksAt), this.#placing.wakeAt);
  }

  // ── for status and checks ──

  /** The storage id of the leader, as far as this replica knows. */
  get leader(): string | undefined {
    return this.#leader;
  }

  get role(): Role['name'] {
    return this.#role.name;
  }

  /** What is known to be committed here, slot by slot; for checks and for status. */
  get view(): ReplicaView {
    return this.#context;
  }

  /** Whether a read of these keys would be answered here at once. */
  isLeased(keys: readonly string[], now: Instant): boolean {
    return this.#reads.isLeased(keys, now);
  }

  /** The answer to a read of one key under the lease, if there is one at once. */
  peek(key: string, now: Instant): Peeked | undefined {
    return this.#reads.peek(key, now);
  }

  /** How automatic placement gets on, if this replica leads and the placement is automatic. */
  get placing(): PlacingStatus | undefined {
    return this.#placing.status;
  }

  /** How many callers wait for something. */
  get waiting(): number {
    return this.#reads.count + this.#requests.count;
  }

  // ── inputs ──

  /** A command of a client, to go through the log; `id` is unlike that of any other call in this life. */
  submit(id: number, submission: Submission, now: Instant): Effect[] {
    this.#submit(id, submission, now);
    return this.#settle(now);
  }

  #read(id: number, keys: readonly string[], mode: ReadMode, now: Instant): void {
    if (this.waiting >= this.#context.limits.requestsWaiting) {
      this.#context.answer(id, { kind: 'refused', why: 'busy' });
    } else this.#reads.read({ at: 'here', id }, keys, mode, now);
  }

  #submit(id: number, submission: Submission, now: Instant): void {
    const { command, session, number, answeredBelow } = submission;
    const needsSession = command.kind === 'transaction' && !isReadOnly(command);
    if (needsSession && session === NO_SESSION) {
      this.#context.answer(id, { kind: 'refused', why: 'session-required' });
    } else if (this.#requests.count >= this.#context.limits.requestsWaiting) {
      this.#context.answer(id, { kind: 'refused', why: 'busy' });
    } else if (this.#context.log.newestConfiguration.members.length === 0) {
      this.#context.answer(id, { kind: 'refused', why: 'not-ready' }); // A newcomer that no leader has fed yet knows no members, and no disks.
    } else if (!this.#context.room.isEnough(this.#context.log.countingConfigurations, now)) {
      this.#context.answer(id, { kind: 'refused', why: 'disk-full' });
    } else {
      this.#placing.wrote(command);
      this.#requests.add({ session, number, answeredBelow, command }, id, now);
    }
  }

  read(id: number, keys: readonly string[], mode: ReadMode, now: Instant): Effect[] {
    this.#read(id, keys, mode, now);
    return this.#settle(now);
  }

  /** Several calls that arrived together: they are settled together. */
  takeAll(calls: readonly ReplicaCall[], now: Instant): Effect[] {
    for (const call of calls) {
      if (call.kind === 'read') this.#read(call.id, call.keys, call.mode, now);
      else this.#submit(call.id, call, now);
    }
    return this.#settle(now);
  }

  /** Changes the members or the holders; only the leader can. It is answered when the change is committed. */
  reconfigure(id: number, change: Change, now: Instant): Effect[] {
    this.#changes.begin(id, change, this.#leadership, now);
    return this.#settle(now);
  }

  /** Says from now on until when a key keeps a revision, whose write was answered here; undefined: no longer. */
  claim(claimed: Claimed | undefined, now: Instant): Effect[] {
    this.#claim.begin(claimed);
    return this.#settle(now);
  }

  /** Hands the leadership to another member, if this replica leads: to the one that has most of the log, if none is named. */
  stepDown(to: string | undefined, now: Instant): Effect[] {
    const { log } = this.#context;
    if (to === undefined) this.#leadership?.handOver(now);
    else if (isSeated(log.newestConfiguration, to)) this.#leadership?.transfer(to, now);
    return this.#settle(now);
  }

  /** The frame of the last `persist` is durable. */
  synced(now: Instant): Effect[] {
    const { journal, room } = this.#context;
    const flight = journal.synced();
    if (flight === undefined) return [];
    this.#acceptor.durable(flight);
    if (room.isFull) {
      room.isFull = false;
      this.#exchange.roomChanged(now);
    }
    for (const { to, message, holds } of flight.deferred) {
      if (!holds()) continue;
      const said = message.kind === 'prepared' ? { ...message, votes: flight.votes } : message;
      if (to === this.#context.self) this.#receive(to, said, now);
      else this.#context.send(to, said);
    }
    return this.#settle(now);
  }

  /** There is no room for the frame of the last `persist`, which is being tried again: see `room.ts`. */
  diskFull(now: Instant): Effect[] {
    if (this.#context.room.isFull) return [];
    this.#context.room.isFull = true;
    this.#claim.end('dropped');
    this.#exchange.roomChanged(now);
    this.#leadership?.handOver(now);
    return this.#settle(now);
  }

  /** The part of the last `save` is on the disk; after the last part, the whole snapshot is durable. */
  saved(now: Instant): Effect[] {
    this.#saving.saved(this.#application);
    return this.#settle(now);
  }

  /** There was no room for a part of a snapshot; what was written of the snapshot is gone. */
  saveFailed(now: Instant): Effect[] {
    this.#saving.failed();
    return this.#settle(now);
  }

  receive(from: string, message: Message, now: Instant): Effect[] {
    this.#receive(from, message, now);
    return this.#settle(now);
  }

  wake(now: Instant): Effect[] {
    const role = this.#role;
    this.#serving.tidy(now);
    this.#exchange.wake(now);
    if (role.name === 'leader') {
      role.leadership.wake(now);
      if (!role.leadership.isAlive(now)) this.#follow(undefined, now);
    } else if (this.#electAt <= now) this.#stand(now, 'pre-vote');
    this.#placing.wake(this.#leader, this.#leadership, now);
    return this.#settle(now);
  }

  /** The machine was suspended: nothing that was counted on its clock is trusted. */
  suspended(now: Instant): Effect[] {
    this.#exchange.suspended(now);
    return this.#settle(now);
  }

  /** Stops reading, and tells the others so that their writes need not wait. The process is about to end. */
  release(now: Instant): Effect[] {
    this.#claim.end('dropped');
    this.#exchange.release(now);
    return this.#settle(now);
  }

  // ── messages ──

  #receive(from: string, message: Message, now: Instant): void {
    const context = this.#context;
    const role = this.#role;
    const highest = Math.max(context.acceptor.promised, this.#highestBallot);
    const standing = this.#standings.of(from, message, highest);
    if (standing === 'ignored') {
      this.#standings.ignored(message, this.#saving, now);
      return;
    }
    const isUsed = 'ballot' in message && message.kind !== 'pre-vote' && message.kind !== 'pre-voted';
    if (isUsed && standing === 'member') this.#highestBallot = Math.max(this.#highestBallot, message.ballot);
    if ('votes' in message && message.kind !== 'checked-in' && standing === 'member')
      context.hear(from, message.votes);
    switch (message.kind) {
      case 'pre-vote':
        this.#preVote(from, message, now);
        return;
      case 'pre-voted':
        if (!message.isYes && standing === 'member')
          this.#highestBallot = Math.max(this.#highestBallot, message.ballot);
        if (role.name !== 'pre-candidate' || role.ballot !== message.ballot || !message.isYes) return;
        role.votes.add(from);
        this.#countPreVotes(now);
        return;
      case 'prepare':
        if (this.#acceptor.prepare(from, message)) this.#follow(undefined, now);
        return;
      case 'prepared': {
        if (role.name !== 'candidate' || role.candidacy.ballot !== message.ballot) return;
        const verdict = role.candidacy.report(from, message, context.self, context.log);
        if (verdict.is === 'hopeless') this.#follow(undefined, now);
        else if (verdict.is === 'elected') this.#lead(message.ballot, verdict.merged, now);
        return;
      }
      case 'refused':
        this.#refused(message, now);
        return;
      case 'accept':
        if (!this.#hear(from, message.ballot, message.merged, now)) return;
        this.#acceptor.accept(from, message);
        this.#application.takeOver(Math.min(message.chosen, context.acceptor.upTo), message.committed);
        return;
      case 'install':
        if (!this.#hear(from, message.ballot, message.merged, now)) return;
        this.#saving.receive(from, message.ballot, message);
        this.#acceptor.ask();
        return;
      case 'gap':
      case 'installing':
        if (role.name === 'leader' && role.leadership.ballot === message.ballot)
          role.leadership.lacks(from, message, now);
        return;
      case 'accepted':
        this.#acknowledgement(from, message, standing, now);
        return;
      case 'ask':
        context.room.hear(from, false, now);
        this.#exchange.grant(from, message, now);
        return;
      case 'promise':
        this.#placing.promised(from, context.leases.askedAt(message), now);
        this.#exchange.promised(from, message, now);
        return;
      case 'release':
        context.room.hear(from, message.isDiskFull, now);
        context.leases.released(from, message);
        return;
      case 'forward':
        if (role.name === 'leader') role.leadership.take(message.requests, now);
        return;
      case 'remote-read':
        this.#remoteRead(from, message.id, message.keys, now);
        return;
      case 'remote-answer':
        this.#reads.remoteAnswer(message.id, message.answer, now);
        return;
      case 'query':
        if (context.isComplete)
          context.send(from, { kind: 'queried', id: message.id, last: context.log.last });
        return;
      case 'queried':
        this.#reads.queried(from, message.id, message.last);
        return;
      case 'join':
        if (role.name === 'leader') role.leadership.join(from, now);
        return;
      case 'lead-now':
        if (message.ballot === context.acceptor.ballot) this.#stand(now, 'at-once');
        return;
      case 'fetch':
        this.#serving.fetch(from, message, now);
        return;
      case 'compare':
        this.#standings.compare(from, message);
        return;
      case 'fetched':
        if (standing === 'member') this.#standings.learn(from, message, this.#saving);
        return;
      case 'usage':
        if (standing === 'member') this.#placing.hear(from, message.usage, now);
        return;
      case 'checked-in':
        return; // Only a replica that starts asks, and that is not one yet.
      case 'check-in':
        this.#standings.checkIn(from, message);
        return;
      default:
        unreachable(message);
    }
  }

  /** Follows the sender of this ballot, unless a higher one is promised. */
  #hear(from: string, ballot: Ballot, merged: number, now: Instant): boolean {
    const isNew = ballot > this.#acceptor.ballot;
    if (!this.#acceptor.enter(from, ballot, merged)) return false;
    if (isNew) this.#context.keepAfter = Number.POSITIVE_INFINITY; // Another leader feeds now.
    this.#standings.heard(from, isNew, now);
    const role = this.#role;
    if (role.name !== 'follower' || role.leader !== from) {
      this.#follow(from, now);
      this.#requests.resend(now);
    }
    this.#heardLeaderAt = now;
    this.#electAt = this.#drawElection(now);
    return true;
  }

  #acknowledgement(from: string, message: Accepted, standing: Standing, now: Instant): void {
    const context = this.#context;
    if (message.ballot !== context.acceptor.ballot) return;
    context.acknowledged.take(from, message);
    if (standing === 'member') this.#application.takeOver(0, message.committed);
    if (this.#role.name === 'leader') this.#role.leadership.heard(from, now);
  }

  #remoteRead(peer: string, id: number, keys: readonly string[], now: Instant): void {
    if (this.#role.name === 'leader') this.#reads.read({ at: 'peer', peer, id }, keys, 'best', now);
    else this.#context.send(peer, { kind: 'remote-answer', id, answer: undefined });
  }

  // ── elections ──

  get #leadership(): Leadership | undefined {
    return this.#role.name === 'leader' ? this.#role.leadership : undefined;
  }

  get #leader(): string | undefined {
    const role = this.#role;
    if (role.name === 'leader') return this.#context.self;
    return role.name === 'follower' ? role.leader : undefined;
  }

  #drawElection(now: Instant): Instant {
    return later(now, this.#context.durations.electionMs * (1 + this.#context.random()));
  }

  #preVote(candidate: string, { ballot, last }: PreVote, now: Instant): void {
    const { log, durations, acceptor, room } = this.#context;
    const role = this.#role;
    const hearsLeader =
      role.name === 'leader' ||
      (role.name === 'follower' && later(this.#heardLeaderAt, durations.electionMs) > now);
    const isAble = !room.isFull && ballot > acceptor.promised;
    const isYes = isAble && !hearsLeader && this.#context.isSeated(candidate) && last >= log.base;
    const said = isYes ? ballot : Math.max(ballot, acceptor.promised);
    this.#context.send(candidate, { kind: 'pre-voted', ballot: said, isYes });
  }

  #stand(now: Instant, how: 'pre-vote' | 'at-once'): void {
    const context = this.#context;
    this.#electAt = this.#drawElection(now);
    const member = memberOf(context.log.newestConfiguration, context.self);
    if (member === undefined || context.room.isFull) return;
    const ballot = ballotAfter(Math.max(context.acceptor.promised, this.#highestBallot), member.seat);
    if (how === 'pre-vote') {
      this.#role = { name: 'pre-candidate', ballot, votes: new Set([context.self]) };
      context.broadcast({ kind: 'pre-vote', ballot, last: context.log.last });
      context.broadcast({ kind: 'join' }); // The configuration that seats this replica may never have been chosen.
      this.#countPreVotes(now);
    } else this.#prepare(ballot);
  }

  #countPreVotes(now: Instant): void {
    const role = this.#role;
    if (role.name !== 'pre-candidate') return;
    if (!isQuorumOfEach(this.#context.log.electingConfigurations, (storage) => role.votes.has(storage)))
      return;
    this.#electAt = this.#drawElection(now);
    this.#prepare(role.ballot);
  }

  #prepare(ballot: Ballot): void {
    const context = this.#context;
    const { chosen } = context.log;
    this.#become({ name: 'candidate', candidacy: new Candidacy(ballot, chosen) });
    this.#acceptor.prepare(context.self, { kind: 'prepare', ballot, chosen });
    context.broadcast({ kind: 'prepare', ballot, chosen });
  }

  /** Somebody has promised a higher ballot: without a higher one of ours it could never accept again. */
  #refused({ ballot, promised }: Refused, now: Instant): void {
    const role = this.#role;
    this.#highestBallot = Math.max(this.#highestBallot, promised);
    const isOurs =
      (role.name === 'leader' && role.leadership.ballot === ballot) ||
      (role.name === 'candidate' && role.candidacy.ballot === ballot);
    if (!isOurs || promised <= ballot) return;
    if (role.name === 'leader') this.#stand(now, 'at-once');
    else this.#follow(undefined, now);
  }

  #follow(leader: string | undefined, now: Instant): void {
    this.#become({ name: 'follower', leader });
    this.#electAt = this.#drawElection(now);
  }

  #become(role: Role): void {
    const old = this.#role;
    if (old.name === 'leader') {
      this.#context.trace('steps-down', { ballot: old.leadership.ballot });
      old.leadership.end();
    }
    this.#role = role;
    this.#changes.abandon();
  }

  /** The ballot is won. Everything that was merged is proposed again, then a configuration that names the leader. */
  #lead(ballot: Ballot, { first, operations, chosen, committed }: Merged, now: Instant): void {
    const context = this.#context;
    const { log, journal } = context;
    operations.forEach((operation, place) => {
      const slot = first + place;
      if (slot <= log.chosen) return;
      log.set(slot, { ballot, operation });
      journal.touch(slot);
    });
    this.#acceptor.lead(ballot);
    this.#application.takeOver(chosen, committed);
    if (log.last >= 2) log.choose(1);
    const leadership = new Leadership(context, ballot, now);
    leadership.begin();
    this.#role = { name: 'leader', leadership };
    this.#requests.resend(now);
    context.trace('leads', { ballot, merged: this.#acceptor.merged });
  }

  // ── after every input ──

  #settle(now: Instant): Effect[] {
    this.#now = now;
    const context = this.#context;
    this.#advance(now);
    this.#sendRequests(now);
    if (this.#role.name === 'leader') this.#role.leadership.propose(now);
    this.#persist(now);
    this.#advance(now);
    this.#reads.retry(now);
    if (this.#role.name === 'leader') this.#role.leadership.feed(now);
    this.#changes.answer(this.#leadership);
    this.#application.tidy();
    this.#exchange.note(now);
    this.#placing.follow(now);
    return context.takeEffects();
  }

  /** Acknowledges what is durable, and draws the conclusions from what everybody has acknowledged. */
  #advance(now: Instant): void {
    const context = this.#context;
    this.#claim.check(now);
    this.#acceptor.acknowledge(now);
    context.complete();
    const { ballot, promised, upTo } = this.#acceptor;
    const isActive = ballot > 0 && (this.#role.name !== 'leader' || promised === ballot);
    const committed = isActive ? this.#judge.judge(context.log, context.acknowledged, upTo) : [];
    for (const slot of committed) this.#application.committed(slot); // Those that are applied: the lower ones.
    this.#application.applyChosen();
  }

  #persist(now: Instant): void {
    const context = this.#context;
    const { journal, log, marks, acceptor } = context;
    const { ballot, upTo } = acceptor;
    const isDue = this.#marksAt !== undefined && this.#marksAt <= now;
    if (isDue) this.#marksAt = undefined;
    const frame = journal.next(
      marks,
      { ballot, upTo },
      { base: log.base, from: (first) => (first <= log.last ? log.slice(first, log.last) : []) },
      isDue && journal.wantsSeal(marks),
    );
    if (frame !== undefined) context.persist(frame);
    else if (journal.isSettled(marks)) this.#acceptor.durable({ ballot, upTo });
    if (journal.wantsSeal(marks) && !journal.isBusy) this.#marksAt ??= later(now, MARKS_AFTER_MS);
  }

  #sendRequests(now: Instant): void {
    const due = this.#requests.due(now);
    const leader = this.#leader;
    if (leader === undefined || due.length === 0) return; // A new leader is sent everything.
    if (this.#role.name === 'leader') this.#role.leadership.take(due, now);
    else this.#context.send(leader, { kind: 'forward', requests: due });
  }
}
