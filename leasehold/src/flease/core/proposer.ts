/**
 * The proposer: when may this process believe that it holds a lease?
 *
 * From when a majority has written the lease, until the end that was named when the process asked:
 *
 *     we        asked ├── read ── write ──┤ held ──────────────────────┤ untilMs = asked + lease
 *     others                              a majority has it written              ├ ε ┤ may take it
 *
 * The holder counts from before asking, by its own clock. Other members count to the same instant by their clocks,
 * which may be ahead by the skew, and so wait for the skew as well. A majority that answers after `untilMs` grants
 * nothing (the paper would return the lease).
 *
 * Lemma R5 of the register and the wait for ε exclude a second holder: a proposer that writes under a higher ballot
 * has read from a majority. One member of that majority has our lease written, or has forgotten the lease because it
 * is over. A proposer leaves a lease that another member holds. `ask` reports the holder, which is a promise too, so
 * `ask` reports only a lease that a majority has: if the answers differ, `ask` first writes the lease it has read.
 * But observers must not disturb a holder that renews: `ask`, `try`, and any outbid attempt that is not a renewal
 * begin with a query (`next-operation.ts`), which needs no promise, and read under a ballot only if necessary (the
 * round: `first-round.ts`).
 *
 *     nothing ──take──► held ──renew──► held ──free──► nothing
 *        ▲                │                │
 *        └────────────────┴── lapsed, lost ┘           never back: an ended lease is not renewed
 *
 * A holder first stops using the lease and writes the release afterwards, with the successor. If the release is lost,
 * the lease expires by itself. A failed attempt to take a lease may have been written in part. No member holds that
 * lease, but others would wait for its end; so it is freed, too, once no request here wants it.
 *
 * This file does no I/O. Call an input with the present time of the group's clock, and execute the effects that the input
 * returns, in order. Call {@link Proposer.wake} at {@link Proposer.wakeAtMs}.
 */

import { assert, unreachable } from '../../runtime/assert.ts';
import { TimerWheel } from './timer-wheel.ts';
import { Attempt, type Operation, type RefusalCause } from './attempt.ts';
import { QuorumPicker } from './quorum-picker.ts';
import { firstRound } from './first-round.ts';
import { AdmissionQueue } from './admission-queue.ts';
import { ResourceState, type Leaving, type Request } from './resource-state.ts';
import {
  type Decision,
  decideToFree,
  decideToRenew,
  decideToTake,
  decideToTell,
  type Self,
} from './decision.ts';
import { isPlausible } from './plausible.ts';
import { type Lease, takeableAtMs } from './lease.ts';
import { type Answer, type Item, ROUND_MAX } from './messages.ts';
import { answerByMs, askTheRestAtMs, nextMs, pauseMs } from './timing.ts';
import type { ProposerEffect, ProposerEvent } from './proposer-events.ts';
import { queriesFirst, nextOperation } from './next-operation.ts';
import { WaiterWakeups } from './waiter-wakeups.ts';
import type { Entry, Table } from './table.ts';
import { type EndReason, HeldLease } from './held-lease.ts';
import type { Quorums } from './view.ts';

export interface ProposerSettings extends Self {
  /** In [0, 1). */
  readonly random: () => number;
  /** Shared with our own acceptor, whose promises are a hint about other members. */
  readonly table: Table<ResourceState>;
  /** From this many attempts under way, an attempt asks only as many members as make a majority. */
  readonly busyFrom: number;
}

/** A timer of a resource may fire late by this part of a lease, and by at most so many milliseconds. */
const LOOKS_PER_LEASE = 2_000;
const LATE_MS_MAX = 10;
const NOTHING: never[] = [];
Object.freeze(NOTHING);
/** The pause between two attempts that follow notices, as a part of the answer timeout. */
const BETWEEN_NOTICES = 1 / 4;

export class Proposer {
  readonly #settings: ProposerSettings;
  readonly #table: Table<ResourceState>;
  readonly #attempts = new Map<number, ResourceState>();
  readonly #timers: TimerWheel<ResourceState>;
  readonly #admissionQueue = new AdmissionQueue();
  readonly #waiterWakeups: WaiterWakeups;
  #quorums: Quorums;
  #quorumPicker: QuorumPicker;
  /** Of the present input. */
  #effects: ProposerEffect[] = NOTHING;
  #attemptsMade = 0;
  #isRecovering = false;

