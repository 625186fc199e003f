/**
 * What the application is asked to do about its keys, and for how long.
 *
 *  - `onGrant`: load what belongs to these keys; they are served once it resolves. If it fails it is
 *    called again, a little later each time, for as long as the keys are ours: nobody else would fare better
 *    by our giving up, and until then callers are told that the key is not served.
 *  - `onRevoke`: new work on these keys is refused already; finish and flush while they are still
 *    held. They are given back when it resolves, or at the deadline, whichever comes first; a failure counts as done.
 *
 * Both get a signal that aborts when the keys are no longer ours, and `onRevoke`'s also at the deadline.
 * None of this runs inside the core: an application that throws or hangs cannot stop a renewal.
 */

import type { Logger } from '../../runtime/logger.ts';
import { RangeSet } from '../../runtime/keys/range-set.ts';
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

interface Call {
  readonly ranges: RangeSet;
  /** Those of them that are still ours. */
  remaining: RangeSet;
  readonly stop: AbortController;
}

export class Upcalls {
  readonly #runtime: Runtime;
  readonly #logger: Logger;
  readonly #running = new Set<Call>();

  constructor(runtime: Runtime, logger: Logger) {
    this.#runtime = runtime;
    this.#logger = logger;
  }

  /** Calls until it succeeds or the keys are lost; then `done`, if it succeeded. */
  load(spans: readonly NumberedSpan[], onGrant: Upcall, done: () => void): void {
    const call = this.#begin(spans);
    const attempt = (retryMs: number): void => {
      this.#call('onGrant', onGrant, call, (ok) => {
        if (call.stop.signal.aborted) return;
        if (ok) {
          this.#running.delete(call);
          done();
        } else {
          this.#after(retryMs, call, () => attempt(Math.min(2 * retryMs, LONGEST_RETRY_MS)));
        }
      });
    };
    attempt(FIRST_RETRY_MS);
  }

  /** Calls once, after `before`; then `done`, whatever came of it, unless the keys are lost. */
  flush(
    spans: readonly NumberedSpan[],
    before: Promise<void>,
    onRevoke: Upcall | undefined,
    done: () => void,
  ): void {
    const call = this.#begin(spans);
    const finish = (): void => {
      this.#running.delete(call);
      if (!call.stop.signal.aborted) done();
    };
    const flushed = onRevoke ?? (() => {});
    this.#call('onRevoke', flushed, call, () => void before.then(finish));
  }

  /** These keys are no longer ours. */
  lost(ranges: RangeSet): void {
    for (const call of this.#running) {
      call.remaining = call.remaining.subtract(ranges);
      if (!call.remaining.isEmpty) continue;
      this.#running.delete(call);
      call.stop.abort(new DOMException('these keys are no longer owned here', 'AbortError'));
    }
  }

  close(): void {
    this.lost(RangeSet.everything);
  }

  #begin(spans: readonly NumberedSpan[]): Call {
    const ranges = RangeSet.of(spans);
    const call: Call = { ranges, remaining: ranges, stop: new AbortController() };
    this.#running.add(call);
    return call;
  }

  #call(name: string, upcall: Upcall, { ranges, stop }: Call, then: (ok: boolean) => void): void {
    const failed = (error: unknown): void => {
      if (!stop.signal.aborted) {
        this.#logger.error(`${name} failed`, { ranges: ranges.spans().length, why: String(error) });
      }
      then(false);
    };
    // In a turn of its own: the core is not to be entered from within itself.
    queueMicrotask(() => {
      void (async () => upcall(ranges, { signal: stop.signal }))().then(() => then(true), failed);
    });
  }

  #after(ms: number, call: Call, act: () => void): void {
    const timer = this.#runtime.wakeAt(later(this.#runtime.now(), ms), act);
    call.stop.signal.addEventListener('abort', () => timer[Symbol.dispose](), { once: true });
  }
}
