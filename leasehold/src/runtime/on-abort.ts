/**
 * Calls back when a signal aborts.
 *
 * One signal may end everything that an application waits for, and that may be thousands of things. Node takes more than ten
 * listeners of one signal for a leak, and says so on the standard error. The signal is not ours, so its limit is not
 * ours to raise; but however many wait, one listener is enough.
 */

const waiting = new WeakMap<AbortSignal, Set<() => void>>();

/** Once, unless the result is disposed of before. Not if it has aborted already. */
export function onAbort(signal: AbortSignal | undefined, callback: () => void): Disposable {
  if (signal === undefined || signal.aborted) return { [Symbol.dispose]: () => {} };
  const callbacks = waiting.get(signal) ?? listen(signal);
  const own = (): void => callback(); // The same callback may be given twice.
  callbacks.add(own);
  return {
    [Symbol.dispose]: () => {
      callbacks.delete(own);
      if (callbacks.size > 0 || waiting.get(signal) !== callbacks) return;
      waiting.delete(signal);
      signal.removeEventListener('abort', aborted);
    },
  };
}

function listen(signal: AbortSignal): Set<() => void> {
  const callbacks = new Set<() => void>();
  waiting.set(signal, callbacks);
  signal.addEventListener('abort', aborted, { once: true });
  return callbacks;
}

function aborted(this: AbortSignal): void {
  const callbacks = waiting.get(this) ?? [];
  waiting.delete(this);
  for (const callback of callbacks) callback();
}

/**
 * As the promise settles, unless the signal aborts first.
 *
 * @throws the signal's reason, if it aborts before that
 */
export function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    if (signal?.aborted) reject(signal.reason);
    const aborting = onAbort(signal, () => reject(signal?.reason));
    const done = (): void => aborting[Symbol.dispose]();
    promise.then(
      (value) => (done(), resolve(value)),
      (error: unknown) => (done(), reject(error)),
    );
  });
}
