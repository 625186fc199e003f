/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A world in which everything happens one thing after the other, in an order fixed by the seed.
 *
 * Only the world knows the true time. The world holds the future events, takes the first, moves the time there, lets
 * the event happen, and then asks every check whether the promises still hold: a check sees all processes at once and
 * at the same instant, which no process can.
 *
 *     const world = new World({ seed: 168 });
 *     world.afterEach(() => {
 *       if (holders() > 1) throw world.broken('one-holder', 'a and b both hold it');
 *     });
 *     world.after(5_000, () => process.crash());
 *     world.run({ untilMs: 60_000 });
 *
 * The same seed gives the same run, to the byte of the story, as long as the code under test
 * asks for time and chance nowhere else. Code that awaits promises needs {@link World.runAsync}.
 */

import { assert } from '../runtime/assert.ts';
import { invalidOption } from '../runtime/errors.ts';
import { traceLine, type TraceEvent } from '../runtime/trace.ts';
import { EventQueue, Scheduled, type Happening } from './queue.ts';
import { Random } from './random.ts';

export interface WorldOptions {
  /** A whole number from 0 to 2^53 - 1. All chance follows from the seed. */
  seed: number;

  /**
   * Whether to keep the notes, for {@link World.story}. Runs are several times faster without; the usual way is to run
   * without and to run a seed that failed once more with.
   *
   * @default false
   */
  trace?: boolean | undefined;
}

export interface RunOptions {
  /** Events up to and including this true time happen; then the time is this. */
  untilMs: number;

  /**
   * A run with more events than this is taken to be stuck in a loop.
   *
   * @default 1_000_000
   */
  maxEvents?: number | undefined;
}

export interface RunAsyncOptions extends RunOptions {
  /** Resolves when no promise callback is left to run, so that the next event may happen. */
  drain: () => Promise<void>;
}

/** The promise that a run with too many events breaks. */
export const COMES_TO_AN_END = 'comes-to-an-end';

/** Something that should always be true was not. Thrown by checks; ends the run. */
export class BrokenPromise extends Error {
  override readonly name = 'BrokenPromise';
  /** The name of the promise, in words with hyphens: `one-owner`. */
  readonly promise: string;
  /** The true time of the check that found the promise broken. */
  readonly atMs: number;
  /** The observation that breaks the promise. */
  readonly detail: string;
  /** The seed that shows the failure again, if known. */
  readonly seed: number | undefined;

  constructor(promise: string, atMs: number, detail = '', seed?: number) {
    const where = `${seconds(atMs)} s${seed === undefined ? '' : ` of seed ${seed}`}`;
    super(`${promise} broken at ${where}${detail === '' ? '' : `: ${detail}`}`);
    this.promise = promise;
    this.atMs = atMs;
    this.detail = detail;
    this.seed = seed;
  }
}

export class World {
  readonly seed: number;
  /** The root of all chance. Parts of the world draw from forks of this generator. */
  readonly random: Random;
  /** Whether notes are kept. Test this before composing a note: then a note costs nothing when not tracing. */
  readonly tracing: boolean;
  /** How often each event that was counted with {@link count} has happened, in order of first appearance. */
  readonly counts: Map<string, number> = new Map<string, number>();
  readonly #queue = new EventQueue();
  readonly #checks: (() => void)[] = [];
  readonly #notes: { readonly atMs: number; readonly who: string; readonly event: TraceEvent }[] = [];
  #trueMs = 0;
  #events = 0;
  #repeaters = 0;

  constructor({ seed, trace = false }: WorldOptions) {
    this.seed = seed;
    this.random = new Random(seed);
    this.tracing = trace;
  }

  /** The true time, in milliseconds since the world began. No process can read this time. */
  get trueMs(): number {
    return this.#trueMs;
  }

  /** How many events have happened. */
  get events(): number {
    return this.#events;
  }

