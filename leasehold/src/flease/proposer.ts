/**
 * The proposer's half: when may this process believe that it holds a lease?
 *
 * When a majority has written it, and not one instant longer than it said when it asked:
 *
 *     we        asked ├── read ── write ──┤ held ──────────────────────┤ untilMs = asked + lease
 *     others                              a majority has it written              ├ ε ┤ may take it
 *
 * Counting from before we asked, and by our clock; others count to the same instant by theirs, which may be
 * ahead by the skew, and so wait for the skew as well. A majority that answers after `untilMs` has given us
 * nothing (the paper would return it).
 *
 * Why nobody else can hold it meanwhile is lemma R5 of the register and the wait for ε: whoever writes under a higher
 * ballot has read from a majority, one of which has our lease, or has forgotten it because it is over. What we read
 * and somebody else holds, we leave. `ask` says who holds it, which is a promise too, so it says only what a majority
 * has: if those that answered differ, it writes what it has read before it says so. But who only looks must not get
 * in the way of a holder that renews: `ask` and `try`, and whoever was outbid and does not renew, begin with a query
 * (`purpose.ts`), for which nobody has to promise anything, and go on to read under a ballot only if they have to (with
 * which: `bidding.ts`).
 *
 *     nothing ──take──► held ──renew──► held ──free──► nothing
 *        ▲                │                │
 *        └────────────────┴── lapsed, lost ┘           never back: what has ended once is not renewed
 *
 * Letting go comes first, and is written afterwards; what is written then says to whom it is left. If that gets
 * lost the lease runs out by itself. An attempt to take that failed may have been written in part; nobody holds
 * that, but others would wait for it, so it is freed too when nobody here wants it any more.
 *
 * This file does no I/O. Call an input with the present time of the group's clock; what comes of it is sent and told by
 * the functions it was given, before the input returns. Call {@link Proposer.wake} at {@link Proposer.wakeAtMs}.
 */

import { assert, unreachable } from '../runtime/assert.ts';
import { Agenda } from './agenda.ts';
import { Attempt, type Purpose, type Reluctance } from './attempt.ts';
import { Audience } from './audience.ts';
import { roundToBegin } from './bidding.ts';
import { Crowd } from './crowd.ts';
import { Claim, type Leaving, type Request } from './claim.ts';
import {
  type Decision,
  decideToFree,
  decideToRenew,
  decideToTake,
  decideToTell,
  type Self,
} from './decision.ts';
import { isCredible } from './credible.ts';
import { type Lease, takeableAtMs } from './lease.ts';
import { type Answer, type Item, ROUND_MAX } from './messages.ts';
import { answerByMs, askTheRestAtMs, nextMs, pauseMs } from './pace.ts';
import type { ProposerEvent } from './proposer-events.ts';
import { looksFirst, purposeOf } from './purpose.ts';
import { Succession } from './succession.ts';
import type { Entry, Table } from './table.ts';
import { type EndReason, Tenure } from './tenure.ts';
import type { Quorums } from './view.ts';

export interface ProposerSettings extends Self {
  /** In [0, 1). */
  readonly random: () => number;
  /** Says something to a member, ourselves among them. */
  readonly send: (to: string, item: Item) => void;
  readonly tell: (event: ProposerEvent) => void;
  /** Of our own acceptor too, which knows what others do. */
  readonly table: Table;
  /** With so many attempts under way no more members are asked than have to be. */
  readonly busyFrom: number;
}

/** A look at a claim may come late by this part of a lease, and by no more than so many milliseconds. */
const LOOKS_PER_LEASE = 2_000;
const LATE_MS_MAX = 10;
/** From one look that is due to somebody's word to the next, as a part of the time to answer. */
const BETWEEN_HINTS = 1 / 4;

export class Proposer {
  readonly #settings: ProposerSettings;
  readonly #table: Table;
  readonly #attempts = new Map<number, Claim>();
  readonly #looks: Agenda<Claim>;
  readonly #crowd = new Crowd();
  readonly #succession: Succession;
  #quorums: Quorums;
  #audience: Audience;
  #attemptsMade = 0;
  #isSilent = false;

