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
 * Why nobody else can hold it meanwhile is lemma R5 of the register and the wait for ε: whoever writes under a
 * higher ballot has read from a majority, one of which has our lease, or has forgotten it because it is over.
 * What we read and somebody else holds, we leave. `ask` says who holds it, which is a promise too, so it says
 * only what a majority has: if those that answered differ, it writes what it has read before it says so.
 *
 *     nothing ──take──► held ──renew──► held ──free──► nothing
 *        ▲                │                │
 *        └────────────────┴── lapsed, lost ┘           never back: what has ended once is not renewed
 *
 * Letting go comes first, and is written afterwards; what is written then says to whom it is left. If that gets
 * lost the lease runs out by itself. An attempt to take that failed may have been written in part; nobody holds
 * that, but others would wait for it, so it is freed too when nobody here wants it any more.
 *
 * This file does no I/O. Call an input with the present time of the group's clock, then carry out what
 * has gathered in its outbox and its events, and call {@link Proposer.wake} at {@link Proposer.wakeAtMs}.
 */

import { unreachable } from '../runtime/assert.ts';
import { Agenda } from './agenda.ts';
import { Attempt, type Reluctance } from './attempt.ts';
import { Claim, type EndReason, type Leaving, type Purpose, type Request, Tenure } from './claim.ts';
import {
  type Decision,
  decideToFree,
  decideToRenew,
  decideToTake,
  decideToTell,
  type Self,
} from './decision.ts';
import type { Lease } from './lease.ts';
import type { Answer, Item } from './messages.ts';
import type { Quorums } from './view.ts';

export interface ProposerSettings extends Self {
  /** In [0, 1). */
  readonly random: () => number;
  /** Says something to a member, ourselves among them. */
  readonly send: (to: string, item: Item) => void;
  readonly tell: (event: ProposerEvent) => void;
}

export type ProposerEvent =
  | { readonly kind: 'granted'; readonly request: number; readonly tenure: Tenure }
  /** To a `try`: somebody else has it. */
  | { readonly kind: 'held'; readonly request: number; readonly lease: Lease }
  /** To an `ask`; undefined if nobody has it. */
  | { readonly kind: 'told'; readonly request: number; readonly lease: Lease | undefined }
  /** To a `try` or an `ask`: no majority. */
  | { readonly kind: 'failed'; readonly request: number; readonly reluctant: ReadonlyMap<string, Reluctance> }
  | { readonly kind: 'renewed'; readonly tenure: Tenure }
  /** It is about to end, and could not be renewed so far. */
  | { readonly kind: 'ending'; readonly tenure: Tenure }
  | { readonly kind: 'ended'; readonly tenure: Tenure };

/** A look at a claim may come late by this part of a lease. */
const LOOKS_PER_LEASE = 2_000;
/** The first pause after a failed attempt, as a part of the time to answer; each is up to twice the one before. */
const FIRST_PAUSE = 1 / 32;
/**
 * So many attempts are under way at a time. With more, answers would come later than they are waited for, and all
 * would be made again: a hundred thousand leases are renewed one after the other, not all at once and in vain.
 */
const ATTEMPTS_MAX = 4_096;
/** A `try` or an `ask` fails after so many attempts without a majority. */
const TRIES_MAX = 3;

export class Proposer {
  readonly #settings: ProposerSettings;
  readonly #claims = new Map<string, Claim>();
  readonly #attempts = new Map<number, Claim>();
  readonly #looks: Agenda<Claim>;
  /** Those that would begin an attempt if there were not so many under way, in the order in which they came. */
  readonly #crowd = new Set<Claim>();
  #quorums: Quorums;
  #attemptsMade = 0;
  #isSilent = false;

  constructor(settings: ProposerSettings, quorums: Quorums) {
    this.#settings = settings;
    this.#quorums = quorums;
    this.#looks = new Agenda(settings.durations.leaseMs / LOOKS_PER_LEASE);
  }