  /** Runs this at a true time, or at once if that has passed. Disposing before then cancels. */
  at(trueMs: number, run: () => void): Disposable {
    const scheduled = new Scheduled(this.#queue, run);
    this.schedule(trueMs, scheduled);
    return scheduled;
  }

  /** Runs this so many milliseconds from now. Disposing before then cancels. */
  after(ms: number, run: () => void): Disposable {
    return this.at(this.#trueMs + ms, run);
  }

  /** Runs this again and again, after pauses drawn from [low, high] ms, until disposed. */
  every([low, high]: readonly [low: number, high: number], run: () => void): Disposable {
    if (!(low >= 0 && high >= low && high > 0)) {
      throw invalidOption('every', `[${low}, ${high}]`, 'it needs 0 <= low <= high, high > 0');
    }
    this.#repeaters += 1;
    const random = this.random.fork(`every ${this.#repeaters}`);
    let next: Disposable;
    let disposed = false;
    const again = (): void => {
      next = this.after(random.between(low, high), () => {
        run();
        if (!disposed) again();
      });
    };
    again();
    return {
      [Symbol.dispose]: () => {
        disposed = true;
        next[Symbol.dispose]();
      },
    };
  }

  /** As {@link at}, for callers with an object of their own, which need no closure. */
  schedule(trueMs: number, happening: Happening): void {
    if (trueMs > this.#trueMs) {
      if (trueMs !== Number.POSITIVE_INFINITY) this.#queue.push(trueMs, happening);
      return;
    }
    assert(!Number.isNaN(trueMs), 'an event was scheduled at NaN');
    this.#queue.push(this.#trueMs, happening);
  }

  /** Has this check run after every event. The check throws {@link broken} if a promise is broken. */
  afterEach(check: () => void): Disposable {
    this.#checks.push(check);
    return {
      [Symbol.dispose]: () => {
        const index = this.#checks.indexOf(check);
        if (index >= 0) this.#checks.splice(index, 1);
      },
    };
  }

  /** The error for a check to throw, with the seed and the time. */
  broken(promise: string, detail = ''): BrokenPromise {
    return new BrokenPromise(promise, this.#trueMs, detail, this.seed);
  }

  /** Counts something, so that a test can fail when too little happened to prove anything. */
  count(what: string, by = 1): void {
    this.counts.set(what, (this.counts.get(what) ?? 0) + by);
  }

  /** Keeps a line of the story, if the world is {@link tracing}. */
  note(who: string, event: TraceEvent): void {
    if (this.tracing) this.#notes.push({ atMs: this.#trueMs, who, event });
  }

  /** The notes, one aligned line each: true time, subject, event, facts. */
  story(): string[] {
    return this.#notes.map(
      ({ atMs, who, event }) => `${seconds(atMs).padStart(9)} s  ${who.padEnd(14)} ${traceLine(event)}`,
    );
  }

  /** Lets everything happen that is due until then. */
  run({ untilMs, maxEvents = 1_000_000 }: RunOptions): void {
    const last = this.#events + maxEvents;
    while (this.#next(untilMs, last)) this.#check();
    this.#arrive(untilMs);
  }

  /**
   * As {@link run}, for code that awaits: after every event, waits until all resulting promise callbacks have run.
   * This costs some microseconds an event; cores do not need such a run.
   */
  async runAsync({ untilMs, drain, maxEvents = 1_000_000 }: RunAsyncOptions): Promise<void> {
    const last = this.#events + maxEvents;
    await drain();
    while (this.#next(untilMs, last)) {
      await drain();
      this.#check();
    }
    this.#arrive(untilMs);
  }

  /** Lets the next event happen. False when none is left until then. */
  #next(untilMs: number, last: number): boolean {
    const queue = this.#queue;
    for (;;) {
      const at = queue.nextAt;
      if (at > untilMs || at === Number.POSITIVE_INFINITY) return false;
      this.#trueMs = at;
      if (!queue.pop().happen()) continue;
      this.#events += 1;
      if (this.#events > last) throw this.broken(COMES_TO_AN_END, 'it is stuck in a loop');
      return true;
    }
  }

  #check(): void {
    const checks = this.#checks;
    for (let i = 0; i < checks.length; i++) (checks[i] as () => void)();
  }

  #arrive(untilMs: number): void {
    if (untilMs > this.#trueMs && untilMs !== Number.POSITIVE_INFINITY) this.#trueMs = untilMs;
  }
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(3);
