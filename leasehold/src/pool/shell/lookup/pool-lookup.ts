/**
 * One look-up in a running process: the core of `lookup/lookup.ts` with a clock and a connection.
 *
 * The application calls `find` for every request, so `find` is local: a hash, a table, no I/O, nothing to wait for.
 * The answer may be out of date, and that does no harm, because an owner refuses keys of other owners. To miss that
 * keys lost their state would do harm: hence `onLoss`, and hence a look-up that can hear no Manager says so, by
 * reporting everything.
 *
 * A look-up may be opened before the first owner of its pool, so a pool without a past is no failure. But the name may be
 * misspelt. The Manager then names the pools that exist (`unknown-pools.ts`); a call that finds no owner fails with that sentence, and
 * it is worth a line if no owner comes for a while.
 */

import { unreachable } from '../../../runtime/assert.ts';
import { alarmOn, Driver } from '../../../runtime/driver.ts';
import { checkKeyHash, hashKey, type Key, keyHash } from '../../../runtime/keys/hash.ts';
import { highOf, lowOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import { later } from '../../../runtime/time.ts';
import { Lookup, type LookupEffect, type LossReason } from '../../core/lookup/lookup.ts';
import type { FromManager, LookupPace, Refused, TableRow, ToManager } from '../../core/messages.ts';
import type { ResolvedDurations } from '../../core/options.ts';
import { Application, type Surface } from '../application.ts';
import {
  type LookupCallOptions,
  callOwner,
  type FoundOwner,
  type OwnerCall,
  WEAK_OPTION,
  type WeakOption,
} from './call-owner.ts';
import { closed, refusal } from '../errors.ts';
import { deadline } from '../../../runtime/deadline.ts';
import {
  type CallOptions,
  Closing,
  type Event,
  type EventsOptions,
  type Handle,
} from '../../../runtime/handle.ts';
import { HandleEvents } from '../../../node/service/handle-events.ts';
import type { Service } from '../../../node/service/service.ts';
import { resolveOptions } from '../../../runtime/option-table.ts';
import { waitWithin } from '../../../runtime/wait-within.ts';
import { showAs } from '../../../runtime/inspection.ts';
import { Refusals } from '../refusals.ts';
import { lookupService } from '../service/owner-and-lookup.ts';
import type { LogPosition, LookupStatus } from '../status.ts';
import { Condition } from '../../../runtime/condition.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';

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
  readonly position: LogPosition | undefined;
}

/** @internal */
export interface LookupDependencies {
  readonly pool: string;
  readonly id: string;
  readonly addresses: { readonly current: readonly string[] };
  readonly durations: ResolvedDurations;
  /** The application's own choice, which overrides the Manager's. */
  readonly insists: Partial<LookupPace>;
  readonly resumeFrom: LogPosition | undefined;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly dialer: Transport<ToManager, FromManager>;
  readonly onLoss: ((loss: Loss) => unknown) | undefined;
  /** Told within the turn in which the table has changed: for shared limits, which decide by the table. */
  readonly onTable?: (() => void) | undefined;
  /** Receives the exceptions and rejections of `onLoss`. @default an uncaught exception */
  readonly surface?: Surface | undefined;
  close(): Promise<void>;
}

/** Servers are often started after their clients. */
const NEVER_OWNED_MS = 10_000;

const NONE: ReadonlySet<string> = new Set();

const words = new Uint32Array(2);

/**
 * The whole table of a pool, in the memory of a process that sends requests. `find` is local; changes and losses are
 * pushed by the Managers.
 */
export class PoolLookup implements Handle<LookupStatus> {
  readonly #core: Lookup;
  readonly #driver: Driver<LookupEffect>;
  readonly #around: LookupDependencies;
  readonly #application: Application;
  readonly #waiters = new Condition();
  readonly #refusals: Refusals;
  #position: number | undefined;
  #losses = 0;
  /** A Manager said that nobody has joined this pool, and named those that exist; counts until the first owner comes. */
  #unknownPool: LeaseholdError | undefined;
  /** Problems that were logged, and whose end is still to be logged. */
  readonly #said = { isCutOff: false, isNeverOwned: false };
  #lookForOwners: Disposable | undefined;
  readonly #closing = new Closing();
  readonly #events: HandleEvents<'pool'>;

