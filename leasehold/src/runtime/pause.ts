/** Time that passes, unless a signal ends the wait. */

import { onAbort } from './on-abort.ts';
import type { Runtime } from './runtime.ts';
import { later } from './time.ts';

/** @throws the signal's reason, if the signal aborts first */
export function pause(runtime: Runtime, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const timer = runtime.wakeAt(later(runtime.now(), ms), () => {
      aborting[Symbol.dispose]();
      resolve();
    });
    const aborting = onAbort(signal, () => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    });
  });
}
