/**
 * A signal whose state is right even when no timer had time to abort the signal.
 *
 * An ordinary signal is aborted by a timer, and a timer waits for the event loop. A holder that computes for ten
 * seconds inside a lease of five and then reads `signal.aborted` would be told that all is well, and the next holder
 * has been at work for five seconds. So this signal reads the clock whenever a property is read. Listeners are called
 * when the event loop turns, as with any signal.
 */

export interface LeaseSignal {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/** @param look called before any property of the signal is read; may abort the signal */
export function leaseSignal(look: () => void): LeaseSignal {
  const controller = new AbortController();
  const { signal } = controller;
  Object.defineProperties(signal, {
    aborted: { get: () => (look(), Reflect.get(AbortSignal.prototype, 'aborted', signal)) },
    reason: { get: () => (look(), Reflect.get(AbortSignal.prototype, 'reason', signal)) },
    throwIfAborted: { value: () => (look(), AbortSignal.prototype.throwIfAborted.call(signal)) },
  });
  return { signal, abort: (reason) => controller.abort(reason) };
}