  constructor(settings: ProposerSettings, quorums: Quorums) {
    this.#settings = settings;
    this.#table = settings.table;
    this.#quorums = quorums;
    this.#quorumPicker = new QuorumPicker(settings.id, quorums, settings.busyFrom);
    const lateMs = Math.min(settings.durations.leaseMs / LOOKS_PER_LEASE, LATE_MS_MAX);
    this.#timers = new TimerWheel(lateMs);
    this.#waiterWakeups = new WaiterWakeups(lateMs);
  }

  /** Enters a new view. Attempts of the old view fail and begin anew. */
  regroup(quorums: Quorums, nowMs: number): readonly ProposerEffect[] {
    this.#quorums = quorums;
    this.#quorumPicker = new QuorumPicker(this.#settings.id, quorums, this.#settings.busyFrom);
    for (const state of this.#states()) state.keepWaiters((member) => quorums.has(member));
    for (const state of [...this.#attempts.values()]) {
      if (state.attempt !== undefined) this.#fail(state, state.attempt, nowMs);
    }
    return this.#takeEffects();
  }

  get wakeAtMs(): number {
    return Math.min(this.#timers.nextMs, this.#waiterWakeups.nextMs);
  }

  get attemptsMade(): number {
    return this.#attemptsMade;
  }

  heldLeaseOf(resource: string): HeldLease | undefined {
    return this.#table.find(resource)?.state?.held;
  }

  /** The held leases as far as is known: compare the clock. */
  *heldLeases(): Iterable<HeldLease> {
    for (const { held } of this.#states()) if (held !== undefined) yield held;
  }

  /** Why an awaited resource has not been granted yet. */
  waitingFor(resource: string): {
    seen: Lease | undefined;
    refusals: ReadonlyMap<string, RefusalCause> | undefined;
  } {
    const state = this.#table.find(resource)?.state;
    return { seen: state?.seen, refusals: state?.backoff?.refusals };
  }

  request(resource: string, request: Request, nowMs: number): readonly ProposerEffect[] {
    if (this.#isRecovering && request.kind !== 'acquire') {
      this.#refuse(request.id);
      return this.#takeEffects();
    }
    const state = this.#stateOf(resource);
    const { held } = state;
    if (request.kind === 'try' && held?.isHeldAt(nowMs)) {
      this.#tell({ kind: 'held', request: request.id, lease: this.#leaseOf(held) });
      return this.#takeEffects();
    }
    state.add(request, nowMs);
    // These requests do not wait for another holder's end. But they respect a back-off, or all members would retry
    // without a pause.
    if (request.kind !== 'acquire' && !state.isBackingOff) state.hurry();
    this.#step(state, nowMs);
    return this.#takeEffects();
  }

  /** The caller no longer waits for this answer. */
  cancel(resource: string, id: number, nowMs: number): readonly ProposerEffect[] {
    const state = this.#table.find(resource)?.state;
    if (state === undefined) return NOTHING;
    const withdrawn = state.cancel(id);
    if (withdrawn?.kind === 'acquire' && !state.wants('acquire')) {
      // Any member may hold the lease, and with it the waiting line, by now.
      this.#send(this.#quorums.everybody, { kind: 'dequeue', resource, member: this.#settings.id });
    }
    this.#step(state, nowMs);
    return this.#takeEffects();
  }

  /** Releases the lease at once and for good, then tells the others. */
  release(held: HeldLease, nowMs: number, successor?: string): readonly ProposerEffect[] {
    const state = this.#table.find(held.resource)?.state;
    if (state?.held !== held) return NOTHING;
    this.#end(state, 'released');
    this.#leave(state, { number: held.number, untilMs: held.untilMs, successor, held });
    if (state.attempt?.operation === 'renew') this.#abandon(state);
    state.startAfresh();
    this.#step(state, nowMs);
    return this.#takeEffects();
  }

  /** Another member waits for a lease that we hold, are about to take or release; or that we had when last seen. */
  enqueue(resource: string, member: string): readonly ProposerEffect[] {
    if (!this.#quorums.has(member)) return NOTHING;
    const state = this.#table.find(resource)?.state;
    if (state !== undefined) state.enqueue(member);
    else if (!this.#isRecovering) this.#send([member], { kind: 'notify', resource });
    return this.#takeEffects();
  }

  dequeue(resource: string, member: string): void {
    this.#table.find(resource)?.state?.dequeue(member);
  }

  /** A lease that we wait for may have been released. */
  notify(resource: string, from: string, nowMs: number): readonly ProposerEffect[] {
    const state = this.#table.find(resource)?.state;
    if (state === undefined || state.held !== undefined) return NOTHING;
    state.notified(from, nowMs, BETWEEN_NOTICES * this.#settings.durations.answerTimeoutMs);
    this.#step(state, nowMs);
    return this.#takeEffects();
  }

  /** The table entry that this attempt is about; undefined if the attempt is over. */
  entryOf(attempt: number): Entry<ResourceState> | undefined {
    return this.#attempts.get(attempt)?.entry;
  }

  answer(from: string, answer: Answer, nowMs: number): readonly ProposerEffect[] {
    const state = this.#attempts.get(answer.attempt);
    const attempt = state?.attempt;
    if (state === undefined || attempt === undefined) return NOTHING;
    const isBelieved = isPlausible(answer, this.#settings.durations, nowMs);
    const progress = isBelieved ? attempt.answer(from, answer) : attempt.disbelieve(from);
    if (progress === 'has-read' || progress === 'has-written') this.#quorumPicker.wasQuick(from);
    if (progress === 'has-read') this.#decide(state, attempt, nowMs);
    else if (progress === 'has-written') this.#finish(state, attempt, nowMs);
    else if (progress === 'failed') this.#fail(state, attempt, nowMs);
    else if (!isBelieved || answer.kind === 'refused') this.#askTheRest(attempt, [from]);
    if (!this.#admissionQueue.isEmpty) this.#admit(nowMs);
    return this.#takeEffects();
  }

  wake(nowMs: number): readonly ProposerEffect[] {
    for (const state of this.#timers.due(nowMs)) {
      if (state.timerFired(nowMs) && !state.isIdle) this.#step(state, nowMs);
    }
    for (const { resource, waiters } of this.#waiterWakeups.due(nowMs, this.#table)) {
      this.#send(waiters, { kind: 'notify', resource });
    }
    this.#admit(nowMs);
    return this.#takeEffects();
  }

  /**
   * Drops everything without telling peers, because by our clock nothing may be held; begins nothing until {@link
   * endRecovery}.
   */
  startRecovery(): readonly ProposerEffect[] {
    this.#isRecovering = true;
    for (const state of this.#states()) {
      this.#abandon(state);
      this.#end(state, 'clock');
      for (const { id } of state.withdraw(({ kind }) => kind !== 'acquire')) this.#refuse(id);
      this.#leave(state, undefined);
      state.recoveryStarted();
    }
    this.#timers.clear();
    this.#admissionQueue.clear();
    this.#waiterWakeups.clear();
    return this.#takeEffects();
  }

  /** Recovery is over: resumes the waiting requests. */
  endRecovery(nowMs: number): readonly ProposerEffect[] {
    this.#isRecovering = false;
    for (const state of [...this.#states()]) {
      state.waitFrom(nowMs);
      this.#step(state, nowMs);
    }
    return this.#takeEffects();
  }

  /** Whether an attempt is under way, or a release is still to be written. */
  get hasUnfinished(): boolean {
    if (this.#attempts.size > 0) return true;
    for (const state of this.#states()) if (state.leaving !== undefined) return true;
    return false;
  }

  #stateOf(resource: string): ResourceState {
    const entry = this.#table.findOrAdd(resource);
    entry.state ??= new ResourceState(entry, this.#settings.id);
    return entry.state;
  }

  *#states(): Iterable<ResourceState> {
    for (const { state } of this.#table.entries()) if (state !== undefined) yield state;
  }

  /** Does all work that is due for this resource, and schedules the next. */
  #step(state: ResourceState, nowMs: number): void {
    const { held } = state;
    if (held !== undefined) this.#watch(state, held, nowMs);
    const { durations } = this.#settings;
    if (state.attempt !== undefined && nowMs >= answerByMs(state.attempt, durations)) {
      this.#fail(state, state.attempt, nowMs);
      return; // `#fail` has stepped.
    }
    if (state.attempt !== undefined && nowMs >= askTheRestAtMs(state.attempt, durations)) {
      this.#askTheRest(state.attempt, state.attempt.unwilling);
    }
    if (state.leaving !== undefined && nowMs > state.leaving.untilMs) this.#leave(state, undefined);
    const { leaving } = state;
    // The lease written since, for the next request here, may last longer. But the caller that released this one
    // waits no longer than its lease would have lasted.
    if (leaving?.held !== undefined && nowMs > leaving.held.untilMs) {
      this.#leave(state, { ...leaving, held: undefined });
    }
    if (state.attempt === undefined && nowMs >= state.tryAtMs && !this.#isRecovering) {
      const operation = nextOperation(state, this.#settings, nowMs);
      if (operation === undefined) this.#admissionQueue.leave(state);
      else if (this.#admissionQueue.enter(state, operation, this.#attempts.size)) {
        this.#begin(state, operation, queriesFirst(state, operation), nowMs);
      }
    }
    if (state.isIdle) this.#forget(state);
    else if (!this.#isRecovering)
      this.#look(state, Math.max(nowMs, nextMs(state, this.#admissionQueue, durations)));
  }

  /** Begins queued attempts if there is room. */
  #admit(nowMs: number): void {
    for (const state of this.#admissionQueue.next(() => this.#attempts.size)) {
      if (!state.isIdle) this.#step(state, nowMs);
    }
  }

  #begin(state: ResourceState, operation: Operation, isQuery: boolean, nowMs: number): void {
    const { id, incarnation, durations } = this.#settings;
    this.#admissionQueue.leave(state);
    this.#attemptsMade += 1;
    const attempt = this.#attemptsMade;
    const { entry, backoff, isFresh } = state;
    const { attemptMs: intervalMs } = durations;
    const first = firstRound(entry, isFresh, nowMs, intervalMs);
    const leap = backoff?.round(operation, nowMs, intervalMs) ?? first;
    const round = Math.min(ROUND_MAX, Math.max(first, leap));
    const ballot = { askedMs: nowMs, round, member: id, incarnation, attempt };
    const recipients = this.#quorumPicker.pick(this.#attempts.size);
    const asking = { operation, quorums: this.#quorums, intervalMs, recipients, isQuery };
    const begun = new Attempt(entry.resource, ballot, asking);
    state.begun(begun);
    this.#attempts.set(attempt, state);
    this.#ask(begun, recipients);
  }

  /** A majority has answered a read or a query. */
  #decide(state: ResourceState, attempt: Attempt, nowMs: number): void {
    const decision = this.#decision(state, attempt, nowMs);
    switch (decision.do) {
      case 'write':
        if (attempt.isQuery) this.#lookCloser(state, attempt, nowMs);
        else this.#write(attempt, decision.lease, nowMs);
        return;
      case 'leave':
        this.#wait(state, decision.lease, decision.takeAtMs, nowMs);
        return;
      case 'say':
        this.#told(state, decision.lease, nowMs);
        return;
      case 'try-later':
        this.#fail(state, attempt, nowMs);
        return;
      case 'give-up':
        if (attempt.isQuery && !isLater(attempt.found, state.leaving)) {
          this.#lookCloser(state, attempt, nowMs);
          return;
        }
        this.#end(state, 'lost');
        this.#overtaken(state, attempt.found, nowMs);
        this.#leave(state, undefined);
        this.#conclude(state, nowMs);
        return;
      default:
        unreachable(decision);
    }
  }

  /**
   * Another member holds, or has held, the lease, and so does not wait for it in our line. Before the end of our
   * lease that is possible only if our release was written.
   */
  #overtaken(state: ResourceState, found: Lease | undefined, nowMs: number): void {
    const { leaving } = state;
    if (found !== undefined && found.holder !== this.#settings.id) state.dequeue(found.holder);
    if (leaving !== undefined && nowMs <= leaving.untilMs && isLater(found, leaving)) state.givenBack();
  }

  #decision(state: ResourceState, attempt: Attempt, nowMs: number): Decision {
    const { held, leaving, waiters } = state;
    const { operation, found, isCertain, ballot } = attempt;
    const reading = { askedMs: ballot.askedMs, nowMs, found, isCertain };
    const self = this.#settings;
    if (operation === 'take') return decideToTake(self, reading);
    if (operation === 'renew' && held?.isHeldAt(nowMs)) return decideToRenew(self, held.number, reading);
    if (operation === 'free' && leaving !== undefined) {
      return decideToFree(self, leaving.number, { named: leaving.successor, first: waiters[0] }, reading);
    }
    if (operation === 'ask') return decideToTell(self, reading);
    return { do: 'give-up' }; // The lease to renew, or to release, is over.
  }

  /** The answer to a query does not suffice: the lease can be taken or released, or the answers differ. */
  #lookCloser(state: ResourceState, { operation }: Attempt, nowMs: number): void {
    this.#abandon(state);
    if (operation === 'ask') {
      state.doubted();
      state.pauseUntil(nowMs + pauseMs(1, this.#settings.durations));
    } else {
      this.#begin(state, operation, false, nowMs);
    }
    this.#step(state, nowMs);
  }

  #write(attempt: Attempt, lease: Lease, nowMs: number): void {
    attempt.write(lease, nowMs);
    this.#ask(attempt, attempt.recipients);
  }

  /** The members asked so far have not all said yes in time, because of these. */
  #askTheRest(attempt: Attempt, unwilling: readonly string[]): void {
    if (attempt.asksEverybody) return;
    for (const member of unwilling) this.#quorumPicker.wasLate(member);
    this.#ask(attempt, attempt.askTheRest());
  }

  /** A majority has the proposal written. */
  #finish(state: ResourceState, attempt: Attempt, nowMs: number): void {
    const { operation, proposal: lease } = attempt;
    assert(lease !== undefined, 'what is written was proposed');
    switch (operation) {
      case 'take':
        this.#taken(state, lease, nowMs);
        return;
      case 'renew':
        this.#renewed(state, lease, nowMs);
        return;
      case 'free':
        this.#left(state, lease, nowMs);
        return;
      case 'ask':
        this.#told(state, lease, nowMs);
        return;
      default:
        unreachable(operation);
    }
  }

  #taken(state: ResourceState, lease: Lease, nowMs: number): void {
    this.#leave(state, undefined);
    const request = nowMs > lease.untilMs ? undefined : state.shift();
    if (request === undefined) {
      this.#leave(state, { number: lease.number, untilMs: lease.untilMs, successor: undefined });
      this.#conclude(state, nowMs);
      return;
    }
    const held = new HeldLease(state.resource, lease);
    state.granted(held);
    this.#tell({ kind: 'granted', request: request.id, wanted: request.kind, held });
    this.#conclude(state, nowMs);
  }

  #renewed(state: ResourceState, lease: Lease, nowMs: number): void {
    const { held } = state;
    if (held?.isHeldAt(nowMs)) {
      held.renewed(lease);
      this.#tell({ kind: 'renewed', held });
    }
    this.#conclude(state, nowMs);
  }

  /** The successor may take the lease. */
  #left(state: ResourceState, { successor, number, untilMs }: Lease, nowMs: number): void {
    const { id, durations } = this.#settings;
    if (successor !== undefined && successor !== id) {
      const { resource } = state;
      const waiters = state.waiters.filter((member) => member !== successor && member !== id);
      const atMs = untilMs + durations.clockSkewMs;
      if (waiters.length > 0) this.#waiterWakeups.add({ resource, number, waiters, atMs });
      this.#handOn(state, successor);
    }
    state.givenBack();
    this.#leave(state, undefined);
    this.#conclude(state, nowMs);
  }

  /**
   * This process neither wants nor has the resource any more. The waiting members are told, instead of finding out by
   * expiry.
   */
  #forget(state: ResourceState): void {
    const { entry } = state;
    assert(entry.state === state, 'what is forgotten was there');
    entry.state = undefined;
    this.#table.tidy(entry);
    const [first] = state.waiters;
    if (first !== undefined) this.#handOn(state, first);
  }

  /** Notifies a member that the lease may be free, and passes the rest of the waiting line to it. */
  #handOn(state: ResourceState, to: string): void {
    const { resource, waiters } = state;
    for (const member of waiters) if (member !== to) this.#send([to], { kind: 'enqueue', resource, member });
    this.#send([to], { kind: 'notify', resource });
    state.clearWaiters();
  }

  #told(state: ResourceState, lease: Lease | undefined, nowMs: number): void {
    // A request made after this attempt began may need a later answer.
    const askedMs = state.attempt?.ballot.askedMs ?? nowMs;
    for (const { id } of state.withdraw(({ kind, sinceMs }) => kind === 'ask' && sinceMs <= askedMs)) {
      this.#tell({ kind: 'told', request: id, lease });
    }
    const { seen, held } = state;
    const isSeen = lease !== undefined && lease.holder === seen?.holder && lease.number === seen.number;
    // Requests that wait for the same holder keep waiting; they need no attempt of their own each time another
    // request asks.
    if (held === undefined && isSeen && lease.state === seen?.state) {
      const { id, durations } = this.#settings;
      this.#conclude(state, nowMs, takeableAtMs(lease, id, durations.clockSkewMs));
    } else {
      this.#conclude(state, nowMs);
    }
  }

  /** Another member holds the lease: `try` requests are told so, the others wait for the end of that lease. */
  #wait(state: ResourceState, found: Lease, takeAtMs: number, nowMs: number): void {
    this.#leave(state, undefined);
    for (const { id } of state.withdraw(({ kind }) => kind === 'try')) {
      this.#tell({ kind: 'held', request: id, lease: found });
    }
    const holder = found.successor ?? found.holder;
    for (const member of state.waiters) {
      if (member !== holder) this.#send([holder], { kind: 'enqueue', resource: state.resource, member });
    }
    state.saw(found);
    this.#conclude(state, nowMs, takeAtMs);
  }

  /** The attempt is over, with any outcome. */
  #conclude(state: ResourceState, nowMs: number, takeAtMs?: number): void {
    this.#drop(state.concluded(takeAtMs));
    this.#step(state, nowMs);
  }

