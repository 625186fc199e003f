/**
 * Writes of the log: each is repeated until the outcome is known.
 *
 * A replica that cannot answer in time says `not-ready`, and the write may have been applied, or may be yet. So the write is
 * sent again under the same number of the same session, and the cell applies one copy. If the cell has forgotten the
 * session, no copy under that session can be applied any more, but one may have been: then the write goes on under a new session, and
 * the *conditions* must tell. A second copy finds a condition unmet, and in the answer the value that the first copy wrote.
 *
 * `busy` is repeated too: an earlier copy of the same write may be under way.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { assert } from '../../runtime/assert.ts';
import { Lifetime } from '../../runtime/lifetime.ts';
import type { Answer } from '../core/answer.ts';
import { type Action, type Condition, NO_SESSION, type Revision, transaction } from '../core/operation.ts';
import type { Found, Result } from '../core/result.ts';
import { ClientSession, type NumberedWrite } from '../shell/client-session.ts';
import type { LogPort } from './port.ts';

export type Outcome = Extract<Result, { readonly kind: 'done' | 'unmet' }>;

export interface Write {
  readonly conditions: readonly Condition[];
  readonly actions: readonly Action[];
}

interface Pending extends Write {
  readonly done: (outcome: Outcome) => void;
  numbered: NumberedWrite | undefined;
}

export interface RequestsOptions {
  readonly port: LogPort;
  readonly runtime: Runtime;
  readonly sessionMs: number;
  readonly retryMs: number;
}

export class Requests implements Disposable {
  readonly #options: RequestsOptions;
  readonly #life: Lifetime;
  readonly #session = new ClientSession();
  readonly #pending = new Set<Pending>();

  constructor(options: RequestsOptions) {
    this.#options = options;
    this.#life = new Lifetime(options.runtime);
  }

  /** Writes, and calls back once with the outcome. */
  write(write: Write, done: (outcome: Outcome) => void): void {
    if (this.#life.isOver) return;
    const pending: Pending = { ...write, done, numbered: undefined };
    this.#pending.add(pending);
    this.#send(pending);
  }

  /** The revision at which the present session was opened; infinite if there is none. */
  get session(): Revision {
    return this.#session.id ?? Number.POSITIVE_INFINITY;
  }

  get isIdle(): boolean {
    return this.#pending.size === 0;
  }

  [Symbol.dispose](): void {
    this.#life[Symbol.dispose]();
    this.#pending.clear();
  }

  #send(pending: Pending): void {
    if (!this.#pending.has(pending)) return;
    const { port, runtime, sessionMs } = this.#options;
    const now = runtime.now();
    if (pending.numbered === undefined && this.#session.isIdle(now, sessionMs)) this.#session.close();
    if (pending.numbered !== undefined && pending.numbered.session !== this.#session.id)
      pending.numbered = undefined;
    const numbered = pending.numbered ?? this.#session.number(now);
    pending.numbered = numbered;
    if (numbered === undefined) {
      this.#open();
      return;
    }
    const { conditions, actions } = pending;
    const { answeredBelow } = this.#session;
    const submission = { ...numbered, answeredBelow, command: transaction(conditions, actions) };
    port.submit(
      submission,
      this.#life.hearing((answer) => this.#answered(pending, numbered, answer)),
    );
  }

  #answered(pending: Pending, numbered: NumberedWrite, answer: Answer): void {
    if (!this.#pending.has(pending) || pending.numbered !== numbered) return; // Of a copy that no longer matters.
    if (answer.kind !== 'result') {
      this.#again(() => this.#send(pending));
      return;
    }
    const { result } = answer;
    if (result.kind === 'no-session') {
      this.#session.close(numbered.session);
      this.#send(pending);
      return;
    }
    if (result.kind === 'omitted' && result.of === 'unmet') {
      // Nothing was written, and what the conditions found was not kept: they are tried again.
      this.#session.answered(numbered);
      pending.numbered = undefined;
      this.#send(pending);
      return;
    }
    assert(result.kind === 'done' || result.kind === 'unmet', `a write of the log came to ${result.kind}`);
    this.#session.answered(numbered);
    this.#pending.delete(pending);
    pending.done(result);
  }

  #open(): void {
    if (!this.#session.isClosed) return; // Another write is opening the session.
    this.#session.opening();
    this.#submitOpening();
  }

  #submitOpening(): void {
    const { port, runtime } = this.#options;
    const submission = { session: NO_SESSION, number: 0, answeredBelow: 0 };
    port.submit(
      { ...submission, command: { kind: 'open-session' } },
      this.#life.hearing((answer) => {
        if (answer.kind !== 'result' || answer.result.kind !== 'opened') {
          this.#again(() => this.#submitOpening());
          return;
        }
        this.#session.opened(answer.result.session, runtime.now());
        for (const pending of [...this.#pending]) this.#send(pending);
      }),
    );
  }

  #again(act: () => void): void {
    this.#life.after(this.#options.retryMs, act);
  }
}

/** The value that an unmet write found under a key. */
export const foundOf = (outcome: Outcome, key: string): Found | undefined =>
  outcome.found.find((each) => each.key === key);
