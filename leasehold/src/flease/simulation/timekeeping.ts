/**
 * The wall clocks of a group: never further from true time than half of what two of them may differ by, but for
 * one at a time that somebody has set wrong.
 *
 *     true + bound   ──╲──── a ────────────────────    a runs ahead as far as it may
 *     true           ───╲── b ──╱╲──┐ ┌────────────    b is slewed to and fro, or stepped
 *     true − bound   ────╲─────╱──╲─┘ c ───────────    c is as far behind as it may be
 *
 * What a process makes of its wall clock is up to a millisecond off, since it reads whole ones: so of the skew
 * one millisecond is left for each of two.
 *
 * A clock that was set wrong by little is put right within the silence that it causes: nobody could tell that it
 * is wrong, and the documentation asks for no more. One that is wrong by several leases may stay so for longer:
 * whatever it says is refused for its age.
 */

import type { SimClock } from '../../sim/clock.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type { FleaseNode } from './node.ts';

export const EPOCH_MS = 1_750_000_000_000;
const READING_MS = 1;
const ROUNDING_MS = 0.001;
const TICK_MS = 100;

export type Manner = 'steady' | 'slewed' | 'stepped';

export class Timekeeping {
  readonly #world: World;
  readonly #random: Random;
  readonly #boundMs: number;
  readonly #nodes = new Map<FleaseNode, Manner>();
  #wrong: FleaseNode | undefined;

  constructor(world: World, clockSkewMs: number) {
    this.#world = world;
    this.#random = world.random.fork('timekeeping');
    this.#boundMs = Math.max(0, clockSkewMs / 2 - READING_MS - ROUNDING_MS);
    world.every([TICK_MS, TICK_MS], () => this.#tick());
  }

  /** Somewhere within the bound; often at its very end. */
  drawDeviationMs(): number {
    const random = this.#random;
    return this.#boundMs * random.pick([-1, -1, 1, 1, random.between(-1, 1)]);
  }

  keep(node: FleaseNode): void {
    this.#nodes.set(node, this.#random.pick<Manner>(['steady', 'steady', 'slewed', 'stepped']));
  }

  isWrong(node: FleaseNode): boolean {
    return node === this.#wrong;
  }

  get isAnyWrong(): boolean {
    return this.#wrong !== undefined;
  }

  /** From here on no clock is touched. */
  rest(): void {
    this.setRight();
    for (const node of this.#nodes.keys()) {
      node.process.setRate(1);
      this.#nodes.set(node, 'steady');
    }
  }

  /** Somebody sets a clock wrong; after so long it is put right. */
  setWrong(node: FleaseNode, byMs: number, forMs: number): void {
    this.#wrong = node;
    node.note('clock-set-wrong', { byMs: Math.round(byMs), forMs: Math.round(forMs) });
    node.process.setRate(1);
    node.process.stepWall(byMs);
    node.stoppedUntilMs = Math.max(node.stoppedUntilMs, this.#world.trueMs + forMs);
    this.#world.after(forMs, () => this.setRight());
  }

  setRight(): void {
    const node = this.#wrong;
    if (node === undefined) return;
    node.note('clock-set-right', {});
    node.process.stepWall(this.drawDeviationMs() - this.deviationMs(node.process.clock));
    this.#wrong = undefined;
  }

  deviationMs(clock: SimClock): number {
    return clock.wallMs(this.#world.trueMs) - EPOCH_MS - this.#world.trueMs;
  }

  #tick(): void {
    if (this.#boundMs === 0) return;
    const random = this.#random;
    for (const [node, manner] of this.#nodes) {
      if (node === this.#wrong || manner === 'steady') continue;
      const deviationMs = this.deviationMs(node.process.clock);
      if (manner === 'stepped') {
        if (random.chance(0.1)) {
          node.process.stepWall(this.#stepFrom(deviationMs));
          // Timers run by the other clock: until that has caught up nobody notices what is over by this one.
          node.stoppedUntilMs = Math.max(node.stoppedUntilMs, this.#world.trueMs + 2 * this.#boundMs);
        }
        continue;
      }
      const slowest = Math.max(-0.05, (-this.#boundMs - deviationMs) / TICK_MS);
      const fastest = Math.min(0.05, (this.#boundMs - deviationMs) / TICK_MS);
      node.process.setRate(1 + random.pick([slowest, fastest, random.between(slowest, fastest)]));
    }
  }

  /** Mostly a step that is followed; now and then one that counts as a jump. */
  #stepFrom(deviationMs: number): number {
    const bound = this.#boundMs;
    if (this.#random.chance(0.05)) return this.drawDeviationMs() - deviationMs;
    const byMs = this.#random.between(-bound, bound);
    return Math.min(bound, Math.max(-bound, deviationMs + byMs)) - deviationMs;
  }
}
