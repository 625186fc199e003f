/**
 * A drain: this owner hands everything over, then leaves.
 *
 *     drain() ──► every range has moved ─────────────────────────► left by itself
 *                 │ no owner could take one, or the time is over
 *                 ├─ otherwise: 'lose' ──► leave: what is left is released, a loss that look-ups tell
 *                 └─ otherwise: 'stay' ──► NOT_DRAINED at the end: serves on
 *
 * An owner that may stay never makes its *last* stop, which aborts work and lets go of what cannot be stopped: what cannot be moved is served on. So the core is
 * told of an end only by `lose`.
 *
 * The core asks the Manager for targets, and leaves by itself once it holds nothing and is about to be given nothing
 * (`core/moves/owner-moves.ts`). This file has the end of the wait, and the count.
 *
 * **The count** is in ranges as they were when the drain began, or when they came after that: a Manager may cut a range into several moves. A range has moved if all
 * of it has departed; at the end, what has not moved is lost.
 *
 * `lose` does not wait where waiting is of no use: an update of a Manager that has heard of the drain says how many owners could take the
 * keys, and if that is none, the owner leaves. (Of a whole pool that is stopped at once, each owner hears that.)
 */

import { deadline } from '../../../runtime/deadline.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Span } from '../../../runtime/keys/range.ts';
import { onAbort } from '../../../runtime/on-abort.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, type ResolvedOptions } from '../../../runtime/option-table.ts';
import type { Condition } from '../../../runtime/condition.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { earliest, type Instant, instant, later } from '../../../runtime/time.ts';
import type { Owner, OwnerEffect } from '../../core/owner/owner.ts';
import { notDrained, whatDrainLacks } from '../errors.ts';
import type { Carried } from '../moves/key-carrier.ts';
import type { MovingKeys } from '../moves/moving-keys.ts';

export interface DrainOptions {
  /** How long to try, in milliseconds. @default `moves.drainTimeoutMs` */
  timeoutMs?: number | undefined;
  /**
   * `lose`: what is left is released, and callers are told; at the end, or at once if no owner could take it. `stay`: waits until the
   * end for an owner that can, and for the end of work, then throws; nothing is lost, and no work is aborted.
   *
   * @default 'lose'
   */
  otherwise?: 'lose' | 'stay' | undefined;
  /** Takes the drain back. Ranges that have moved stay where they are. */
  signal?: AbortSignal | undefined;
  /** At most every 100 ms, and at the end. */
  onProgress?: ((progress: DrainProgress) => unknown) | undefined;
}

/** How far a drain is. */
export interface DrainProgress {
  /** Ranges at the beginning, and what became of them. */
  readonly ranges: number;
  readonly moved: number;
  readonly lost: number;
  readonly items: number;
  readonly bytes: number;
  readonly bytesPerSecond: number;
  /** Undefined while nothing moves. */
  readonly secondsLeft: number | undefined;
  /** What is missing to go on: a Manager, an owner that can take the keys, or the end of guarded work. */
  readonly waitsFor: 'manager' | 'target' | 'work' | undefined;
}

/** What became of the ranges. */
export interface DrainResult {
  readonly moved: number;
  readonly lost: number;
}

/** @internal */
export const DRAIN_OPTIONS: OptionTable<DrainOptions, 'otherwise'> = {
  timeoutMs: optional(is.duration, '`moves.drainTimeoutMs`, 8,000'),
  otherwise: or('lose', is.oneOf('lose', 'stay')),
  signal: optional(is.signal),
  onProgress: optional(is.callback()),
};

/** What a drain sees of its owner, and does to it. @internal */
export interface DrainAround {
  readonly runtime: Runtime;
  /** Looked at after each input. */
  readonly waiters: Condition;
  readonly core: Pick<Owner, 'pieces' | 'pace' | 'heardAt' | 'targets' | 'movesUnderway' | 'drain'>;
  readonly moving: Pick<MovingKeys, 'canMove' | 'isWaitingForWork' | 'sent'>;
  /** An input of the core. */
  input(act: (now: Instant) => readonly OwnerEffect[]): void;
  hasLeft(): boolean;
  readonly logger: Logger;
  /** Gives back what is left, and ends. */
  leave(): Promise<void>;
  /** Tells the application. */
  tell(news: () => unknown): void;
}

