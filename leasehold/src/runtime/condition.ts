/**
 * Promises that settle when a condition becomes true. Nothing is polled: code that changes the state calls {@link
 * Condition.look}.
 */

import { onAbort } from './on-abort.ts';

export class Condition {
  readonly #waiting = new Set<() => void>();

  /**
   * Resolves with the first answer that is not undefined; rejects with an error thrown by `ask`, or with the reason
   * of the signal.
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

  /** The state has changed. */
  look(): void {
    for (const look of this.#waiting) look();
  }
}
