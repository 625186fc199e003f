/**
 * What this process wants of one resource: who waits for it here, what it holds, who waits for it elsewhere.
 *
 * Those who wait stand in one line, in the order in which they came: other members by name, and this process
 * once, for all of its own. Who gives the lease back gives it to the first of them, and the rest of the line with
 * it. So nobody is overtaken for as long as holders live and what they say arrives; after a death whoever is
 * first at the registers has it.
 */

import type { Attempt } from './attempt.ts';
import type { Lease } from './lease.ts';
import { Setbacks } from './setbacks.ts';

/** What somebody in this process asked for. */
export interface Request {
  readonly kind: 'acquire' | 'try' | 'ask';
  readonly id: number;
}

/** The same, and since when it waits for an answer, by the group's clock. */
export interface Pending extends Request {
  readonly sinceMs: number;
}

export type EndReason = 'released' | 'lapsed' | 'lost' | 'clock';

/** A lease that is held: one holder, one number, for as long as it is renewed. Never comes back once over. */
export class Tenure {
  readonly resource: string;
  readonly number: number;
  /** By the group's clock. */
  untilMs: number;
  /** Why it is over; undefined while it is not, as far as is known: compare the clock. */
  ended: EndReason | undefined;
  /** Whether its holder was told that it is about to end. */
  isNoticed = false;
  /** Whether it was given back, and the others are yet to be told. */
  isLeaving = false;
  /** Whether a majority has it written that it was given back. */
  isGivenBack = false;

  constructor(resource: string, number: number, untilMs: number) {
    this.resource = resource;
    this.number = number;
    this.untilMs = untilMs;
  }

  /** The one question that matters, and it is about the clock. */
  isHeldAt(groupMs: number): boolean {
    return this.ended === undefined && groupMs <= this.untilMs;
  }
}

/** What is to be written about a lease that is no longer used. */
export interface Leaving {
  readonly number: number;
  /** When it is over by itself, and need not be said any more. */
  readonly untilMs: number;
  /** Who is to have it next, if it was said. */
  readonly heir: string | undefined;
  /** Whose it was, if it was held. */
  readonly tenure?: Tenure;
}

const NOBODY: readonly never[] = [];

export class Claim {
  readonly resource: string;
  readonly #self: string;
  /** In the order in which they came. Lists are replaced, not changed: most have none or one, a million times. */
  #requests: readonly Pending[] = NOBODY;
  #line: readonly string[] = NOBODY;
  tenure: Tenure | undefined;
  leaving: Leaving | undefined;
  attempt: Attempt | undefined;
  /** Somebody else's lease, as last seen. */
  seen: Lease | undefined;
  /** Of attempts since one came to something. */
  setbacks: Setbacks | undefined;
  /** Whether the last attempt was to say who has it: then it is the turn of those who want it themselves. */
  wasAsked = false;
  /** Until then somebody else has it, as far as is known. */
  takeAtMs: number = Number.NEGATIVE_INFINITY;
  /** Not before. */
  tryAtMs: number = Number.NEGATIVE_INFINITY;
  /** The soonest look at it that is on the agenda. */
  lookAtMs: number = Number.POSITIVE_INFINITY;

  constructor(resource: string, self: string) {
    this.resource = resource;
    this.#self = self;
  }

  /** Who waits for what we hold; our own name stands for all of our own requests. */
  get line(): readonly string[] {
    return this.#line;
  }

  get isWanted(): boolean {
    return this.#requests.length > 0;
  }

  /** Whether somebody wants to have it, and not only to know who has. */
  get isWantedForItself(): boolean {
    return this.wants('acquire') || this.wants('try');
  }

  wants(wanted: Request['kind']): boolean {
    for (const { kind } of this.#requests) if (kind === wanted) return true;
    return false;
  }

  add({ kind, id }: Request, nowMs: number): void {
    this.#requests = withOneMore(this.#requests, { kind, id, sinceMs: nowMs });
    this.#takePlace();
  }

  /** The clock was another until here, or nothing could be asked: all wait from here on. */
  beginAnew(nowMs: number): void {
    if (this.#requests.length > 0) this.#requests = this.#requests.map((one) => ({ ...one, sinceMs: nowMs }));
  }

  /** The first who wants to have it, and does not wait any more. */
  shift(): Request | undefined {
    const place = this.#requests.findIndex(({ kind }) => kind !== 'ask');
    if (place === -1) return undefined;
    const first = this.#requests[place];
    this.#requests = this.#requests.length === 1 ? NOBODY : this.#requests.toSpliced(place, 1);
    this.#takePlace();
    return first;
  }

  withdraw(which: (request: Pending) => boolean): readonly Request[] {
    const withdrawn = this.#requests.filter(which);
    if (withdrawn.length === 0) return withdrawn;
    const left = this.#requests.filter((request) => !which(request));
    this.#requests = left.length === 0 ? NOBODY : left;
    this.#takePlace();
    return withdrawn;
  }

  /** A majority knows, or whoever it was left to has it. */
  givenBack(): void {
    if (this.leaving?.tenure !== undefined) this.leaving.tenure.isGivenBack = true;
  }

  /** It has setbacks from here on. */
  setBack(): Setbacks {
    this.setbacks ??= new Setbacks();
    return this.setbacks;
  }

  get isIdle(): boolean {
    return (
      this.#requests.length === 0 &&
      this.tenure === undefined &&
      this.leaving === undefined &&
      this.attempt === undefined
    );
  }

  standInLine(member: string): void {
    if (!this.#line.includes(member)) this.#line = withOneMore(this.#line, member);
  }

  leaveLine(member: string): void {
    if (!this.#line.includes(member)) return;
    const left = this.#line.filter((other) => other !== member);
    this.#line = left.length === 0 ? NOBODY : left;
  }

  /** We had our turn; who else waits here has to wait for another. */
  goToTheEnd(): void {
    this.leaveLine(this.#self);
    this.#takePlace();
  }

  /** Somebody else has it: those in our line stand in another. We go to the end of it. */
  disperse(): void {
    this.#line = NOBODY;
    this.#takePlace();
  }

  /** We are in line for as long as somebody here waits. */
  #takePlace(): void {
    if (this.wants('acquire')) this.standInLine(this.#self);
    else this.leaveLine(this.#self);
  }
}

/** A list of one is as short as can be; one that is spread from another has room for more, a million times. */
const withOneMore = <T>(list: readonly T[], one: T): readonly T[] =>
  list.length === 0 ? [one] : [...list, one];
