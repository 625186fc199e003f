/**
 * When is the lease of an owner that is not heard any more surely over? When its hold is.
 *
 * A hold is counted from when we *received* the last report that we acknowledged; the owner's lease,
 * from when it *sent* that report (see `owner/owner.ts`). And a hold is longer than a lease by more
 * than two clocks may differ (`options.ts`). So the lease is over first:
 *
 *     owner     sent ├────────── lease ──────────┤
 *                     ╲              ╱ acknowledged
 *     leader           ├─────────────── hold ─────────────┤ its keys may be taken
 *                   received
 *
 * Every member has a hold, and a hold only ever moves to a later instant. It is not committed, no more
 * than the acknowledgement that it goes with: a new leader finds in the log who there is, not what its
 * predecessor answered last. So it treats every lease as renewed at the instant it took over, and by
 * then even a leader that the log dropped early may go on for a whole leader lease more:
 *
 *     old leader   ───┤ dropped by the log
 *                     ├─── leader lease ───┤ the last answer it can give
 *     an owner                             ├───── lease ─────┤
 *     successor        ├─────────────── takeover hold ────────────┤ frees it at the earliest
 *
 * How long that is, our predecessor wrote into the log, for our settings may be others than its own; or, where the log keeps
 * nothing, all Managers have agreed on it (`settings.ts`).
 * What we write there for our successor ({@link Holds.takeoverMs}) covers what we give, and what we
 * found until that has run out.
 *
 * **Restarts add up.** A Manager in a crash loop would begin that wait anew each time, and never free the keys of an
 * owner that is dead. So a leader commits which owners were silent: `silent X for w` says that no leader has renewed X for at
 * least w, and that none will before it has committed `heard X` (`leader.ts` keeps to that). A successor that
 * finds it waits for X only for the rest of the takeover hold:
 *
 *     X renewed ─┤ at the latest: the leader lease of term 1 is out
 *     term 1  ──┤ dropped
 *     term 2     ├──────────┤ commits `silent X for 5 s`, dies
 *     term 3                   ├────┤ commits `silent X for 7.5 s`, dies
 *     term 4                            ├───────────────┤ frees X when takeover hold - 7.5 s have passed
 *
 * Why that is safe. Let term 1 be the last that renewed X. All terms after it were elected after the log had dropped
 * term 1, so everything they count lies after that instant; and X is free of leases a takeover hold after that instant.
 * What they count are intervals that do not overlap in true time: a leader counts from after its election until before
 * it makes the batch, and a successor that finds the batch is elected after the batch was written. Each is measured by a clock
 * whose rate is trusted, so their sum is no more than one such clock would have measured. The leader lease of term 1 is
 * in the takeover hold, once. And term 1 was the last indeed: a leader that renews X while it is silent in the log has first
 * committed `heard X`, and that a successor would have found. A leader counts for X only if it has not renewed X itself.
 *
 * That is safety. For fairness a leader commits silences only every {@link Holds.stepMs}, the time within which a living owner
 * has reported, and a successor waits at least that long: an owner is not given up because Managers die too quickly to hear it.
 * So a dead owner's keys are free after terms that come to a takeover hold, each cut down to whole steps, if each is two
 * steps long at least; and nothing is written about an owner that reports in time.
 *
 * Nobody is late by our own silence. While our leader lease is out we answer nobody, so the leader takes
 * no hold for over, and when it may answer again every hold begins anew: an engine that stalls for longer
 * than a lease costs a pause, not everybody's memory.
 */

import { type Instant, later, latest } from '../../../runtime/time.ts';
import type { ManagerState } from '../state.ts';
import { longestHoldMs, longestReportWithinMs, longestTakeoverMs, type ManagerSettings } from './settings.ts';

export class Holds {
  #settings: ManagerSettings;
  /** When the lease of each member may be taken for over, by incarnation. */
  readonly #ends = new Map<string, Instant>();
  /** How long we wait for the leases we found, and when that is over. */
  #waitMs: number;
  #waitUntil: Instant;
  /** Members that we have not renewed, with how long nobody had by {@link #since}, in milliseconds. */
  readonly #unheard = new Map<string, number>();
  #since: Instant;

