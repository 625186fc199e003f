/**
 * One look-up in a running process: the core of `lookup/lookup.ts` with a clock and a connection.
 *
 * It is asked for every request that the application sends, so `find` is local: a hash, a table, no I/O,
 * nothing to wait for. What it answers may be out of date, and that does no harm, because an owner refuses
 * what is not its own. What would do harm is to miss that keys lost their state: hence `onLoss`, and
 * hence a look-up that can hear nobody says so, by reporting everything.
 *
 * A pool begins to exist with whoever first names it, a caller that has mistyped it too. Nothing is wrong
 * then that anybody could refuse; but a pool that never had an owner, for a while, is worth a line.
 */

import { unreachable } from '../../runtime/assert.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { hashKey, type Key } from '../../runtime/keys/hash.ts';
import { highOf, lowOf, RING_SIZE } from '../../runtime/keys/position.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime, Transport } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { later } from '../../runtime/time.ts';
import { Lookup, type LookupEffect, type LossReason } from '../lookup/lookup.ts';
import type { FromManager, LookupPace, Refused, TableRow, ToManager } from '../messages.ts';
import type { ResolvedDurations } from '../options.ts';
import { Application, type Surface } from './application.ts';
import { ClosedError, type RefusedError } from './errors.ts';
import { showAs } from '../../runtime/inspection.ts';
import { Refusals } from './refusals.ts';
import { Waiters } from '../../runtime/waiters.ts';

/** Where a look-up is in the log; store it, and a later look-up can go on from there. */
export interface LookupPosition {
  readonly history: string;
  readonly position: number;
}

/** Keys that lost their state since this look-up last knew of them. */
export interface Loss {
  /** True if what was kept under the key may be gone. */
  has(key: Key): boolean;
  readonly ranges: RangeSet;
  /** `reported` by a Manager; the others mean that nobody can say, so it is everything. */
  readonly why: LossReason;
}

export interface FoundOwner {
  readonly url: string;
  readonly name: string;
  readonly incarnation: string;
  /** The lease number, for the owner to compare. */
  readonly number: number;
}

/** @internal */
export interface LookupSurroundings {
  readonly pool: string;
  readonly id: string;
  readonly addresses: { readonly current: readonly string[] };
  readonly durations: ResolvedDurations;
  /** What the application wants, whatever the Manager says. */
  readonly insists: Partial<LookupPace>;
  readonly resumeFrom: LookupPosition | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly dialer: Transport<ToManager, FromManager>;
  readonly onLoss: ((loss: Loss) => unknown) | undefined;
  readonly onChange: (() => unknown) | undefined;
  /** What becomes of that which `onLoss` and `onChange` throw or reject with. @default an uncaught exception */
  readonly surface?: Surface | undefined;
  close(): Promise<void>;
}

/** Servers are often started after those who call them. */
const NEVER_OWNED_MS = 10_000;

const words = new Uint32Array(2);

