/** A signal that aborts when a time is over, or when the caller's own signal does. */

import type { Runtime } from './runtime.ts';
import { later } from './time.ts';

export interface Deadline extends Disposable {
  readonly signal: AbortSignal;
  /** The time is over. */
  readonly isOver: boolean;
}

export function deadline(runtime: Runtime, withinMs: number, signal?: AbortSignal): Deadline {
  const over = new AbortController();
  const timer = runtime.wakeAt(later(runtime.now(), withinMs), () =>
    over.abort(new DOMException(`not within ${withinMs} ms`, 'TimeoutError')),
  );
  return {
    signal: signal === undefined ? over.signal : AbortSignal.any([over.signal, signal]),
    get isOver() {
      return over.signal.aborted;
    },
    [Symbol.dispose]: () => timer[Symbol.dispose](),
  };
}
