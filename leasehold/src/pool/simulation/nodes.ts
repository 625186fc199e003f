/**
 * The cores of the pool as processes of a simulated world.
 *
 * Each node does what the real shell does and no more: asks the suspension guard before every
 * input, hands the input to the core with the present instant, executes the effects in order,
 * and sets the one alarm. What the checker wants to know, it hears through {@link Observer}.
 */

import type { FencedLog } from '../../log/log.ts';
import { highOf, lowOf, type Hash } from '../../runtime/keys/position.ts';
import { digest } from '../../runtime/digest.ts';
import { Driver } from '../../runtime/driver.ts';
import type { Transport } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import type { Instant } from '../../runtime/time.ts';
import { later } from '../../runtime/time.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { World } from '../../sim/world.ts';
import { Lookup, type LookupEffect } from '../core/lookup/lookup.ts';
import { ManagerDriver } from '../core/manager/driver.ts';
import { Manager } from '../core/manager/manager.ts';
import type { ManagerSettings } from '../core/manager/settings.ts';
import type { Certified, FromManager, NumberedSpan, ToManager } from '../core/messages.ts';
import type { ResolvedDurations } from '../core/options.ts';
import { Owner, type OwnerEffect } from '../core/owner/owner.ts';
import type { MemberOrder } from '../core/table.ts';
import { type Channels, simulatedGate } from './proofs.ts';

export type PoolMessage = ToManager | FromManager;

/** What the checker hears of. Called at the instant it happens, before anything else does. */
export interface Observer {
  managerSends(node: ManagerNode, to: string, message: FromManager): void;
  /** It has heard this, and done what it does about it. */
  managerHeard(node: ManagerNode, from: string, message: ToManager): void;
  managerCommitted(node: ManagerNode): void;
  ownerChanged(node: OwnerNode, effect: OwnerEffect): void;
  lookupLost(node: LookupNode, effect: LookupEffect & { do: 'lost' }): void;
  lookupMoved(node: LookupNode): void;
}

export interface NodeDependencies {
  readonly world: World;
  readonly network: Network<PoolMessage>;
  readonly observer: Observer;
  readonly durations: ResolvedDurations;
  readonly managers: readonly string[];
  /** The Managers that a new incarnation of an owner or a look-up is told of. @default all */
  listFor?(runtime: SimRuntime): readonly string[];
  readonly channels: Channels;
}

export interface NodeOptions {
  readonly name: string;
  readonly clock: SimClock;
  readonly lateMs: number;
}

abstract class Node {
  readonly process: SimProcess;
  protected readonly around: NodeDependencies;
  /** The Managers that this incarnation was told of. */
  knownManagers: readonly string[] = [];
  #incarnation = 0;

  constructor(around: NodeDependencies, options: NodeOptions) {
    this.around = around;
    this.process = new SimProcess(around.world, {
      ...options,
      start: (runtime, incarnation) => {
        this.#incarnation = incarnation;
        this.knownManagers = around.listFor?.(runtime) ?? around.managers;
        this.start(runtime, incarnation);
      },
    });
  }

  get name(): string {
    return this.process.name;
  }

  /** Alive, and not only about to be: an incarnation that starts on a suspended machine has yet to begin. */
  get lives(): boolean {
    return this.process.alive && this.#incarnation === this.process.incarnation;
  }

  protected abstract start(runtime: SimRuntime, incarnation: number): void;
}

export interface ManagerNodeOptions extends NodeOptions {
  readonly settings: Omit<ManagerSettings, 'id' | 'durations'>;
  /** @default those of its surroundings */
  readonly durations?: ResolvedDurations | undefined;
  /** The log of each incarnation. What it finds by `strayed` ends that incarnation. */
  openLog(runtime: SimRuntime, strayed: () => void): FencedLog;
}

export class ManagerNode extends Node {
  core: Manager | undefined;
  halted: string | undefined;
  /** How often it ended because the log was not where it had left it. */
  strayed = 0;
  /** Whether it has given the log a batch and does not know the outcome. */
  isWriting = false;
  /** When it last gave the log a batch, by true time: what it heard later has no part in that batch. */
  wroteAtMs = 0;
  readonly #options: ManagerNodeOptions;
  #driver: ManagerDriver | undefined;
  #guard: SuspensionGuard | undefined;

