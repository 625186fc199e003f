/**
 * What this process wants of one resource: who waits for it here, what it holds, who waits for it elsewhere.
 *
 * Those who wait stand in one line, in the order in which they came: other members by name, and this process
 * once, for all of its own. Who gives the lease back gives it to the first of them, and the rest of the line with
 * it. So nobody is overtaken for as long as holders live and what they say arrives; after a death whoever is
 * first at the registers has it.
 *
 *     wanted ──begun──► attempt ──concluded──► held, or waits for somebody's end, or idle
 *        ▲                 │
 *        └──── pause ◄─────┘ failed, doubted
 *
 * What happened has a name here, and what follows from it for when to try next is said where that name is.
 */

import type { Attempt } from './attempt.ts';
import { Hint } from './hint.ts';
import type { Lease } from './lease.ts';
import { Setbacks } from './setbacks.ts';
import type { Entry } from './table.ts';
import type { EndReason, Tenure } from './tenure.ts';

/** What somebody in this process asked for. */
export interface Request {
  readonly kind: 'acquire' | 'try' | 'ask';
  readonly id: number;
}

/** The same, and since when it waits for an answer, by the group's clock. */
export interface Pending extends Request {
  readonly sinceMs: number;
}

/** What is to be written about a lease that is no longer used. */
export interface Leaving {
  readonly number: number;
  /** When it is over by itself, and need not be said any more. */
  readonly untilMs: number;
  /** Who is to have it next, if it was said. */
  readonly heir: string | undefined;
  /** Whose it was, if it was held. */
  readonly tenure?: Tenure | undefined;
}

const NOBODY: never[] = [];
Object.freeze(NOBODY);
const AT_ONCE = Number.NEGATIVE_INFINITY;
const NEVER = Number.POSITIVE_INFINITY;

export class Claim {
  /** Where it is: for as long as it is there. */
  readonly entry: Entry;
  readonly #self: string;
  /**
   * In the order in which they came. Most have none, which they share, or one, a million times; some have fifty
   * thousand.
   */
  #requests: Pending[] = NOBODY;
  #acquires = 0;
  #asks = 0;
  #line: readonly string[] = NOBODY;
  #tenure: Tenure | undefined;
  #leaving: Leaving | undefined;
  #attempt: Attempt | undefined;
  #seen: Lease | undefined;
  #setbacks: Setbacks | undefined;
  /** Whether the last attempt was to say who has it: then it is the turn of those who want it themselves. */
  #wasAsked = false;
  /**
   * Until then somebody else has it, as far as is known; and no attempt is begun before. Undefined: at once, as it is of
   * most, who need no room for a number then.
   */
  #takeAtMs: number | undefined;
  #tryAtMs: number | undefined;
  #hint: Hint | undefined;
  /** The soonest look at it that is on the agenda. */
  #lookAtMs: number = NEVER;

  constructor(entry: Entry, self: string) {
    this.entry = entry;
    this.#self = self;
  }

  get resource(): string {
    return this.entry.resource;
  }

  /** What is held, as far as is known: compare the clock. */
  get tenure(): Tenure | undefined {
    return this.#tenure;
  }

  /** What the others are yet to be told. */
  get leaving(): Leaving | undefined {
    return this.#leaving;
  }

  /** The one that is under way. */
  get attempt(): Attempt | undefined {
    return this.#attempt;
  }

  /** Somebody else's lease, as last seen. */
  get seen(): Lease | undefined {
    return this.#seen;
  }

  /** Of attempts since one came to something. */
  get setbacks(): Setbacks | undefined {
    return this.#setbacks;
  }

  /** No attempt is begun before. */
  get tryAtMs(): number {
    return this.#tryAtMs ?? AT_ONCE;
  }

  /** Who waits for what we hold; our own name stands for all of our own requests. */
  get line(): readonly string[] {
    return this.#line;
  }

  /** Whether nothing has come of it so far, nor is it known who has it. */
  get isFresh(): boolean {
    return this.#tenure === undefined && this.#leaving === undefined && this.#seen === undefined;
  }

  get isWanted(): boolean {
    return this.#requests.length > 0;
  }

  /** Whether those who want to have it come before those who ask: these came last time, and it may be had. */
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