  constructor(settings: ProposerSettings, quorums: Quorums) {
    this.#settings = settings;
    this.#table = settings.table;
    this.#quorums = quorums;
    this.#audience = new Audience(settings.id, quorums, settings.busyFrom);
    const lateMs = Math.min(settings.durations.leaseMs / LOOKS_PER_LEASE, LATE_MS_MAX);
    this.#looks = new Agenda(lateMs);
    this.#succession = new Succession(lateMs);
  }

  /** Others count from here on. What was asked of those before has to be asked anew. */
  regroup(quorums: Quorums, nowMs: number): void {
    this.#quorums = quorums;
    this.#audience = new Audience(this.#settings.id, quorums, this.#settings.busyFrom);
    for (const claim of this.#claims()) claim.keepInLine((member) => quorums.has(member));
    for (const claim of [...this.#attempts.values()]) {
      if (claim.attempt !== undefined) this.#fail(claim, claim.attempt, nowMs);
    }
  }

  get wakeAtMs(): number {
    return Math.min(this.#looks.nextMs, this.#succession.nextMs);
  }

  get attemptsMade(): number {
    return this.#attemptsMade;
  }

  tenureOf(resource: string): Tenure | undefined {
    return this.#table.find(resource)?.claim?.tenure;
  }

  /** What is held, as far as is known: compare the clock. */
  *tenures(): Iterable<Tenure> {
    for (const { tenure } of this.#claims()) if (tenure !== undefined) yield tenure;
  }

  /** Why a resource that is waited for has not been had yet. */
  waitingFor(resource: string): {
    seen: Lease | undefined;
    reluctant: ReadonlyMap<string, Reluctance> | undefined;
  } {
    const claim = this.#table.find(resource)?.claim;
    return { seen: claim?.seen, reluctant: claim?.setbacks?.reluctant };
  }

  request(resource: string, request: Request, nowMs: number): void {
    if (this.#isSilent && request.kind !== 'acquire') {
      this.#refuse(request.id);
      return;
    }
    const claim = this.#claimOf(resource);
    const { tenure } = claim;
    if (request.kind === 'try' && tenure?.isHeldAt(nowMs)) {
      this.#settings.tell({ kind: 'held', request: request.id, lease: this.#leaseOf(tenure) });
      return;
    }
    claim.add(request, nowMs);
    // It is not for it to wait for somebody's end; but a pause is a pause, or all would ask without any.
    if (request.kind !== 'acquire' && !claim.isSetBack) claim.hurry();
    this.#step(claim, nowMs);
  }

  /** Nobody waits for this answer any more. */
  cancel(resource: string, id: number, nowMs: number): void {
    const claim = this.#table.find(resource)?.claim;
    if (claim === undefined) return;
    const withdrawn = claim.cancel(id);
    if (withdrawn?.kind === 'acquire' && !claim.wants('acquire')) {
      // Whoever has it by this time has the line.
      const unwish: Item = { kind: 'unwish', resource, member: this.#settings.id };
      for (const member of this.#quorums.everybody) this.#settings.send(member, unwish);
    }
    this.#step(claim, nowMs);
  }

  /** Lets go of it, at once and for good; then says so to the others. */
  release(tenure: Tenure, nowMs: number, heir?: string): void {
    const claim = this.#table.find(tenure.resource)?.claim;
    if (claim?.tenure !== tenure) return;
    this.#end(claim, 'released');
    this.#leave(claim, { number: tenure.number, untilMs: tenure.untilMs, heir, tenure });
    if (claim.attempt?.purpose === 'renew') this.#abandon(claim);
    claim.startAfresh();
    this.#step(claim, nowMs);
  }

  /** Somebody waits for what we hold, or are about to take, or to leave; or did, when it was last seen here. */
  wish(resource: string, member: string): void {
    if (!this.#quorums.has(member)) return;
    const claim = this.#table.find(resource)?.claim;
    if (claim !== undefined) claim.standInLine(member);
    else if (!this.#isSilent) this.#settings.send(member, { kind: 'freed', resource });
  }

  unwish(resource: string, member: string): void {
    this.#table.find(resource)?.claim?.leaveLine(member);
  }

  /** What we wait for may have been given back. */
  freed(resource: string, from: string, nowMs: number): void {
    const claim = this.#table.find(resource)?.claim;
    if (claim === undefined || claim.tenure !== undefined) return;
    claim.freed(from, nowMs, BETWEEN_HINTS * this.#settings.durations.answerMs);
    this.#step(claim, nowMs);
  }

  /** Where the resource is in the table that this attempt is on; undefined if the attempt is not under way any more. */
  entryOf(attempt: number): Entry | undefined {
    return this.#attempts.get(attempt)?.entry;
  }

  answer(from: string, answer: Answer, nowMs: number): void {
    const claim = this.#attempts.get(answer.attempt);
    const attempt = claim?.attempt;
    if (claim === undefined || attempt === undefined) return;
    const isBelieved = isCredible(answer, this.#settings.durations, nowMs);
    const progress = isBelieved ? attempt.answer(from, answer) : attempt.disbelieve(from);
    if (progress === 'has-read' || progress === 'has-written') this.#audience.wasQuick(from);
    if (progress === 'has-read') this.#decide(claim, attempt, nowMs);
    else if (progress === 'has-written') this.#finish(claim, attempt, nowMs);
    else if (progress === 'failed') this.#fail(claim, attempt, nowMs);
    else if (!isBelieved || answer.kind === 'refused') this.#askTheRest(attempt, [from]);
    if (!this.#crowd.isEmpty) this.#admit(nowMs);
  }

  wake(nowMs: number): void {
    for (const claim of this.#looks.due(nowMs)) {
      if (claim.looked(nowMs) && !claim.isIdle) this.#step(claim, nowMs);
    }
    for (const { resource, line } of this.#succession.due(nowMs, this.#table)) {
      for (const member of line) this.#settings.send(member, { kind: 'freed', resource });
    }
    this.#admit(nowMs);
  }

  /**
   * Lets go of everything without a word, since by our clock nothing may be held; begins nothing until {@link speak}.
   */
  silence(): void {
    this.#isSilent = true;
    for (const claim of this.#claims()) {
      this.#abandon(claim);
      this.#end(claim, 'clock');
      for (const { id } of claim.withdraw(({ kind }) => kind !== 'acquire')) this.#refuse(id);
      this.#leave(claim, undefined);
      claim.silenced();
    }
    this.#looks.clear();
    this.#crowd.clear();
    this.#succession.clear();
  }

  /** What waits may go on. */
  speak(nowMs: number): void {
    this.#isSilent = false;
    for (const claim of [...this.#claims()]) {
      claim.waitFrom(nowMs);
      this.#step(claim, nowMs);
    }
  }

  /** Whether anything is under way, or left to say to the others about what was let go of. */
  get hasUnfinished(): boolean {
    if (this.#attempts.size > 0) return true;
    for (const claim of this.#claims()) if (claim.leaving !== undefined) return true;
    return false;
  }

  #claimOf(resource: string): Claim {
    const entry = this.#table.findOrAdd(resource);
    entry.claim ??= new Claim(entry, this.#settings.id);
    return entry.claim;
  }

  *#claims(): Iterable<Claim> {
    for (const { claim } of this.#table.entries()) if (claim !== undefined) yield claim;
  }

  /** Does whatever is to be done about this claim now, and puts it down for when there is more. */
  #step(claim: Claim, nowMs: number): void {
    const { tenure } = claim;
    if (tenure !== undefined) this.#watch(claim, tenure, nowMs);
    const { durations } = this.#settings;
    if (claim.attempt !== undefined && nowMs >= answerByMs(claim.attempt, durations)) {
      this.#fail(claim, claim.attempt, nowMs);
      return; // It has stepped.
    }
    if (claim.attempt !== undefined && nowMs >= askTheRestAtMs(claim.attempt, durations)) {
      this.#askTheRest(claim.attempt, claim.attempt.unwilling);
    }
    if (claim.leaving !== undefined && nowMs > claim.leaving.untilMs) this.#leave(claim, undefined);
    const { leaving } = claim;
    // What was written since, for the next one here, may last longer; but whoever let go of this one waits no longer
    // than it would have lasted.
    if (leaving?.tenure !== undefined && nowMs > leaving.tenure.untilMs) {
      this.#leave(claim, { ...leaving, tenure: undefined });
    }
    if (claim.attempt === undefined && nowMs >= claim.tryAtMs && !this.#isSilent) {
      const purpose = purposeOf(claim, this.#settings, nowMs);
      if (purpose === undefined) this.#crowd.leave(claim);
      else if (this.#crowd.enter(claim, purpose, this.#attempts.size)) {
        this.#begin(claim, purpose, looksFirst(claim, purpose), nowMs);
      }
    }
    if (claim.isIdle) this.#forget(claim);
    else if (!this.#isSilent) this.#look(claim, Math.max(nowMs, nextMs(claim, this.#crowd, durations)));
  }

  /** There may be room for those that wait for it. */
  #admit(nowMs: number): void {
    for (const claim of this.#crowd.next(() => this.#attempts.size)) {
      if (!claim.isIdle) this.#step(claim, nowMs);
    }
  }

  #begin(claim: Claim, purpose: Purpose, isQuery: boolean, nowMs: number): void {
    const { id, life, durations } = this.#settings;
    this.#crowd.leave(claim);
    this.#attemptsMade += 1;
    const attempt = this.#attemptsMade;
    const { entry, setbacks, isFresh } = claim;
    const first = roundToBegin(entry, isFresh, nowMs, durations.attemptMs);
    const leap = setbacks?.round(purpose, nowMs, durations.attemptMs) ?? first;
    const round = Math.min(ROUND_MAX, Math.max(first, leap));
    const ballot = { askedMs: nowMs, round, member: id, life, attempt };
    const audience = this.#audience.of(this.#attempts.size);
    const asking = { purpose, quorums: this.#quorums, intervalMs: durations.attemptMs, audience, isQuery };
    const begun = new Attempt(entry.resource, ballot, asking);
    claim.begun(begun);
    this.#attempts.set(attempt, claim);
    this.#ask(begun, audience);
  }

  /** A majority has promised, or was only asked, and this is what they have. */
  #decide(claim: Claim, attempt: Attempt, nowMs: number): void {
    const decision = this.#decision(claim, attempt, nowMs);
    switch (decision.do) {
      case 'write':
        if (attempt.isQuery) this.#lookCloser(claim, attempt, nowMs);
        else this.#write(attempt, decision.lease, nowMs);
        return;
      case 'leave':
        this.#wait(claim, decision.lease, decision.takeAtMs, nowMs);
        return;
      case 'say':
        this.#told(claim, decision.lease, nowMs);
        return;
      case 'try-later':
        this.#fail(claim, attempt, nowMs);
        return;
      case 'give-up':
        if (attempt.isQuery && !isLater(attempt.found, claim.leaving)) {
          this.#lookCloser(claim, attempt, nowMs);
          return;
        }
        this.#end(claim, 'lost');
        this.#overtaken(claim, attempt.found, nowMs);
        this.#leave(claim, undefined);
        this.#conclude(claim, nowMs);
        return;
      default:
        unreachable(decision);
    }
  }

  /**
   * Somebody else has it, or has had it, and so does not wait for it here. Nobody could before its end, unless it was
   * given back.
   */
  #overtaken(claim: Claim, found: Lease | undefined, nowMs: number): void {
    const { leaving } = claim;
    if (found !== undefined && found.holder !== this.#settings.id) claim.leaveLine(found.holder);
    if (leaving !== undefined && nowMs <= leaving.untilMs && isLater(found, leaving)) claim.givenBack();
  }

  #decision(claim: Claim, attempt: Attempt, nowMs: number): Decision {
    const { tenure, leaving, line } = claim;
    const { purpose, found, isCertain, ballot } = attempt;
    const reading = { askedMs: ballot.askedMs, nowMs, found, isCertain };
    const self = this.#settings;
    if (purpose === 'take') return decideToTake(self, reading);
    if (purpose === 'renew' && tenure?.isHeldAt(nowMs)) return decideToRenew(self, tenure.number, reading);
    if (purpose === 'free' && leaving !== undefined) {
      return decideToFree(self, leaving.number, { named: leaving.heir, first: line[0] }, reading);
    }
    if (purpose === 'ask') return decideToTell(self, reading);
    return { do: 'give-up' }; // What was to be renewed, or to be said, is over.
  }

  /** What a query found is not enough: it can be taken, or given back, or is not certain. */
  #lookCloser(claim: Claim, { purpose }: Attempt, nowMs: number): void {
    this.#abandon(claim);
    if (purpose === 'ask') {
      claim.doubted();
      claim.pauseUntil(nowMs + pauseMs(1, this.#settings.durations));
    } else {
      this.#begin(claim, purpose, false, nowMs);
    }
    this.#step(claim, nowMs);
  }

  #write(attempt: Attempt, lease: Lease, nowMs: number): void {
    attempt.write(lease, nowMs);
    this.#ask(attempt, attempt.audience);
  }

  /** Those who were asked so far have not all said yes in time, because of these. */
  #askTheRest(attempt: Attempt, unwilling: readonly string[]): void {
    if (attempt.asksEverybody) return;
    for (const member of unwilling) this.#audience.wasLate(member);
    this.#ask(attempt, attempt.askTheRest());
  }

  /** A majority has it written. */
  #finish(claim: Claim, attempt: Attempt, nowMs: number): void {
    const { purpose, proposal: lease } = attempt;
    assert(lease !== undefined, 'what is written was proposed');
    switch (purpose) {
      case 'take':
        this.#taken(claim, lease, nowMs);
        return;
      case 'renew':
        this.#renewed(claim, lease, nowMs);
        return;
      case 'free':
        this.#left(claim, lease, nowMs);
        return;
      case 'ask':
        this.#told(claim, lease, nowMs);
        return;
      default:
        unreachable(purpose);
    }
  }

  #taken(claim: Claim, lease: Lease, nowMs: number): void {
    this.#leave(claim, undefined);
    const request = nowMs > lease.untilMs ? undefined : claim.shift();
    if (request === undefined) {
      this.#leave(claim, { number: lease.number, untilMs: lease.untilMs, heir: undefined });
      this.#conclude(claim, nowMs);
      return;
    }
    const tenure = new Tenure(claim.resource, lease);
    claim.granted(tenure);
    this.#settings.tell({ kind: 'granted', request: request.id, wanted: request.kind, tenure });
    this.#conclude(claim, nowMs);
  }

  #renewed(claim: Claim, lease: Lease, nowMs: number): void {
    const { tenure } = claim;
    if (tenure?.isHeldAt(nowMs)) {
      tenure.renewed(lease);
      this.#settings.tell({ kind: 'renewed', tenure });
    }
    this.#conclude(claim, nowMs);
  }

  /** The heir may take it. */
  #left(claim: Claim, { heir, number, untilMs }: Lease, nowMs: number): void {
    const { id, durations } = this.#settings;
    if (heir !== undefined && heir !== id) {
      const { resource } = claim;
      const line = claim.line.filter((member) => member !== heir && member !== id);
      const atMs = untilMs + durations.clockSkewMs;
      if (line.length > 0) this.#succession.add({ resource, number, line, atMs });
      this.#handOn(claim, heir);
    }
    claim.givenBack();
    this.#leave(claim, undefined);
    this.#conclude(claim, nowMs);
  }

  /** Nobody here wants it any more, nor has it. Who waited for that is not left to find out by itself. */
  #forget(claim: Claim): void {
    const { entry } = claim;
    assert(entry.claim === claim, 'what is forgotten was there');
    entry.claim = undefined;
    this.#table.tidy(entry);
    const [first] = claim.line;
    if (first !== undefined) this.#handOn(claim, first);
  }

  /** That one may look whether it can have it, and is told who waits behind it. */
  #handOn(claim: Claim, to: string): void {
    const { resource, line } = claim;
    const { send } = this.#settings;
    for (const member of line) if (member !== to) send(to, { kind: 'wish', resource, member });
    send(to, { kind: 'freed', resource });
    claim.disperse();
  }

  #told(claim: Claim, lease: Lease | undefined, nowMs: number): void {
    // Whoever asked later may know of more than was asked for here.
    const askedMs = claim.attempt?.ballot.askedMs ?? nowMs;
    for (const { id } of claim.withdraw(({ kind, sinceMs }) => kind === 'ask' && sinceMs <= askedMs)) {
      this.#settings.tell({ kind: 'told', request: id, lease });
    }
    const { seen, tenure } = claim;
    const isSeen = lease !== undefined && lease.holder === seen?.holder && lease.number === seen.number;
    // Whoever waits for that one waits on, and need not look for itself each time that somebody asks.
    if (tenure === undefined && isSeen && lease.state === seen?.state) {
      const { id, durations } = this.#settings;
      this.#conclude(claim, nowMs, takeableAtMs(lease, id, durations.clockSkewMs));
    } else {
      this.#conclude(claim, nowMs);
    }
  }

  /** Somebody else has it: those who do not want to wait are told so, the others wait for its end. */
  #wait(claim: Claim, found: Lease, takeAtMs: number, nowMs: number): void {
    const { send, tell } = this.#settings;
    this.#leave(claim, undefined);
    for (const { id } of claim.withdraw(({ kind }) => kind === 'try')) {
      tell({ kind: 'held', request: id, lease: found });
    }
    const holder = found.heir ?? found.holder;
    for (const member of claim.line) {
      if (member !== holder) send(holder, { kind: 'wish', resource: claim.resource, member });
    }
    claim.saw(found);
    this.#conclude(claim, nowMs, takeAtMs);
  }

  /** The attempt has come to its end, whatever that is. */
  #conclude(claim: Claim, nowMs: number, takeAtMs?: number): void {
    this.#drop(claim.concluded(takeAtMs));
    this.#step(claim, nowMs);
  }

  #fail(claim: Claim, attempt: Attempt, nowMs: number): void {
    const { durations, random } = this.#settings;
    const setbacks = claim.failed(attempt, durations.attemptMs);
    const { purpose, proposal } = attempt;
    if (purpose === 'take' && proposal !== undefined) {
      const { number, untilMs } = proposal;
      this.#leave(claim, { number, untilMs, heir: undefined, tenure: claim.leaving?.tenure });
    }
    this.#abandon(claim);
    const sinceMs = setbacks.tooLongSinceMs(nowMs, durations.answerMs);
    for (const { id } of claim.withdraw((one) => one.kind !== 'acquire' && one.sinceMs <= sinceMs)) {
      this.#settings.tell({ kind: 'failed', request: id, reluctant: setbacks.reluctant });
    }
    claim.pauseUntil(nowMs + pauseMs(setbacks.failures, durations) * random());
    this.#step(claim, nowMs);
  }

  #abandon(claim: Claim): void {
    this.#drop(claim.abandon());
  }

