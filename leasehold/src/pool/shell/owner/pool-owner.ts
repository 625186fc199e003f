/**
 * One owner in a running process: the core of `owner/owner.ts` with a clock, a connection and an application.
 *
 * Every check reads the clock and asks whether the machine was suspended, with one reading for both;
 * no timer is trusted with anything but sending. Upcalls run outside the core (`upcalls.ts`).
 *
 * What the core tells of keys is done elsewhere: `key-changes.ts` for keys that come and go, `shell/moves/moving-keys.ts` for those that move with
 * their state, `drain.ts` for the end of all of them.
 */

import { alarmOn, Driver } from '../../../runtime/driver.ts';
import type { Key } from '../../../runtime/keys/hash.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime, Transport } from '../../../runtime/runtime.ts';
import { SuspensionGuard } from '../../../runtime/suspension.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { FromManager, NumberedSpan, Refused, ToManager } from '../../core/messages.ts';
import type { MoveInput } from '../../core/moves/seam.ts';
import type { ResolvedDurations } from '../../core/options.ts';
import { Owner, type OwnerEffect } from '../../core/owner/owner.ts';
import type { OwnerIdentity } from '../../core/owner/settings.ts';
import { Application, type Surface } from '../application.ts';
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
import { closed, notOwner } from '../errors.ts';
import { guardedWork, type KeyWork, type WeakKeyWork, weakWork } from './guarded-work.ts';
import { type HeldKey, HeldKeys } from './held-keys.ts';
import type { KeyCarrier } from '../moves/key-carrier.ts';
import type { MoveRules } from '../moves/moves-options.ts';
import { type DepartUpcall, MovingKeys } from '../moves/moving-keys.ts';
import type { LeasedMap, Leases } from '../state/leased-map.ts';
import type { LeasedMapOptions } from '../state/leased-map-options.ts';
import type { Movable } from '../state/movable.ts';
import { showAs } from '../../../runtime/inspection.ts';
import { Drain, DRAIN_OPTIONS, type DrainAround, type DrainOptions, type DrainResult } from './drain.ts';
import { isServed, KeyChecks } from './key-checks.ts';
import { KeyChanges, type KeyUpcalls } from './key-changes.ts';
import { KeyQueue } from './key-queue.ts';
import { KeyState } from './key-state.ts';
import { LeaveDeadline } from './leave-deadline.ts';
import { Refusals } from '../refusals.ts';
import { ownerService } from '../service/owner-and-lookup.ts';
import type { OwnerStatus } from '../status.ts';
import { Upcalls } from './upcalls.ts';
import { Condition } from '../../../runtime/condition.ts';
import { type LeaseholdError, NotOwnerError } from '../../../runtime/errors.ts';
import { type ResolvedOptions, resolveOptions } from '../../../runtime/option-table.ts';

/** @internal */
export interface OwnerApplication extends KeyUpcalls {
  readonly onDepart?: DepartUpcall | undefined;
  readonly load?: (() => number) | undefined;
}

/** How an owner moves keys. @internal */
export interface OwnerMoving {
  readonly rules: MoveRules;
  /** Undefined if other owners cannot reach this one. What it says goes to {@link PoolOwner.hearMove}. */
  readonly carrier: KeyCarrier | undefined;
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
  /** @default keys do not move with their state */
  readonly moving?: OwnerMoving | undefined;
  /** Receives the exceptions and rejections of the application's functions. @default an uncaught exception */
  readonly surface?: Surface | undefined;
  /** Called once, at the end. `hasLeft`: nothing is held any more that a Manager would keep for us. */
  close(hasLeft: boolean): Promise<void>;
}

/** What `guard` takes besides the key and the work. */
export interface GuardOptions {
  /** Gives up waiting for the key's turn. For work that has begun the signal is a part of `held.signal`. */
  signal?: AbortSignal | undefined;
  /** Weak consistency: see {@link WeakGuardOptions}. @default false */
  weak?: false | undefined;
}

/** What `guard` takes for work that is also done if the key is not held. */
export interface WeakGuardOptions extends Omit<GuardOptions, 'weak'> {
  /** The work is done in any case, and its result is handed back in any case; `held` is undefined if the key is not held. */
  weak: true;
}

