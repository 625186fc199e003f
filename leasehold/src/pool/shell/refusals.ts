/**
 * The Managers' refusals of an owner or a look-up. A refusal comes with every answer until somebody removes the cause.
 * So a refusal is logged when new and not each time, and once when over; and the refusal is kept as the reason for the
 * error of a caller that waits.
 */

import type { Logger } from '../../runtime/logger.ts';
import type { Refused } from '../messages.ts';
import type { LedHistory } from '../history-watch.ts';
import { ManagersDisagreeError, RefusedError } from './errors.ts';

export class Refusals {
  readonly #who: string;
  readonly #logger: Logger;
  #last: RefusedError | undefined;
  #disagreement: ManagersDisagreeError | undefined;

  /** @param who `owner`, `look-up` */
  constructor(who: string, logger: Logger) {
    this.#who = who;
    this.#logger = logger;
  }

  get last(): RefusedError | ManagersDisagreeError | undefined {
    return this.#disagreement ?? this.#last;
  }

  /** The Managers lead different histories. */
  disagree(histories: readonly LedHistory[], consequence: string): void {
    const error = new ManagersDisagreeError(histories);
    this.#disagreement = error;
    this.#logger.error(`the Managers disagree; ${consequence}`, { code: error.code, why: error.message });
  }

  /** One history alone is led. */
  agree(): void {
    this.#disagreement = undefined;
    this.#logger.warn('the Managers agree again', {});
  }

  heard({ code, message, retryable }: Refused): void {
    if (this.#last?.code !== code) {
      const what =
        code === 'BUSY' ? `this ${this.#who} waits in line` : `a Manager refuses this ${this.#who}`;
      const next = retryable ? { next: `this ${this.#who} goes on asking` } : {};
      this.#logger.warn(what, { code, why: message, ...next });
    }
    this.#last = new RefusedError(code, message, retryable);
  }

  /** The peer was admitted after all. */
  forget(): void {
    if (this.#last === undefined) return;
    const { code } = this.#last;
    if (code !== 'BUSY') this.#logger.warn(`no Manager refuses this ${this.#who} any more`, { code });
    this.#last = undefined;
  }

  /**
   * @throws {RefusedError} if there is one that time cannot mend
   * @throws {ManagersDisagreeError}
   */
  throwIfFinal(): void {
    if (this.last !== undefined && !this.last.retryable) throw this.last;
  }
}
