/**
 * The Managers' refusals of an owner or a look-up. A refusal comes with every answer until somebody removes the cause.
 * So a refusal is logged when new and not each time, and once when over; and the refusal is kept as the reason for the
 * error of a caller that waits.
 */

import type { Problem } from '../../runtime/handle.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import type { Refused } from '../core/messages.ts';
import type { LedHistory } from '../core/history-watch.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import { managersDisagree, refusal } from './errors.ts';

export class Refusals {
  readonly #who: string;
  readonly #logger: Logger;
  readonly #clock: Pick<Runtime, 'now'>;
  /** Since when there has been a refusal or a disagreement, whichever and however often. */
  #since: Instant | undefined;
  #last: LeaseholdError | undefined;
  #disagreement: LeaseholdError | undefined;

  /** @param who `owner`, `look-up` */
  constructor(who: string, logger: Logger, clock: Pick<Runtime, 'now'>) {
    this.#who = who;
    this.#logger = logger;
    this.#clock = clock;
  }

  /** For `status()`. Failing, because no Manager admits one that is refused, and none holds or finds anything in a disagreement. */
  get problems(): readonly Problem[] {
    const { last } = this;
    if (last === undefined) return [];
    const sinceMs = Math.max(0, Math.round(this.#clock.now() - (this.#since ?? this.#clock.now())));
    const cure = `do what the message says; this ${this.#who} goes on asking by itself`;
    return [
      { id: last.code, level: 'failing', what: last.message, sinceMs, cure, command: 'leasehold status' },
    ];
  }

  #begin(): void {
    if (this.last === undefined) this.#since = this.#clock.now();
  }

  get last(): LeaseholdError | undefined {
    return this.#disagreement ?? this.#last;
  }

  /** The Managers lead different histories. */
  disagree(histories: readonly LedHistory[], consequence: string): void {
    const error = managersDisagree(histories);
    this.#begin();
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
    this.#begin();
    this.#last = refusal(code, message, retryable);
  }

  /** The peer was admitted after all. */
  forget(): void {
    if (this.#last === undefined) return;
    const { code } = this.#last;
    if (code !== 'BUSY') this.#logger.warn(`no Manager refuses this ${this.#who} any more`, { code });
    this.#last = undefined;
  }

  /**
   * @throws {LeaseholdError} if there is one that time cannot mend
   */
  throwIfFinal(): void {
    if (this.last !== undefined && !this.last.retryable) throw this.last;
  }
}
