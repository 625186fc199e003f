/**
 * Requests that callers in this process wait for, until their commit is known here.
 *
 * The replica that took a request answers it: it judges commits itself, so the answer does not have to come from the leader
 * (three message delays instead of four). A request on its way to the leader may be lost with a message or a leader,
 * so it is sent again until it is answered; sessions make the copies harmless, and what has no session writes nothing.
 */

import { earliest, type Instant, instant, later } from '../../runtime/time.ts';
import type { Context } from './context.ts';
import { type Command, NO_SESSION, type Operation, type Request, transaction } from './operation.ts';
import type { ReadMode } from './reads.ts';
import type { Result } from './result.ts';

/** A request as its caller gives it. */
export interface Submission {
  readonly session: number;
  readonly number: number;
  readonly answeredBelow: number;
  readonly command: Command;
}

/** A call of a client; `id` is unlike that of any other call in this life. */
export type ReplicaCall =
  | ({ readonly kind: 'submit'; readonly id: number } & Submission)
  | { readonly kind: 'read'; readonly id: number; readonly mode: ReadMode; readonly keys: readonly string[] };

interface Waiting {
  readonly request: Request;
  /** Told the result instead of the caller: a read that goes through the log. */
  readonly deliver: ((result: Result | undefined, slot: number) => void) | undefined;
  sendAt: Instant;
  readonly giveUpAt: Instant;
}

/** After so many election times without an answer the caller is told to try elsewhere. */
const LEAVE_DEADLINE = 8;

const FOREVER = instant(Number.POSITIVE_INFINITY);

export class Requests {
  readonly #context: Context;
  readonly #waiting = new Map<number, Waiting>();
  /** Those that were never sent. */
  #fresh: Waiting[] = [];
  #internalIds = 0;
  /** None of the others is due before then. */
  #lookAt: Instant = FOREVER;

  constructor(context: Context) {
    this.#context = context;
  }

  get count(): number {
    return this.#waiting.size;
  }

  get wakeAt(): Instant | undefined {
    if (this.#waiting.size === 0) return undefined;
    return this.#fresh.length > 0 ? (this.#fresh[0] as Waiting).sendAt : this.#lookAt;
  }

  add(
    { session, number, answeredBelow, command }: Submission,
    id: number,
    now: Instant,
    deliver?: Waiting['deliver'],
  ): void {
    const { self: origin, life } = this.#context;
    const request = { session, number, answeredBelow, command, origin, life, id };
    const giveUpAt = later(now, LEAVE_DEADLINE * this.#context.durations.electionMs);
    const waiting = { request, deliver, sendAt: now, giveUpAt };
    this.#waiting.set(request.id, waiting);
    this.#fresh.push(waiting);
  }

  /** Puts a read into the log. The ids of such reads are negative, so that they are no caller's. */
  readThroughLog(
    keys: readonly string[],
    now: Instant,
    deliver: (result: Result | undefined, slot: number) => void,
  ): void {
    this.#internalIds -= 1;
    const gets = keys.map((key) => ({ do: 'get', key }) as const);
    const submission = { session: NO_SESSION, number: 0, answeredBelow: 0, command: transaction([], gets) };
    this.add(submission, this.#internalIds, now, deliver);
  }

  /** The requests that are to be sent to the leader now. */
  due(now: Instant): Request[] {
    const again = later(now, 2 * this.#context.durations.electionMs);
    const due = this.#fresh.map(({ request }) => request);
    for (const waiting of this.#fresh) waiting.sendAt = again;
    if (due.length > 0) this.#fresh = [];
    if (this.#waiting.size > 0) this.#lookAt = earliest(this.#lookAt, again);
    if (now < this.#lookAt) return due;
    let lookAt = FOREVER;
    for (const [id, waiting] of this.#waiting) {
      if (waiting.giveUpAt <= now) {
        this.#waiting.delete(id);
        if (waiting.deliver !== undefined) waiting.deliver(undefined, 0);
        else this.#context.answer(id, { kind: 'refused', why: 'not-ready' });
        continue;
      }
      if (waiting.sendAt <= now) {
        waiting.sendAt = again;
        due.push(waiting.request);
      }
      lookAt = earliest(lookAt, earliest(waiting.sendAt, waiting.giveUpAt));
    }
    this.#lookAt = lookAt;
    return due;
  }

  /** There is a new leader: everything is sent again. */
  resend(now: Instant): void {
    for (const waiting of this.#waiting.values()) waiting.sendAt = now;
    this.#fresh = [];
    this.#lookAt = now;
  }

  /** The slot is committed; its results may be told. */
  committed(slot: number, operation: Operation, results: readonly Result[]): void {
    if (operation.kind !== 'batch') return;
    const { self, life } = this.#context;
    operation.requests.forEach(({ origin, life: whose, id }, place) => {
      const waiting = origin === self && whose === life ? this.#waiting.get(id) : undefined;
      const applied = results[place];
      if (waiting === undefined || applied === undefined) return;
      this.#waiting.delete(id);
      const result = applied.kind === 'duplicate' ? applied.of : applied;
      if (waiting.deliver !== undefined) waiting.deliver(result, slot);
      else this.#context.answer(id, { kind: 'result', result, position: slot });
    });
  }
}
