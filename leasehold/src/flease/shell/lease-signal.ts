/**
 * A signal that is right even when nobody had time to abort it.
 *
 * An ordinary signal is aborted by a timer, and a timer waits for the event loop. Whoever computes for ten seconds
 * inside a lease of five and then looks at `signal.aborted` would be told that all is well, and the next
 * holder has been at work for five seconds. So this one looks at the clock when it is asked. Those who listen to it
 * hear of it when the loop turns, as ever.
 */

export interface LeaseSignal {
  readonly signal: AbortSignal;
  abort(reason: unknown): void;
}

/** @param look called before anything about the signal is said; it may abort it */
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
