/**
 * The proposer's state of one resource: requests of this process, the held lease, and the waiting line.
 *
 * Requests and members wait in one line, in order of arrival: other members by name, and this process once, for all
 * of its own requests. A holder that releases the lease leaves it to the first in line, and passes the rest of the
 * line on. So no waiting member is overtaken while holders live and messages arrive. After a holder's death the first
 * member to reach the registers gets the lease.
 *
 *     wanted ──begun──► attempt ──concluded──► held, or waits for another holder's end, or idle
 *        ▲                 │
 *        └──── pause ◄─────┘ failed, doubted
 *
 * Each method is named after an event, and decides when the next attempt may begin.
 */

import type { Attempt } from './attempt.ts';
import { FreedNotice } from './freed-notice.ts';
import type { Lease } from './lease.ts';
import { Backoff } from './backoff.ts';
import type { Entry } from './table.ts';
import type { EndReason, HeldLease } from './held-lease.ts';

/** A request of the application. */
export interface Request {
  readonly kind: 'acquire' | 'try' | 'ask';
  readonly id: number;
}

/** A request, and when it began to wait, by the group's clock. */
export interface Pending extends Request {
  readonly sinceMs: number;
}

/** A release that is still to be written. */
export interface Leaving {
  readonly number: number;
  /** When the lease expires by itself, so that the release need not be written any more. */
  readonly untilMs: number;
  /** The next holder, if the application named one. */
  readonly successor: string | undefined;
  /** The released lease; undefined if the lease was written and never held. */
  readonly held?: HeldLease | undefined;
}

const NOBODY: never[] = [];
Object.freeze(NOBODY);
const AT_ONCE = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

export class ResourceState {
  /** The table entry of this resource. */
  readonly entry: Entry<ResourceState>;
  readonly #self: string;
  /**
   * In order of arrival. Most resources have no request, and share one empty list, or one request; some have fifty
   * thousand.
   */
  #requests: Pending[] = NOBODY;
  #acquires = 0;
  #asks = 0;
  #waiters: readonly string[] = NOBODY;
  #held: HeldLease | undefined;
  #leaving: Leaving | undefined;
  #attempt: Attempt | undefined;
  #seen: Lease | undefined;
  #backoff: Backoff | undefined;
  /** Whether the last attempt was an `ask`: then requests that want the lease come next. */
  #wasAsked = false;
  /**
   * As far as is known another member holds the lease until `#takeAtMs`, and no attempt begins before `#tryAtMs`.
   * Undefined means at once, and saves the memory of a number for most resources.
   */
  #takeAtMs: number | undefined;
  #tryAtMs: number | undefined;
  #notice: FreedNotice | undefined;
  /** The soonest timer of this resource on the wheel. */
  #timerAtMs: number = NEVER;

  constructor(entry: Entry<ResourceState>, self: string) {
    this.entry = entry;
    this.#self = self;
  }

  get resource(): string {
    return this.entry.resource;
  }

  /** The held lease as far as is known: compare the clock. */
  get held(): HeldLease | undefined {
    return this.#held;
  }

  /** The release that is still to be written. */
  get leaving(): Leaving | undefined {
    return this.#leaving;
  }

  /** The attempt under way. */
  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** Another member's lease, as last seen. */
  get seen(): Lease | undefined {
    return this.#seen;
  }

  /** Of the attempts that failed since the last success. */
  get backoff(): Backoff | undefined {
    return this.#backoff;
  }

  /** The next attempt begins no sooner. */
  get tryAtMs(): number {
    return this.#tryAtMs ?? AT_ONCE;
  }

  /** The members that wait for our lease; our own name stands for all requests of this process. */
  get waiters(): readonly string[] {
    return this.#waiters;
  }

  /** Whether no attempt has had a result yet, and no holder is known. */
  get isFresh(): boolean {
    return this.#held === undefined && this.#leaving === undefined && this.#seen === undefined;
  }

  get isWanted(): boolean {
    return this.#requests.length > 0;
  }

