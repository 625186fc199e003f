/**
 * A leader steps down: lets another Manager lead, and becomes a standby. This serves restarts, so that nobody has to
 * wait until a leader lease has expired.
 *
 *     leads ─► could another be elected? ──yes──► withdraws ─► another leads: standby
 *                │ no                                └─────── no leader in time: stands again, ALONE
 *                └► ALONE, and leads on
 *
 * Nothing is lost in any case, since owners go on for some time without a leader. But stepping down must not use up
 * that time for nothing. So the Manager checks first, while still leading: whether the store accepts writes, and
 * whether another Manager is there. Both answers can be out of date a moment later; therefore the Manager waits for
 * half of that time only, and the other half is left for its own re-election.
 */

import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { deadline } from '../../../runtime/deadline.ts';
import type { ManagerDriver } from '../../core/manager/driver.ts';
import type { Manager } from '../../core/manager/manager.ts';
import { alone } from '../errors.ts';
import type { Store } from './store-shape.ts';

export interface StepDownOptions {
  readonly core: Pick<Manager, 'role' | 'term' | 'state'>;
  readonly driver: Pick<ManagerDriver, 'stepDown' | 'standAgain'>;
  readonly store: Pick<Store, 'isShared' | 'whenOther' | 'fullMember' | 'elected' | 'observe'>;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** Aborted when the Manager is closed. */
  readonly isOver: AbortSignal;
  /** How long owners can be without a leader, in milliseconds. */
  leaderChangeMs(): number;
  /** Resolves when `isSo` is true; rejects if the Manager cannot go on, or with the reason of the signal. */
  until(isSo: () => boolean, signal: AbortSignal): Promise<true>;
}

/** Of the time without a leader that owners survive, one such part is given to others to take over. */
const SHARE = 2;

/** The advice, by the kind of election. */
const ADVICE = {
  etcd: {
    whenAlone: undefined,
    whenLate:
      'It stands again. See how the others are (leasehold status), and whether etcd is slow; then try again',
  },
  quorum: {
    whenAlone: 'Start another one of its group first (leasehold manager start --store quorum)',
    whenLate: 'It stands again. See how the others are (leasehold status); then try again',
  },
  flease: {
    whenAlone: 'Start another one of its group first (leasehold manager start --store flease)',
    whenLate:
      'It stands again. See whether the others are in reach and their clocks right (leasehold status); then try again',
  },
} as const;
const ROOM = 'Make room in it first: compact, defragment, and disarm its alarm';

export class StepDown {
  readonly #options: StepDownOptions;
  #underWay: Promise<boolean> | undefined;

  constructor(options: StepDownOptions) {
    this.#options = options;
  }

  /** A second caller gets the outcome of the step-down that is under way. */
  begin(): Promise<boolean> {
    this.#underWay ??= this.#stepDown().finally(() => (this.#underWay = undefined));
    return this.#underWay;
  }

  async #stepDown(): Promise<boolean> {
    const { core, store, logger } = this.#options;
    if (!store.isShared) throw alone('its log is its own');
    if (core.role !== 'leading') return false;
    this.#checkRoom();
    if (!(await this.#whenOther())) throw alone('no other is there', this.#advice.whenAlone);
    if (core.role !== 'leading') return false;
    const term = core.term ?? 0;
    logger.info('steps down', { term });
    return await this.#whenSucceeded(term);
  }

  get #advice(): (typeof ADVICE)[keyof typeof ADVICE] {
    const { kind } = this.#options.store.observe();
    return kind === 'flease' || kind === 'quorum' ? ADVICE[kind] : ADVICE.etcd;
  }

  /** Where nothing can be written, nobody can be elected: neither another nor this one again. */
  #checkRoom(): void {
    const full = this.#options.store.fullMember();
    if (full === undefined) return;
    throw alone(`etcd takes nothing (${full} says NOSPACE), so nobody could be elected`, ROOM);
  }

  #whenOther(): Promise<boolean> {
    const { store, isOver } = this.#options;
    return new Promise((resolve, reject) => {
      const closed = (): void => reject(isOver.reason);
      isOver.addEventListener('abort', closed, { once: true });
      void store.whenOther().then((isThere) => {
        isOver.removeEventListener('abort', closed);
        resolve(isThere);
      });
    });
  }

  async #whenSucceeded(term: number): Promise<true> {
    const { core, driver, store, runtime, isOver } = this.#options;
    const isLed = (): boolean => Math.max(core.state.term, store.elected?.term ?? 0) > term;
    const withinMs = this.#options.leaderChangeMs() / SHARE;
    using within = deadline(runtime, withinMs, isOver);
    driver.stepDown();
    try {
      return await this.#options.until(isLed, within.signal);
    } catch (error) {
      if (!within.isOver) throw error;
      throw alone(`no other has taken over within ${withinMs / 1_000} s`, this.#advice.whenLate);
    } finally {
      if (!isOver.aborted) driver.standAgain();
    }
  }
}
