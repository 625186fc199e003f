/**
 * The requests of the application: each request of the core, and the promise that the request settles. A caller may
 * stop waiting, by a signal or at a time limit. A lease that the core grants afterwards belongs to nobody; {@link
 * Requests.take} then returns undefined.
 */

import { onAbort } from '../../runtime/on-abort.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { Request } from '../core/resource-state.ts';
import type { Lease as WrittenLease } from '../core/lease.ts';
import type { CallOptions } from '../../runtime/handle.ts';
import type { Lease } from './lease.ts';

/** The type of the answer to each kind of request. */
export interface Answers {
  readonly acquire: Lease;
  readonly try: Lease | undefined;
  readonly ask: WrittenLease | undefined;
}

type Kind = Request['kind'];

export interface PendingOf<K extends Kind> {
  readonly id: number;
  readonly kind: K;
  readonly resource: string;
  resolve(answer: Answers[K]): void;
  reject(why: unknown): void;
}

export type Pending = { [K in Kind]: PendingOf<K> }[Kind];

export class Requests {
  readonly #runtime: Runtime;
  readonly #pending = new Map<number, Pending>();
  #count = 0;

  constructor(runtime: Runtime) {
    this.#runtime = runtime;
  }

  get size(): number {
    return this.#pending.size;
  }

  values(): Iterable<Pending> {
    return this.#pending.values();
  }

  /** Adds a request under the next number. */
  add<K extends Kind>(
    kind: K,
    resource: string,
    resolve: (answer: Answers[K]) => void,
    reject: (why: unknown) => void,
  ): PendingOf<K> {
    this.#count += 1;
    const pending: PendingOf<K> = { id: this.#count, kind, resource, resolve, reject };
    this.#pending.set(pending.id, pending as Pending); // Of one kind; the compiler does not see which.
    return pending;
  }

  /** The pending request for a lease, which stays pending; undefined if there is none. */
  wanting(id: number): Exclude<Pending, { kind: 'ask' }> | undefined {
    const pending = this.#pending.get(id);
    return pending?.kind === 'ask' ? undefined : pending;
  }

  /** Removes and returns the pending request; undefined if there is none. */
  take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.#pending.delete(id);
    return pending;
  }

  /**
   * Gives up when the signal aborts or the time is over, and rejects with the error that `giveUp` returns.
   *
   * @param giveUp withdraws the request, and returns why the request failed
   */
  limit<K extends Kind>(
    pending: PendingOf<K>,
    { signal, timeoutMs }: CallOptions,
    giveUp: () => unknown,
  ): void {
    const stop = (why: () => unknown): void => {
      if (this.take(pending.id) !== undefined) reject(why());
    };
    const abort = (): void => stop(() => (giveUp(), signal?.reason));
    const timer =
      timeoutMs === undefined || timeoutMs === Number.POSITIVE_INFINITY
        ? undefined
        : this.#runtime.wakeAt(later(this.#runtime.now(), timeoutMs), () => stop(giveUp));
    const aborting = onAbort(signal, abort);
    const done = (): void => {
      timer?.[Symbol.dispose]();
      aborting[Symbol.dispose]();
    };
    const { resolve, reject: refuse } = pending;
    const reject = (why: unknown): void => (done(), refuse(why));
    pending.resolve = (answer) => (done(), resolve(answer));
    pending.reject = reject;
  }
}
