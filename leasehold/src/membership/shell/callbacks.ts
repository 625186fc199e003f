/** Calls functions of the application at the end of the turn, outside the core, so a function that throws or takes long delays no heartbeat. */

import type { Logger } from '../../runtime/logger.ts';

export class Callbacks {
  readonly #logger: Logger;
  readonly #atEndOfTurn: (callback: () => void) => void;

  constructor(logger: Logger, atEndOfTurn: (callback: () => void) => void) {
    this.#logger = logger;
    this.#atEndOfTurn = atEndOfTurn;
  }

  call<Given extends unknown[]>(callback: ((...given: Given) => void) | undefined, ...given: Given): void {
    if (callback === undefined) return;
    const failed = (error: unknown): void =>
      this.#logger.error('a callback of the application failed', {
        why: error instanceof Error ? error.message : String(error),
      });
    this.#atEndOfTurn(() => {
      try {
        void Promise.resolve(callback(...given) as unknown).catch(failed);
      } catch (error) {
        failed(error);
      }
    });
  }
}