  #drop(attempt: Attempt | undefined): void {
    if (attempt !== undefined) this.#attempts.delete(attempt.ballot.attempt);
  }

  /** Lets its holder know when it is about to end, and when it has. */
  #watch(claim: Claim, tenure: Tenure, nowMs: number): void {
    if (!tenure.isHeldAt(nowMs)) {
      this.#end(claim, 'lapsed');
      if (claim.attempt?.purpose === 'renew') this.#abandon(claim);
    } else if (tenure.state === 'held' && nowMs >= tenure.untilMs - this.#settings.durations.noticeMs) {
      tenure.noticed();
      this.#settings.tell({ kind: 'ending', tenure });
    }
  }

  #end(claim: Claim, reason: EndReason): void {
    const tenure = claim.ended(reason);
    if (tenure !== undefined) this.#settings.tell({ kind: 'ended', tenure });
  }

  /** From here on this is to be told to the others, and no longer what was. */
  #leave(claim: Claim, leaving: Leaving | undefined): void {
    const tenure = claim.leave(leaving);
    if (tenure !== undefined) this.#settings.tell({ kind: 'left', tenure });
  }

  /** Nobody is asked, because we keep silent ourselves. */
  #refuse(request: number): void {
    this.#settings.tell({ kind: 'failed', request, reluctant: new Map([[this.#settings.id, 'recovering']]) });
  }

  #leaseOf({ number, untilMs }: Tenure): Lease {
    const { id, life } = this.#settings;
    return { holder: id, life, number, untilMs, state: 'held', heir: undefined };
  }

  #ask({ question }: Attempt, members: readonly string[]): void {
    for (const member of members) this.#settings.send(member, question);
  }

  #look(claim: Claim, atMs: number): void {
    if (claim.lookAgain(atMs)) this.#looks.add(atMs, claim);
  }
}

/**
 * Whether it was taken after what is to be given back, so that nobody waits for that. If not, what is found does not
 * say that nothing is on its way.
 */
const isLater = (found: Lease | undefined, leaving: Leaving | undefined): boolean =>
  leaving === undefined || (found !== undefined && found.number > leaving.number);