  #fail(state: ResourceState, attempt: Attempt, nowMs: number): void {
    const { durations, random } = this.#settings;
    const backoff = state.failed(attempt, durations.attemptMs);
    const { operation, proposal } = attempt;
    if (operation === 'take' && proposal !== undefined) {
      const { number, untilMs } = proposal;
      this.#leave(state, { number, untilMs, successor: undefined, held: state.leaving?.held });
    }
    this.#abandon(state);
    const sinceMs = backoff.tooLongSinceMs(nowMs, durations.answerTimeoutMs);
    for (const { id } of state.withdraw((one) => one.kind !== 'acquire' && one.sinceMs <= sinceMs)) {
      this.#tell({ kind: 'failed', request: id, refusals: backoff.refusals });
    }
    state.pauseUntil(nowMs + pauseMs(backoff.failures, durations) * random());
    this.#step(state, nowMs);
  }

  #abandon(state: ResourceState): void {
    this.#drop(state.abandon());
  }

  #drop(attempt: Attempt | undefined): void {
    if (attempt !== undefined) this.#attempts.delete(attempt.ballot.attempt);
  }

  /** Tells the holder when the lease is about to end, and when it has ended. */
  #watch(state: ResourceState, held: HeldLease, nowMs: number): void {
    if (!held.isHeldAt(nowMs)) {
      this.#end(state, 'lapsed');
      if (state.attempt?.operation === 'renew') this.#abandon(state);
    } else if (held.state === 'held' && nowMs >= held.untilMs - this.#settings.durations.noticeMs) {
      held.noticed();
      this.#tell({ kind: 'ending', held });
    }
  }

  #end(state: ResourceState, reason: EndReason): void {
    const held = state.ended(reason);
    if (held !== undefined) this.#tell({ kind: 'ended', held });
  }

  /** Replaces the release that is still to be written. */
  #leave(state: ResourceState, leaving: Leaving | undefined): void {
    const held = state.leave(leaving);
    if (held !== undefined) this.#tell({ kind: 'left', held });
  }

  /** Asks no peer, because this member is recovering. */
  #refuse(request: number): void {
    this.#tell({ kind: 'failed', request, refusals: new Map([[this.#settings.id, 'recovering']]) });
  }

  #leaseOf({ number, untilMs }: HeldLease): Lease {
    const { id, incarnation } = this.#settings;
    return { holder: id, incarnation, number, untilMs, state: 'held', successor: undefined };
  }

  #ask({ question }: Attempt, members: readonly string[]): void {
    this.#send(members, question);
  }

  #send(to: readonly string[], item: Item): void {
    this.#effect({ do: 'send', to, item });
  }

  #tell(event: ProposerEvent): void {
    this.#effect({ do: 'tell', event });
  }

  /** Most inputs have one effect or none: an array of that size is made for one, and none for none. */
  #effect(effect: ProposerEffect): void {
    if (this.#effects.length === 0) this.#effects = [effect];
    else this.#effects.push(effect);
  }

  /** The effects of the present input, which is over. */
  #takeEffects(): readonly ProposerEffect[] {
    const effects = this.#effects;
    this.#effects = NOTHING;
    return effects;
  }

  #look(state: ResourceState, atMs: number): void {
    if (state.reschedule(atMs)) this.#timers.add(atMs, state);
  }
}

/**
 * Whether the found lease was taken after the one to be released, so that no member waits for the release. Otherwise
 * the answers do not show that no write of ours is under way.
 */
const isLater = (found: Lease | undefined, leaving: Leaving | undefined): boolean =>
  leaving === undefined || (found !== undefined && found.number > leaving.number);
