/**
 * Stands beside a Manager and takes notes: counts for the metrics, events for those who watch, lines for
 * the log. The core decides without it, and nothing here changes what it decides; so all of it can be
 * read, or left out, without a thought for safety.
 *
 * What changed is found by looking at the Manager after each input and comparing with the last look
 * (`http/recorder.ts`). Why a member left cannot be seen that way; that stands in the batch that was
 * just written, which is therefore kept until the next.
 */

import { randomId } from '../../node/id.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { Instant } from '../../runtime/time.ts';
import type { TraceEvent } from '../../runtime/trace.ts';
import { ManagerCounters } from '../http/counters.ts';
import { EventLog } from '../http/event-log.ts';
import { type Change, type Reasons, reasonsIn } from '../http/events.ts';
import { Recorder } from '../http/recorder.ts';
import type { ManagerWatcher } from '../manager/driver.ts';
import type { Manager } from '../manager/manager.ts';
import type { OwnerObservation } from '../manager/observation.ts';
import type { FromManager, Refused, ToManager } from '../messages.ts';
import { decodeBatch, type UnreadableLogError } from '../state.ts';
import { namesakesIn } from './namesakes.ts';

export interface ManagerWatchOptions {
  readonly id: string;
  readonly core: Manager;
  readonly runtime: Pick<Runtime, 'now' | 'wallMs'>;
  readonly logger: Logger;
  /** How often an owner of the pool is to be heard. */
  renewEveryMs(pool: string): number;
  /** The core has halted. */
  halted(why: string): void;
  /** Ends the Manager. */
  cannotGoOn(error: LeaseholdError): void;
  /** After an input and all that came of it, once it is noted. */
  afterwards(): void;
}

/** `docs/production-one-machine.md` and `docs/production-cluster.md` have it at length. */
const AFTER_A_HALT =
  'find out whether the store was put back from a backup, or lost what it had written. Then stop all Managers and ' +
  'raise the counters of the log above what was seen: leasehold manager recover --data DIRECTORY, or --store etcd://…. ' +
  'Afterwards all leases are waited out, everybody is removed and joins anew, and look-ups report everything as lost. ' +
  'Another copy of the store does not mend it: this Manager may have served somebody from the older one';

/** How many refusals are remembered, so that none is said twice. */
const MOST_REFUSALS = 1_000;

export class ManagerWatch implements ManagerWatcher {
  readonly counters: ManagerCounters = new ManagerCounters();
  readonly events: EventLog = new EventLog({ epoch: randomId(4) });
  readonly #options: ManagerWatchOptions;
  readonly #recorder: Recorder;
  readonly #refusals = new Set<string>();
  /** The batch being written, or written last, and since when. */
  #writing: { readonly bytes: Uint8Array; readonly at: Instant } | undefined;
  /** It was said that it leads and waits, and not yet that it waits no more. */
  #waits = false;

  constructor(options: ManagerWatchOptions) {
    this.#options = options;
    this.#recorder = new Recorder(this.events, this.counters, () => options.runtime.wallMs());
  }

  receives(_from: string, { kind }: ToManager): void {
    if (kind === 'report') this.counters.reports += 1;
    else if (kind === 'sync') this.counters.syncs += 1;
    else this.counters.certificatesReceived += 1;
  }

  sends(_to: string, message: FromManager): void {
    if (message.kind === 'update') this.counters.updates += 1;
    else if (message.kind === 'certified') this.counters.certificatesAccepted += 1;
    else if (message.kind === 'changes' && message.answers === undefined) this.counters.pushes += 1;
    else if (message.kind === 'changes') this.counters.answers += 1;
    else if (message.kind === 'refused') this.#refuses(message);
  }

  writes(bytes: Uint8Array): void {
    this.#writing = { bytes, at: this.#options.runtime.now() };
  }

