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
 * How long that is, our predecessor wrote into the log, for our settings may be others than its own.
 * What we write there for our successor ({@link Holds.takeoverMs}) covers what we give, and what we
 * found until that has run out.
 *
 * Nobody is late by our own silence. While our leader lease is out we answer nobody, so the leader takes
 * no hold for over, and when it may answer again every hold begins anew: an engine that stalls for longer
 * than a lease costs a pause, not everybody's memory.
 */

import { type Instant, later, latest } from '../../runtime/time.ts';
import type { ManagerState } from '../state.ts';
import { longestHoldMs, longestTakeoverMs, type ManagerSettings } from './settings.ts';

export class Holds {
  #settings: ManagerSettings;
  /** When the lease of each member may be taken for over, by incarnation. */
  readonly #ends = new Map<string, Instant>();
  /** How long we wait for the leases we found, and when that is over. */
  #waitMs: number;
  #waitUntil: Instant;

  /** Those of a leader that takes over and finds this in the log. */
  constructor(settings: ManagerSettings, found: ManagerState, now: Instant) {
    this.#settings = settings;
    this.#waitMs = Math.max(longestTakeoverMs(settings), found.reign.takeoverMs);
    this.#waitUntil = later(now, this.#waitMs);
    for (const { members } of found.pools.values()) {
      for (const incarnation of members.keys()) this.#ends.set(incarnation, this.#waitUntil);
    }
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
    this.#ends.set(incarnation, latest(this.#ends.get(incarnation) ?? end, end));
    return end;
  }

  /** Nobody could be answered until this instant: nobody is late by that. */
  beginAnew(now: Instant): void {
    const anew = later(now, longestHoldMs(this.#settings));
    for (const [incarnation, end] of this.#ends) this.#ends.set(incarnation, latest(end, anew));
  }

  /** It is a member no longer. */
  drop(incarnation: string): void {
    this.#ends.delete(incarnation);
  }

  /** What a successor must wait for: what we found, until that is over, and what we give. */
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
