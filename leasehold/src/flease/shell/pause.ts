/** Time that passes, unless a signal ends it. */

import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';

/** @throws the signal's reason, if it aborts first */
export function pause(runtime: Runtime, ms: number, signal?: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    const abort = (): void => {
      timer[Symbol.dispose]();
      reject(signal?.reason);
    };
    const timer = runtime.wakeAt(later(runtime.now(), ms), () => {
      signal?.removeEventListener('abort', abort);
      resolve();
    });
    signal?.addEventListener('abort', abort, { once: true });
  });
}
