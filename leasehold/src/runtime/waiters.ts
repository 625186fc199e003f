/**
 * Promises that settle when something becomes true. Nothing is polled: whoever changes things calls
 * {@link Waiters.look}.
 */

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
        signal?.removeEventListener('abort', abort);
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
      const abort = (): void => settle(() => reject(signal?.reason));
      if (signal?.aborted) {
        reject(signal.reason);
        return;
      }
      signal?.addEventListener('abort', abort, { once: true });
      this.#waiting.add(look);
      look();
    });
  }

  /** Something changed. */
  look(): void {
    for (const look of this.#waiting) look();
  }
}