  /** Those of a leader that takes over and finds this in the log. */
  constructor(settings: ManagerSettings, found: ManagerState, now: Instant) {
    this.#settings = settings;
    this.#waitMs = Math.max(longestTakeoverMs(settings), found.leaderRecord.takeoverMs);
    this.#waitUntil = later(now, this.#waitMs);
    this.#since = now;
    for (const { members } of found.pools.values()) {
      for (const [incarnation, { silentMs = 0 }] of members) {
        this.#unheard.set(incarnation, silentMs);
        const leftMs = silentMs === 0 ? this.#waitMs : Math.max(this.#waitMs - silentMs, this.stepMs);
        this.#ends.set(incarnation, later(now, leftMs));
      }
    }
  }

  /** How often silences are committed, in milliseconds, and how long an owner has at least to report to a new leader. */
  get stepMs(): number {
    return longestReportWithinMs(this.#settings);
  }

  get hasUnheard(): boolean {
    return this.#unheard.size > 0;
  }

  /**
   * For how long no leader has renewed a member, in milliseconds. Undefined if this one has, or if its hold is over within a
   * step: then there is little to be gained for a successor.
   */
  silentMs(incarnation: string, now: Instant): number | undefined {
    const [beforeMs, end] = [this.#unheard.get(incarnation), this.#ends.get(incarnation)];
    if (beforeMs === undefined || end === undefined || end <= later(now, this.stepMs)) return undefined;
    return beforeMs + (now - this.#since);
  }

  /** When everything that others may have leased has run out, whether we know of it or not. */
  get foundUntil(): Instant {
    return this.#waitUntil;
  }

  /** Undefined for one that is no member. */
  endOf(incarnation: string): Instant | undefined {
    return this.#ends.get(incarnation);
  }

  isOver(incarnation: string, now: Instant): boolean {
    const end = this.#ends.get(incarnation);
    return end !== undefined && end <= now;
  }

  /** Pools in which some hold is over. Those that are not are due when they will be. */
  poolsWithOneOver(state: ManagerState, now: Instant, due: (at: Instant) => void): Set<string> {
    const pools = new Set<string>();
    for (const [pool, { members }] of state.pools) {
      for (const incarnation of members.keys()) {
        const end = this.#ends.get(incarnation) ?? now;
        if (end <= now) pools.add(pool);
        else due(end);
      }
    }
    return pools;
  }

  /** A report was acknowledged, or has made its sender a member; returns when that hold ends. */
  renew(incarnation: string, receivedAt: Instant, holdMs: number): Instant {
    const end = later(receivedAt, holdMs);
    this.#unheard.delete(incarnation);
    this.#ends.set(incarnation, latest(this.#ends.get(incarnation) ?? end, end));
    return end;
  }

  /** Nobody could be answered until this instant: no owner is late by that, and only the log counts. */
  beginAnew(state: ManagerState, now: Instant): void {
    this.#since = now;
    for (const { members } of state.pools.values())
      for (const [incarnation, { silentMs = 0 }] of members)
        if (this.#unheard.has(incarnation)) this.#unheard.set(incarnation, silentMs);
    const anew = later(now, longestHoldMs(this.#settings));
    for (const [incarnation, end] of this.#ends) this.#ends.set(incarnation, latest(end, anew));
  }

  /** It is a member no longer. */
  drop(incarnation: string): void {
    this.#unheard.delete(incarnation);
    this.#ends.delete(incarnation);
  }

  /** The wait of a successor: for the leases we found, until they are over, and for those we give. */
  takeoverMs(now: Instant): number {
    return now < this.#waitUntil ? this.#waitMs : longestTakeoverMs(this.#settings);
  }

  /** Other leases are given from here on; those that were given before count as found. */
  configure(settings: ManagerSettings, now: Instant): void {
    const givenMs = this.takeoverMs(now);
    this.#settings = settings;
    this.#waitMs = Math.max(givenMs, longestTakeoverMs(settings));
    this.#waitUntil = latest(this.#waitUntil, later(now, givenMs));
  }
}