  /** Others count from here on. What was asked of those before has to be asked anew. */
  regroup(quorums: Quorums, nowMs: number): void {
    this.#quorums = quorums;
    for (const claim of [...this.#attempts.values()]) {
      if (claim.attempt !== undefined) this.#fail(claim, claim.attempt, nowMs);
    }
  }

  get wakeAtMs(): number {
    return this.#looks.nextMs;
  }

  get attemptsMade(): number {
    return this.#attemptsMade;
  }

  /** What is held, as far as is known: compare the clock. */
  *tenures(): Iterable<Tenure> {
    for (const { tenure } of this.#claims.values()) if (tenure !== undefined) yield tenure;
  }

  /** Why a resource that is waited for has not been had yet. */
  waitingFor(resource: string): {
    seen: Lease | undefined;
    reluctant: ReadonlyMap<string, Reluctance> | undefined;
    /** The number of a lease that was let go of, until the others have been told. */
    leaving: number | undefined;
  } {
    const claim = this.#claims.get(resource);
    return { seen: claim?.seen, reluctant: claim?.reluctant, leaving: claim?.leaving?.number };
  }

  request(resource: string, request: Request, nowMs: number): void {
    const claim = this.#claimOf(resource);
    const { tenure } = claim;
    if (request.kind === 'try' && tenure?.isHeldAt(nowMs)) {
      this.#settings.tell({ kind: 'held', request: request.id, lease: this.#leaseOf(tenure) });
      return;
    }
    claim.add(request);
    if (request.kind !== 'acquire') claim.tryAtMs = Number.NEGATIVE_INFINITY; // It is not for it to wait.
    this.#step(claim, nowMs);
  }

  /** Nobody waits for this answer any more. */
  cancel(resource: string, id: number, nowMs: number): void {
    const claim = this.#claims.get(resource);
    if (claim === undefined) return;
    const [withdrawn] = claim.withdraw((request) => request.id === id);
    if (withdrawn?.kind === 'acquire' && !claim.wants('acquire')) {
      // Whoever has it by this time has the line.
      const unwish: Item = { kind: 'unwish', resource, member: this.#settings.id };
      for (const member of this.#quorums.everybody) this.#settings.send(member, unwish);
    }
    this.#step(claim, nowMs);
  }

  /** Lets go of it, at once and for good; then says so to the others. */
  release(tenure: Tenure, nowMs: number, heir?: string): void {
    const claim = this.#claims.get(tenure.resource);
    if (claim?.tenure !== tenure) return;
    this.#end(claim, 'released');
    claim.leaving = { number: tenure.number, untilMs: tenure.untilMs, heir };
    if (claim.purpose === 'renew') this.#abandon(claim);
    claim.failures = 0;
    claim.tryAtMs = Number.NEGATIVE_INFINITY;
    this.#step(claim, nowMs);
  }

  /** Somebody waits for what we hold, or are about to take, or to leave. */
  wish(resource: string, member: string): void {
    this.#claims.get(resource)?.standInLine(member);
  }

  unwish(resource: string, member: string): void {
    this.#claims.get(resource)?.leaveLine(member);
  }

  /** What we wait for may have been given back. */
  freed(resource: string, nowMs: number): void {
    const claim = this.#claims.get(resource);
    if (claim === undefined || claim.tenure !== undefined) return;
    claim.tryAtMs = Number.NEGATIVE_INFINITY;
    this.#step(claim, nowMs);
  }

  answer(from: string, answer: Answer, nowMs: number): void {
    const claim = this.#attempts.get(answer.attempt);
    const attempt = claim?.attempt;
    if (claim === undefined || attempt === undefined) return;
    const progress = attempt.answer(from, answer);
    if (progress === 'has-read') this.#decide(claim, attempt, nowMs);
    else if (progress === 'has-written') this.#finish(claim, attempt, nowMs);
    else if (progress === 'failed') this.#fail(claim, attempt, nowMs);
    if (this.#crowd.size > 0) this.#admit(nowMs);
  }

  wake(nowMs: number): void {
    for (const claim of this.#looks.due(nowMs)) {
      // It may be gone, or another look, sooner, has put it down for later.
      if (claim.lookAtMs > nowMs || this.#claims.get(claim.resource) !== claim) continue;
      claim.lookAtMs = Number.POSITIVE_INFINITY;
      this.#step(claim, nowMs);
    }
    this.#admit(nowMs);
  }

  /** Lets go of everything without a word, and begins nothing until {@link speak}. */
  silence(reason: EndReason): void {
    this.#isSilent = true;
    for (const claim of this.#claims.values()) {
      this.#abandon(claim);
      this.#end(claim, reason);
      claim.leaving = undefined;
      // By a clock that may have been far ahead.
      claim.tryAtMs = Number.NEGATIVE_INFINITY;
      claim.lookAtMs = Number.POSITIVE_INFINITY;
    }
    this.#looks.clear();
    this.#crowd.clear();
  }

  /** What waits may go on. */
  speak(nowMs: number): void {
    this.#isSilent = false;
    for (const claim of [...this.#claims.values()]) this.#step(claim, nowMs);
  }

  /** Whether anything is left to say to the others about what was let go of. */
  get isLeaving(): boolean {
    for (const claim of this.#claims.values()) if (claim.leaving !== undefined) return true;
    return false;
  }

  #claimOf(resource: string): Claim {
    let claim = this.#claims.get(resource);
    if (claim === undefined) {
      claim = new Claim(resource, this.#settings.id);
      this.#claims.set(resource, claim);
    }
    return claim;
  }

  /** Does whatever is to be done about this claim now, and puts it down for when there is more. */
  #step(claim: Claim, nowMs: number): void {
    const { tenure } = claim;
    if (tenure !== undefined) this.#watch(claim, tenure, nowMs);
    if (claim.attempt !== undefined && nowMs >= this.#answerByMs(claim.attempt)) {
      this.#fail(claim, claim.attempt, nowMs);
      return; // It has stepped.
    }
    if (claim.leaving !== undefined && nowMs > claim.leaving.untilMs) claim.leaving = undefined;
    if (claim.attempt === undefined && nowMs >= claim.tryAtMs && !this.#isSilent) {
      const purpose = this.#purposeOf(claim, nowMs);
      if (purpose === undefined) this.#crowd.delete(claim);
      else if (this.#attempts.size >= ATTEMPTS_MAX) this.#crowd.add(claim);
      else this.#begin(claim, purpose, nowMs);
    }
    if (claim.isIdle) this.#claims.delete(claim.resource);
    else if (!this.#isSilent) this.#look(claim, this.#nextMs(claim, nowMs));
  }

  /** There may be room for those that wait for it. */
  #admit(nowMs: number): void {
    for (const claim of this.#crowd) {
      if (this.#attempts.size >= ATTEMPTS_MAX) return;
      this.#crowd.delete(claim);
      if (this.#claims.get(claim.resource) === claim) this.#step(claim, nowMs);
    }
  }

  #purposeOf(claim: Claim, nowMs: number): Purpose | undefined {
    const { tenure, leaving } = claim;
    if (leaving !== undefined) return this.#isOurTurn(claim, leaving) ? 'take' : 'free';
    if (tenure !== undefined && nowMs >= this.#renewAtMs(tenure)) return 'renew';
    if (claim.wants('ask')) return 'ask';
    return tenure === undefined && claim.isWanted ? 'take' : undefined;
  }

  /** Whether what we let go of goes to somebody in this process. */
  #isOurTurn(claim: Claim, leaving: Leaving): boolean {
    if (leaving.heir !== undefined) return false;
    const [first] = claim.line;
    return first === undefined ? claim.wants('try') : first === this.#settings.id;
  }

  #begin(claim: Claim, purpose: Purpose, nowMs: number): void {
    const { id, life, durations } = this.#settings;
    this.#attemptsMade += 1;
    const attempt = this.#attemptsMade;
    const round = claim.roundSeen + 1;
    const ballot = { askedMs: nowMs, round, member: id, life, attempt };
    claim.attempt = new Attempt(claim.resource, ballot, this.#quorums, durations.attemptMs);
    claim.purpose = purpose;
    this.#attempts.set(attempt, claim);
    const read: Item = { kind: 'read', attempt, resource: claim.resource, askedMs: nowMs, round };
    this.#sendAll(claim.attempt, read);
  }

  /** A majority has promised, and this is what they have. */
  #decide(claim: Claim, attempt: Attempt, nowMs: number): void {
    const decision = this.#decision(claim, attempt, nowMs);
    switch (decision.do) {
      case 'write':
        this.#write(attempt, decision.lease);
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
        this.#end(claim, 'lost');
        claim.leaving = undefined;
        this.#conclude(claim, nowMs);
        return;
      default:
        unreachable(decision);
    }
  }

  #decision(claim: Claim, attempt: Attempt, nowMs: number): Decision {
    const { tenure, leaving, purpose, line } = claim;
    const { found, isCertain, ballot } = attempt;
    const reading = { askedMs: ballot.askedMs, nowMs, found, isCertain };
    const self = this.#settings;
    if (purpose === 'take') return decideToTake(self, reading);
    if (purpose === 'renew' && tenure?.isHeldAt(nowMs)) return decideToRenew(self, tenure.number, reading);
    if (purpose === 'free' && leaving !== undefined) {
      return decideToFree(self, leaving.number, { named: leaving.heir, first: line[0] }, reading);
    }
    return purpose === 'ask' ? decideToTell(self, reading) : { do: 'give-up' };
  }

  #write(attempt: Attempt, lease: Lease): void {
    attempt.write(lease);
    const { attempt: id, askedMs, round } = attempt.ballot;
    this.#sendAll(attempt, { kind: 'write', attempt: id, resource: attempt.resource, askedMs, round, lease });
  }

  /** A majority has it written. */
  #finish(claim: Claim, attempt: Attempt, nowMs: number): void {
    const lease = attempt.proposal as Lease;
    switch (claim.purpose) {
      case 'take':
        this.#taken(claim, lease, nowMs);
        return;
      case 'renew':
        this.#renewed(claim, lease, nowMs);
        return;
      case 'free':
        this.#left(claim, nowMs);
        return;
      default:
        this.#told(claim, lease, nowMs);
    }
  }

  #taken(claim: Claim, lease: Lease, nowMs: number): void {
    claim.leaving = undefined;
    const request = nowMs > lease.untilMs ? undefined : claim.shift();
    if (request === undefined) {
      claim.leaving = { number: lease.number, untilMs: lease.untilMs, heir: undefined };
      this.#conclude(claim, nowMs);
      return;
    }
    const tenure = new Tenure(claim.resource, lease.number, lease.untilMs);
    claim.tenure = tenure;
    claim.seen = undefined;
    claim.goToTheEnd();
    this.#settings.tell({ kind: 'granted', request: request.id, tenure });
    this.#conclude(claim, nowMs);
  }

  #renewed(claim: Claim, lease: Lease, nowMs: number): void {
    const { tenure } = claim;
    if (tenure?.isHeldAt(nowMs)) {
      tenure.untilMs = lease.untilMs;
      tenure.isNoticed = false;
      this.#settings.tell({ kind: 'renewed', tenure });
    }
    this.#conclude(claim, nowMs);
  }

  /** The heir may take it, and is told who waits behind it. */
  #left(claim: Claim, nowMs: number): void {
    const { resource, line } = claim;
    const heir = claim.attempt?.proposal?.heir;
    if (heir !== undefined) {
      const send = (item: Item): void => this.#settings.send(heir, item);
      for (const member of line) if (member !== heir) send({ kind: 'wish', resource, member });
      send({ kind: 'freed', resource });
    }
    claim.leaving = undefined;
    claim.disperse();
    this.#conclude(claim, nowMs);
  }

  #told(claim: Claim, lease: Lease | undefined, nowMs: number): void {
    for (const { id } of claim.withdraw(({ kind }) => kind === 'ask')) {
      this.#settings.tell({ kind: 'told', request: id, lease });
    }
    this.#conclude(claim, nowMs);
  }

  /** Somebody else has it: those who do not want to wait are told so, the others wait for its end. */
  #wait(claim: Claim, found: Lease, takeAtMs: number, nowMs: number): void {
    claim.seen = found;
    claim.leaving = undefined;
    for (const { id } of claim.withdraw(({ kind }) => kind === 'try')) {
      this.#settings.tell({ kind: 'held', request: id, lease: found });
    }
    claim.disperse(); // They will find who has it, as we did.
    if (claim.wants('acquire')) {
      this.#sendToHolder(found, { kind: 'wish', resource: claim.resource, member: this.#settings.id });
    }
    this.#conclude(claim, nowMs, takeAtMs);
  }

  /** The attempt has come to its end, whatever that is. */
  #conclude(claim: Claim, nowMs: number, tryAtMs: number = Number.NEGATIVE_INFINITY): void {
    this.#abandon(claim);
    claim.failures = 0;
    claim.roundSeen = 0;
    claim.reluctant = undefined;
    claim.tryAtMs = claim.wants('ask') ? Number.NEGATIVE_INFINITY : tryAtMs;
    this.#step(claim, nowMs);
  }

