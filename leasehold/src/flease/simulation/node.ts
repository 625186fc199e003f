/**
 * A member of a group as a process of a simulated world, run by the production driver.
 *
 * Wall clocks are read in whole milliseconds, as on Node. A turn of the event loop may take a while in some worlds,
 * so that several inputs go out together, and a process can be stopped or die in between.
 */

import { later } from '../../runtime/time.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { World } from '../../sim/world.ts';
import type { Request } from '../core/resource-state.ts';
import type { HeldLease } from '../core/held-lease.ts';
import { DrivenMember } from '../core/driven-member.ts';
import type { ClockReading } from '../core/group-clock.ts';
import type { Member, MemberEvent } from '../core/member.ts';
import type { Packet } from '../core/messages.ts';
import type { ResolvedFleaseDurations } from '../core/options.ts';
import type { View } from '../core/view.ts';

/** Called by the node at the instant of each event; implemented by the checker. */
export interface Observer {
  began(node: FleaseNode): void;
  requested(node: FleaseNode, resource: string, request: Request): void;
  sends(node: FleaseNode, packet: Packet): void;
  tells(node: FleaseNode, event: MemberEvent): void;
}

export interface NodeOptions {
  readonly name: string;
  readonly network: Network<Packet>;
  readonly clock: SimClock;
  readonly durations: ResolvedFleaseDurations;
  readonly busyFrom: number;
  readonly lateMs: number;
  /** How long a turn of the event loop takes; 0 if every input is a turn. */
  readonly turnMs: number;
  readonly observer: Observer;
  /** If false, clock values are removed from packets: then no member notices a wrong clock. */
  readonly comparesClocks: boolean;
  /** The view that a starting incarnation is given. */
  view(): View;
  /** Starts the users of leases, anew in each incarnation. */
  onStart(runtime: SimRuntime): void;
}

export class FleaseNode {
  readonly world: World;
  readonly name: string;
  readonly process: SimProcess;
  readonly durations: ResolvedFleaseDurations;
  /** Until when the node was last stopped, or had a wrong wake-up time; true time. */
  stoppedUntilMs: number = Number.NEGATIVE_INFINITY;
  /** Listeners to the events of this incarnation, besides the checker. */
  readonly #listeners = new Map<number, (event: MemberEvent) => void>();
  /** Cancelled requests of this incarnation. */
  readonly #cancelled = new Set<number>();
  /** Leases that the application was told of. */
  readonly #told = new WeakSet<HeldLease>();
  readonly #options: NodeOptions;
  #driver: DrivenMember | undefined;
  #runtime: SimRuntime | undefined;
  #requests = 0;
  /** Of the present process. */
  incarnation = 0;
  #lastReading: ClockReading | undefined;
  /** The group's clock at the first reading since the last turn was executed completely. */
  #firstMs: number | undefined;
  /** How long a turn with a grant is to take. */
  #stallMs = 0;

  constructor(world: World, options: NodeOptions) {
    this.world = world;
    this.name = options.name;
    this.durations = options.durations;
    this.#options = options;
    this.process = new SimProcess(world, {
      name: options.name,
      clock: options.clock,
      lateMs: options.lateMs,
      start: (runtime) => this.#live(runtime),
    });
  }

  get member(): Member | undefined {
    return this.process.alive ? this.#driver?.member : undefined;
  }

  /** Both clocks at this instant. */
  reading(): ClockReading {
    return { now: this.process.now(), wallMs: Math.floor(this.wallMs) };
  }

  get wallMs(): number {
    return this.process.clock.wallMs(this.world.trueMs);
  }

  /** The group's clock when the node last read its clocks; after a jump, the wall clock. */
  get groupMs(): number {
    return this.#groupMsAt(this.#lastReading);
  }

  /** The earliest time at which the node may have found the present event. */
  get foundMs(): number {
    return Math.min(this.groupMs, this.#firstMs ?? Number.POSITIVE_INFINITY);
  }

  #groupMsAt(reading: ClockReading = this.reading()): number {
    return this.member?.timeAt(reading) ?? reading.wallMs;
  }

  /** Whether the node would say that it holds this lease, if asked at this instant. */
  holds(held: HeldLease): boolean {
    const timeMs = this.member?.timeAt(this.reading());
    return timeMs !== undefined && held.isHeldAt(timeMs);
  }

