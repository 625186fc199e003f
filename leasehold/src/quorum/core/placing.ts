/**
 * Automatic placement, at one replica: counts what its clients read and write, tells the leader every `reportEveryMs`, and, if this replica
 * leads, makes a plan of all reports (`core/placement/`) and proposes its parts one by one.
 *
 * **It cannot break safety.** Placement does nothing but propose configurations, and those are entries of the log: a writer obeys every
 * configuration that may count, and a reader must be allowed by every one, whatever the tables in them say. Counts that are wrong, lost,
 * forged or old make reads and writes slower, never stale. So reports travel once, nothing of this is durable, and a new
 * leader begins with the next reports. The weight of writes is in the tables, so a new leader goes on with it.
 *
 * While a member is silent for three periods, or is new, nothing is moved, not even the weight: a dead holder delays nobody for longer than a
 * hold.
 */

import { type Instant, later } from '../../runtime/time.ts';
import { isPossible, Plan } from './placement/plan.ts';
import { type Usage, UsageMeter } from './placement/usage.ts';
import { nextWeight, worstShare } from './placement/weight.ts';
import type { Changes } from './changes.ts';
import { objectOf, type ReaderMap, type ReaderMapChange } from './configuration.ts';
import type { Context } from './context.ts';
import type { Leadership } from './leadership.ts';
import { type Command, touchedBy } from './operation.ts';

interface Report {
  readonly usage: Usage;
  readonly at: Instant;
}

/** A report is good for so many periods. */
const PERIODS = 3;

/** How the leader is getting on, for status. */
export interface PlacingStatus {
  /** How many milliseconds of readers one of a writer is worth. */
  readonly weight: number;
  /** The smallest share of reads that any member answered at once, in the last period. */
  readonly worstLocalShare: number | undefined;
  /** Members without a report: nothing is moved meanwhile. */
  readonly silent: readonly string[];
  /** Objects that are still to be moved. */
  readonly movesLeft: number;
  /** Since this replica leads. */
  readonly changes: number;
}

export class Placing {
  readonly #context: Context;
  readonly #changes: Changes;
  #placement: ReaderMap | undefined;
  #meter: UsageMeter | undefined;
  #reportAt: Instant | undefined;
  readonly #reports = new Map<string, Report>();
  #term: Term | undefined;

  constructor(context: Context, changes: Changes) {
    this.#context = context;
    this.#changes = changes;
  }

  get wakeAt(): Instant | undefined {
    return this.#term?.stepAt ?? this.#reportAt;
  }