/** How long an owner without `moves` drains, which can only wait. */
const DRAIN_TIMEOUT_MS = 8_000;

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
  readonly #changes: KeyChanges;
  readonly #moving: MovingKeys;
  readonly #keyState: KeyState;
  #drain: Drain | undefined;
  /** @internal What leased maps ask. */
  readonly leases: Leases;
  readonly #checks: KeyChecks;
  /** Callers that wait to be admitted, to have left, or for a key. */
  readonly #waiters = new Condition();
  readonly #refusals: Refusals;
  /** @internal Standbys that named a leader outside the list of Managers. */
  readonly leadersElsewhere: Map<string, string> = new Map();
  #state: 'open' | 'leaving' | 'left' = 'open';
  /** When a Manager last named our keys. */
  #heardAt: Instant | undefined;
  /** Present while leaving. */
  #leaveDeadline: LeaveDeadline | undefined;
  readonly #closing = new Closing();
  readonly #events: HandleEvents<'pool'>;

  /** @internal */
  constructor(around: OwnerDependencies) {
    const { runtime, durations, addresses, dialer, application, logger, moving } = around;
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
        loads: application.onGrant !== undefined || application.onArrive !== undefined,
        flushes: true,
        random: () => runtime.random(),
        moves: moving?.rules,
      },
      runtime.now(),
    );
    this.#guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    this.#checks = new KeyChecks(this.#core, this.#guard, runtime, (act) => this.#driver.input(act));
    this.leases = this.#checks;
    this.#held = new HeldKeys(this.#checks, runtime);
    this.#moving = new MovingKeys({
      ...{ carrier: moving?.carrier, maxAtOnce: moving?.rules.maxAtOnce ?? 1 },
      ...{ runtime, logger, queue: this.#queue, held: this.#held, onDepart: application.onDepart },
      say: (input) => this.#driver.input((now) => this.#core.hearMove(input, now)),
    });
    this.#keyState = new KeyState({
      ...{ leases: this.leases, runtime, moves: moving !== undefined, carrier: moving?.carrier },
      namesChanged: () => {
        this.#offer();
        // A Manager is to know before another owner drains to this one, and not with the next renewal.
        this.reachable();
      },
    });
    this.#changes = this.#keyChanges();
    this.#offer();
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
      ...{ intent: this.#core.intent, moving: this.#core.movesUnderway },
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

  /**
   * What happened to this owner: `pool.admitted`, `pool.granted`, `pool.arrived`, `pool.departed`, `pool.lost`, `pool.refused`. Ends when it is
   * closed.
   */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** @internal */
  toService(): Service {
    return ownerService({
      ...{ log: this.#events.log, losses: () => this.#changes.losses, moves: this.#moving },
      hasLostAll: () => this.#changes.isBare && this.ranges().length === 0,
      status: () => this.status(),
    });
  }

  /** Resolves when this owner is closed. It fails in no other way: it goes on asking the Managers for as long as it is open. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /** Everything that could be served at this instant, with the numbers. */
  ranges(): readonly NumberedSpan[] {
    return this.#checks.ranges();
  }

  /**
   * The number under which the key may be acted for now; undefined: not ours.
   *
   * @throws {InvalidArgumentError} as every method with a key, if the key is neither a string that is not too long nor a
   *   position
   */
  check(key: Key): number | undefined {
    return this.#checks.check(key);
  }

  /** True if the key is held now, and no other owner can have held the key since `number`. */
  isHeld(key: Key, number: number): boolean {
    return this.#checks.isHeld(key, number);
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
   * While the key moves to another owner, or has come and is about to be served, the call waits for a second at most.
   *
   * @throws {NotOwnerError} if the key is not held, or is lost before the turn comes; the work has not begun
   * @throws {LeaseLostError} if the key was lost meanwhile; the result of the work is dropped
   * @throws {InvalidArgumentError} if work on the same key awaits this call
   * @throws {ClosedError} if this owner has left, or leaves before the turn comes; the work has not begun
   */
  guard<T>(key: Key, work: KeyWork<T>, options?: GuardOptions): Promise<T>;
  /**
   * Weak consistency: the work also runs if the key is not held, and then `held` is undefined. Such work may be done twice at a time, by several
   * owners, or on old state; nothing it sets in a {@link LeasedMap} is kept, because that takes a handle.
   * If the key is held, the work takes its turn, and a lease that ends meanwhile is no error; if it moves, the work waits for a second at most.
   */
  guard<T>(key: Key, work: WeakKeyWork<T>, options: WeakGuardOptions): Promise<T>;
  async guard<T>(
    key: Key,
    work: KeyWork<T> & WeakKeyWork<T>,
    options: GuardOptions | WeakGuardOptions = {},
  ): Promise<T> {
    options.signal?.throwIfAborted();
    if (this.#state === 'left') throw closed('the owner');
    if (options.weak === true) return this.#guardWeakly(key, work, options.signal);
    if (this.check(key) === undefined && !this.#queue.isHeld(key)) throw notOwner(key);
    const { signal } = options;
    return this.#queue.run(key, () => guardedWork(key, this.#hold(key, signal), work), signal);
  }

  /** Beside the queue if no turn comes there, because the key is not held or about to move. */
  async #guardWeakly<T>(key: Key, work: WeakKeyWork<T>, signal: AbortSignal | undefined): Promise<T> {
    let hasBegun = false;
    const begin = (held: HeldKey | undefined): Promise<T> => {
      hasBegun = true;
      return weakWork(held, work);
    };
    if (this.check(key) === undefined || this.#queue.isHeld(key)) return begin(undefined);
    try {
      return await this.#queue.run(key, () => begin(this.#hold(key, signal)), signal);
    } catch (error) {
      if (hasBegun || !(error instanceof NotOwnerError)) throw error;
      return begin(undefined); // The key was lost before its turn came, or is on its way.
    }
  }

  /**
   * A map for state that is only as good as the lease at the time of writing: an entry is gone when another owner can
   * have held the entry's key since. Make one for each kind of state, once; the map lives as long as the owner. With `moves` the entries
   * move with their keys, and a map needs a name.
   *
   * @param name unlike that of any other map of this owner, and the same in every process of the pool; errors name the map by it
   * @throws {InvalidArgumentError} if an option breaks a rule, the name is in use, or there is none with `moves`
   */
  leasedMap<T>(name?: string, options: LeasedMapOptions<T> = {}): LeasedMap<T> {
    return this.#keyState.leasedMap(name, options);
  }

  /**
   * State that moves with its keys, for as long as this owner lives. The same names in every process of the pool: keys move only to
   * an owner that has all names of this one.
   *
   * @throws {InvalidArgumentError} if the name is in use, or `moves` is off
   */
  movable<Item>(name: string, state: Movable<Item>): void {
    this.#keyState.movable(name, state);
  }

  /**
   * Hands everything over, then leaves. Requests under way finish; requests that come meanwhile wait until the range has moved. Another call hurries
   * the first: the earlier end counts, `lose` before `stay`, and each signal takes the drain back.
   *
   * Without `moves` there is no owner that could take anything.
   *
   * @throws {UnavailableError} NOT_DRAINED with `otherwise: 'stay'`, if something is left at the end: this owner serves on
   * @throws {ClosedError} if this owner is closed
   */
  async drain(options: DrainOptions = {}): Promise<DrainResult> {
    const resolved = resolveOptions('drain.', options, DRAIN_OPTIONS);
    resolved.signal?.throwIfAborted();
    if (this.#state !== 'open') throw closed('the owner');
    const { moving } = this.#around;
    const timeoutMs = resolved.timeoutMs ?? moving?.rules.drainTimeoutMs ?? DRAIN_TIMEOUT_MS;
    if (this.#drain !== undefined) return await this.#drain.join(timeoutMs, resolved);
    this.#drain = this.#newDrain(timeoutMs, resolved);
    try {
      return await this.#drain.result;
    } finally {
      this.#drain = undefined;
    }
  }

  /** Takes no more keys, and serves those it has. */
  cordon(): void {
    this.#driver.input((now) => this.#core.cordon(true, now));
  }

  /** Takes keys again. No effect once another process has joined under this name. */
  uncordon(): void {
    this.#driver.input((now) => this.#core.cordon(false, now));
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
   * Ends. With `moves` it drains first, for `moves.drainTimeoutMs` at most; what is left then, or everything without `moves`, is given back, a loss that callers are told of. Resolves when a
   * Manager knows, or when waiting for one is of no more use: a moment after the lease has expired, or soon if the lease had expired before.
   */
  async close(): Promise<void> {
    if (this.#around.moving !== undefined && this.#state === 'open') await this.#drainAtTheEnd();
    await this.#giveBack();
  }

  async #giveBack(): Promise<void> {
    await this.#closing.close(() => this.#leave());
  }

  /** @internal The owner was never admitted: says so, and waits for no answer. */
  async giveUp(): Promise<void> {
    await this.#closing.close(() => this.#abandon());
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  async #drainAtTheEnd(): Promise<void> {
    try {
      await this.drain();
    } catch (why) {
      this.#around.logger.warn('the drain was taken back; what is left is given back', { why: String(why) });
    }
  }

  /** @internal The first number of the unbroken time for which the key is held; undefined: not servable now. */
  tenure(key: Key): number | undefined {
    return this.#checks.tenure(key);
  }

  /** @internal The possible values of {@link tenure} for any key, now or after keys are loaded or taken up again. */
  tenures(): ReadonlySet<number> {
    return new Set(this.#core.pieces.map(({ since }) => since));
  }

  /** @internal Whether it explains itself that this owner has no keys: it hands them over, or takes none. */
  get mayBeBare(): boolean {
    return this.#core.intent !== 'stay';
  }

  /** @internal The carrier of keys says something. */
  hearMove(input: MoveInput): void {
    this.#moving.hear(input);
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
    const { dialer, logger, runtime } = this.#around;
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
        this.#hasLeft();
        break;
      case 'disagree':
        this.#refusals.disagree(effect.histories, 'this owner lets go of all keys');
        this.#changes.lostAll();
        break;
      case 'agree':
        this.#refusals.agree();
        break;
      case 'trace':
        logger.debug(effect.event.what, { pool: this.pool, at: runtime.now(), ...effect.event.facts });
        break;
      case 'dropped':
        this.#moving.dropped(effect.spans);
        this.#drain?.lost(effect.spans);
        this.#changes.execute('dropped', effect.spans);
        break;
      case 'departed':
        this.#drain?.departed(effect.spans);
        this.#changes.execute('departed', effect.spans);
        this.#moving.execute(effect);
        break;
      case 'granted':
      case 'arriving':
        this.#drain?.gained(effect.spans);
        this.#changes.execute(effect.do, effect.spans);
        break;
      case 'revoking':
      case 'lapsed':
      case 'resumed':
        this.#changes.execute(effect.do, effect.spans);
        break;
      default:
        this.#moving.execute(effect);
    }
  }

  /** An owner that has handed everything over leaves by itself. */
  #hasLeft(): void {
    const isByItself = this.#state === 'open';
    this.#state = 'left';
    if (!isByItself) return;
    const { logger } = this.#around;
    if (this.#drain === undefined)
      logger.warn(
        'handed everything over and left the pool, as a Manager asked: another process has this name now',
        {
          ...{ pool: this.pool, name: this.name },
        },
      );
    this.#giveBack().catch((why) => logger.error('closing failed', { why: String(why) }));
  }

  #keyChanges(): KeyChanges {
    const { application, logger } = this.#around;
    return new KeyChanges({
      ...{ pool: this.pool, name: this.name, logger, events: this.#events },
      ...{ upcalls: application, application: this.#application, calls: this.#upcalls },
      ...{ queue: this.#queue, held: this.#held },
      mayBeBare: () => this.#state !== 'open' || this.mayBeBare,
      hasKeys: () =>
        this.#core.pieces.some(
          ({ phase }) => isServed(phase) || phase === 'loading' || phase === 'arriving' || phase === 'frozen',
        ),
      forget: (spans) => this.#keyState.forget(spans),
      loaded: (spans) => this.#driver.input((now) => this.#core.loaded(spans, now)),
      flushed: (spans) => this.#driver.input((now) => this.#core.flushed(spans, now)),
    });
  }

  #newDrain(timeoutMs: number, options: ResolvedOptions<DrainOptions, 'otherwise'>): Drain {
    const around: DrainAround = {
      ...{ core: this.#core, moving: this.#moving, waiters: this.#waiters, runtime: this.#around.runtime },
      input: (act) => this.#driver.input(act),
      hasLeft: () => this.#state === 'left',
      leave: () => this.#giveBack(),
      logger: this.#around.logger,
      tell: (news) => this.#application.tell(news),
    };
    return new Drain(around, timeoutMs, options);
  }

  /** Where other owners can bring state, and of which names. */
  #offer(): void {
    const carrier = this.#around.moving?.carrier;
    if (carrier === undefined) return;
    this.#core.transfer = { address: carrier.address, names: carrier.names };
  }

  #refused(message: Refused): void {
    if (this.#refusals.last?.code !== message.code)
      this.#events.tell('pool.refused', { code: message.code, message: message.message });
    this.#refusals.heard(message);
    this.#waiters.look();
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
    if (this.#state === 'left') return await this.#close(true);
    this.#state = 'leaving';
    const { retryMs } = this.#core.pace;
    this.#leaveDeadline = new LeaveDeadline({ leaseMs: this.#core.leaseMs, retryMs }, runtime.now());
    if (this.#heardAt !== undefined) this.#leaveDeadline.heard(this.#heardAt);
    const hadSomething = this.#core.held.length > 0;
    let hasLeft = false;
    try {
      this.#driver.input((now) => this.#core.leave(now));
      hasLeft = await this.#leaveDeadline.untilLeft(runtime, this.#waiters, () => this.#state === 'left');
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

  async #close(hasLeft: boolean): Promise<void> {
    this.#state = 'left';
    this.#waiters.look(); // No input of the core follows, after which they would be looked at.
    this.#events.close();
    this.#driver.stop();
    this.#held.close();
    this.#moving.close();
    this.#keyState.close();
    this.#queue.turnAway(RangeSet.everything, () => closed('the owner'));
    this.#upcalls.close();
    await this.#around.close(hasLeft);
  }
}

showAs(PoolOwner, 'PoolOwner', (owner) => {
  const { pool, name, url, incarnation, isAdmitted } = owner;
  return { pool, name, url, incarnation, isAdmitted, ranges: owner.ranges().length };
});