type Outcome = 'left' | 'no target' | 'time is over';

const NEVER: Instant = instant(Number.POSITIVE_INFINITY);
const TELL_EVERY_MS = 100;
/** A Manager that was not heard for so many renewals is missing. */
const RENEWALS = 2;

/** @internal */
export class Drain {
  readonly #around: DrainAround;
  readonly #startedAt: Instant;
  readonly #sentBefore: Carried;
  /** In order; each as it was when it was here. */
  readonly #ranges: Span[];
  #departed = RangeSet.empty;
  #lost = RangeSet.empty;
  #until: Instant;
  #otherwise: 'lose' | 'stay';
  #takenBack: { readonly reason: unknown } | undefined;
  readonly #listeners: ((progress: DrainProgress) => unknown)[] = [];
  /** Bytes sent, at most once per {@link TELL_EVERY_MS}, the last second of them. */
  readonly #samples: (readonly [at: Instant, bytes: number])[] = [];
  /** Resolves at the end. */
  readonly result: Promise<DrainResult>;

  constructor(around: DrainAround, timeoutMs: number, options: ResolvedOptions<DrainOptions, 'otherwise'>) {
    const now = around.runtime.now();
    this.#around = around;
    this.#startedAt = now;
    this.#sentBefore = around.moving.sent;
    this.#ranges = around.core.pieces.filter(({ phase }) => phase !== 'released' && phase !== 'lapsed');
    this.#until = later(now, timeoutMs);
    this.#otherwise = options.otherwise;
    this.result = this.#run(options);
  }

  /** Another call: the earlier end counts, and `lose` before `stay`. */
  async join(
    timeoutMs: number,
    { otherwise, onProgress, signal }: ResolvedOptions<DrainOptions, 'otherwise'>,
  ): Promise<DrainResult> {
    const { runtime, waiters } = this.#around;
    using _ = onAbort(signal, () => this.#takeBack(signal?.reason));
    if (onProgress !== undefined) this.#listeners.push(onProgress);
    if (otherwise === 'lose') this.#otherwise = otherwise;
    this.#until = earliest(this.#until, later(runtime.now(), timeoutMs));
    this.#drain();
    waiters.look();
    return await this.result;
  }

  gained(spans: readonly Span[]): void {
    this.#ranges.push(...spans);
  }

  departed(spans: readonly Span[]): void {
    this.#departed = this.#departed.union(RangeSet.of(spans));
  }

  lost(spans: readonly Span[]): void {
    this.#lost = this.#lost.union(RangeSet.of(spans));
  }

  get progress(): DrainProgress {
    const { runtime, moving } = this.#around;
    const { items, bytes } = moving.sent;
    const ranges = this.#ranges.length;
    const moved = this.#ranges.filter(
      (range) => RangeSet.of([range]).subtract(this.#departed).isEmpty,
    ).length;
    const lost = this.#ranges.filter((range) => !RangeSet.of([range]).intersect(this.#lost).isEmpty).length;
    const left = ranges - moved - lost;
    const elapsedMs = runtime.now() - this.#startedAt;
    const waitsFor = left > 0 ? this.#waitsFor() : undefined;
    const isMoving = moved > 0 && left > 0 && waitsFor === undefined;
    return {
      ...{ ranges, moved, lost, waitsFor, bytesPerSecond: this.#bytesPerSecond() },
      ...{ items: items - this.#sentBefore.items, bytes: bytes - this.#sentBefore.bytes },
      secondsLeft: isMoving ? (left * elapsedMs) / moved / 1_000 : undefined,
    };
  }

  #waitsFor(): DrainProgress['waitsFor'] {
    const { runtime, core, moving } = this.#around;
    const { heardAt } = core;
    const { renewEveryMs } = core.pace;
    if (heardAt === undefined || later(heardAt, RENEWALS * renewEveryMs) < runtime.now()) return 'manager';
    if (moving.isWaitingForWork) return 'work';
    return this.#targets === 0 || core.movesUnderway === 0 ? 'target' : undefined;
  }

  /** How many owners could take the keys; undefined: no Manager has said. */
  get #targets(): number | undefined {
    const { core, moving } = this.#around;
    return moving.canMove ? core.targets : 0;
  }

  #drain(): void {
    this.#tellCore(this.#otherwise === 'lose' ? this.#until : NEVER);
  }

