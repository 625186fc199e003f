/**
 * Says in the log that nobody can be elected, because too few of those who elect answer; once, with what is the matter with
 * each, and when it is over. Not at once: whoever restarts them one after the other has no majority for as long as one of
 * them keeps silent, and knows.
 */

import type { NoMajorityError } from '../../flease/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';

export interface MajorityDiaryOptions {
  readonly clock: Pick<Runtime, 'now'>;
  readonly logger: Logger;
  /** How long it goes unmentioned. */
  readonly afterMs: number;
}

export class MajorityDiary {
  readonly #options: MajorityDiaryOptions;
  #missedSince: Instant | undefined;
  #hasTold = false;

  constructor(options: MajorityDiaryOptions) {
    this.#options = options;
  }

  /** A majority has answered. */
  heard(): void {
    if (this.#hasTold) this.#options.logger.info('a majority of those that elect answers again');
    this.#missedSince = undefined;
    this.#hasTold = false;
  }

  /** None has. */
  missed({ reasons }: Pick<NoMajorityError, 'reasons'>): void {
    const { clock, logger, afterMs } = this.#options;
    const now = clock.now();
    this.#missedSince ??= now;
    if (this.#hasTold || now < later(this.#missedSince, afterMs)) return;
    this.#hasTold = true;
    const why = [...reasons].map(([member, reason]) => `${member} (${reason})`).join(', ');
    logger.warn('no majority of those that elect answers, so nobody can lead', { why });
  }
}
