/**
 * What the application is asked to do about its keys, and for how long.
 *
 *  - `onGrant`: load what belongs to these keys; they are served once it resolves. If it fails it is
 *    called again, a little later each time, for as long as the keys are ours: nobody else would fare
 *    better by our giving up, and until then callers are told that the key is not served.
 *  - `onRevoke`: new work on these keys is refused already; finish and flush while they are still
 *    held. They are given back when it resolves, or at the deadline, whichever comes first; a failure
 *    counts as done. It is not called before loading the same keys has come to an end.
 *
 * Both get a signal that aborts when the keys are no longer ours; `onGrant`'s also when they have to be
 * given back, `onRevoke`'s at the deadline, when they are. None of this runs inside the core: an
 * application that throws or hangs cannot stop a renewal.
 */

import { RangeSet } from '../../runtime/keys/range-set.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type { NumberedSpan } from '../messages.ts';

export interface UpcallContext {
  /** Aborts when it is too late: the keys are no longer ours, or the time is over. */
  readonly signal: AbortSignal;
}

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

  /** Calls until it succeeds or there is nothing left to load; then `done`, if it succeeded. */
  load(spans: readonly NumberedSpan[], onGrant: Upcall, done: () => void): void {
    const call = new Call(spans);
    this.#loading.add(call);
    call.ended = this.#loadUntilDone(call, onGrant, done).finally(() => this.#loading.delete(call));
  }

  /** Calls once, and waits for `work` too; then `done`, whatever came of it, unless the keys are gone. */
  flush(
    spans: readonly NumberedSpan[],
    work: Promise<void>,
    onRevoke: Upcall | undefined,
    done: () => void,
  ): void {
    const call = new Call(spans);
    const loads = [...this.#loading].filter((load) => load.touches(call.ranges));
    for (const load of loads) load.lose(call.ranges);
    this.#flushing.add(call);
    const flushing = async (): Promise<void> => {
      await Promise.all(loads.map(({ ended }) => ended));
      await Promise.all([work, onRevoke === undefined ? true : this.#call('onRevoke', onRevoke, call)]);
      this.#flushing.delete(call);
      if (!call.signal.aborted) done();
    };
    call.ended = flushing();
  }

  /** These keys are no longer ours. */
  lost(ranges: RangeSet): void {
    for (const call of [...this.#loading, ...this.#flushing]) call.lose(ranges);
  }

  close(): void {
    this.lost(RangeSet.everything);
  }

  async #loadUntilDone(call: Call, onGrant: Upcall, done: () => void): Promise<void> {
    let retryMs = FIRST_RETRY_MS;
    while (!(await this.#call('onGrant', onGrant, call))) {
      await this.#pause(retryMs, call.signal);
      if (call.signal.aborted) return;
      retryMs = Math.min(2 * retryMs, LONGEST_RETRY_MS);
    }
    if (!call.signal.aborted) done();
  }

  /** In a turn of its own, because the core is not to be entered from within itself. True if it went well. */
  async #call(name: string, upcall: Upcall, { ranges, signal }: Call): Promise<boolean> {
    await Promise.resolve();
    if (signal.aborted) return false;
    try {
      await upcall(ranges, { signal });
      return true;
    } catch (error) {
      if (!signal.aborted) {
        this.#logger.error(`${name} failed`, { spans: ranges.spans().length, why: String(error) });
      }
      return false;
    }
  }

  #pause(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      if (signal.aborted) return resolve();
      const timer = this.#runtime.wakeAt(later(this.#runtime.now(), ms), resolve);
      const stop = (): void => {
        timer[Symbol.dispose]();
        resolve();
      };
      signal.addEventListener('abort', stop, { once: true });
    });
  }
}

/** One upcall, and which of its keys are still its business. */
class Call {
  readonly ranges: RangeSet;
  readonly #stop = new AbortController();
  #remaining: RangeSet;
  ended: Promise<void> = Promise.resolve();

  constructor(spans: readonly NumberedSpan[]) {
    this.ranges = RangeSet.of(spans);
    this.#remaining = this.ranges;
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
