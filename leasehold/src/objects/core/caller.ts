/**
 * The caller's half of calls: a call is sent to the owner of its key, and sent again until it is answered or its time is over.
 *
 *     unsent ──► sent ──► reply ───────────────────────────► settled
 *       ▲          ├────► refused for good, unknown ───────► settled
 *       │          ├────► refused: not held there ─┐
 *       │          ├────► uncertain ───────────────┤ it may have run
 *       │          └────► the link broke ──────────┤ it may have run
 *       └──────────────────────────────────────────┘
 *     any ── its time is over, or it is given up ──► the owner is asked to cancel it ──► settled
 *
 * **Why the answer is that of the one run.** A call keeps its counter whatever happens, so an owner that ran it answers a repetition with the kept result
 * (`turns.ts`). Each frame says whether an earlier one may have run, under which number the first such frame was sent, and whether this caller knows of a loss since: the owner that is
 * asked then either knows that there was no run, or says that it cannot know.
 *
 * **Why a failure tells the truth.** `failed` says that nothing was done: no frame of the call may have run. A refusal alone does not say so of the
 * frames before it; the caller remembers whether one of them may have run (`mayHaveRun`), and then the end is `unknown`. When the time is over, the owner is asked:
 * a call that still waits there is refused, and then nothing was done. An owner that does not say so within `cancelMs` may have begun.
 *
 * A read changes nothing, so whether it ran is no question: its failure is always `failed`.
 *
 * The time that is left travels with the call, so no two clocks are compared. This file does no I/O; where the owner of a key is comes from `routes`.
 */

import type { Hash } from '../../runtime/keys/position.ts';
import { type Instant, later, soonest } from '../../runtime/time.ts';
import { type Due, DueQueue } from './due-queue.ts';
import type { Answer, ObjectName, Refusal, ToCaller, ToOwner } from './messages.ts';

/** Where the owner of a position is found at present. */
export interface Route {
  /** A link whose greeting was answered (`turns.ts`), and that has not broken. */
  readonly link: string;
  /** The lease number of the row. */
  readonly number: number;
  /** The number under which the row last lost its state. */
  readonly lostAt: number;
}

export interface CallerOptions {
  readonly routes: { find(position: Hash): Route | undefined };
  /** How long the owner of a cancelled call may take to say that it has not begun. */
  readonly cancelMs: number;
  /** After which a refused call looks for the owner again, if no table has changed before. */
  readonly retryMs: number;
  /** How long a result may wait to be confirmed with the next call. */
  readonly confirmMs: number;
}

/** A call of the application. */
export interface CallRequest extends ObjectName {
  readonly position: Hash;
  readonly name: string;
  readonly args: Uint8Array;
  readonly isRead: boolean;
  readonly isIdempotent: boolean;
  readonly through: readonly Hash[];
  readonly until: Instant;
}

export type CallEnd =
  | { readonly is: 'answered'; readonly answer: Answer }
  /** Nothing was done. */
  | { readonly is: 'failed'; readonly why: Exclude<Refusal, 'not-held'> }
  /** The call may have run. */
  | { readonly is: 'unknown'; readonly why: Refusal | 'forgotten' | 'lost' };

export type CallerEffect<Request extends CallRequest> =
  | { readonly do: 'send'; readonly link: string; readonly frame: ToOwner }
  | { readonly do: 'settle'; readonly request: Request; readonly end: CallEnd };

interface Pending<Request> extends Due {
  readonly counter: number;
  readonly request: Request;
  /** The link with the frame that is not answered. */
  sentOn: string | undefined;
  /** Under which the first frame that may have run the call was sent. */
  first: number;
  mayHaveRun: boolean;
  retryAt: Instant | undefined;
  /** Given up: what is waited for is only whether it began. */
  ending: { readonly why: 'over' | 'cancelled'; readonly until: Instant } | undefined;
}

interface Unconfirmed extends ObjectName {
  readonly counter: number;
  readonly position: Hash;
}

export class Caller<Request extends CallRequest = CallRequest> {
  readonly #options: CallerOptions;
  readonly #pending = new Map<number, Pending<Request>>();
  readonly #counterOf = new Map<Request, number>();
  readonly #due = new DueQueue<Pending<Request>>();
  #unconfirmed: Unconfirmed[] = [];
  #confirmAt: Instant | undefined;
  #counter = 0;
  #effects: CallerEffect<Request>[] = [];

  constructor(options: CallerOptions) {
    this.#options = options;
  }