  /** @internal */
  constructor(around: LookupDependencies) {
    const { runtime, durations, addresses, dialer, resumeFrom } = around;
    this.#around = around;
    this.#application = new Application(around.surface);
    this.#events = new HandleEvents(around.id, around.pool, runtime);
    this.#refusals = new Refusals('look-up', around.logger, runtime);
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
   * With `weak`, if there is none, the last owner heard of, and then any other, with 0 for the number.
   *
   * @throws {ClosedError} if this look-up was closed: the table then grows old, and nobody would say so
   * @throws {InvalidArgumentError} if the key is neither a string that is not too long nor a position
   */
  find(key: Key, options: WeakOption = {}): FoundOwner | undefined {
    const row = this.row(key);
    if (row?.owner !== undefined) return found(row);
    const { weak } = resolveOptions('', options, WEAK_OPTION);
    return weak ? this.#findWeakly(key, NONE) : undefined;
  }

  #findWeakly(key: Key, tried: ReadonlySet<string>): FoundOwner | undefined {
    const row = this.row(key);
    if (row?.owner !== undefined && !tried.has(row.owner.incarnation)) return found(row);
    const position = keyHash(key);
    for (const owner of this.#core.weakOwners(highOf(position), lowOf(position)))
      if (!tried.has(owner.incarnation)) return found({ owner, number: 0 });
    return undefined;
  }

  /**
   * The whole row: the range, and the position of its last loss.
   *
   * @throws {ClosedError} if this look-up was closed
   */
  row(key: Key): TableRow | undefined {
    if (this.#closing.isOver) throw closed('the look-up');
    if (typeof key === 'bigint') return this.#core.find(highOf(checkKeyHash(key)), lowOf(key));
    hashKey(key, words);
    return this.#core.find(words[0] as number, words[1] as number);
  }

  status(): LookupStatus {
    const { isCutOff, position } = this;
    const isOpen = !this.#closing.isOver;
    const isReady = isOpen && this.#core.hasTable && !isCutOff;
    const waitsFor = isOpen ? 'a Manager that answers' : 'nothing: it was closed';
    return {
      ...{ module: 'pool', role: 'lookup', instance: this.pool, name: undefined },
      ...{ isReady, waitsFor: isReady ? undefined : waitsFor, problems: this.#refusals.problems },
      ...{ ageMs: this.#core.ageMs(this.#around.runtime.now()), isCutOff, position },
    };
  }

  /**
   * Resolves when there is a table, from a Manager that can be heard.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if this look-up is closed before that
   */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.#when('an answer of a Manager', options, () => this.status().isReady || undefined);
  }

  /** What happened to this look-up: `pool.lost`, `pool.refused`. For what must not be missed there is `onLoss`. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** @internal */
  toService(): Service {
    return lookupService({
      ...{ log: this.#events.log, losses: () => this.#losses },
      status: () => this.status(),
    });
  }

  /** Resolves when this look-up is closed. It fails in no other way: it goes on asking the Managers for as long as it is open. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** Yields the position of the table now, and at each change. Ends with the signal, or when this look-up is closed. */
  async *watch({
    signal,
  }: {
    readonly signal?: AbortSignal | undefined;
  } = {}): AsyncGenerator<LogPosition, void> {
    let seen: LogPosition | undefined;
    const isNew = (): LogPosition | undefined => {
      if (this.#closing.isOver) throw closed('the look-up');
      const { position } = this;
      const isSame = position?.position === seen?.position && position?.history === seen?.history;
      return isSame ? undefined : position;
    };
    try {
      for (;;) yield (seen = await this.#waiters.until(isNew, signal));
    } catch (error) {
      if (!this.#closing.isOver && signal?.aborted !== true) throw error;
    }
  }

  /** @internal Asked for each decision on a shared limit: {@link status} makes an object. */
  get isCutOff(): boolean {
    return this.#core.isCutOff;
  }

  /** @internal */
  get position(): LogPosition | undefined {
    const seen = this.#core.seen;
    return seen === undefined ? undefined : { history: seen.history, position: seen.position };
  }

  /**
   * Resolves as soon as an owner has the key.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if this look-up is closed before that
   */
  async whenFound(key: Key, options: CallOptions = {}): Promise<FoundOwner> {
    return this.#when('an owner of the key', options, () => this.find(key));
  }

  #when<T>(what: string, options: CallOptions, ask: () => T | undefined): Promise<T> {
    return waitWithin(this.#around.runtime, ['pool', what], options, (signal) =>
      this.#waiters.until(() => {
        if (this.#closing.isOver) throw closed('the look-up');
        return ask();
      }, signal),
    );
  }

  /**
   * Finds the owner and calls the owner; if that owner refuses before any work, or cannot be reached, waits a little
   * and calls the owner that is found then. Resolves with the result of the call. The call makes one request.
   *
   * A call may return a `Response` of `fetch`, or an `IncomingMessage`: an owner that answers by `httpAnswer` that
   * another is the owner has refused. A call that may have had an effect is not repeated, unless `idempotent`.
   *
   * A `weak` call is made also if nobody can say who the owner is: to the last owner heard of, then to any other.
   *
   * @throws {UnavailableError} if no owner served the key in time; unless the call is idempotent, nothing was done
   * @throws the error of the call, if the call may have had an effect
   * @throws {ClosedError} if this look-up is closed before that
   * @throws the reason of `options.signal`
   */
  async call<T>(key: Key, call: OwnerCall<T>, options: LookupCallOptions = {}): Promise<T> {
    return callOwner(key, call, options, {
      runtime: this.#around.runtime,
      find: (asked) => this.find(asked),
      findWeakly: (asked, tried) => this.#findWeakly(asked, tried),
      whyNone: () => (this.#wasNeverOwned() ? this.#unknownPool : undefined),
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

  /** Ends the look-up. No other process needs to be told. */
  async close(): Promise<void> {
    const closing = this.#closing.close(() => this.#close());
    this.#waiters.look(); // waiting callers find the look-up closed
    await closing;
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
  get refusal(): LeaseholdError | undefined {
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
        this.#losses += 1;
        if (why !== 'reported') logger.warn('everything may be lost', { pool, why });
        if (why === 'cut-off') this.#said.isCutOff = true;
        this.#events.tell('pool.lost', { why, ranges: ranges.spans().length, position });
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
    if (message.code === 'UNKNOWN_POOL' && message.retryable) {
      this.#unknownPool = refusal(message.code, message.message, true);
      return;
    }
    if (this.#refusals.last?.code !== message.code)
      this.#events.tell('pool.refused', { code: message.code, message: message.message });
    this.#refusals.heard(message);
    this.#waiters.look();
  }

  #afterInput(): void {
    this.#waiters.look();
    this.#sayWhatIsOver();
    const position = this.#core.seen?.position;
    if (position === this.#position) return;
    this.#position = position;
    this.#around.onTable?.();
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
    const why = this.#unknownPool?.message;
    logger.warn('no owner has ever held a key of this pool: is its name right, and does a server run?', {
      pool,
      ...(why === undefined ? {} : { why }),
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
    this.#events.close();
    this.#driver.stop();
    await this.#around.close();
  }
}

showAs(PoolLookup, 'PoolLookup', (lookup) => {
  const { pool, position, isCutOff } = lookup;
  return { pool, position, ageMs: Math.round(lookup.status().ageMs), isCutOff };
});

const found = ({ owner, number }: Pick<TableRow, 'owner' | 'number'>): FoundOwner => ({
  url: owner?.url ?? '',
  name: owner?.name ?? '',
  incarnation: owner?.incarnation ?? '',
  number,
});
