/**
 * Observes a Manager and takes notes: counts for the metrics, events for observers, lines for the log. The core
 * decides without this class, and nothing here changes a decision; so all of this file can be read, or left out,
 * without a thought for safety.
 *
 * Changes are found by looking at the Manager after each input and comparing with the last look (`service/recorder.ts`).
 * Why a member left cannot be seen that way; that stands in the batch that was just written. When the core hears that
 * a batch is in the log, the core may begin the next at once, before the next look. So a batch is kept from when the
 * batch is handed to the log until the look after the outcome:
 *
 *     writes 1 ── (1 is in the log) ── writes 2 ── look: 1, 2 are kept ── wrote 1 ── … ── look: 2 is kept
 */

import { randomId } from '../../../node/id.ts';
import { EpisodeLog } from '../../../runtime/episode-log.ts';
import type { LeaseholdError, StorageError } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { TraceEvent } from '../../../runtime/trace.ts';
import { ManagerCounters } from '../service/counters.ts';
import { EventLog } from '../../../node/service/event-log.ts';
import { at, type ManagerEventLog } from '../service/event-log.ts';
import { type Reasons, reasonsIn } from '../service/events.ts';
import { Recorder } from '../service/recorder.ts';
import type { ManagerWatcher } from '../../core/manager/driver.ts';
import type { Manager } from '../../core/manager/manager.ts';
import type { FromManager, Refused, ToManager } from '../../core/messages.ts';
import { decodeBatch } from '../../core/state.ts';

export interface ManagerWatchOptions {
  readonly id: string;
  readonly core: Manager;
  readonly runtime: Pick<Runtime, 'now' | 'wallMs' | 'wakeAt'>;
  readonly logger: Logger;
  /** This peer is a member, and was told so. */
  admits(peer: string): void;
  /** The core has halted. */
  halted(why: string): void;
  /** Ends the Manager. */
  cannotGoOn(error: LeaseholdError): void;
  /** After an input and all effects, once noted. */
  afterInput(): void;
}

/** `docs/production-one-machine.md` and `docs/production-cluster.md` have the full text. */
const AFTER_A_HALT =
  'find out whether the store was put back from a backup, or lost what it had written. Then stop all Managers and ' +
  'raise the counters of the log above what was seen: leasehold manager recover --data DIRECTORY, or --store etcd://…. ' +
  'The next leader then waits for all leases to expire, owners join anew, and look-ups report everything as lost. ' +
  'Another copy of the store does not mend it: this Manager may have served clients from the older one';

const IF_IT_IS_THE_FIRST =
  'if no owner can hold a lease from an earlier Manager, as in a test, start with firstStart: true (--first-start)';

const WITHOUT_FIRST_START =
  'start without firstStart (--first-start), or give the Manager a data directory that outlives it, so that a restart need not wait';

interface Batch {
  readonly bytes: Uint8Array;
  readonly handedOverAt: Instant;
  isOver: boolean;
}

export class ManagerWatch implements ManagerWatcher, Disposable {
  readonly counters: ManagerCounters = new ManagerCounters();
  readonly events: ManagerEventLog = new EventLog({ epoch: randomId(4) });
  readonly #options: ManagerWatchOptions;
  readonly #recorder: Recorder;
  readonly #episodes: EpisodeLog;
  /** Batches without a known outcome, and those without a look since; in order. */
  #batches: Batch[] = [];
  /** A line said that the Manager leads and waits for that, and no line yet that the wait is over. */
  #waitsFor: 'leases' | 'clients' | undefined;

  constructor(options: ManagerWatchOptions) {
    this.#options = options;
    this.#episodes = new EpisodeLog(options.logger, options.runtime);
    this.#recorder = new Recorder(this.events, this.counters, () => options.runtime.wallMs());
  }

  receives(_from: string, { kind }: ToManager): void {
    if (kind === 'report') this.counters.reports += 1;
    else if (kind === 'sync') this.counters.syncs += 1;
    else this.counters.certificatesReceived += 1;
  }

  sends(to: string, message: FromManager): void {
    if (message.kind === 'update') {
      this.counters.updates += 1;
      if (message.admitted) this.#options.admits(to);
    } else if (message.kind === 'certified') this.counters.certificatesAccepted += 1;
    else if (message.kind === 'changes' && message.answers === undefined) this.counters.pushes += 1;
    else if (message.kind === 'changes') this.counters.answers += 1;
    else if (message.kind === 'refused') this.#refuses(message);
  }

  writes(bytes: Uint8Array): void {
    this.#batches.push({ bytes, handedOverAt: this.#options.runtime.now(), isOver: false });
  }