  /** The clock was another until here, or nothing could be asked: all wait from here on. */
  waitFrom(nowMs: number): void {
    if (this.#requests.length > 0) this.#requests = this.#requests.map((one) => ({ ...one, sinceMs: nowMs }));
  }

  /** The first who wants to have it, and does not wait any more. */
  shift(): Request | undefined {
    return this.#takeOut(this.#requests.findIndex(({ kind }) => kind !== 'ask'));
  }

  /** That one does not wait any more; undefined if it does not anyway. */
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

  /** Whether the last attempt came to nothing, and the next one pauses before it begins. */
  get isSetBack(): boolean {
    return this.#setbacks?.areAny ?? false;
  }

  /** Nothing is to be waited for: neither for somebody's end nor for a pause to be over. */
  hurry(): void {
    this.#tryAtMs = undefined;
  }

  /** Something else is to be done from here on, and at once. */
  startAfresh(): void {
    this.#setbacks?.beginAnew();
    this.hurry();
  }

  /** It may be had, by somebody's word. Who has it knows best: whatever others have said before, its first word counts. */
  freed(from: string, nowMs: number, pauseMs: number): void {
    const isHolders = from === this.#seen?.holder;
    if (isHolders && this.#hint?.isHolders === false) this.#hint = undefined;
    const hint = (this.#hint ??= new Hint(isHolders, nowMs));
    hint.said(nowMs, pauseMs);
    this.#takeAtMs = sooner(this.#takeAtMs, hint.atMs);
    this.#tryAtMs = sooner(this.#tryAtMs, hint.atMs);
  }

  begun(attempt: Attempt): void {
    this.#attempt = attempt;
    this.#hint?.lookedInto();
  }

  /** Whatever is answered to the attempt under way counts for nothing. */
  abandon(): Attempt | undefined {
    const attempt = this.#attempt;
    this.#attempt = undefined;
    return attempt;
  }

  /** A query has found what is not certain. */
  doubted(): void {
    this.#setBack().doubts += 1;
  }

  /** @param intervalMs of ballots */
  failed(attempt: Attempt, intervalMs: number): Setbacks {
    const setbacks = this.#setBack();
    setbacks.failed(attempt, intervalMs);
    return setbacks;
  }

  pauseUntil(tryAtMs: number): void {
    this.#tryAtMs = tryAtMs;
  }

  /**
   * The attempt has come to its end, whatever that is.
   *
   * @param takeAtMs until then somebody else has it: only who asks goes on before; undefined: nobody else has
   */
  concluded(takeAtMs?: number): Attempt | undefined {
    this.#wasAsked = this.#attempt?.purpose === 'ask';
    // What was said meanwhile may be of later than what was found.
    this.#takeAtMs = this.#hint?.isOpen ? sooner(takeAtMs, this.#hint.atMs) : takeAtMs;
    this.#tryAtMs = this.wants('ask') ? undefined : this.#takeAtMs;
    this.#setbacks = undefined;
    return this.abandon();
  }

  /** It is ours. We had our turn; who else waits here has to wait for another. */
  granted(tenure: Tenure): void {
    this.#tenure = tenure;
    this.#seen = undefined;
    this.#hint = undefined;
    this.leaveLine(this.#self);
    this.#takePlace();
  }

  /** It is no longer ours. Returns what was, if anything. */
  ended(reason: EndReason): Tenure | undefined {
    const tenure = this.#tenure;
    this.#tenure = undefined;
    tenure?.end(reason);
    return tenure;
  }

  /** From here on this is to be told to the others. Returns the tenure of which something was, until here. */
  leave(leaving: Leaving | undefined): Tenure | undefined {
    const before = this.#leaving?.tenure;
    this.#leaving = leaving;
    if (leaving?.tenure === before) return undefined;
    leaving?.tenure?.leaving();
    before?.left();
    return before;
  }

  /** A majority knows, or whoever it was left to has it. */
  givenBack(): void {
    this.#leaving?.tenure?.givenBack();
  }

  /** Somebody else has it, and was told of our line. */
  saw(lease: Lease): void {
    const isTheSame = lease.number === this.#seen?.number && lease.state === this.#seen.state;
    if (!isTheSame && !this.#hint?.isOpen) this.#hint = undefined;
    this.#seen = lease;
    this.disperse();
  }

  /** Nothing is begun for a while. When to go on was said by a clock that may have been far ahead. */
  silenced(): void {
    this.#hint = undefined;
    this.#tryAtMs = undefined;
    this.#lookAtMs = NEVER;
  }

  /** Whether it has to be put down on the agenda for then: not if a sooner look is there. */
  lookAgain(atMs: number): boolean {
    if (atMs >= this.#lookAtMs) return false;
    this.#lookAtMs = atMs;
    return true;
  }

  /** Whether a look is due; not if another, which was sooner, has put it down for later. */
  looked(nowMs: number): boolean {
    if (this.#lookAtMs > nowMs) return false;
    this.#lookAtMs = NEVER;
    return true;
  }

  get isIdle(): boolean {
    return (
      this.#requests.length === 0 &&
      this.#tenure === undefined &&
      this.#leaving === undefined &&
      this.#attempt === undefined
    );
  }

  standInLine(member: string): void {
    if (this.#line.length === 0) this.#line = [member];
    else if (!this.#line.includes(member)) this.#line = [...this.#line, member];
  }

  leaveLine(member: string): void {
    if (this.#line.includes(member)) this.keepInLine((other) => other !== member);
  }

  keepInLine(stays: (member: string) => boolean): void {
    if (this.#line.length === 0) return;
    const left = this.#line.filter(stays);
    this.#line = left.length === 0 ? NOBODY : left;
  }

  /** Somebody else has it: those in our line stand in another. We go to the end of it. */
  disperse(): void {
    this.#line = NOBODY;
    this.#takePlace();
  }

  /** It has setbacks from here on. */
  #setBack(): Setbacks {
    this.#setbacks ??= new Setbacks();
    return this.#setbacks;
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

  /** We are in line for as long as somebody here waits. */
  #takePlace(): void {
    if (this.wants('acquire')) this.standInLine(this.#self);
    else this.leaveLine(this.#self);
  }
}

/** Of two instants, the first of which may be at once. */
const sooner = (atMs: number | undefined, otherMs: number): number | undefined =>
  atMs === undefined ? undefined : Math.min(atMs, otherMs);