  /** Undefined unless this replica leads and the placement is automatic. */
  get status(): PlacingStatus | undefined {
    const term = this.#term;
    if (term === undefined) return undefined;
    const { weight, worst, changes, plan } = term;
    const silent = this.#context.log.newestConfiguration.members
      .map(({ storage }) => storage)
      .filter((storage) => !this.#reports.has(storage));
    return { weight, worstLocalShare: worst, silent, movesLeft: plan?.movesLeft ?? 0, changes };
  }

  // ── counting ──

  read(key: string): void {
    this.#meter?.read(objectOf(key));
  }

  /** A read of so many keys was answered at once. */
  answeredLocally(keys: number): void {
    this.#meter?.answeredLocally(keys);
  }

  wrote(command: Command): void {
    if (this.#meter === undefined) return;
    for (const key of touchedBy([command]).written) this.#meter.wrote(objectOf(key));
  }

  /** A member answers the question for a lease that was asked then. */
  promised(by: string, askedAt: Instant | undefined, now: Instant): void {
    if (askedAt !== undefined) this.#meter?.promised(by, askedAt, now);
  }

  // ── reporting and planning ──

  /** After every input: begins to count when the placement is automatic, and ends when it is no longer. */
  follow(now: Instant): void {
    const { placement } = this.#context.log.newestConfiguration;
    if (placement === this.#placement) return;
    this.#placement = placement;
    const isAutomatic = automatic(placement) !== undefined;
    if (isAutomatic && this.#meter === undefined) {
      this.#meter = new UsageMeter();
      this.#reportAt = later(now, this.#context.durations.reportEveryMs);
    } else if (!isAutomatic) {
      this.#meter = undefined;
      this.#reportAt = undefined;
      this.#term = undefined;
      this.#reports.clear();
    }
  }

  hear(from: string, usage: Usage, now: Instant): void {
    if (this.#meter !== undefined) this.#reports.set(from, { usage, at: now });
  }

  /** Reports, and plans if this replica leads. */
  wake(leader: string | undefined, leadership: Leadership | undefined, now: Instant): void {
    const { self, durations } = this.#context;
    if (leader !== self) this.#term = undefined;
    if (this.#meter === undefined || this.#reportAt === undefined) return;
    if (this.#reportAt <= now) {
      this.#reportAt = later(now, durations.reportEveryMs);
      const usage = this.#meter.report();
      if (leader === self) {
        this.#reports.set(self, { usage, at: now });
        this.#plan(now);
      } else if (leader !== undefined) this.#context.send(leader, { kind: 'usage', usage });
    }
    this.#continue(leadership, now);
  }

  #plan(now: Instant): void {
    const { log, durations, self } = this.#context;
    const { members, leader, placement } = log.newestConfiguration;
    const own = automatic(placement);
    if (own === undefined || leader === undefined) return;
    const since = later(now, -PERIODS * durations.reportEveryMs);
    for (const [storage, { at }] of this.#reports) if (at < since) this.#reports.delete(storage);
    const term = this.#term ?? { weight: own.weight, changes: 0 };
    const reports = new Map<string, Usage>();
    for (const { storage } of members) {
      const report = this.#reports.get(storage);
      if (report !== undefined) reports.set(storage, report.usage);
    }
    const worst = worstShare(reports.values());
    // A weight that moved while nothing else does would never meet resistance, and everything would move at once afterwards.
    const weight = isPossible(members, reports) ? nextWeight(term.weight, worst) : term.weight;
    const plan = Plan.of({ members, leader, reports, weight, slices: own.slices, objects: own.objects });
    this.#term = { weight, worst, plan, changes: term.changes, isDone: false, stepAt: plan && now };
    if (plan === undefined) this.#context.trace('places-nothing', { reports: reports.size, at: self });
  }

  /** The next step of the plan, or the next part of the result. */
  #continue(leadership: Leadership | undefined, now: Instant): void {
    const term = this.#term;
    if (term?.plan === undefined || (term.stepAt ?? now) > now) return;
    const { plan } = term;
    if (!term.isDone) {
      term.isDone = plan.step();
      term.stepAt = later(now, STEP_MS);
      return;
    }
    const tables = automatic(this.#context.log.newestConfiguration.placement);
    term.part ??= tables && plan.next(tables.objects, term.weight);
    term.stepAt = term.part && later(now, this.#context.durations.heartbeatEveryMs);
    if (term.part === undefined) return;
    if (!this.#changes.propose(term.part, leadership, now)) return;
    this.#context.trace('places', { objects: term.part.objects.size, left: plan.movesLeft });
    term.changes += 1;
    term.part = undefined;
  }
}

/** Between two steps of a plan: calls are answered meanwhile. */
const STEP_MS = 1;

interface Term {
  readonly weight: number;
  readonly worst?: number | undefined;
  readonly plan?: Plan | undefined;
  changes: number;
  isDone?: boolean;
  part?: ReaderMapChange | undefined;
  stepAt?: Instant | undefined;
}

interface AutomaticTables {
  readonly slices: readonly number[];
  readonly objects: ReadonlyMap<number, number>;
  readonly weight: number;
}

function automatic(placement: ReaderMap): AutomaticTables | undefined {
  if (placement.mode !== 'chosen' || placement.automatic === undefined) return undefined;
  const { slices, objects, automatic: own } = placement;
  return { slices, objects, weight: own.weight };
}