  constructor(around: NodeDependencies, options: ManagerNodeOptions) {
    super(around, options);
    this.#options = options;
  }

  get durations(): ResolvedDurations {
    return this.#options.durations ?? this.around.durations;
  }

  /** Its machine was suspended, and it has not run since to notice. */
  get isDazed(): boolean {
    return this.#guard?.looksSuspended(this.process.now()) ?? false;
  }

  /**
   * It is told to do otherwise from here on, until it restarts.
   *
   * @throws {InvalidArgumentError} and then nothing was changed
   */
  configure(changes: Partial<Pick<ManagerSettings, 'durations' | 'pools'>>): void {
    const settings = {
      ...this.#options.settings,
      durations: this.durations,
      ...changes,
      ...this.#identity(this.process.incarnation),
    };
    // A process that stands still performs this later, and may be another incarnation of it by then.
    this.process.perform(() => {
      if (this.#guard === undefined) return;
      this.#driver?.input((now) => this.core?.configure(settings, now) ?? []);
      this.#guard.toleranceMs = shortestToleranceMs(settings);
    });
  }

  /** An operator wants a pool removed. */
  removePool(pool: string): void {
    // A process that stands still performs this later, and may be another incarnation of it by then.
    this.process.perform(() => this.#driver?.input((now) => this.core?.removePool(pool, now) ?? []));
  }

  /** An operator wants this of a member, or nothing any more. */
  order(pool: string, incarnation: string, order: MemberOrder | undefined): void {
    this.process.perform(() =>
      this.#driver?.input((now) => this.core?.order(pool, incarnation, order, now) ?? []),
    );
  }

  /** It is told to make room for another. */
  stepDown(): void {
    this.process.perform(() => this.#driver?.stepDown());
  }

  standAgain(): void {
    this.process.perform(() => this.#driver?.standAgain());
  }

  /** It is told to end, as by a signal: says what it has to say to the log, and is gone. */
  end(): void {
    this.process.perform(() => this.#driver?.[Symbol.dispose]());
    this.process.crash();
  }

  protected override start(runtime: SimRuntime, incarnation: number): void {
    const { world, network, observer, channels } = this.around;
    channels.began(this.name, incarnation);
    const { durations } = this;
    const { settings } = this.#options;
    const openedAt = settings.firstStart === true ? runtime.now() : undefined;
    const core = new Manager({ ...settings, ...this.#identity(incarnation), durations, openedAt });
    const guard = new SuspensionGuard(runtime, shortestToleranceMs({ ...settings, durations }));
    this.#guard = guard;
    const strayed = (): void => this.#strayed(incarnation);
    let heard: { readonly from: string; readonly message: ToManager } | undefined;
    this.core = core;
    this.halted = undefined;
    this.isWriting = false;
    this.#driver = new ManagerDriver({
      core,
      clock: runtime,
      guard,
      alarm: (wake) => runtime.alarm(wake),
      log: this.#options.openLog(runtime, strayed),
      transport: simulatedGate(this.name, channels, managerTransport(runtime.transport(network))),
      candidate: (campaign) => `${this.name}.${incarnation}.${campaign}`,
      watcher: {
        sends: (to, message) => observer.managerSends(this, to, message),
        receives: (from, message) => (heard = { from, message }),
        writes: () => {
          this.isWriting = true;
          this.wroteAtMs = world.trueMs;
        },
        wrote: (outcome) => {
          this.isWriting = false;
          if (outcome === 'appended') observer.managerCommitted(this);
        },
        compacts: () => {},
        elected: () => world.count('elections'),
        halted: (reason) => (this.halted = reason),
        unreadable: (error) => {
          throw error;
        },
        traced: (event) => world.note(this.name, event),
        afterInput: () => {
          if (heard !== undefined) observer.managerHeard(this, heard.from, heard.message);
          heard = undefined;
        },
      },
    });
  }

  #identity(incarnation: number): Pick<ManagerSettings, 'id' | 'process'> {
    return { id: this.name, process: `${this.name}.${incarnation}` };
  }

  /** It cannot go on from here, so it ends; somebody may start it again. */
  #strayed(incarnation: number): void {
    const { world } = this.around;
    this.strayed += 1;
    world.note(this.name, { what: 'strayed', facts: {} });
    world.after(0, () => {
      if (this.process.incarnation === incarnation) this.process.crash();
    });
  }
}

/** The shortest suspension that must be noticed for the sake of any pool. */
const shortestToleranceMs = ({ durations, pools }: Pick<ManagerSettings, 'durations' | 'pools'>): number =>
  Math.min(
    ...[durations, ...[...(pools?.values() ?? [])].map((pool) => pool.durations)].map(
      ({ suspensionToleranceMs }) => suspensionToleranceMs,
    ),
  );

/** What reaches a Manager although it was meant for somebody else is left aside. */
const managerTransport = (
  transport: Transport<PoolMessage, PoolMessage>,
): Transport<FromManager, ToManager> => ({
  send: (to, message) => transport.send(to, message),
  listen: (callback) =>
    transport.listen((from, message) => {
      const { kind } = message;
      if (kind === 'report' || kind === 'sync' || kind === 'certificate' || kind === 'probe')
        callback(from, message);
    }),
});

export interface OwnerNodeOptions extends NodeOptions {
  readonly pool: string;
  /** The name under which it joins; another may have it too. @default that of the process */
  readonly ownerName?: string | undefined;
  /** The longest that loading and flushing take; 0: the application does neither. */
  readonly slowMs: number;
  /** Whether a supervisor would notice its death. */
  readonly supervised: boolean;
  /** Whether its next incarnation proves the death of the one before, by the lock that it got. @default false */
  readonly locked?: boolean | undefined;
  /** Carries the state of each incarnation, if keys move with their state. @default they do not */
  readonly carry?: ((incarnation: CarriedIncarnation) => Carrier) | undefined;
}

/** What carries the state of one incarnation: hears of each effect before the application does. */
export interface Carrier {
  execute(effect: OwnerEffect): void;
  /** The application has taken these up, which takes a while; the core is told next. */
  takenUp?(spans: readonly NumberedSpan[]): void;
}

export interface CarriedIncarnation {
  readonly node: OwnerNode;
  readonly runtime: SimRuntime;
  readonly core: Owner;
  input(act: (core: Owner, now: Instant) => OwnerEffect[]): void;
}

export class OwnerNode extends Node {
  #core: Owner | undefined;
  incarnation = '';
  leaving = false;
  left = false;
  /** When it last noticed that its machine was suspended, by true time. */
  suspendedAtMs: number | undefined;
  /** Its lease ran out, or its machine was suspended, in this incarnation. */
  troubled = false;
  readonly options: OwnerNodeOptions;
  #input: ((act: (core: Owner, now: Instant) => OwnerEffect[]) => void) | undefined;
  #guard: SuspensionGuard | undefined;

  constructor(around: NodeDependencies, options: OwnerNodeOptions) {
    super(around, options);
    this.options = options;
  }

  get core(): Owner | undefined {
    return this.lives ? this.#core : undefined;
  }

  get pool(): string {
    return this.options.pool;
  }

  get ownerName(): string {
    return this.options.ownerName ?? this.name;
  }

  get secret(): string {
    return `secret of ${this.incarnation}`;
  }

  /** What the application does: check a key, right now. */
  check(position: Hash): number | undefined {
    const { core } = this;
    const now = this.process.now();
    if (core === undefined || this.#noticesSuspension(now)) return undefined;
    return core.check(highOf(position), lowOf(position), now);
  }

  checkContinuous(position: Hash, number: number): boolean {
    const { core } = this;
    const now = this.process.now();
    if (core === undefined || this.#noticesSuspension(now)) return false;
    return core.isHeld(highOf(position), lowOf(position), number, now);
  }

  leave(): void {
    this.leaving = true;
    this.tell((core, now) => core.leave(now));
  }

  /** Tells the incarnation that runs, or will run on. */
  tell(act: (core: Owner, now: Instant) => OwnerEffect[]): void {
    this.process.perform(() => this.#input?.(act));
  }

  /** Every check begins so. A stopped process is asked what it would see if it ran now. */
  #noticesSuspension(now: Instant): boolean {
    if (!this.process.running) return this.#guard?.looksSuspended(now) ?? false;
    if (!this.#guard?.wasSuspended(now)) return false;
    this.#input?.((core, now) => core.suspended(now));
    return true;
  }

  protected override start(runtime: SimRuntime, incarnation: number): void {
    const { world, network, observer, durations, channels } = this.around;
    const { pool, slowMs, supervised, locked = false } = this.options;
    const managers = this.knownManagers;
    const before = incarnation > 1 && locked ? this.secret : undefined;
    this.incarnation = `${this.name}.${incarnation}`;
    this.leaving = false;
    this.left = false;
    this.troubled = false;
    const proof = supervised || locked ? digest(this.secret) : undefined;
    const identity = {
      pool,
      incarnation: this.incarnation,
      name: this.ownerName,
      url: `http://${this.name}`,
      proof,
    };
    const takesTime = slowMs > 0;
    const core = new Owner(
      { identity, managers, durations, loads: takesTime, flushes: takesTime, random: () => runtime.random() },
      runtime.now(),
    );
    const guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    const transport = runtime.transport(network);
    const driver = new Driver<OwnerEffect>({
      ...{ core, guard, clock: runtime },
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => execute(effect),
      afterInput: () => (guard.toleranceMs = core.pace.suspensionToleranceMs),
    });
    const input = (act: (core: Owner, now: Instant) => OwnerEffect[]): void =>
      driver.input((now) => act(core, now));
    this.#core = core;
    this.#guard = guard;
    this.#input = input;
    const inAWhile = (act: () => void): void => {
      runtime.wakeAt(later(runtime.now(), slowMs * runtime.random()), act);
    };
    const carrier = this.options.carry?.({ node: this, runtime, core, input });
    const execute = (effect: OwnerEffect): void => {
      switch (effect.do) {
        case 'send':
          channels.connect(this.name, effect.to, pool, this.incarnation);
          transport.send(effect.to, effect.message);
          break;
        case 'trace':
          if (effect.event.what === 'was-suspended') this.suspendedAtMs = world.trueMs;
          world.note(this.name, effect.event);
          break;
        default:
          carrier?.execute(effect);
          this.#application(effect, takesTime, inAWhile, input, carrier);
          observer.ownerChanged(this, effect);
      }
    };
    let proved: ((certified: Certified) => void) | undefined;
    transport.listen((from, message) => {
      if (message.kind === 'certified') proved?.(message);
      if (message.kind === 'update') input((_, now) => core.receive(from, message, now));
      // As `joinPool` does: not before a leader has answered.
      if (before !== undefined && (message.kind === 'update' || message.kind === 'refused'))
        proved ??= provesDeath(before, { runtime, transport, durations, managers });
      if (message.kind === 'notLeader') input((_, now) => core.redirected(from, message, now));
      if (message.kind === 'role') input((_, now) => core.hearRole(from, message, now));
    });
    input((_, now) => core.wake(now));
  }

  #application(
    effect: Exclude<OwnerEffect, { do: 'send' | 'trace' }>,
    takesTime: boolean,
    inAWhile: (act: () => void) => void,
    input: (act: (core: Owner, now: Instant) => OwnerEffect[]) => void,
    carrier: Carrier | undefined,
  ): void {
    if (effect.do === 'left') this.left = true;
    if (effect.do === 'lapsed') this.troubled = true;
    if (!takesTime) return;
    const later = (
      act: (core: Owner, spans: readonly NumberedSpan[], now: Instant) => OwnerEffect[],
      spans: readonly NumberedSpan[],
    ): void => inAWhile(() => input((core, now) => act(core, spans, now)));
    if (effect.do === 'granted' || effect.do === 'arriving')
      later((core, spans, now) => {
        if (effect.do === 'arriving') carrier?.takenUp?.(spans);
        return core.loaded(spans, now);
      }, effect.spans);
    if (effect.do === 'revoking') later((core, spans, now) => core.flushed(spans, now), effect.spans);
  }
}

export interface LookupNodeOptions extends NodeOptions {
  readonly pool: string;
  /** Whether a new incarnation goes on where the last one stopped. */
  readonly resumes: boolean;
}

export class LookupNode extends Node {
  core: Lookup | undefined;
  /** Where an earlier incarnation stopped and this one goes on; undefined if it begins anew. */
  resumedFrom: number | undefined;
  #guard: SuspensionGuard | undefined;
  readonly options: LookupNodeOptions;
  /** What an application would have stored: where it began, then the position of each loss that it has dealt with. */
  #stored: { readonly history: string; readonly position: number } | undefined;

  constructor(around: NodeDependencies, options: LookupNodeOptions) {
    super(around, options);
    this.options = options;
  }

  get pool(): string {
    return this.options.pool;
  }

  get resumed(): boolean {
    return this.resumedFrom !== undefined;
  }

  /** Its machine was suspended, and it has not run since to notice. */
  get isDazed(): boolean {
    return this.#guard?.looksSuspended(this.process.now()) ?? false;
  }

  protected override start(runtime: SimRuntime, incarnation: number): void {
    const { world, network, observer, durations } = this.around;
    const managers = this.knownManagers;
    const resumeFrom = this.options.resumes ? this.#stored : undefined;
    this.resumedFrom = resumeFrom?.position;
    const core = new Lookup(
      {
        pool: this.options.pool,
        id: `${this.name}.${incarnation}`,
        managers,
        durations,
        resumeFrom,
        random: () => runtime.random(),
      },
      runtime.now(),
    );
    const guard = new SuspensionGuard(runtime, durations.suspensionToleranceMs);
    const transport = runtime.transport(network);
    let before = core.seen;
    const driver = new Driver<LookupEffect>({
      ...{ core, guard, clock: runtime },
      alarm: (wake) => runtime.alarm(wake),
      execute: (effect) => {
        if (effect.do === 'send') transport.send(effect.to, effect.message);
        else if (effect.do === 'trace') world.note(this.name, effect.event);
        else if (effect.do === 'lost') {
          this.#stored = effect.position ?? this.#stored;
          observer.lookupLost(this, effect);
        }
      },
      afterInput: () => {
        if (core.seen === before) return;
        before = core.seen;
        this.#stored ??= core.seen;
        observer.lookupMoved(this);
      },
    });
    this.core = core;
    this.#guard = guard;
    transport.listen((from, message) => {
      if (message.kind === 'changes') driver.input((now) => core.receive(from, message, now));
      if (message.kind === 'role') driver.input((now) => core.hearRole(from, message, now));
    });
    driver.input((now) => core.wake(now));
  }
}

/** Tells all Managers of a death, again and again, until one confirms it; returns what hears that. */
function provesDeath(
  secret: string,
  {
    runtime,
    transport,
    durations,
    managers,
  }: Pick<NodeDependencies, 'durations' | 'managers'> & {
    readonly runtime: SimRuntime;
    readonly transport: Transport<PoolMessage, PoolMessage>;
  },
): (certified: Certified) => void {
  let isProved = false;
  const tell = (): void => {
    if (isProved) return;
    for (const to of managers) transport.send(to, { kind: 'certificate', secret });
    runtime.wakeAt(later(runtime.now(), durations.retryMs), tell);
  };
  tell();
  return ({ proof }) => (isProved ||= proof === digest(secret));
}

/** Reports the death of owners until a Manager confirms that it knows. What it has seen dies with it. */
export class SupervisorNode extends Node {
  #open = new Map<string, string>();
  #tell: (() => void) | undefined;

  protected override start(runtime: SimRuntime): void {
    const { network, durations, managers } = this.around;
    this.#open = new Map();
    const transport = runtime.transport(network);
    transport.listen((_, message) => {
      if (message.kind === 'certified') this.#open.delete(message.proof);
    });
    const tell = (): void => {
      for (const secret of this.#open.values()) {
        for (const to of managers) transport.send(to, { kind: 'certificate', secret });
      }
    };
    const again = (): void => {
      tell();
      runtime.wakeAt(later(runtime.now(), durations.retryMs), again);
    };
    this.#tell = tell;
    again();
  }

  reaped(secret: string): void {
    if (!this.process.alive) return;
    this.#open.set(digest(secret), secret);
    this.process.perform(() => this.#tell?.());
  }
}
