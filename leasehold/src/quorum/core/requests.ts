/**
 * Requests that callers in this process wait for, until their commit is known here.
 *
 * The replica that took a request answers it: it judges commits itself, so the answer does not have to come from the leader
 * (three message delays instead of four). A request on its way to the leader may be lost with a message or a leader,
 * so it is sent again until it is answered; sessions make the copies harmless, and what has no session writes nothing.
 */

import { type Instant, later, soonest } from '../../runtime/time.ts';
import type { Context } from './context.ts';
import type { Command, Operation, Request } from './operation.ts';
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

export class Requests {
  readonly #context: Context;
  readonly #waiting = new Map<number, Waiting>();

  constructor(context: Context) {
    this.#context = context;
  }

  get count(): number {
    return this.#waiting.size;
  }

  get wakeAt(): Instant | undefined {
    let at: Instant | undefined;
    for (const { sendAt, giveUpAt } of this.#waiting.values()) at = soonest(soonest(at, sendAt), giveUpAt);
    return at;
  }

  add(request: Request, now: Instant, deliver?: Waiting['deliver']): void {
    const giveUpAt = later(now, LEAVE_DEADLINE * this.#context.durations.electionMs);
    this.#waiting.set(request.id, { request, deliver, sendAt: now, giveUpAt });
  }

  /** The requests that are to be sent to the leader now. */
  due(now: Instant): Request[] {
    const due: Request[] = [];
    for (const [id, waiting] of this.#waiting) {
      if (waiting.giveUpAt <= now) {
        this.#waiting.delete(id);
        if (waiting.deliver !== undefined) waiting.deliver(undefined, 0);
        else this.#context.answer(id, { kind: 'refused', why: 'not-ready' });
      } else if (waiting.sendAt <= now) {
        waiting.sendAt = later(now, 2 * this.#context.durations.electionMs);
        due.push(waiting.request);
      }
    }
    return due;
  }

  /** There is a new leader: everything is sent again. */
  resend(now: Instant): void {
    for (const waiting of this.#waiting.values()) waiting.sendAt = now;
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
