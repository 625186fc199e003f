/**
 * Promises that settle when something becomes true. Nothing is polled: whoever changes things calls
 * {@link Waiters.look}.
 */

import { onAbort } from './on-abort.ts';

export class Waiters {
  readonly #waiting = new Set<() => void>();

  /**
   * Resolves with the first answer that is not undefined, and rejects with what asking throws or
   * with the reason of the signal.
   */
  until<T>(ask: () => T | undefined, signal?: AbortSignal): Promise<T> {
    return new Promise<T>((resolve, reject) => {
      const settle = (act: () => void): void => {
        this.#waiting.delete(look);
        aborting[Symbol.dispose]();
        act();
      };
      const look = (): void => {
        try {
          const answer = ask();
          if (answer !== undefined) settle(() => resolve(answer));
        } catch (error) {
          settle(() => reject(error));
        }
      };
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      const aborting = onAbort(signal, () => settle(() => reject(signal?.reason)));
      this.#waiting.add(look);
      look();
    });
  }

  /** Something changed. */
  look(): void {
    for (const look of this.#waiting) look();
  }
}
