/**
 * Health by progress: is the work that should go on going on?
 *
 * A process that answers HTTP can still be useless: the disk hangs, renewals go unanswered, the event loop stands
 * still for seconds. A module therefore states *progress checks*. A check says of one instant whether the work stands
 * still; the monitor measures for how long, and reports a stall once the check's limit has passed:
 *
 *     work due    ─────┬───────────────────────────┬───────────
 *     check       ok   │ still   still    still     │ ok
 *     stall            ├─ afterMs ─┤███████████████│
 *
 * Four rules make the answer worth believing:
 *
 * 1. *No work, no stall.* A check without work to do returns undefined. An idle service is healthy.
 * 2. *The monitor looks unasked*, every {@link BEAT_MS}, so a stall is measured whether or not anybody asks, and two
 *    callers that ask at different times get the same answer. (A check without a limit needs no measuring, and is asked
 *    only when somebody asks.)
 * 3. *Green at once.* The monitor asks every check again when somebody asks for the answer, and a check that passes ends
 *    the stall. A stall is never reported from memory, with one exception: the event loop cannot be asked while
 *    standing still. A stalled loop is reported for {@link LOOP_RECENT_MS} after the loop turns again.
 * 4. *A check that throws is a stall*, with the error's message: the work could not be looked at.
 *
 * A stall turns `/readyz` red and never `/healthz`: restarting a process that waits for a disk or for a majority loses
 * the memory and mends nothing.
 */

import { EpisodeLog } from '../../runtime/episode-log.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, later } from '../../runtime/time.ts';

export interface ProgressCheck {
  /** Names the work, in metrics and in `/readyz`: `log`, `majority`, `event-loop`. */
  readonly name: string;
  /** For how long the work may stand still before that is a stall. 0: not at all. */
  readonly afterMs: number;
  /** Why the work stands still at this instant, in words; undefined while the work goes on, or if none is due. */
  standsStill(now: Instant): string | undefined;
}

export interface Stall {
  readonly check: string;
  readonly why: string;
  readonly forMs: number;
}

/**
 * A check on work whose steps leave a mark: a log position, a count of answers. Work that is due stands still while the
 * mark is the one that was seen before.
 */
export function advancing(work: {
  readonly name: string;
  readonly afterMs: number;
  readonly why: string;
  isDue(): boolean;
  /** Differs after every step forward. */
  mark(): number | string;
}): ProgressCheck {
  let seen: number | string | undefined;
  return {
    name: work.name,
    afterMs: work.afterMs,
    standsStill: () => {
      const mark = work.isDue() ? work.mark() : undefined;
      const isStill = mark !== undefined && mark === seen;
      seen = mark;
      return isStill ? work.why : undefined;
    },
  };
}

/** The check of the process itself, beside those of modules. */
export const EVENT_LOOP = 'event-loop';

/** How often the monitor looks. */
export const BEAT_MS = 250;
/** A turn of the event loop that is later than this is a stall. */
export const LOOP_LATE_MS = 2_000;
/** For how long a late turn of the event loop is reported. */
export const LOOP_RECENT_MS = 10_000;

export interface ProgressMonitorOptions {
  readonly runtime: Pick<Runtime, 'now' | 'wakeAt'>;
  readonly logger: Logger;
  readonly checks: readonly ProgressCheck[];
}

export class ProgressMonitor implements Disposable {
  readonly #runtime: ProgressMonitorOptions['runtime'];
  readonly #checks: readonly ProgressCheck[];
  readonly #episodes: EpisodeLog;
  /** Since when each check finds work standing still. */
  readonly #stillSince = new Map<string, Instant>();
  #beat: Disposable;
  #beatDueAt: Instant;
  /** The last turn of the event loop that was late, and by how much. */
  #lateTurn: { readonly at: Instant; readonly lateMs: number } | undefined;

  constructor({ runtime, logger, checks }: ProgressMonitorOptions) {
    this.#runtime = runtime;
    this.#checks = checks;
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#beatDueAt = later(runtime.now(), BEAT_MS);
    this.#beat = runtime.wakeAt(this.#beatDueAt, () => this.#look());
  }

  /** The names of all checks, the event loop's last. */
  get names(): readonly string[] {
    return [...this.#checks.map(({ name }) => name), EVENT_LOOP];
  }

  /** What stands still at this instant, in the order of the checks. */
  stalls(): readonly Stall[] {
    return this.#stallsOf(this.#checks, this.#runtime.now());
  }

  /** In words, for `/readyz`; undefined if everything goes on. */
  whyNotReady(): string | undefined {
    const stalls = this.stalls();
    return stalls.length === 0 ? undefined : stalls.map(({ why }) => why).join('; ');
  }

  [Symbol.dispose](): void {
    this.#beat[Symbol.dispose]();
    this.#episodes[Symbol.dispose]();
  }

  #look(): void {
    const now = this.#runtime.now();
    const lateMs = now - this.#beatDueAt;
    if (lateMs >= LOOP_LATE_MS) this.#lateTurn = { at: now, lateMs };
    const lasting = this.#checks.filter(({ afterMs }) => afterMs > 0);
    for (const { check, why, forMs } of this.#stallsOf(lasting, now))
      this.#episodes.happened(check, `not ready: ${why}`, { check, forMs });
    this.#beatDueAt = later(now, BEAT_MS);
    this.#beat = this.#runtime.wakeAt(this.#beatDueAt, () => this.#look());
  }

  #stallsOf(checks: readonly ProgressCheck[], now: Instant): readonly Stall[] {
    return [...checks.flatMap((check) => this.#stallOf(check, now)), ...this.#loopStall(now)];
  }

  #stallOf(check: ProgressCheck, now: Instant): readonly Stall[] {
    const why = reasonOf(check, now);
    if (why === undefined) {
      this.#stillSince.delete(check.name);
      return [];
    }
    const since = this.#stillSince.get(check.name) ?? now;
    this.#stillSince.set(check.name, since);
    const forMs = now - since;
    return forMs < check.afterMs ? [] : [{ check: check.name, why, forMs: Math.round(forMs) }];
  }

  /** A request can be answered before the beat that is overdue, so the beat that is due counts as well. */
  #loopStall(now: Instant): readonly Stall[] {
    const dueMs = now - this.#beatDueAt;
    const turn = dueMs >= LOOP_LATE_MS ? { at: now, lateMs: dueMs } : this.#lateTurn;
    if (turn === undefined || now - turn.at >= LOOP_RECENT_MS) return [];
    const seconds = (ms: number): string => `${(ms / 1_000).toFixed(1)} s`;
    const why = `the event loop stood still for ${seconds(turn.lateMs)}, ${seconds(now - turn.at)} ago`;
    return [{ check: EVENT_LOOP, why, forMs: Math.round(turn.lateMs) }];
  }
}

function reasonOf(check: ProgressCheck, now: Instant): string | undefined {
  try {
    return check.standsStill(now);
  } catch (error) {
    return `${check.name} could not be checked: ${error instanceof Error ? error.message : String(error)}`;
  }
}