export class PoolLookup implements AsyncDisposable {
  readonly #core: Lookup;
  readonly #driver: Driver<LookupEffect>;
  readonly #around: LookupSurroundings;
  readonly #application: Application;
  readonly #waiters = new Waiters();
  readonly #refusals: Refusals;
  #position: number | undefined;
  /** What was said to be wrong, and is still to be said to be over. */
  readonly #said = { isCutOff: false, isNeverOwned: false };
  #lookForOwners: Disposable | undefined;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(around: LookupSurroundings) {
    const { runtime, durations, addresses, dialer, resumeFrom } = around;
    this.#around = around;
    this.#application = new Application(around.surface);
    this.#refusals = new Refusals('look-up', around.logger);
    this.#core = new Lookup(
      {
        ...{ pool: around.pool, id: around.id, durations, insists: around.insists, resumeFrom },
        get managers() {
          return addresses.current;
        },
        random: () => runtime.random(),
      },
      runtime.now(),
    );
    this.#driver = new Driver<LookupEffect>({
      core: this.#core,
      clock: runtime,
      guard: new SuspensionGuard(runtime, durations.suspensionToleranceMs),
      alarm: (wake) => alarmOn(runtime, wake),
      carryOut: (effect) => this.#carryOut(effect),
      afterwards: () => this.#afterwards(),
    });
    dialer.listen((from, message) => {
      if (message.kind === 'changes') {
        this.#refusals.forget();
        this.#driver.input((now) => this.#core.receive(from, message, now));
      }
      if (message.kind === 'refused') this.#refused(message);
    });
    this.#driver.input((now) => this.#core.wake(now));
    this.#lookForOwners = runtime.wakeAt(later(runtime.now(), NEVER_OWNED_MS), () =>
      this.#warnIfNeverOwned(),
    );
  }

  get pool(): string {
    return this.#around.pool;
  }

  /**
   * Who has the key, as far as is known here; undefined: nobody. A hint: the owner refuses what is not its own.
   *
   * @throws {ClosedError} if this look-up was closed: what it knew then grows old, and nobody would say so
   */
  find(key: Key): FoundOwner | undefined {
    const row = this.row(key);
    return row?.owner === undefined ? undefined : found(row);
  }

  /**
   * The whole row: the range, and where it last lost its state.
   *
   * @throws {ClosedError} if this look-up was closed
   */
  row(key: Key): TableRow | undefined {
    if (this.#closed !== undefined) throw new ClosedError('the look-up');
    if (typeof key === 'bigint') return this.#core.find(highOf(key), lowOf(key));
    hashKey(key, words);
    return this.#core.find(words[0] as number, words[1] as number);
  }

  /** How old the table may be, in milliseconds; infinite if that is not known. */
  age(): number {
    return this.#core.ageMs(this.#around.runtime.now());
  }

  /** Nobody could be heard for so long that everything was reported as lost. */
  get isCutOff(): boolean {
    return this.#core.isCutOff;
  }

  /** Where it is in the log. Store it after `onLoss` has been dealt with. */
  get position(): LookupPosition | undefined {
    const seen = this.#core.seen;
    return seen === undefined ? undefined : { history: seen.history, position: seen.position };
  }

  /**
   * Resolves as soon as somebody has the key.
   *
   * @throws {ClosedError} if this look-up is closed before that
   */
  async whenFound(key: Key, signal?: AbortSignal): Promise<FoundOwner> {
    return this.#waiters.until(() => this.find(key), signal);
  }

  async close(): Promise<void> {
    this.#closed ??= this.#close();
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal A Manager can be reached again after it could not. */
  reachable(): void {
    this.#driver.input((now) => this.#core.reachable(now));
  }

  /** @internal Resolves when there is a table. */
  async entered(signal: AbortSignal): Promise<void> {
    await this.#waiters.until(() => {
      this.#refusals.throwIfFinal();
      return this.#core.hasTable ? true : undefined;
    }, signal);
  }

  /** @internal Nobody is told that a look-up ends. */
  async giveUp(): Promise<void> {
    await this.close();
  }

  /** @internal Why the last Manager that refused did so. */
  get refusal(): RefusedError | undefined {
    return this.#refusals.last;
  }

  #carryOut(effect: LookupEffect): void {
    const { dialer, logger, onLoss, pool } = this.#around;
    switch (effect.do) {
      case 'send':
        dialer.send(effect.to, effect.message);
        break;
      case 'lost': {
        const { ranges, why } = effect;
        if (why !== 'reported') logger.warn('everything may be lost', { pool, why });
        if (why === 'cut-off') this.#said.isCutOff = true;
        if (onLoss !== undefined)
          this.#application.tell(() => onLoss({ has: (key) => ranges.has(key), ranges, why }));
        break;
      }
      case 'trace':
        logger.debug(effect.event.what, { pool, ...effect.event.facts });
        break;
      default:
        unreachable(effect);
    }
  }

  #refused(message: Refused): void {
    this.#refusals.heard(message);
    this.#waiters.look();
  }

  #afterwards(): void {
    this.#waiters.look();
    this.#sayWhatIsOver();
    const position = this.#core.seen?.position;
    if (position === this.#position) return;
    this.#position = position;
    const { onChange } = this.#around;
    if (onChange !== undefined) this.#application.tell(onChange);
  }

  #sayWhatIsOver(): void {
    const { logger, pool } = this.#around;
    if (this.#said.isCutOff && !this.#core.isCutOff) {
      logger.warn('a Manager is heard again', { pool });
      this.#said.isCutOff = false;
    }
    if (this.#said.isNeverOwned && !this.#wasNeverOwned()) {
      logger.warn('somebody has come to own keys of this pool', { pool });
      this.#said.isNeverOwned = false;
    }
  }

  #warnIfNeverOwned(): void {
    const { logger, pool } = this.#around;
    if (!this.#wasNeverOwned()) return;
    logger.warn('nobody has ever owned a key of this pool: is its name right, and is there a server?', {
      pool,
    });
    this.#said.isNeverOwned = true;
  }

  /** The table of a pool without a past is one row; later ones tell where they were lost. */
  #wasNeverOwned(): boolean {
    const row = this.#core.find(0, 0);
    return row !== undefined && row.owner === undefined && row.lostAt === 0 && row.end === RING_SIZE;
  }

  async #close(): Promise<void> {
    this.#lookForOwners?.[Symbol.dispose]();
    this.#driver.stop();
    this.#waiters.look();
    await this.#around.close();
  }
}

showAs(PoolLookup, 'PoolLookup', (lookup) => {
  const { pool, position, isCutOff } = lookup;
  return { pool, position, ageMs: Math.round(lookup.age()), isCutOff };
});

const found = ({ owner, number }: TableRow): FoundOwner => ({
  url: owner?.url ?? '',
  name: owner?.name ?? '',
  incarnation: owner?.incarnation ?? '',
  number,
});
