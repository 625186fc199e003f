/**
 * What the application waits for: each request of the core, and the promise that it settles. A caller may stop
 * waiting, by its signal or because its time is over; what the core grants after that is nobody's, and whoever
 * asks {@link Requests.take} is told so.
 */

import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { Request } from '../claim.ts';
import type { Lease } from '../lease.ts';
import type { FleaseLease } from './flease-lease.ts';

export type Answer = FleaseLease | Lease | undefined;

export interface Pending {
  readonly id: number;
  readonly kind: Request['kind'];
  readonly resource: string;
  resolve(answer: Answer): void;
  reject(why: unknown): void;
}

export interface Patience {
  readonly signal?: AbortSignal | undefined;
  readonly waitMs?: number | undefined;
}

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

  /** The next request, and its number. */
  add(
    kind: Request['kind'],
    resource: string,
    resolve: (answer: Answer) => void,
    reject: (why: unknown) => void,
  ): Pending {
    this.#count += 1;
    const pending = { id: this.#count, kind, resource, resolve, reject };
    this.#pending.set(pending.id, pending);
    return pending;
  }

  /** Who waits for it, and goes on to; undefined if nobody does. */
  get(id: number): Pending | undefined {
    return this.#pending.get(id);
  }

  /** Who waits for it, who then does no longer; undefined if nobody does. */
  take(id: number): Pending | undefined {
    const pending = this.#pending.get(id);
    if (pending !== undefined) this.#pending.delete(id);
    return pending;
  }

  /**
   * Gives up when the signal says so or the time is over, with what `giveUp` makes of it.
   *
   * @param giveUp withdraws the request, and says why nothing came of it
   */
  limit(pending: Pending, { signal, waitMs }: Patience, giveUp: () => unknown): void {
    const stop = (why: () => unknown): void => {
      if (this.take(pending.id) !== undefined) reject(why());
    };
    const abort = (): void => stop(() => (giveUp(), signal?.reason));
    const timer =
      waitMs === undefined || waitMs === Number.POSITIVE_INFINITY
        ? undefined
        : this.#runtime.wakeAt(later(this.#runtime.now(), waitMs), () => stop(giveUp));
    signal?.addEventListener('abort', abort, { once: true });
    const done = (): void => {
      timer?.[Symbol.dispose]();
      signal?.removeEventListener('abort', abort);
    };
    const { resolve, reject: refuse } = pending;
    const reject = (why: unknown): void => (done(), refuse(why));
    pending.resolve = (answer) => (done(), resolve(answer));
    pending.reject = reject;
  }
}
