/**
 * One owner in a running process: the core of `owner/owner.ts` with a clock, a connection and an application.
 *
 * Every check reads the clock and asks whether the machine was suspended, with one reading for both;
 * no timer is trusted with anything but sending. Upcalls run outside the core (`upcalls.ts`).
 */

import { AssertionError } from '../../../runtime/assert.ts';
import { alarmOn, Driver } from '../../../runtime/driver.ts';
import { checkKeyHash, hashKey, type Key, keyHash } from '../../../runtime/keys/hash.ts';
import { highOf, lowOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import { earliest, type Instant } from '../../../runtime/time.ts';
import type { FromManager, NumberedSpan, Refused, ToManager } from '../../core/messages.ts';
import type { ResolvedDurations } from '../../core/options.ts';
import { Owner, type OwnerEffect } from '../../core/owner/owner.ts';
import type { OwnerIdentity } from '../../core/owner/settings.ts';
import { Application, type Surface } from '../application.ts';
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
import { waitWithin } from '../../../runtime/wait-within.ts';
import { closed, leaseLost, notOwner } from '../errors.ts';
import { type HeldKey, HeldKeys } from './held-keys.ts';
import { markThrownByWork } from '../http-answer.ts';
import { LeasedMap, type Leases } from '../state/leased-map.ts';
import { type LeasedMapOptions, resolveLeasedMap } from '../state/leased-map-options.ts';
import { showAs } from '../../../runtime/inspection.ts';
import { KeyQueue } from './key-queue.ts';
import { LeaveDeadline } from './leave-deadline.ts';
import { Refusals } from '../refusals.ts';
import { ownerService } from '../service/owner-and-lookup.ts';
import type { OwnerStatus } from '../status.ts';
import { type Upcall, Upcalls } from './upcalls.ts';
import { Condition } from '../../../runtime/condition.ts';
import { invalidOption, type LeaseholdError } from '../../../runtime/errors.ts';
import { environment } from '../../../node/process/environment.ts';

/** @internal */
export interface OwnerApplication {
  readonly onGrant?: Upcall | undefined;
  readonly onRevoke?: Upcall | undefined;
  readonly onLost?: ((ranges: RangeSet) => unknown) | undefined;
  readonly load?: (() => number) | undefined;
}

/** @internal */
export interface OwnerDependencies {
  readonly identity: OwnerIdentity;
  readonly addresses: { readonly current: readonly string[] };
  readonly durations: ResolvedDurations;
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly dialer: Transport<ToManager, FromManager>;
  readonly application: OwnerApplication;
  /** Receives the exceptions and rejections of the application's functions. @default an uncaught exception */
  readonly surface?: Surface | undefined;
  /** Called once, at the end. `hasLeft`: nothing is held any more that a Manager would keep for us. */
  close(hasLeft: boolean): Promise<void>;
}

/** What `guard` takes besides the key and the work. */
export interface GuardOptions {
  /** Gives up waiting for the key's turn. For work that has begun the signal is a part of `held.signal`. */
  signal?: AbortSignal | undefined;
}

/** Signals abort when a twentieth of the lease is left. */
const WARNING_SHARE = 20;

const words = new Uint32Array(2);

/** This process as a member of a pool. Keys come and go by themselves; ask with `guard` or `check` before each use of a key. */
export class PoolOwner implements Handle<OwnerStatus> {
  readonly #core: Owner;
  readonly #driver: Driver<OwnerEffect>;
  readonly #guard: SuspensionGuard;
  readonly #around: OwnerDependencies;
  readonly #application: Application;
  readonly #upcalls: Upcalls;
  readonly #queue: KeyQueue;
  readonly #held: HeldKeys;
  /** @internal What leased maps ask. */
  readonly leases: Leases = {
    heldSince: (high, low, number, now) =>
      this.#wasSuspended(now) ? undefined : this.#core.heldSince(high, low, number, now),
    isHeld: (key, number) => this.isHeld(key, number),
    tenure: (key) => this.tenure(key),
    all: () => this.#core.pieces.filter(({ phase }) => phase !== 'released'),
  };
  readonly #maps: Pick<LeasedMap<unknown>, 'name' | 'forget' | 'close'>[] = [];
  /** Callers that wait to be admitted, to have left, or for a key. */
  readonly #waiters = new Condition();
  readonly #refusals: Refusals;
  /** @internal Standbys that named a leader outside the list of Managers. */
  readonly leadersElsewhere: Map<string, string> = new Map();
  #state: 'open' | 'leaving' | 'left' = 'open';
  /** The machine was suspended and the core does not know yet, because the core is busy. */
  #coreIsUnaware = false;
  /** A line said that keys are no longer held here, and no line yet that some are again. */
  #saidToBeBare = false;
  #losses = 0;
  /** When a Manager last named our keys. */
  #heardAt: Instant | undefined;
  /** Present while leaving. */
  #leaveDeadline: LeaveDeadline | undefined;
  readonly #closing = new Closing();
  readonly #events: HandleEvents<'pool'>;

  /** @internal */
  constructor(around: OwnerDependencies) {
    const { runtime, durations, addresses, dialer, application, logger } = around;
    this.#around = around;
    this.#application = new Application(around.surface);
    this.#events = new HandleEvents(around.identity.incarnation, around.identity.pool, runtime);
    this.#refusals = new Refusals('owner', logger, runtime);
    this.#upcalls = new Upcalls(runtime, logger);
    this.#queue = new KeyQueue(runtime);
    this.#core = new Owner(
      {
        identity: around.identity,
        get managers() {
          return addresses.current;
        },
        durations,
        loads: application.onGrant !== undefined,
        flushes: true,
        random: () => runtime.random(),
      },
      runtime.now(),
    );
    this.#guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    this.#held = new HeldKeys(
      {
        isHeld: (key, number) => this.isHeld(key, number),
        endOf: (key, number) => this.#endOf(key, number),
        warningMs: () => this.#core.leaseMs / WARNING_SHARE,
      },
      runtime,
    );
    this.#driver = new Driver<OwnerEffect>({
      core: this.#core,
      clock: runtime,
      guard: this.#guard,
      alarm: (wake) => alarmOn(runtime, () => (this.#measure(), wake())),
      execute: (effect) => this.#execute(effect),
      afterInput: () => this.#afterInput(),
    });
    dialer.listen((from, message) => {
      if (message.kind === 'update') {
        this.#heardAt = runtime.now();
        this.#leaveDeadline?.heard(this.#heardAt);
        this.#driver.input((now) => this.#core.receive(from, message, now));
      }
      if (message.kind === 'notLeader') {
        if (!addresses.current.includes(message.leader)) this.leadersElsewhere.set(from, message.leader);
        this.#driver.input((now) => this.#core.redirected(from, message, now));
      }
      if (message.kind === 'role') this.#driver.input((now) => this.#core.hearRole(from, message, now));
      if (message.kind === 'refused') this.#refused(message);
    });
    this.#driver.input((now) => this.#core.wake(now));
  }

  get pool(): string {
    return this.#around.identity.pool;
  }

  get name(): string {
    return this.#around.identity.name;
  }

  /** This run of this owner, unlike any other. */
  get incarnation(): string {
    return this.#around.identity.incarnation;
  }

  get url(): string {
    return this.#around.identity.url;
  }

  /** @internal Asked for each decision on a shared limit: {@link status} makes an object. */
  get isAdmitted(): boolean {
    return this.#core.isAdmitted;
  }

  /** @internal Why a Manager refuses this owner, or that the Managers disagree; undefined: neither, since the last admission. */
  get refusal(): LeaseholdError | undefined {
    return this.#refusals.last;
  }

  status(): OwnerStatus {
    const { isAdmitted } = this;
    const ranges = this.ranges();
    const isOpen = this.#state === 'open';
    const waitsFor = isOpen ? 'a Manager that admits this owner' : 'nothing: it was closed';
    const keys = ranges.reduce((sum, { start, end }) => sum + end - start, 0n);
    return {
      ...{ module: 'pool', role: 'owner', instance: this.pool, name: this.name },
      isReady: isOpen && isAdmitted,
      waitsFor: isOpen && isAdmitted ? undefined : waitsFor,
      problems: this.#refusals.problems,
      ...{ isAdmitted, ranges: ranges.length, sharePercent: Number((keys * 10_000n) / RING_SIZE) / 100 },
    };
  }

  /**
   * Resolves when a Manager counts this owner as a member; keys follow.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if this owner is closed before that
   */
  async ready(options: CallOptions = {}): Promise<void> {
    await this.#when('the admission of this owner', options, () => this.#core.isAdmitted || undefined);
  }

  /** What happened to this owner: `pool.admitted`, `pool.granted`, `pool.lost`, `pool.refused`. Ends when it is closed. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** @internal */
  toService(): Service {
    return ownerService({
      ...{ log: this.#events.log, losses: () => this.#losses },
      hasLostAll: () => this.#saidToBeBare && this.ranges().length === 0,
      status: () => this.status(),
    });
  }

  /** Resolves when this owner is closed. It fails in no other way: it goes on asking the Managers for as long as it is open. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** Everything that could be served at this instant, with the numbers. */
  ranges(): readonly NumberedSpan[] {
    const now = this.#around.runtime.now();
    if (this.#wasSuspended(now)) return [];
    return this.#core.pieces.filter(({ phase, until }) => phase === 'serving' && now < until);
  }

  /**
   * The number under which the key may be acted for now; undefined: not ours.
   *
   * @throws {InvalidArgumentError} as every method with a key, if the key is neither a string that is not too long nor a
   *   position
   */
  check(key: Key): number | undefined {
    const now = this.#around.runtime.now();
    if (this.#wasSuspended(now)) return undefined;
    if (typeof key === 'bigint') return this.#core.check(highOf(checkKeyHash(key)), lowOf(key), now);
    hashKey(key, words);
    return this.#core.check(words[0] as number, words[1] as number, now);
  }

  /** True if the key is held now, and no other owner can have held the key since `number`. */
  isHeld(key: Key, number: number): boolean {
    const now = this.#around.runtime.now();
    if (this.#wasSuspended(now)) return false;
    if (typeof key === 'bigint') return this.#core.isHeld(highOf(checkKeyHash(key)), lowOf(key), number, now);
    hashKey(key, words);
    return this.#core.isHeld(words[0] as number, words[1] as number, number, now);
  }

  /** The same as a handle, to be kept with the results for the key; undefined: not ours. */
  hold(key: Key): HeldKey | undefined {
    return this.#hold(key);
  }

  #hold(key: Key, stop?: AbortSignal): HeldKey | undefined {
    const number = this.check(key);
    return number === undefined ? undefined : this.#held.hold(key, number, stop);
  }

  /**
   * The papers' four steps: check, work, and check that the key was held all along. One at a time per key; keys with
   * the same tag, and a key and its position, are one key here.
   *
   * Work that awaits `guard` for the same key would wait for itself. After a tenth of a second that call is refused:
   * hand `held` to the called function instead. Not found are work on two keys that each await `guard` for the
   * other's, and work that reaches its own key through the callback of a timer or an event: they wait until the key is
   * given back or lost, or `options.signal` aborts.
   *
   * @throws {NotOwnerError} if the key is not held, or is lost before the turn comes; the work has not begun
   * @throws {LeaseLostError} if the key was lost meanwhile; the result of the work is dropped
   * @throws {InvalidArgumentError} if work on the same key awaits this call
   * @throws {ClosedError} if this owner has left, or leaves before the turn comes; the work has not begun
   */
  async guard<T>(key: Key, work: (held: HeldKey) => Promise<T> | T, options: GuardOptions = {}): Promise<T> {
    options.signal?.throwIfAborted();
    if (this.#state === 'left') throw closed('the owner');
    if (this.check(key) === undefined) throw notOwner(key);
    return this.#queue.run(key, () => this.#guarded(key, work, options.signal), options.signal);
  }

  async #guarded<T>(
    key: Key,
    work: (held: HeldKey) => Promise<T> | T,
    signal: AbortSignal | undefined,
  ): Promise<T> {
    using held = this.#hold(key, signal);
    if (held === undefined) throw notOwner(key);
    const result = await whatComesOf(work, held);
    if (!held.isHeld()) throw leaseLost(key, held.number);
    return result;
  }

  /**
   * A map for state that is only as good as the lease at the time of writing: an entry is gone when another owner can
   * have held the entry's key since. Make one for each kind of state, once; the map lives as long as the owner.
   *
   * @param name unlike that of any other map of this owner; errors name the map by it
   * @throws {InvalidArgumentError} if an option breaks a rule, or the name is in use
   */
  leasedMap<T>(name?: string, options: LeasedMapOptions<T> = {}): LeasedMap<T> {
    const settings = resolveLeasedMap(name, options);
    if (name !== undefined && this.#maps.some((map) => map.name === name))
      throw invalidOption('leasedMap name', name, 'this owner has a map of that name: make each map once');
    const freezes = name !== undefined && environment('NODE_ENV') === 'development';
    const map = new LeasedMap<T>({
      ...{ name, settings, freezes },
      ...{ leases: this.leases, runtime: this.#around.runtime },
    });
    this.#maps.push(map);
    return map;
  }

  /**
   * Resolves with the number as soon as the key can be served here.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if this owner is closed before that
   */
  async whenOwned(key: Key, options: CallOptions = {}): Promise<number> {
    return this.#when('the grant of the key', options, () => this.check(key));
  }

  #when<T>(what: string, options: CallOptions, ask: () => T | undefined): Promise<T> {
    return waitWithin(this.#around.runtime, ['pool', what], options, (signal) =>
      this.#waiters.until(() => {
        if (this.#state !== 'open') throw closed('the owner');
        return ask();
      }, signal),
    );
  }

  /**
   * Gives everything back, and ends. Resolves when a Manager knows, or when waiting for one is of no more use: a
   * moment after the lease has expired, or soon if the lease had expired before.
   */
  async close(): Promise<void> {
    await this.#closing.close(() => this.#leave());
  }

  /** @internal The owner was never admitted: says so, and waits for no answer. */
  async giveUp(): Promise<void> {
    await this.#closing.close(() => this.#abandon());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal The first number of the unbroken time for which the key is held; undefined: not servable now. */
  tenure(key: Key): number | undefined {
    const now = this.#around.runtime.now();
    if (this.#wasSuspended(now)) return undefined;
    if (typeof key === 'string') hashKey(key, words);
    const [high, low] =
      typeof key === 'string' ? [words[0] as number, words[1] as number] : [highOf(key), lowOf(key)];
    return this.#core.check(high, low, now) === undefined ? undefined : this.#core.pieceAt(high, low)?.since;
  }

  /** @internal The possible values of {@link tenure} for any key, now or after keys are loaded or taken up again. */
  tenures(): ReadonlySet<number> {
    return new Set(this.#core.pieces.map(({ since }) => since));
  }

  /** @internal A Manager can be reached again. */
  reachable(): void {
    this.#driver.input((now) => this.#core.reachable(now));
  }

  /** @internal There is no connection to this Manager. */
  unreachable(address: string): void {
    this.#driver.input((now) => this.#core.unreachable(address, now));
  }

  /** @internal Resolves when admitted. */
  async entered(signal: AbortSignal): Promise<void> {
    await this.#waiters.until(() => {
      this.#refusals.throwIfFinal();
      return this.#core.isAdmitted ? true : undefined;
    }, signal);
  }

  #execute(effect: OwnerEffect): void {
    const { dialer, logger, application, runtime } = this.#around;
    switch (effect.do) {
      case 'send':
        dialer.send(effect.to, effect.message);
        break;
      case 'admitted':
        this.#refusals.forget();
        this.#events.tell('pool.admitted', { name: this.name, incarnation: this.incarnation });
        logger.info('joined the pool', { pool: this.pool, name: this.name, incarnation: this.incarnation });
        break;
      case 'left':
        this.#state = 'left';
        break;
      case 'disagree':
        this.#refusals.disagree(effect.histories, 'this owner lets go of all keys');
        this.#saidToBeBare = true;
        break;
      case 'agree':
        this.#refusals.agree();
        break;
      case 'granted':
        this.#events.tell('pool.granted', { ranges: effect.spans.length });
        this.#holdsAgain(
          'keys are held here again; what was remembered of them is not good any more',
          effect,
        );
        if (application.onGrant !== undefined) this.#load(effect.spans, application.onGrant);
        break;
      case 'revoking': {
        const ranges = RangeSet.of(effect.spans);
        this.#warnIfBare();
        this.#held.shortened();
        this.#queue.turnAway(ranges, (key) => notOwner(key));
        this.#upcalls.flush(effect.spans, this.#queue.settled(ranges), application.onRevoke, () =>
          this.#driver.input((now) => this.#core.flushed(effect.spans, now)),
        );
        break;
      }
      case 'lapsed':
        logger.warn('the lease expired', { pool: this.pool, spans: effect.spans.length });
        this.#saidToBeBare = true;
        this.#lose(effect.spans, false);
        break;
      case 'dropped':
        this.#lose(effect.spans, true);
        break;
      case 'resumed':
        this.#holdsAgain('the lease was renewed after its expiry; no other owner had the keys', effect);
        break;
      case 'trace':
        logger.debug(effect.event.what, { pool: this.pool, at: runtime.now(), ...effect.event.facts });
        break;
      default:
        throw new AssertionError(`${effect.do} was told to an owner that is brought no state`);
    }
  }

  /**
   * The policy leaves something to every member. Only an owner whose name another owner has as well is told to give
   * back everything, and hears nothing else about the conflict.
   */
  #warnIfBare(): void {
    const { pool, name } = this;
    const hasMore = this.#core.pieces.some(({ phase }) => phase === 'loading' || phase === 'serving');
    if (this.#state !== 'open' || this.#saidToBeBare || hasMore) return;
    const next = 'if another server runs under this name, give one of them a name of its own';
    this.#around.logger.warn('this owner is to give back everything', { pool, name, next });
    this.#saidToBeBare = true;
  }

  #holdsAgain(how: string, { spans }: { readonly spans: readonly NumberedSpan[] }): void {
    if (this.#saidToBeBare) this.#around.logger.warn(how, { pool: this.pool, spans: spans.length });
    this.#saidToBeBare = false;
  }

  #load(spans: readonly NumberedSpan[], onGrant: Upcall): void {
    this.#upcalls.load(spans, onGrant, () => this.#driver.input((now) => this.#core.loaded(spans, now)));
  }

  #lose(spans: readonly NumberedSpan[], isForGood: boolean): void {
    this.#losses += 1;
    const ranges = RangeSet.of(spans);
    this.#events.tell('pool.lost', { ranges: spans.length, isForGood });
    this.#held.lost(ranges);
    this.#queue.turnAway(ranges, (key) => notOwner(key));
    this.#upcalls.lost(ranges);
    if (isForGood) for (const map of this.#maps) map.forget(spans);
    const { onLost } = this.#around.application;
    if (isForGood && onLost !== undefined) this.#application.tell(() => onLost(ranges));
  }

  #refused(message: Refused): void {
    if (this.#refusals.last?.code !== message.code)
      this.#events.tell('pool.refused', { code: message.code, message: message.message });
    this.#refusals.heard(message);
    this.#waiters.look();
  }

  /** When the lease on a key that was held under `number` ends if nothing more is heard. */
  #endOf(key: Key, number: number): Instant | undefined {
    if (!this.isHeld(key, number)) return undefined;
    const position = keyHash(key);
    const piece = this.#core.pieceAt(highOf(position), lowOf(position));
    return piece?.revokeBy === undefined ? piece?.until : earliest(piece.until, piece.revokeBy);
  }

  /**
   * The guard says so once, and the core may be busy: an effect of the core can make the application check something.
   * So the answer stays true until the core has been told, and nothing is served before that.
   */
  #wasSuspended(now: Instant): boolean {
    if (!this.#coreIsUnaware && !this.#guard.wasSuspended(now)) return false;
    this.#coreIsUnaware = true;
    this.#driver.input((present) => (this.#coreIsUnaware ? this.#tellSuspended(present) : []));
    return true;
  }

  #tellSuspended(now: Instant): OwnerEffect[] {
    const effects = this.#core.suspended(now);
    this.#coreIsUnaware = false;
    return effects;
  }

  /** Asks the application for the load, before the report. If the application fails to answer, the last load stays. */
  #measure(): void {
    const { application } = this.#around;
    const load = this.#application.ask(() => application.load?.() ?? 0);
    if (load !== undefined) this.#core.load = Number.isFinite(load) && load >= 0 ? load : 0;
  }

  #afterInput(): void {
    this.#guard.toleranceMs = this.#core.pace.suspensionToleranceMs;
    this.#waiters.look();
  }

  async #leave(): Promise<void> {
    const { runtime, logger } = this.#around;
    this.#state = 'leaving';
    const { retryMs } = this.#core.pace;
    this.#leaveDeadline = new LeaveDeadline({ leaseMs: this.#core.leaseMs, retryMs }, runtime.now());
    if (this.#heardAt !== undefined) this.#leaveDeadline.heard(this.#heardAt);
    const hadSomething = this.#core.held.length > 0;
    let hasLeft = false;
    try {
      this.#driver.input((now) => this.#core.leave(now));
      hasLeft = await this.#hearsThatItLeft(this.#leaveDeadline);
      if (!hasLeft) {
        const rest = hadSomething ? 'what was held runs out by itself' : 'nothing was held any more';
        logger.warn(`left without a word from a Manager; ${rest}`, { pool: this.pool });
      }
    } finally {
      await this.#close(hasLeft);
    }
  }

  async #abandon(): Promise<void> {
    // A Manager admits only owners that it has told so, so an owner that has heard nothing holds nothing anywhere.
    const holdsNothing = this.#core.seen === undefined;
    try {
      this.#driver.input((now) => this.#core.leave(now));
    } finally {
      await this.#close(holdsNothing);
    }
  }

  async #hearsThatItLeft(leaveDeadline: LeaveDeadline): Promise<boolean> {
    const { runtime } = this.#around;
    for (
      let forMs = leaveDeadline.until - runtime.now();
      forMs > 0;
      forMs = leaveDeadline.until - runtime.now()
    ) {
      using time = deadline(runtime, forMs);
      try {
        return await this.#waiters.until(() => (this.#state === 'left' ? true : undefined), time.signal);
      } catch (error) {
        if (!time.isOver) throw error;
      }
    }
    return false;
  }

  async #close(hasLeft: boolean): Promise<void> {
    this.#state = 'left';
    this.#events.close();
    this.#driver.stop();
    this.#held.close();
    for (const map of this.#maps) map.close();
    this.#queue.turnAway(RangeSet.everything, () => closed('the owner'));
    this.#upcalls.close();
    await this.#around.close(hasLeft);
  }
}

/** An error of the work is not an error of `guard` before the work, though both may be of the same kind. */
async function whatComesOf<T>(work: (held: HeldKey) => Promise<T> | T, held: HeldKey): Promise<T> {
  try {
    return await work(held);
  } catch (error) {
    markThrownByWork(error);
    throw error;
  }
}

showAs(PoolOwner, 'PoolOwner', (owner) => {
  const { pool, name, url, incarnation, isAdmitted } = owner;
  return { pool, name, url, incarnation, isAdmitted, ranges: owner.ranges().length };
});
