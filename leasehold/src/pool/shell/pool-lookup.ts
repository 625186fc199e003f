/**
 * One look-up in a running process: the core of `lookup/lookup.ts` with a clock and a connection.
 *
 * The application calls `find` for every request, so `find` is local: a hash, a table, no I/O, nothing to wait for.
 * The answer may be out of date, and that does no harm, because an owner refuses keys of other owners. To miss that
 * keys lost their state would do harm: hence `onLoss`, and hence a look-up that can hear no Manager says so, by
 * reporting everything.
 *
 * A pool begins to exist when first named, even by a caller that has mistyped the name. Nothing is wrong then that
 * anybody could refuse; but a pool that never had an owner, for a while, is worth a line.
 */

import { unreachable } from '../../runtime/assert.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { checkKeyPosition, hashKey, type Key } from '../../runtime/keys/hash.ts';
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
import { type CallOptions, callOwner, type OwnerCall } from './call-owner.ts';
import { ClosedError, type ManagersDisagreeError, type RefusedError } from './errors.ts';
import { deadline } from '../../runtime/deadline.ts';
import { showAs } from '../../runtime/inspection.ts';
import { Refusals } from './refusals.ts';
import { Condition } from '../../runtime/condition.ts';

/** The position of a look-up in the log; store the position, and a later look-up can go on from there. */
export interface LookupPosition {
  readonly history: string;
  readonly position: number;
}

/** Keys that lost their state since this look-up last knew of them. */
export interface Loss {
  /** True if the state of the key may be gone. */
  has(key: Key): boolean;
  readonly ranges: RangeSet;
  /** `reported` by a Manager; the other reasons mean that nobody can say, so everything counts as lost. */
  readonly why: LossReason;
  /**
   * Everything up to here has been reported. When this loss and all before have been dealt with, store the position: a
   * later look-up that resumes from there (`resumeFrom`) is told of every loss since. Undefined if no Manager was
   * heard yet: then leave the stored position.
   */
  readonly position: LookupPosition | undefined;
}

export interface FoundOwner {
  readonly url: string;
  readonly name: string;
  readonly incarnation: string;
  /** The lease number, for the owner to compare. */
  readonly number: number;
}

/** @internal */
export interface LookupDependencies {
  readonly pool: string;
  readonly id: string;
  readonly addresses: { readonly current: readonly string[] };
  readonly durations: ResolvedDurations;
  /** The application's own choice, which overrides the Manager's. */
  readonly insists: Partial<LookupPace>;
  readonly resumeFrom: LookupPosition | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly dialer: Transport<ToManager, FromManager>;
  readonly onLoss: ((loss: Loss) => unknown) | undefined;
  readonly onChange: (() => unknown) | undefined;
  /** Receives the exceptions and rejections of `onLoss` and `onChange`. @default an uncaught exception */
  readonly surface?: Surface | undefined;
  close(): Promise<void>;
}

/** Servers are often started after their clients. */
const NEVER_OWNED_MS = 10_000;

const words = new Uint32Array(2);

