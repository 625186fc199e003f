/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A process: a name, a machine with clocks, and one incarnation after the other.
 *
 *             start            pause, suspend
 *     dead ──────────► running ──────────────► stopped
 *      ▲                │   ▲                    │  │
 *      └─────crash──────┘   └──────resume────────┘  │
 *      └────────────────────crash───────────────────┘
 *
 * An incarnation has a {@link SimRuntime}: clock, timers, chance, transports. When the process crashes, all of that
 * dies too: no timer fires, no message is handed over, and later sends of the old code go nowhere. The next
 * incarnation starts with nothing, and with another origin of the monotonic clock, as `performance.now()` would; an
 * instant that outlives a process means nothing, and here that shows.
 *
 * A stopped process does not run, but the world around goes on: messages and timers queue up. When the process is
 * resumed, the process sees first the messages and then the overdue timers, as in Node. So nobody may rely on a timer
 * to have fired before a message is read. A process stopped by `pause` (SIGSTOP, a long garbage collection) sees a
 * clock far ahead afterwards; a process that was suspended with the machine sees a clock that has stood still.
 *
 * Timers live in a queue of this process, by the time of the process's clock, and the world only knows when the first
 * is due. When the clock changes, only that one has to be worked out anew.
 */

import { assert } from '../runtime/assert.ts';
import { invalidOption } from '../runtime/errors.ts';
import type { Runtime, Storage, Transport } from '../runtime/runtime.ts';
import { instant, type Instant } from '../runtime/time.ts';
import { Alarm } from './alarm.ts';
import { SimClock, type SuspendOptions } from './clock.ts';
import type { SimDisk } from './disk.ts';
import type { AttachOptions, Network } from './network.ts';
import { EventQueue, Scheduled, type Happening } from './queue.ts';
import type { Random } from './random.ts';
import type { World } from './world.ts';

/** Begins an incarnation, numbered from 1: builds the contents of the process, from nothing. */
export type Start = (runtime: SimRuntime, incarnation: number) => void;

export interface ProcessOptions {
  /** Unlike any other in the world. Also the name in the network and in the story. */
  name: string;

  /** The beginning of each incarnation. */
  start: Start;

  /**
   * The clocks of the process's machine. Processes may share them: they are then suspended together.
   *
   * @default a new machine, with origins drawn from the seed and a rate of 1
   */
  clock?: SimClock | undefined;

  /**
   * How late a timer may fire, in milliseconds by the clock of the process. How late each fires
   * is drawn anew. None ever fires early.
   *
   * @default 0
   */
  lateMs?: number | undefined;
}

export class SimProcess {
  readonly world: World;
  readonly name: string;
  readonly clock: SimClock;
  /** How late a timer may fire. May be changed; timers already set keep their drawn delay. */
  lateMs: number;
  readonly #start: Start;
  readonly #random: Random;
  readonly #timers = new EventQueue();
  /** In the world's queue; goes off when the first of the timers is due. */
  readonly #alarm: Alarm;
  /** The time of the alarm, by the clock of this process; NaN when that must be worked out anew. */
  #armedFor: number = Number.NaN;
  #runtime: SimRuntime | undefined;
  #incarnation = 0;
  #paused = false;
  /** Whether the process was stopped at the last look, so that a resume is noticed. */
  #stopped = false;
  /** Messages that have reached this process and wait for the process to run. */
  #inbox: Handed[] = [];
  #pauses = 0;