  #fail(claim: Claim, attempt: Attempt, nowMs: number): void {
    const { durations, random } = this.#settings;
    claim.roundSeen = Math.max(claim.roundSeen, attempt.roundSeen);
    claim.reluctant = attempt.reluctant;
    claim.failures += 1;
    const { proposal } = attempt;
    if (claim.purpose === 'take' && proposal !== undefined) {
      claim.leaving = { number: proposal.number, untilMs: proposal.untilMs, heir: undefined };
    }
    this.#abandon(claim);
    if (claim.failures >= TRIES_MAX) {
      for (const { id } of claim.withdraw(({ kind }) => kind !== 'acquire')) {
        this.#settings.tell({ kind: 'failed', request: id, reluctant: claim.reluctant });
      }
    }
    const pauseMs = Math.min(
      durations.answerMs,
      durations.answerMs * FIRST_PAUSE * 2 ** (claim.failures - 1),
    );
    claim.tryAtMs = nowMs + pauseMs * random();
    this.#step(claim, nowMs);
  }

  #abandon(claim: Claim): void {
    if (claim.attempt !== undefined) this.#attempts.delete(claim.attempt.ballot.attempt);
    claim.attempt = undefined;
    claim.purpose = undefined;
  }

  /** Lets its holder know when it is about to end, and when it has. */
  #watch(claim: Claim, tenure: Tenure, nowMs: number): void {
    if (!tenure.isHeldAt(nowMs)) {
      this.#end(claim, 'lapsed');
      if (claim.purpose === 'renew') this.#abandon(claim);
    } else if (!tenure.isNoticed && nowMs >= tenure.untilMs - this.#settings.durations.noticeMs) {
      tenure.isNoticed = true;
      this.#settings.tell({ kind: 'ending', tenure });
    }
  }

  #end(claim: Claim, reason: EndReason): void {
    const { tenure } = claim;
    if (tenure === undefined) return;
    tenure.ended = reason;
    claim.tenure = undefined;
    this.#settings.tell({ kind: 'ended', tenure });
  }

  #leaseOf({ number, untilMs }: Tenure): Lease {
    const { id, life } = this.#settings;
    return { holder: id, life, number, untilMs, state: 'held', heir: undefined };
  }

  #sendToHolder(lease: Lease | undefined, item: Item): void {
    const holder = lease?.state === 'left' ? lease.heir : lease?.holder;
    if (holder !== undefined && holder !== this.#settings.id) this.#settings.send(holder, item);
  }

  #sendAll(attempt: Attempt, item: Item): void {
    for (const member of attempt.audience) this.#settings.send(member, item);
  }

  #answerByMs(attempt: Attempt): number {
    return attempt.ballot.askedMs + this.#settings.durations.answerMs;
  }

  #renewAtMs(tenure: Tenure): number {
    const { leaseMs, renewAfterMs } = this.#settings.durations;
    return tenure.untilMs - leaseMs + renewAfterMs;
  }

  /** When there will be something to do about this claim. */
  #nextMs(claim: Claim, nowMs: number): number {
    const { attempt, tenure } = claim;
    let nextMs = Number.POSITIVE_INFINITY;
    if (attempt !== undefined) nextMs = this.#answerByMs(attempt);
    else if (this.#crowd.has(claim)) nextMs = Number.POSITIVE_INFINITY;
    else if (tenure === undefined || claim.leaving !== undefined) nextMs = claim.tryAtMs;
    else nextMs = Math.max(this.#renewAtMs(tenure), claim.tryAtMs);
    if (tenure !== undefined) {
      const { noticeMs } = this.#settings.durations;
      const endMs = tenure.isNoticed ? tenure.untilMs : tenure.untilMs - noticeMs;
      nextMs = Math.min(nextMs, endMs);
    }
    return Math.max(nextMs, nowMs);
  }

  #look(claim: Claim, atMs: number): void {
    if (atMs >= claim.lookAtMs) return;
    claim.lookAtMs = atMs;
    this.#looks.add(atMs, claim);
  }
}