export class PoolLookup implements AsyncDisposable {
  readonly #core: Lookup;
  readonly #driver: Driver<LookupEffect>;
  readonly #around: LookupDependencies;
  readonly #application: Application;
  readonly #waiters = new Condition();
  readonly #refusals: Refusals;
  #position: number | undefined;
  /** Problems that were logged, and whose end is still to be logged. */
  readonly #said = { isCutOff: false, isNeverOwned: false };
  #lookForOwners: Disposable | undefined;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(around: LookupDependencies) {
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
      execute: (effect) => this.#execute(effect),
      afterInput: () => this.#afterInput(),
    });
    dialer.listen((from, message) => {
      if (message.kind === 'changes') {
        this.#refusals.forget();
        this.#driver.input((now) => this.#core.receive(from, message, now));
      }
      if (message.kind === 'role') this.#driver.input((now) => this.#core.hearRole(from, message, now));
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
   * The owner of the key, as far as known here; undefined: nobody. A hint: the owner refuses keys of other owners.
   *
   * @throws {ClosedError} if this look-up was closed: the table then grows old, and nobody would say so
   * @throws {InvalidKeyError} if the key is neither a string that is not too long nor a position
   */
  find(key: Key): FoundOwner | undefined {
    const row = this.row(key);
    return row?.owner === undefined ? undefined : found(row);
  }

  /**
   * The whole row: the range, and the position of its last loss.
   *
   * @throws {ClosedError} if this look-up was closed
   */
  row(key: Key): TableRow | undefined {
    if (this.#closed !== undefined) throw new ClosedError('the look-up');
    if (typeof key === 'bigint') return this.#core.find(highOf(checkKeyPosition(key)), lowOf(key));
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

  /** The look-up's position in the log. The position to store is that of each loss: see {@link Loss}. */
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

  /**
   * Finds the owner and calls the owner; if that owner refuses before any work, or cannot be reached, waits a little
   * and calls the owner that is found then. Resolves with the result of the call. The call makes one request.
   *
   * A call may return a `Response` of `fetch`, or an `IncomingMessage`: an owner that answers by `httpAnswer` that
   * another is the owner has refused. A call that may have had an effect is not repeated, unless `idempotent`.
   *
   * @throws {NotServedError} if no owner served the key in time; unless the call is idempotent, nothing was done
   * @throws the error of the call, if the call may have had an effect
   * @throws {ClosedError} if this look-up is closed before that
   * @throws the reason of `options.signal`
   */
  async call<T>(key: Key, call: OwnerCall<T>, options: CallOptions = {}): Promise<T> {
    return callOwner(key, call, options, {
      runtime: this.#around.runtime,
      find: (asked) => this.find(asked),
      otherThan: (owner, asked, withinMs, signal) => this.#otherThan(owner, asked, withinMs, signal),
    });
  }

  async #otherThan(
    owner: FoundOwner | undefined,
    key: Key,
    withinMs: number,
    signal: AbortSignal,
  ): Promise<void> {
    using time = deadline(this.#around.runtime, withinMs, signal);
    const isOther = (other: FoundOwner | undefined): boolean =>
      other?.incarnation !== owner?.incarnation || other?.number !== owner?.number;
    try {
      await this.#waiters.until(() => (isOther(this.find(key)) ? true : undefined), time.signal);
    } catch (error) {
      if (!time.isOver) throw error;
    }
  }

  async close(): Promise<void> {
    this.#closed ??= this.#close();
    this.#waiters.look(); // waiting callers find the look-up closed
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal A Manager can be reached again. */
  reachable(): void {
    this.#driver.input((now) => this.#core.reachable(now));
  }

  /** @internal There is no connection to this Manager. */
  unreachable(address: string): void {
    this.#driver.input((now) => this.#core.unreachable(address, now));
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
  get refusal(): RefusedError | ManagersDisagreeError | undefined {
    return this.#refusals.last;
  }

  #execute(effect: LookupEffect): void {
    const { dialer, logger, onLoss, pool } = this.#around;
    switch (effect.do) {
      case 'send':
        dialer.send(effect.to, effect.message);
        break;
      case 'lost': {
        const { ranges, why, position } = effect;
        if (why !== 'reported') logger.warn('everything may be lost', { pool, why });
        if (why === 'cut-off') this.#said.isCutOff = true;
        if (onLoss !== undefined)
          this.#application.tell(() => onLoss({ has: (key) => ranges.has(key), ranges, why, position }));
        break;
      }
      case 'disagree':
        this.#refusals.disagree(effect.histories, 'this look-up finds no owners');
        break;
      case 'agree':
        this.#refusals.agree();
        break;
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

  #afterInput(): void {
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
      logger.warn('this pool has an owner now', { pool });
      this.#said.isNeverOwned = false;
    }
  }

  #warnIfNeverOwned(): void {
    const { logger, pool } = this.#around;
    if (!this.#wasNeverOwned()) return;
    logger.warn('no owner has ever held a key of this pool: is its name right, and does a server run?', {
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