  get wakeAt(): Instant | undefined {
    return soonest(this.#due.nextAt, this.#confirmAt);
  }

  /** How many calls are not settled. */
  get pending(): number {
    return this.#pending.size;
  }

  call(now: Instant, request: Request): readonly CallerEffect<Request>[] {
    this.#counter += 1;
    const pending: Pending<Request> = {
      ...{ counter: this.#counter, request, sentOn: undefined, first: 0, mayHaveRun: false },
      ...{ retryAt: undefined, ending: undefined, dueAt: undefined, place: -1 },
    };
    this.#pending.set(pending.counter, pending);
    this.#counterOf.set(request, pending.counter);
    this.#goOn(now, pending);
    return this.#take();
  }

  /** The application gives the call up. */
  cancel(now: Instant, request: Request): readonly CallerEffect<Request>[] {
    const pending = this.#pending.get(this.#counterOf.get(request) ?? 0);
    if (pending !== undefined && pending.ending === undefined) this.#giveUp(now, pending, 'cancelled');
    return this.#take();
  }

  receive(now: Instant, link: string, message: ToCaller): readonly CallerEffect<Request>[] {
    const pending = this.#pending.get(message.counter);
    if (pending === undefined || pending.sentOn !== link) return this.#take();
    if (message.do === 'reply') {
      this.#owe(now, pending);
      this.#settle(pending, { is: 'answered', answer: message.answer });
    } else if (message.do === 'unknown') {
      this.#settle(pending, { is: 'unknown', why: message.why });
    } else {
      pending.sentOn = undefined;
      if (message.do === 'uncertain') pending.mayHaveRun = true;
      else if (message.why !== 'not-held') this.#fail(pending, message.why);
      if (this.#pending.has(pending.counter)) this.#wait(now, pending);
    }
    return this.#take();
  }

  /** Owners may be elsewhere than before. */
  routesChanged(now: Instant): readonly CallerEffect<Request>[] {
    for (const pending of this.#pending.values()) if (pending.sentOn === undefined) this.#goOn(now, pending);
    return this.#take();
  }

  linkBroken(now: Instant, link: string): readonly CallerEffect<Request>[] {
    for (const pending of this.#pending.values()) {
      if (pending.sentOn !== link) continue;
      pending.sentOn = undefined;
      pending.mayHaveRun = true;
      if (pending.ending === undefined) this.#goOn(now, pending);
      else this.#fail(pending, pending.ending.why);
    }
    return this.#take();
  }

  wake(now: Instant): readonly CallerEffect<Request>[] {
    for (let due = this.#due.take(now); due !== undefined; due = this.#due.take(now)) {
      if (due.ending !== undefined) {
        due.mayHaveRun ||= due.sentOn !== undefined;
        this.#fail(due, due.ending.why);
      } else if (now >= due.request.until) this.#giveUp(now, due, 'over');
      else this.#goOn(now, due);
    }
    if (this.#confirmAt !== undefined && now >= this.#confirmAt) this.#confirm(() => true);
    return this.#take();
  }

  suspended(now: Instant): readonly CallerEffect<Request>[] {
    return this.wake(now);
  }

  #take(): readonly CallerEffect<Request>[] {
    const effects = this.#effects;
    this.#effects = [];
    return effects;
  }

  /** Sends the call if its owner is known, and says when to look at it next. */
  #goOn(now: Instant, pending: Pending<Request>): void {
    const { request } = pending;
    pending.retryAt = undefined;
    if (now >= request.until) {
      this.#giveUp(now, pending, 'over');
      return;
    }
    const route = this.#options.routes.find(request.position);
    if (route !== undefined) this.#send(now, pending, route);
    this.#due.set(pending, request.until);
  }

  #send(now: Instant, pending: Pending<Request>, { link, number, lostAt }: Route): void {
    this.#confirm((other) => other === link);
    const { request, counter, mayHaveRun } = pending;
    if (!mayHaveRun) pending.first = number;
    pending.sentOn = link;
    const { kind, key, position, name, args, isIdempotent, through, until } = request;
    const frame: ToOwner = {
      ...{ do: 'call', counter, kind, key, position, name, args, isIdempotent, through },
      ...{ number, first: pending.first, isRepeated: mayHaveRun, hasLost: lostAt > pending.first },
      leftMs: until - now,
    };
    this.#effects.push({ do: 'send', link, frame });
  }

  /** Not answered there: looks again when the table has changed, or after a while. */
  #wait(now: Instant, pending: Pending<Request>): void {
    if (pending.ending !== undefined) {
      this.#fail(pending, pending.ending.why);
      return;
    }
    pending.retryAt = later(now, this.#options.retryMs);
    this.#due.set(pending, soonest(pending.retryAt, pending.request.until));
  }

  #giveUp(now: Instant, pending: Pending<Request>, why: 'over' | 'cancelled'): void {
    const { sentOn, counter, request } = pending;
    if (sentOn === undefined) {
      this.#fail(pending, why);
      return;
    }
    const until = later(now, this.#options.cancelMs);
    pending.ending = { why, until };
    this.#due.set(pending, until);
    const { kind, key, position } = request;
    const frame: ToOwner = { do: 'cancel', counter, kind, key, position, why };
    this.#effects.push({ do: 'send', link: sentOn, frame });
  }

  #fail(pending: Pending<Request>, why: Exclude<Refusal, 'not-held'>): void {
    const mayHaveChanged = pending.mayHaveRun && !pending.request.isRead;
    this.#settle(pending, mayHaveChanged ? { is: 'unknown', why } : { is: 'failed', why });
  }

  #settle(pending: Pending<Request>, end: CallEnd): void {
    this.#due.set(pending, undefined);
    this.#pending.delete(pending.counter);
    this.#counterOf.delete(pending.request);
    this.#effects.push({ do: 'settle', request: pending.request, end });
  }

  /** The result need not be kept any longer. The owner learns of it with the next call, or after a moment. */
  #owe(now: Instant, { request: { kind, key, position, isRead }, counter }: Pending<Request>): void {
    if (isRead) return;
    this.#unconfirmed.push({ kind, key, position, counter });
    this.#confirmAt ??= later(now, this.#options.confirmMs);
  }

  /** To the owners of today; a confirmation that finds none is dropped, and the result with it after its time. */
  #confirm(goes: (link: string) => boolean): void {
    if (this.#unconfirmed.length === 0) return;
    const results = new Map<string, Unconfirmed[]>();
    const kept: Unconfirmed[] = [];
    for (const unconfirmed of this.#unconfirmed) {
      const link = this.#options.routes.find(unconfirmed.position)?.link;
      if (link === undefined) continue;
      if (!goes(link)) kept.push(unconfirmed);
      else if (results.get(link)?.push(unconfirmed) === undefined) results.set(link, [unconfirmed]);
    }
    this.#unconfirmed = kept;
    if (kept.length === 0) this.#confirmAt = undefined;
    for (const [link, each] of results)
      this.#effects.push({ do: 'send', link, frame: { do: 'confirm', results: each } });
  }
}
