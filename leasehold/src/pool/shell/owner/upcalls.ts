/**
 * The application's functions for granted and revoked keys, and how long they may run.
 *
 *  - `onGrant`: load the state of these keys; the keys are served once the function resolves. If the function fails,
 *    it is called again, a little later each time, for as long as the keys are ours: no other owner would fare better
 *    by our giving up, and until then callers are told that the key is not served. `onGrant` is never called for keys
 *    that are no longer ours, or have to be given back: a retry asks for the rest.
 *  - `onArrive`: the same for keys that have come with their state, also with the repetitions.
 *  - `onRevoke`: new work on these keys is refused already; finish and flush while they are still held. The keys are
 *    given back when the function resolves, or at the deadline, whichever comes first; a failure counts as done.
 *    `onRevoke` is not called while an `onGrant` for the same keys is running; nor does `onRevoke` wait for that one's
 *    retries, which are about other keys.
 *
 * Both get a signal that aborts when the keys are no longer ours; `onGrant`'s also when they have to be
 * given back, `onRevoke`'s at the deadline, when they are. None of this runs inside the core: an
 * application that throws or hangs cannot stop a renewal.
 */

import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { later } from '../../../runtime/time.ts';
import type { NumberedSpan } from '../../core/messages.ts';

/** What a callback is told besides the ranges. */
export interface UpcallContext {
  /** Aborts when the work is too late: the keys are no longer ours, or the time is over. */
  readonly signal: AbortSignal;
}

/** A function of the application that is called with ranges of keys. */
export type Upcall = (ranges: RangeSet, context: UpcallContext) => Promise<void> | void;

const FIRST_RETRY_MS = 100;
const LONGEST_RETRY_MS = 5_000;

export class Upcalls {
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #loading = new Set<Call>();
  readonly #flushing = new Set<Call>();

  constructor(runtime: Runtime, logger: Logger) {
    this.#runtime = runtime;
    this.#logger = logger;
  }

  /** Calls until success or until there is nothing left to load; then `done`, on success, with the keys that are still ours. */
  load(
    name: 'onGrant' | 'onArrive',
    spans: readonly NumberedSpan[],
    upcall: Upcall,
    done: (loaded: RangeSet) => void,
  ): void {
    const call = new Call(spans);
    this.#loading.add(call);
    void this.#loadUntilDone(name, call, upcall, done).finally(() => this.#loading.delete(call));
  }

  /** Calls once, and waits for `work` too; then `done`, on success and on failure, unless the keys are gone. */
  flush(
    spans: readonly NumberedSpan[],
    work: Promise<void>,
    onRevoke: Upcall | undefined,
    done: () => void,
  ): void {
    const call = new Call(spans);
    const ranges = call.remaining;
    const loads = [...this.#loading].filter((load) => load.touches(ranges));
    const underWay = loads.map((load) => load.underWay);
    for (const load of loads) load.lose(ranges);
    this.#flushing.add(call);
    const flushing = async (): Promise<void> => {
      await Promise.all(underWay);
      await Promise.all([work, onRevoke === undefined ? true : this.#call('onRevoke', onRevoke, call)]);
      this.#flushing.delete(call);
      if (!call.signal.aborted) done();
    };
    void flushing();
  }

  /** These keys are no longer ours. */
  lost(ranges: RangeSet): void {
    for (const call of [...this.#loading, ...this.#flushing]) call.lose(ranges);
  }

  close(): void {
    this.lost(RangeSet.everything);
  }

  async #loadUntilDone(
    name: string,
    call: Call,
    upcall: Upcall,
    done: (loaded: RangeSet) => void,
  ): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    let failures = 0;
    while (!(await this.#call(name, upcall, call))) {
      failures += 1;
      await this.#pause(retryMs, call.signal);
      if (call.signal.aborted) return;
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    }
    if (call.signal.aborted) return;
    if (failures > 0) this.#logger.warn(`${name} succeeded at last`, { failures });
    done(call.remaining);
  }

  /** In a turn of its own, because the core must not be entered from within itself. True on success. */
  async #call(name: string, upcall: Upcall, call: Call): Promise<boolean> {
    await Promise.resolve();
    if (call.signal.aborted) return false;
    const attempt = this.#attempt(name, upcall, call);
    call.underWay = attempt;
    const isDone = await attempt;
    call.underWay = undefined;
    return isDone;
  }

  async #attempt(name: string, upcall: Upcall, { remaining, signal }: Call): Promise<boolean> {
    try {
      await upcall(remaining, { signal });
      return true;
    } catch (error) {
      if (!signal.aborted) {
        this.#logger.error(`${name} failed`, { spans: remaining.spans().length, why: String(error) });
      }
      return false;
    }
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const end = (): void => {
        timer[Symbol.dispose]();
        signal.removeEventListener('abort', end);
        resolve();
      };
      const timer = this.#runtime.wakeAt(later(this.#runtime.now(), ms), end);
      signal.addEventListener('abort', end);
    });
  }
}

/** One upcall, and the keys that still concern the upcall. */
class Call {
  readonly #stop = new AbortController();
  #remaining: RangeSet;
  /** The running call of the application; undefined: not yet, or not again. Does not reject. */
  underWay: Promise<boolean> | undefined;

  constructor(spans: readonly NumberedSpan[]) {
    this.#remaining = RangeSet.of(spans);
  }

  get remaining(): RangeSet {
    return this.#remaining;
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  touches(ranges: RangeSet): boolean {
    return !this.#remaining.intersect(ranges).isEmpty;
  }

  lose(ranges: RangeSet): void {
    if (this.#remaining.isEmpty) return;
    this.#remaining = this.#remaining.subtract(ranges);
    if (!this.#remaining.isEmpty) return;
    this.#stop.abort(new DOMException('these keys are no longer owned here', 'AbortError'));
  }
}