  wrote(outcome: 'appended' | 'refused'): void {
    const writing = this.#writing;
    if (outcome === 'refused') this.counters.commitsRefused += 1;
    else if (writing !== undefined) {
      this.counters.commits += 1;
      this.counters.commitBytes += writing.bytes.length;
      this.counters.commitSeconds.observe((this.#options.runtime.now() - writing.at) / 1_000);
    }
  }

  compacts(): void {
    this.counters.compactions += 1;
  }

  /** The recorder sees that by itself. */
  elected(): void {}

  suspended(): void {
    this.counters.suspensions += 1;
  }

  halted(why: string): void {
    this.#options.logger.error('halted', { why, next: AFTER_A_HALT });
    this.#options.halted(why);
  }

  /** Said once to whoever reads the log; the one refused asks again every now and then. */
  #refuses({ pool, asker, code, message }: Refused): void {
    const refusal = JSON.stringify([asker, code]);
    if (this.#refusals.has(refusal)) return;
    if (this.#refusals.size >= MOST_REFUSALS) this.#refusals.clear();
    this.#refusals.add(refusal);
    this.#options.logger.warn('somebody was refused', { pool, asker, code, why: message });
  }

  unreadable(error: UnreadableLogError): void {
    this.#options.cannotGoOn(error);
  }

  traced({ what, facts }: TraceEvent): void {
    const isNews = what === 'elected' || what === 'deposed' || what === 'halted';
    this.#options.logger[isNews ? 'info' : 'debug'](what, facts);
    if (what === 'elected') this.#sayIfItWaits();
  }

  /** Another leads, as far as is known. */
  follows({ id: leader, address }: { id: string; address: string | undefined }, term: number): void {
    const { id: manager, core, runtime, logger } = this.#options;
    logger.info('follows another Manager', { leader, address, term });
    this.events.append([{ kind: 'follows', manager, leader, term }], runtime.wallMs(), core.state.position);
  }

  /** Everybody is told nothing meanwhile, and whoever looks on wants to know why. */
  #sayIfItWaits(): void {
    const { core, runtime, logger } = this.#options;
    const { waitsUntil } = core.observe();
    this.#waits = waitsUntil !== undefined;
    if (waitsUntil === undefined) return;
    const seconds = Math.ceil((waitsUntil - runtime.now()) / 1_000);
    logger.info('waits until whoever held keys under an earlier log has let go; then it gives out keys', {
      seconds,
    });
  }

  #sayIfItHasWaited(): void {
    const { core, logger } = this.#options;
    if (core.role === 'leading' && core.observe().waitsUntil !== undefined) return;
    this.#waits = false;
    if (core.role === 'leading') logger.info('has waited, and gives out keys from here on');
  }

  afterwards(): void {
    const { id, core, afterwards } = this.#options;
    if (this.#waits) this.#sayIfItHasWaited();
    const { role, haltedBecause, history, state } = core;
    const glimpse = { id, role, haltedBecause, history, state, term: core.term ?? state.term };
    const changes = this.#recorder.see(glimpse, this.#reasons());
    if (changes.length > 0) this.#warnOfNamesakes(changes);
    afterwards();
  }

  #warnOfNamesakes(changes: readonly Change[]): void {
    const { core, runtime, logger, renewEveryMs } = this.#options;
    const owners = (): readonly OwnerObservation[] => core.observe().owners;
    const found = namesakesIn(changes, core.state, owners, renewEveryMs, runtime.now());
    for (const { pool, earlier, later, heardAgoMs } of found) {
      logger.warn('two owners have one name: the later gets its keys', {
        ...{ pool, name: later.name, earlier: earlier.incarnation, earlierUrl: earlier.url },
        ...{ earlierHeardAgoMs: Math.round(heardAgoMs), later: later.incarnation, laterUrl: later.url },
        next: 'if both are running, stop one or give it a name of its own; if the earlier has just crashed, this is its restart, and a lock file or a supervisor would prove it',
      });
    }
  }

  /** Why members left, by the batch that was just written; read only if somebody did. */
  #reasons(): Reasons {
    const bytes = this.#writing?.bytes;
    let reasons: Reasons | undefined;
    return (pool, incarnation) => {
      if (bytes === undefined) return undefined;
      reasons ??= reasonsIn([decodeBatch(bytes)]);
      return reasons(pool, incarnation);
    };
  }
}
