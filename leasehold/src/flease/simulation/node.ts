/**
 * A member of a group as a process of a simulated world: the same driver as in a real one, and nothing else.
 *
 * Wall clocks are read in whole milliseconds here as on Node. A turn of the event loop may take a while in some
 * worlds, so that several inputs go out together, and a process can be stopped or die in between.
 */

import { later } from '../../runtime/time.ts';
import type { SimClock } from '../../sim/clock.ts';
import type { Network } from '../../sim/network.ts';
import { SimProcess, type SimRuntime } from '../../sim/process.ts';
import type { World } from '../../sim/world.ts';
import type { Request } from '../claim.ts';
import type { Tenure } from '../tenure.ts';
import { FleaseDriver } from '../driver.ts';
import type { ClockReading } from '../group-clock.ts';
import type { Member, MemberEvent } from '../member.ts';
import type { Packet } from '../messages.ts';
import type { ResolvedFleaseDurations } from '../options.ts';
import type { View } from '../view.ts';

/** What the checker hears of, at the instant it happens. */
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
  /** Turned off, what packets say of clocks is not seen: then nobody notices that one is wrong. */
  readonly comparesClocks: boolean;
  /** What a life that begins is told about the group. */
  view(): View;
  /** Begins whatever uses the leases, anew in each life. */
  onStart(runtime: SimRuntime): void;
}

export class FleaseNode {
  readonly world: World;
  readonly name: string;
  readonly process: SimProcess;
  readonly durations: ResolvedFleaseDurations;
  /** Until when it has last been stopped, or misled about when to wake; true time. */
  stoppedUntilMs: number = Number.NEGATIVE_INFINITY;
  /** What wants to know of the events of this life besides the checker. */
  readonly #listeners = new Map<number, (event: MemberEvent) => void>();
  /** Requests of this life that nobody waits for any more. */
  readonly #cancelled = new Set<number>();
  /** What somebody was told that it holds. */
  readonly #told = new WeakSet<Tenure>();
  readonly #options: NodeOptions;
  #driver: FleaseDriver | undefined;
  #runtime: SimRuntime | undefined;
  #requests = 0;
  /** What the present life has drawn for itself. */
  lifeNumber = 0;
  #lastReading: ClockReading | undefined;
  /** What the group's clock showed at the first reading since all was carried out that came of the last turn. */
  #firstMs: number | undefined;
  /** How long a turn is to take in which something is granted. */
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

  /** Both clocks, as it would read them at this instant. */
  reading(): ClockReading {
    return { now: this.process.now(), wallMs: Math.floor(this.wallMs) };
  }

  get wallMs(): number {
    return this.process.clock.wallMs(this.world.trueMs);
  }

  /** What the group's clock showed there when it last looked at its clocks; after a jump, what the wall clock did. */
  get groupMs(): number {
    return this.#groupMsAt(this.#lastReading);
  }

  /** The earliest that it may have been when it found what it tells at present. */
  get foundMs(): number {
    return Math.min(this.groupMs, this.#firstMs ?? Number.POSITIVE_INFINITY);
  }

  #groupMsAt(reading: ClockReading = this.reading()): number {
    return this.member?.timeAt(reading) ?? reading.wallMs;
  }

  /** Whether it would say that it holds this, if it asked at this instant. */
  holds(tenure: Tenure): boolean {
    const timeMs = this.member?.timeAt(this.reading());
    return timeMs !== undefined && tenure.isHeldAt(timeMs);
  }

  request(kind: Request['kind'], resource: string, answered: (event: MemberEvent) => void): number {
    this.#requests += 1;
    const id = this.#requests;
    this.#listeners.set(id, answered);
    this.#options.observer.requested(this, resource, { kind, id });
    this.#driver?.input((member, reading) => member.request(resource, { kind, id }, reading));
    return id;
  }

  cancel(resource: string, id: number): void {
    this.#listeners.delete(id);
    this.#cancelled.add(id);
    this.#driver?.input((member, reading) => member.cancel(resource, id, reading));
  }

  release(tenure: Tenure, heir?: string): void {
    this.#driver?.input((member, reading) => member.release(tenure, reading, heir));
  }

  /** Lets go of everything, and says so: the last words of a life. */
  releaseAll(): void {
    for (const tenure of [...(this.member?.tenures ?? [])]) this.release(tenure);
  }

  move(members: readonly string[]): void {
    this.#driver?.input((member, reading) => member.move(members, reading));
  }

  pause(ms: number): void {
    this.stoppedUntilMs = Math.max(this.stoppedUntilMs, this.world.trueMs + ms);
    this.process.pause(ms);
  }

  /** The next turn in which something is granted to it takes so long, before anybody is told; 0: as long as others. */
  stallAtGrant(ms: number): void {
    this.#stallMs = ms;
  }

  suspend(ms: number): void {
    // Alarms that were set before are late by as much: they go by the clock that stood still, and are set for up to a
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
    const life = 1 + Math.floor(runtime.random() * 0x7fff_ffff);
    this.lifeNumber = life;
    const driver = new FleaseDriver({
      settings: {
        ...{ group: 'group', id: name, life, durations, busyFrom },
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
      isWanted: (request) => !this.#cancelled.has(request), // One that is answered twice is for the checker to see.
      afterwards: () => {
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

  /** Whether something is held that nobody has been told of. */
  get #hasNews(): boolean {
    for (const tenure of this.member?.tenures ?? []) if (!this.#told.has(tenure)) return true;
    return false;
  }

  #tell(event: MemberEvent): void {
    if (event.kind === 'granted') this.#told.add(event.tenure);
    this.#options.observer.tells(this, event);
    if ('request' in event) {
      const answered = this.#listeners.get(event.request);
      this.#listeners.delete(event.request);
      answered?.(event);
    }
  }
}

/** As if it had come from a clock like ours, and at once. */
const withoutClocks = (packet: Packet, nowMs: number): Packet => ({
  ...packet,
  sentMs: Math.min(packet.sentMs, nowMs),
  echo: undefined,
});
