/**
 * What Managers have against an owner or a look-up. A refusal comes with every answer until somebody
 * mends what it is about, so it is logged when it is new and not each time, and once when it is over; and
 * it is kept, because whoever waits to get in wants to know.
 */

import type { Logger } from '../../runtime/logger.ts';
import type { Refused } from '../messages.ts';
import { RefusedError } from './errors.ts';

export class Refusals {
  readonly #who: string;
  readonly #logger: Logger;
  #last: RefusedError | undefined;

  /** @param who `owner`, `look-up` */
  constructor(who: string, logger: Logger) {
    this.#who = who;
    this.#logger = logger;
  }

  get last(): RefusedError | undefined {
    return this.#last;
  }

  heard({ code, message, retryable }: Refused): void {
    if (this.#last?.code !== code) {
      this.#logger.warn(`a Manager refuses this ${this.#who}`, { code, why: message });
    }
    this.#last = new RefusedError(code, message, retryable);
  }

  /** It was let in after all. */
  forget(): void {
    if (this.#last === undefined) return;
    this.#logger.warn(`no Manager refuses this ${this.#who} any more`, { code: this.#last.code });
    this.#last = undefined;
  }

  /** @throws {RefusedError} if there is one that time cannot mend */
  throwIfFinal(): void {
    if (this.#last !== undefined && !this.#last.retryable) throw this.#last;
  }
}
