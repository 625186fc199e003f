/**
 * The leases of a simulated engine: how long a leader's key stays without a sign of the leader.
 *
 *     kept alive ├────── lastsMs ──────┤ over     ┊ looked at: gone
 *                                      └ up to ───┘ sweepMs
 *
 * By the engine's clock no lease ends before its time, and a key outlives its lease until the next look. A lease that
 * begins anew has the whole time again.
 */

import type { World } from '../sim/world.ts';

export class SimulatedLeases {
  readonly #world: World;
  readonly #lastsMs: number;
  readonly #sweepMs: number;
  /** The end of each lease, by true time, if not kept alive. */
  readonly #until = new Map<number, number>();
  #granted = 0;

  constructor(world: World, lastsMs: number, sweepMs = 0) {
    this.#world = world;
    this.#lastsMs = lastsMs;
    this.#sweepMs = sweepMs;
  }

  /** Another lease, different from all before, even if all of them were forgotten. */
  grant(): number {
    for (const lease of this.#until.keys()) if (this.isOver(lease)) this.#until.delete(lease);
    this.#granted += 1;
    this.#begin(this.#granted);
    return this.#granted;
  }

  /** Returns whether the lease was still alive. */
  keepAlive(lease: number): boolean {
    if (this.isOver(lease)) return false;
    this.#begin(lease);
    return true;
  }

  /** If not running already. */
  begin(lease: number): void {
    if (!this.#until.has(lease)) this.#begin(lease);
  }

  end(lease: number): void {
    this.#until.delete(lease);
  }

  beginAnew(): void {
    for (const lease of this.#until.keys()) this.#begin(lease);
  }

  /** Each lasts so much longer. */
  prolong(ms: number): void {
    for (const [lease, until] of this.#until) this.#until.set(lease, until + ms);
  }

  forget(): void {
    this.#until.clear();
  }

  /** When the key of a lease goes: at the first look after the lease's end. */
  goesAtMs(lease: number): number {
    const until = this.#until.get(lease) ?? Number.NEGATIVE_INFINITY;
    return this.#sweepMs === 0 ? until : Math.ceil(until / this.#sweepMs) * this.#sweepMs;
  }

  isOver(lease: number): boolean {
    return this.goesAtMs(lease) <= this.#world.trueMs;
  }

  #begin(lease: number): void {
    this.#until.set(lease, this.#world.trueMs + this.#lastsMs);
  }
}