  /** The process is dead until {@link start}. */
  constructor(world: World, options: ProcessOptions) {
    const { name, start, lateMs = 0 } = options;
    if (!(lateMs >= 0)) throw invalidOption('lateMs', lateMs, 'it must not be negative');
    this.world = world;
    this.name = name;
    this.#random = world.random.fork(`process ${name}`);
    this.clock = options.clock ?? drawClock(this.#random.fork('clock'));
    this.clock.onChange(() => this.#look());
    this.#start = start;
    this.lateMs = lateMs;
    this.#alarm = new Alarm(world, () => this.#fire());
  }

  /** The number of the present incarnation, or of the last one; 0 if there was none. */
  get incarnation(): number {
    return this.#incarnation;
  }

  get alive(): boolean {
    return this.#runtime !== undefined;
  }

  /** Alive and neither paused nor suspended. */
  get running(): boolean {
    return this.#runtime !== undefined && !this.#paused && !this.clock.suspended;
  }

  /** The runtime of the present incarnation; undefined while dead. */
  get runtime(): SimRuntime | undefined {
    return this.#runtime;
  }

  /** The present incarnation's monotonic clock. For checks; code in the process asks the runtime. */
  now(): Instant {
    return instant(this.clock.now(this.world.trueMs) + this.#originMs());
  }

  /** The true time at which the present incarnation's clock shows `at`, if nothing happens to the clock. */
  trueMsOf(at: Instant): number {
    const originMs = this.#originMs();
    let trueMs = this.clock.trueMsOf(instant(at - originMs));
    if (trueMs === Number.POSITIVE_INFINITY) return trueMs;
    // The sum may round down where the difference rounded up.
    for (let step = Math.max(1, trueMs) * Number.EPSILON; this.clock.now(trueMs) + originMs < at; step *= 2) {
      trueMs += step;
    }
    return trueMs;
  }

  /** Begins a new incarnation; on a suspended machine, as soon as that is resumed. */
  start(): void {
    assert(this.#runtime === undefined, `${this.name} is alive already`);
    this.#incarnation += 1;
    const incarnation = this.#incarnation;
    // The words of a fork seed it: another word would be other worlds.
    const runtime = new SimRuntime(this, this.#timers, this.#random.fork(`life ${incarnation}`), () =>
      this.#arm(),
    );
    this.#runtime = runtime;
    this.#stopped = this.clock.suspended;
    if (this.world.tracing) this.world.note(this.name, { what: 'started', facts: { incarnation } });
    this.perform(() => this.#start(runtime, incarnation));
  }

  /** Ends this incarnation at once: timers and undelivered messages are gone. */
  crash(): void {
    const runtime = this.#runtime;
    if (runtime === undefined) return;
    if (this.world.tracing)
      this.world.note(this.name, { what: 'crashed', facts: { incarnation: this.#incarnation } });
    this.#runtime = undefined;
    this.#paused = false;
    this.#timers.clear();
    this.#inbox = [];
    this.#arm();
    runtime.end();
  }

  /** Crashes the process, if alive, and starts the process again. */
  restart(): void {
    this.crash();
    this.start();
  }

  /**
   * Stops the process as SIGSTOP does: the clock runs on. Until {@link resume}, or for so many true milliseconds; of
   * several pauses at once, the last one decides.
   */
  pause(ms?: number): void {
    if (this.#runtime === undefined) return;
    if (this.world.tracing) this.world.note(this.name, { what: 'paused', facts: { ms } });
    this.#paused = true;
    this.#pauses += 1;
    this.#look();
    if (ms === undefined) return;
    const pause = this.#pauses;
    this.world.after(ms, () => {
      if (pause === this.#pauses) this.resume();
    });
  }

  resume(): void {
    if (!this.#paused) return;
    if (this.world.tracing) this.world.note(this.name, { what: 'resumed', facts: {} });
    this.#paused = false;
    this.#look();
  }

  /**
   * Suspends the machine for so many true milliseconds: the monotonic clock stands still. Of
   * several suspensions at once, the last one decides.
   */
  suspend(ms: number, options: SuspendOptions = {}): void {
    if (this.world.tracing) this.world.note(this.name, { what: 'suspended', facts: { ms } });
    const suspension = this.clock.suspend(this.world.trueMs, options);
    this.world.after(ms, () => this.clock.resume(this.world.trueMs, suspension));
  }

  /** Changes the rate of the process's clocks. */
  setRate(rate: number): void {
    this.clock.setRate(this.world.trueMs, rate);
  }

  /** Steps the wall clock. */
  stepWall(byMs: number): void {
    this.clock.stepWall(this.world.trueMs, byMs);
  }

  /** Runs a function in the process as if asked from outside: now, or when the process runs again; never if dead. */
  perform(run: () => void): void {
    if (this.running) run();
    else if (this.#runtime !== undefined) this.#inbox.push(new Handed(this, this.#incarnation, run));
  }

  #originMs(): number {
    return this.#runtime?.originMs ?? 0;
  }

  /** Comes after every change of pauses and clocks. */
  #look(): void {
    this.#armedFor = Number.NaN;
    const stopped = this.#paused || this.clock.suspended;
    if (this.#stopped && !stopped) {
      const waiting = this.#inbox;
      this.#inbox = [];
      // Each is an event, so that the world's checks run between them; and before any timer.
      for (const handed of waiting) this.world.schedule(this.world.trueMs, handed);
    }
    this.#stopped = stopped;
    this.#arm();
  }

  #arm(): void {
    const wanted = this.#stopped ? Number.POSITIVE_INFINITY : this.#timers.nextAt;
    if (wanted === this.#armedFor) return;
    this.#armedFor = wanted;
    this.#alarm.set(wanted === Number.POSITIVE_INFINITY ? wanted : this.trueMsOf(instant(wanted)));
  }

  /** Lets one timer fire; if more are due, they are further events at the same true time. */
  #fire(): boolean {
    this.#armedFor = Number.NaN;
    const now = this.now();
    let happened = false;
    while (!happened && this.#timers.nextAt <= now) happened = this.#timers.pop().happen();
    this.#arm();
    return happened;
  }
}

/** The runtime of one incarnation of a simulated process. */
export class SimRuntime implements Runtime {
  /** By how much this incarnation's monotonic clock is ahead of the machine's. */
  readonly originMs: number;
  readonly #process: SimProcess;
  readonly #timers: EventQueue;
  readonly #random: Random;
  readonly #lateness: Random;
  readonly #timersChanged: () => void;
  readonly #listening: Disposable[] = [];
  #alive = true;

  /** @internal */
  constructor(process: SimProcess, timers: EventQueue, random: Random, timersChanged: () => void) {
    this.#process = process;
    this.#timers = timers;
    this.#random = random;
    this.#lateness = random.fork('lateness');
    this.originMs = random.fork('origin').between(0, 1e7);
    this.#timersChanged = timersChanged;
  }

  /** False once the process has crashed: nothing that this incarnation does has any effect any more. */
  get alive(): boolean {
    return this.#alive;
  }

  now(): Instant {
    const { clock, world } = this.#process;
    return instant(clock.now(world.trueMs) + this.originMs);
  }

  wallMs(): number {
    const { clock, world } = this.#process;
    return clock.wallMs(world.trueMs);
  }

  uptimeMs(): number {
    const { clock, world } = this.#process;
    return clock.uptimeMs(world.trueMs);
  }

  random(): number {
    return this.#random.next();
  }

  wakeAt(at: Instant, callback: () => void): Disposable {
    const timer = new Scheduled(this.#timers, callback);
    this.schedule(at + this.#late(), timer);
    return timer;
  }

  /**
   * A timer to be set anew after every input: `alarm.set(core.wakeAt)`. Setting the alarm costs next to nothing;
   * `undefined` turns the alarm off.
   */
  alarm(wake: () => void): WakeAlarm {
    let setFor: Instant | undefined;
    const alarm = new Alarm(this, () => {
      setFor = undefined;
      wake();
      return true;
    });
    return {
      set: (at) => {
        if (at === setFor) return;
        setFor = at;
        alarm.set(at === undefined ? Number.POSITIVE_INFINITY : at + this.#late());
      },
    };
  }

  /** This process in a network, under the process's name. */
  transport<Message>(network: Network<Message>, options: AttachOptions = {}): Transport<Message, Message> {
    const process = this.#process;
    return {
      send: (to, message) => {
        if (this.#alive) network.send(process.name, to, message);
      },
      listen: (callback) => {
        assert(this.#alive, `an incarnation of ${process.name} that has ended listens`);
        const receive = (from: string, message: Message): void => {
          if (process.running) callback(from, message);
          else process.perform(() => callback(from, message));
        };
        const listening = network.attach(process.name, receive, options);
        this.#listening.push(listening);
        return listening;
      },
    };
  }

  /**
   * A disk, as this incarnation sees it: operations complete only while the process runs, and never after a crash. The
   * disk itself lives on, and finishes the operations.
   */
  storage(disk: SimDisk): Storage {
    return disk.mount((complete) => {
      if (this.#alive) this.#process.perform(complete);
    });
  }

  /** @internal */
  schedule(at: number, happening: Happening): void {
    if (!this.#alive) return;
    assert(!Number.isNaN(at), `${this.#process.name} set a timer for NaN`);
    this.#timers.push(at, happening);
    this.#timersChanged();
  }

  /** @internal */
  end(): void {
    this.#alive = false;
    for (const listening of this.#listening) listening[Symbol.dispose]();
  }

  #late(): number {
    const { lateMs } = this.#process;
    return lateMs === 0 ? 0 : this.#lateness.between(0, lateMs);
  }
}

/** A single timer for a core that names the time of the next wake-up. */
export interface WakeAlarm {
  set(at: Instant | undefined): void;
}

/** Something that has reached a stopped process. */
class Handed implements Happening {
  readonly cancelled = false;
  readonly #process: SimProcess;
  readonly #incarnation: number;
  readonly #run: () => void;

  constructor(process: SimProcess, incarnation: number, run: () => void) {
    this.#process = process;
    this.#incarnation = incarnation;
    this.#run = run;
  }

  happen(): boolean {
    const process = this.#process;
    if (process.incarnation !== this.#incarnation) return false;
    const ran = process.running;
    process.perform(this.#run); // Stopped again before this event: back into the queue.
    return ran;
  }
}

function drawClock(random: Random): SimClock {
  return new SimClock({
    originMs: random.between(0, 1e8),
    wallOriginMs: 1_750_000_000_000 + random.between(-50, 50),
    uptimeOriginMs: random.between(1e4, 1e9),
  });
}