  wrote(outcome: 'appended' | 'refused'): void {
    const batch = this.#batches.find(({ isOver }) => !isOver);
    if (batch === undefined) return;
    batch.isOver = true;
    if (outcome === 'refused') this.counters.commitsRefused += 1;
    else {
      this.counters.commits += 1;
      this.counters.commitBytes += batch.bytes.length;
      this.counters.commitSeconds.observe((this.#options.runtime.now() - batch.handedOverAt) / 1_000);
    }
  }

  compacts(): void {
    this.counters.compactions += 1;
  }

  /** The outcome of a batch of an earlier term will not be told. */
  elected(): void {
    this.#batches = [];
  }

  suspended(): void {
    this.counters.suspensions += 1;
  }

  halted(why: string): void {
    this.#options.logger.error('halted', { why, next: AFTER_A_HALT });
    this.#options.halted(why);
  }

  /** One line when refusals with a code begin, and one when they are over. */
  #refuses({ pool, asker, code, message }: Refused): void {
    if (code === 'FULL') {
      this.counters.fullAnswers += 1;
      this.#episodes.happened(code, 'more owners want to join than there is room for', {
        pool,
        why: message,
      });
      return;
    }
    if (code === 'BUSY') {
      this.counters.busyAnswers += 1;
      this.#episodes.happened(`${code} ${pool}`, 'owners wait in line to join', { pool, why: message });
      return;
    }
    if (code === 'TOO_MANY_POOLS') this.counters.poolsRefused += 1;
    // Not a line for each asker: a stranger can ask without limit, each time under another name.
    this.#episodes.happened(code, `a client was refused with ${code}`, { pool, asker, code, why: message });
  }

  [Symbol.dispose](): void {
    this.#episodes[Symbol.dispose]();
  }

  unreadable(error: StorageError): void {
    this.#options.cannotGoOn(error);
  }

  traced({ what, facts }: TraceEvent): void {
    if (what === 'not-the-first-log') {
      this.#sayThatItIsNotTheFirst(facts);
      return;
    }
    const isNews = what === 'elected' || what === 'deposed' || what === 'halted';
    this.#options.logger[isNews ? 'info' : 'debug'](what, facts);
    if (what === 'elected') this.#sayIfItWaits();
  }

  /** Another leads, as far as is known. */
  follows({ id: leader, address }: { id: string; address: string | undefined }, term: number): void {
    const { id: manager, core, runtime, logger } = this.#options;
    logger.info('follows another Manager', { leader, address, term });
    const follows = { kind: 'manager.follows', manager, leader, term } as const;
    this.events.append(at(core.state.position, [follows]), runtime.wallMs());
  }

  /** Nobody gets an answer meanwhile, and observers want to know why. */
  #sayIfItWaits(): void {
    const { core, runtime, logger } = this.#options;
    const { waitsUntil, isBegunHere, isFirst } = core.observe();
    this.#waitsFor = waitsUntil === undefined ? undefined : isFirst ? 'clients' : 'leases';
    if (waitsUntil === undefined) return;
    const seconds = Math.ceil((waitsUntil - runtime.now()) / 1_000);
    if (isFirst) {
      logger.info(
        `waiting ${seconds} s for clients of an earlier log, if there was one, before granting keys`,
      );
      return;
    }
    const message = `waiting ${seconds} s for leases of an earlier log to expire before granting keys`;
    // A script that starts a Manager in memory sees only warnings, and would wait without knowing why.
    if (isBegunHere) logger.warn(message, { next: IF_IT_IS_THE_FIRST });
    else logger.info(message);
  }

  #sayThatItIsNotTheFirst({ earlier, forMs }: TraceEvent['facts']): void {
    const seconds = Math.ceil(Number(forMs) / 1_000);
    const message = `firstStart is not true: a client has seen an earlier log; waiting ${seconds} s for leases of that log to expire before granting keys`;
    if (this.#waitsFor !== undefined) this.#waitsFor = 'leases';
    this.#options.logger.warn(message, { earlier, next: WITHOUT_FIRST_START });
  }

  #sayIfItHasWaited(): void {
    const { core, logger } = this.#options;
    if (core.waitsUntil !== undefined) return;
    const why =
      this.#waitsFor === 'leases'
        ? 'leases of an earlier log have expired'
        : 'no client told of an earlier log';
    this.#waitsFor = undefined;
    if (core.role === 'leading') logger.info(`${why}; granting keys`);
  }

  afterInput(): void {
    const { id, core, afterInput } = this.#options;
    if (this.#waitsFor !== undefined) this.#sayIfItHasWaited();
    const { role, haltedBecause, history, state } = core;
    const glimpse = { id, role, haltedBecause, history, state, term: core.term ?? state.term };
    this.#recorder.see(glimpse, this.#reasons());
    this.#batches = this.#batches.filter(({ isOver }) => !isOver);
    afterInput();
  }

  /** Why members left, by the batches that were just written; read only if somebody did. */
  #reasons(): Reasons {
    const batches = this.#batches;
    let reasons: Reasons | undefined;
    return (pool, incarnation) => {
      reasons ??= reasonsIn(batches.map(({ bytes }) => decodeBatch(bytes)));
      return reasons(pool, incarnation);
    };
  }
}