  /** Undefined: the drain is taken back. */
  #tellCore(until: Instant | undefined): void {
    const { core, input } = this.#around;
    input((now) => core.drain(until, now));
  }

  #bytesPerSecond(): number {
    const [first, last] = [this.#samples[0], this.#samples.at(-1)];
    if (first === undefined || last === undefined || last[0] <= first[0]) return 0;
    return Math.round(((last[1] - first[1]) * 1_000) / (last[0] - first[0]));
  }

  async #run({ signal, onProgress }: ResolvedOptions<DrainOptions, 'otherwise'>): Promise<DrainResult> {
    const { leave, logger } = this.#around;
    if (onProgress !== undefined) this.#listeners.push(onProgress);
    using _ = onAbort(signal, () => this.#takeBack(signal?.reason));
    await Promise.resolve(); // The owner knows of this drain before the core does.
    this.#drain();
    const telling = this.#tellNowAndThen();
    try {
      const outcome = await this.#outcome();
      if (outcome === 'time is over' && this.#otherwise === 'stay') throw notDrained(this.progress);
      const lacks = whatDrainLacks(this.progress);
      await leave();
      const result = this.#counted();
      if (result.lost > 0)
        logger.warn(`keys were given back without their state, a loss that callers are told of${lacks}`, {
          ...result,
        });
      return result;
    } catch (error) {
      this.#tellCore(undefined);
      throw error;
    } finally {
      telling[Symbol.dispose]();
      this.#tell();
    }
  }

  async #outcome(): Promise<Outcome> {
    const { runtime, waiters } = this.#around;
    for (;;) {
      const until = this.#until;
      if (until <= runtime.now()) return 'time is over';
      using time = deadline(runtime, until - runtime.now());
      try {
        const outcome = await waiters.until(
          () => this.#outcomeNow() ?? (this.#until === until ? undefined : 'again'),
          time.signal,
        );
        if (outcome !== 'again') return outcome;
      } catch (error) {
        if (!time.isOver || error !== time.signal.reason) throw error;
      }
    }
  }

  #outcomeNow(): Outcome | undefined {
    if (this.#takenBack !== undefined) throw this.#takenBack.reason;
    if (this.#around.hasLeft()) return 'left';
    return this.#otherwise === 'lose' && this.#targets === 0 ? 'no target' : undefined;
  }

  #takeBack(reason: unknown): void {
    this.#takenBack ??= { reason };
    this.#around.waiters.look();
  }

  #counted(): DrainResult {
    const { ranges, moved } = this.progress;
    this.lost(this.#ranges.filter((range) => !RangeSet.of([range]).subtract(this.#departed).isEmpty));
    return { moved, lost: ranges - moved };
  }

  #tellNowAndThen(): Disposable {
    const { runtime, moving } = this.#around;
    let timer: Disposable | undefined;
    const next = (): void => {
      timer = runtime.wakeAt(later(runtime.now(), TELL_EVERY_MS), () => {
        this.#samples.push([runtime.now(), moving.sent.bytes]);
        if (this.#samples.length > 1_000 / TELL_EVERY_MS) this.#samples.shift();
        this.#tell();
        next();
      });
    };
    next();
    return { [Symbol.dispose]: () => timer?.[Symbol.dispose]() };
  }

  #tell(): void {
    if (this.#listeners.length === 0) return;
    const { progress } = this;
    for (const listener of this.#listeners) this.#around.tell(() => listener(progress));
  }
}