  /**
   * Whether requests that want the lease come before those that ask: the last attempt was an `ask`, and the lease may
   * be taken.
   */
  isTurnOfTakers(nowMs: number): boolean {
    return (
      this.#wasAsked && nowMs >= (this.#takeAtMs ?? AT_ONCE) && (this.wants('acquire') || this.wants('try'))
    );
  }

  wants(kind: Request['kind']): boolean {
    if (kind === 'acquire') return this.#acquires > 0;
    if (kind === 'ask') return this.#asks > 0;
    return this.#requests.length > this.#acquires + this.#asks;
  }

  add({ kind, id }: Request, nowMs: number): void {
    const request: Pending = { kind, id, sinceMs: nowMs };
    if (this.#requests.length === 0) this.#requests = [request];
    else this.#requests.push(request);
    this.#count(kind, 1);
  }

  /** Waiting times start anew: the clock was another until now, or nothing could be asked. */
  waitFrom(nowMs: number): void {
    if (this.#requests.length > 0) this.#requests = this.#requests.map((one) => ({ ...one, sinceMs: nowMs }));
  }

  /** Removes and returns the first request that wants the lease. */
  shift(): Request | undefined {
    return this.#takeOut(this.#requests.findIndex(({ kind }) => kind !== 'ask'));
  }

  /** Removes and returns this request; undefined if there is no such request. */
  cancel(request: number): Request | undefined {
    return this.#takeOut(this.#requests.findIndex(({ id }) => id === request));
  }

  withdraw(which: (request: Pending) => boolean): readonly Request[] {
    const withdrawn = this.#requests.filter(which);
    if (withdrawn.length === 0) return withdrawn;
    const left = this.#requests.filter((request) => !which(request));
    this.#requests = left.length === 0 ? NOBODY : left;
    for (const { kind } of withdrawn) this.#count(kind, -1);
    return withdrawn;
  }

  /** Whether the last attempt failed, so that the next one begins after a pause. */
  get isBackingOff(): boolean {
    return this.#backoff?.isActive ?? false;
  }

  /** Lets the next attempt begin at once: neither another holder's end nor a pause delays it. */
  hurry(): void {
    this.#tryAtMs = undefined;
  }

  /** Begins something new, at once. */
  startAfresh(): void {
    this.#backoff?.reset();
    this.hurry();
  }

  /**
   * A peer says that the lease may be free. The holder knows best: its first notice counts, regardless of earlier
   * notices of others.
   */
  notified(from: string, nowMs: number, pauseMs: number): void {
    const isFromHolder = from === this.#seen?.holder;
    if (isFromHolder && this.#notice?.isFromHolder === false) this.#notice = undefined;
    const notice = (this.#notice ??= new FreedNotice(isFromHolder, nowMs));
    notice.received(nowMs, pauseMs);
    this.#takeAtMs = sooner(this.#takeAtMs, notice.atMs);
    this.#tryAtMs = sooner(this.#tryAtMs, notice.atMs);
  }

  begun(attempt: Attempt): void {
    this.#attempt = attempt;
    this.#notice?.attempted();
  }

  /** Drops the attempt under way; later answers to it are ignored. */
  abandon(): Attempt | undefined {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    return attempt;
  }

  /** The answers to a query differ. */
  doubted(): void {
    this.#startBackoff().doubts += 1;
  }

  /** @param intervalMs of ballots */
  failed(attempt: Attempt, intervalMs: number): Backoff {
    const backoff = this.#startBackoff();
    backoff.failed(attempt, intervalMs);
    return backoff;
  }

  pauseUntil(tryAtMs: number): void {
    this.#tryAtMs = tryAtMs;
  }

  /**
   * The attempt is over, with any outcome.
   *
   * @param takeAtMs another member holds the lease until then, and only an `ask` may begin sooner; undefined: no
   * other holder
   */
  concluded(takeAtMs?: number): Attempt | undefined {
    this.#wasAsked = this.#attempt?.operation === 'ask';
    // A notice that arrived meanwhile may be newer than the lease that was found.
    this.#takeAtMs = this.#notice?.isOpen ? sooner(takeAtMs, this.#notice.atMs) : takeAtMs;
    this.#tryAtMs = this.wants('ask') ? undefined : this.#takeAtMs;
    this.#backoff = undefined;
    return this.abandon();
  }

  /** The lease is ours. Other requests here go to the end of the line. */
  granted(held: HeldLease): void {
    this.#held = held;
    this.#seen = undefined;
    this.#notice = undefined;
    this.dequeue(this.#self);
    this.#takePlace();
  }

  /** The lease is no longer ours. Returns the held lease, if there was one. */
  ended(reason: EndReason): HeldLease | undefined {
    const held = this.#held;
    this.#held = undefined;
    held?.end(reason);
    return held;
  }

  /** Replaces the release to write. Returns the held lease whose release is no longer to be written. */
  leave(leaving: Leaving | undefined): HeldLease | undefined {
    const before = this.#leaving?.held;
    this.#leaving = leaving;
    if (leaving?.held === before) return undefined;
    leaving?.held?.leaving();
    before?.left();
    return before;
  }

  /** A majority has the release written, or the successor holds the lease. */
  givenBack(): void {
    this.#leaving?.held?.givenBack();
  }

  /** Another member holds the lease, and has been sent our waiting line. */
  saw(lease: Lease): void {
    const isTheSame = lease.number === this.#seen?.number && lease.state === this.#seen.state;
    if (!isTheSame && !this.#notice?.isOpen) this.#notice = undefined;
    this.#seen = lease;
    this.clearWaiters();
  }

  /** Recovery: no attempt begins for a while, and times set by a clock that may have been far ahead are dropped. */
  recoveryStarted(): void {
    this.#notice = undefined;
    this.#tryAtMs = undefined;
    this.#timerAtMs = NEVER;
  }

  /** Whether a timer has to be added for then; false if a sooner one is set. */
  reschedule(atMs: number): boolean {
    if (atMs >= this.#timerAtMs) return false;
    this.#timerAtMs = atMs;
    return true;
  }

  /** Whether the timer counts; false if it was set again for later. */
  timerFired(nowMs: number): boolean {
    if (this.#timerAtMs > nowMs) return false;
    this.#timerAtMs = NEVER;
    return true;
  }

  get isIdle(): boolean {
    return (
      this.#requests.length === 0 &&
      this.#held === undefined &&
      this.#leaving === undefined &&
      this.#attempt === undefined
    );
  }

  enqueue(member: string): void {
    if (this.#waiters.length === 0) this.#waiters = [member];
    else if (!this.#waiters.includes(member)) this.#waiters = [...this.#waiters, member];
  }

  dequeue(member: string): void {
    if (this.#waiters.includes(member)) this.keepWaiters((other) => other !== member);
  }

  keepWaiters(stays: (member: string) => boolean): void {
    if (this.#waiters.length === 0) return;
    const left = this.#waiters.filter(stays);
    this.#waiters = left.length === 0 ? NOBODY : left;
  }

  /** Another member keeps the line now. Our own requests go to its end. */
  clearWaiters(): void {
    this.#waiters = NOBODY;
    this.#takePlace();
  }

  /** Starts a back-off, unless there is one. */
  #startBackoff(): Backoff {
    this.#backoff ??= new Backoff();
    return this.#backoff;
  }

  #takeOut(place: number): Request | undefined {
    const request = this.#requests[place];
    if (request === undefined) return undefined;
    if (this.#requests.length === 1) this.#requests = NOBODY;
    else this.#requests.splice(place, 1);
    this.#count(request.kind, -1);
    return request;
  }

  #count(kind: Request['kind'], change: 1 | -1): void {
    if (kind === 'acquire') this.#acquires += change;
    if (kind === 'ask') this.#asks += change;
    this.#takePlace();
  }

  /** Our name is in the line while a request of this process waits. */
  #takePlace(): void {
    if (this.wants('acquire')) this.enqueue(this.#self);
    else this.dequeue(this.#self);
  }
}

/** The sooner instant; undefined means at once. */
const sooner = (atMs: number | undefined, otherMs: number): number | undefined =>
  atMs === undefined ? undefined : Math.min(atMs, otherMs);