  request(kind: Request['kind'], resource: string, answered: (event: MemberEvent) => void): number {
    this.#requests += 1;
    const id = this.#requests;
    this.#listeners.set(id, answered);
    this.#options.observer.requested(this, resource, { kind, id });
    const driver = this.#driver;
    driver?.input((reading) => driver.member.request(resource, { kind, id }, reading));
    return id;
  }

  cancel(resource: string, id: number): void {
    this.#listeners.delete(id);
    this.#cancelled.add(id);
    const driver = this.#driver;
    driver?.input((reading) => driver.member.cancel(resource, id, reading));
  }

  release(held: HeldLease, successor?: string): void {
    const driver = this.#driver;
    driver?.input((reading) => driver.member.release(held, reading, successor));
  }

  /** Releases everything: the last act of an incarnation. */
  releaseAll(): void {
    for (const held of [...(this.member?.heldLeases ?? [])]) this.release(held);
  }

  move(members: readonly string[]): void {
    const driver = this.#driver;
    driver?.input((reading) => driver.member.move(members, reading));
  }

  pause(ms: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + ms);
    this.process.pause(ms);
  }

  /** The next turn with a grant takes so long before the application is told; 0: as long as others. */
  stallAtGrant(ms: number): void {
    this.#stallMs = ms;
  }

  suspend(ms: number): void {
    // Alarms that were set before are late by as much: they use the clock that stood still, and are set for up to a
    // lease ahead.
    const misledMs = ms + this.durations.leaseMs;
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + misledMs);
    this.process.suspend(ms);
  }

  note(what: string, facts: Readonly<Record<string, string | number | undefined>>): void {
    if (this.world.tracing) this.world.note(this.name, { what, facts });
  }

  #live(runtime: SimRuntime): void {
    const { name, network, durations, busyFrom, observer, turnMs, comparesClocks } = this.#options;
    this.#runtime = runtime;
    this.#listeners.clear();
    this.#cancelled.clear();
    const transport = runtime.transport(network);
    const incarnation = 1 + Math.floor(runtime.random() * 0x7fff_ffff);
    this.incarnation = incarnation;
    const driver = new DrivenMember({
      settings: {
        ...{ group: 'group', id: name, incarnation, durations, busyFrom },
        view: this.#options.view(),
        random: () => runtime.random(),
      },
      clock: {
        now: () => runtime.now(),
        wallMs: () => {
          this.#lastReading = this.reading();
          this.#firstMs ??= this.groupMs;
          return this.#lastReading.wallMs;
        },
      },
      alarm: (wake) => runtime.alarm(wake),
      atEndOfTurn: (callback) => this.#atEndOfTurn(turnMs, callback),
      send: (to, packet) => {
        observer.sends(this, packet);
        transport.send(to, packet);
      },
      tell: (event) => this.#tell(event),
      isWanted: (request) => !this.#cancelled.has(request), // A second answer is for the checker to see.
      afterInput: () => {
        this.#firstMs = undefined;
      },
    });
    this.#driver = driver;
    transport.listen((_, packet) => {
      driver.receive(comparesClocks ? packet : withoutClocks(packet, this.wallMs));
    });
    observer.began(this);
    driver.start();
    this.#options.onStart(runtime);
  }

  #atEndOfTurn(turnMs: number, callback: () => void): void {
    const runtime = this.#runtime;
    const isStalled = this.#stallMs > 0 && this.#hasNews;
    if (runtime === undefined || (turnMs === 0 && !isStalled)) {
      callback();
      return;
    }
    runtime.wakeAt(later(runtime.now(), turnMs), callback);
    if (!isStalled) return;
    this.pause(this.#stallMs);
    this.#stallMs = 0;
  }

  /** Whether a lease is held that the application has not been told of. */
  get #hasNews(): boolean {
    for (const held of this.member?.heldLeases ?? []) if (!this.#told.has(held)) return true;
    return false;
  }

  #tell(event: MemberEvent): void {
    if (event.kind === 'granted') this.#told.add(event.held);
    this.#options.observer.tells(this, event);
    if ('request' in event) {
      const answered = this.#listeners.get(event.request);
      this.#listeners.delete(event.request);
      answered?.(event);
    }
  }
}

/** As if sent by a clock like ours, and at once. */
const withoutClocks = (packet: Packet, nowMs: number): Packet => ({
  ...packet,
  sentMs: Math.min(packet.sentMs, nowMs),
  echo: undefined,
});
