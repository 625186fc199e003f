/**
 * The wall clocks of a group: never further from true time than half the skew, except for clocks that were set wrong
 * on purpose.
 *
 *     true + bound   ──╲──── a ────────────────────    a runs ahead as far as it may
 *     true           ───╲── b ──╱╲──┐ ┌────────────    b is slewed to and fro, or stepped
 *     true − bound   ────╲─────╱──╲─┘ c ───────────    c is as far behind as it may be
 *
 * A process reads its wall clock in whole milliseconds, so its reading is up to a millisecond off: of the skew, one
 * millisecond is left for each of two.
 *
 * A clock that was set wrong by little is corrected within the recovery that it causes: no member could tell that it
 * is wrong, and the documentation asks for no more. A clock that is wrong by several leases may stay so for longer:
 * its attempts are refused for their age.
 */

import type { SimClock } from '../../sim/clock.ts';
import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type { SimProcess } from '../../sim/process.ts';

export const EPOCH_MS = 1_750_000_000_000;
const READING_MS = 1;
const ROUNDING_MS = 0.001;
const TICK_MS = 100;

/** A node with a wall clock. */
export interface Timekept {
  readonly process: SimProcess;
  /** Until when the node may not have noticed an end by its wall clock, in true time. */
  stoppedUntilMs: number;
  note(what: string, facts: Readonly<Record<string, string | number | undefined>>): void;
}

export type Manner = 'steady' | 'slewed' | 'stepped';

export class Timekeeping {
  readonly #world: World;
  readonly #random: Random;
  readonly #boundMs: number;
  readonly #slew: number;
  readonly #nodes = new Map<Timekept, Manner>();
  readonly #wrong = new Set<Timekept>();

  /** @param slew by how much a slewed clock may run faster or slower than true time */
  constructor(world: World, clockSkewMs: number, slew = 0.05) {
    this.#world = world;
    this.#slew = slew;
    this.#random = world.random.fork('timekeeping');
    this.#boundMs = Math.max(0, clockSkewMs / 2 - READING_MS - ROUNDING_MS);
    world.every([TICK_MS, TICK_MS], () => this.#tick());
  }

  /** Somewhere within the bound; often at its very end. */
  drawDeviationMs(): number {
    const random = this.#random;
    return this.#boundMs * random.pick([-1, -1, 1, 1, random.between(-1, 1)]);
  }

  keep(node: Timekept): void {
    this.#nodes.set(node, this.#random.pick<Manner>(['steady', 'steady', 'slewed', 'stepped']));
  }

  isWrong(node: Timekept): boolean {
    return this.#wrong.has(node);
  }

  /** How many clocks are set wrong. */
  get wrongClocks(): number {
    return this.#wrong.size;
  }

  /** From here on no clock is changed. */
  rest(): void {
    for (const node of [...this.#wrong]) this.setRight(node);
    for (const node of this.#nodes.keys()) {
      node.process.setRate(1);
      this.#nodes.set(node, 'steady');
    }
  }

  /** Sets a clock wrong, and corrects it after so long. */
  setWrong(node: Timekept, byMs: number, forMs: number): void {
    this.#wrong.add(node);
    node.note('clock-set-wrong', { byMs: Math.round(byMs), forMs: Math.round(forMs) });
    node.process.setRate(1);
    node.process.stepWall(byMs);
    node.stoppedUntilMs = Math.max(node.stoppedUntilMs, this.#world.trueMs + forMs);
    this.#world.after(forMs, () => this.setRight(node));
  }

  setRight(node: Timekept): void {
    if (!this.#wrong.delete(node)) return;
    node.note('clock-set-right', {});
    node.process.stepWall(this.drawDeviationMs() - this.deviationMs(node.process.clock));
  }

  deviationMs(clock: SimClock): number {
    return clock.wallMs(this.#world.trueMs) - EPOCH_MS - this.#world.trueMs;
  }

  #tick(): void {
    if (this.#boundMs === 0) return;
    const random = this.#random;
    for (const [node, manner] of this.#nodes) {
      if (this.#wrong.has(node) || manner === 'steady') continue;
      const deviationMs = this.deviationMs(node.process.clock);
      if (manner === 'stepped') {
        if (random.chance(0.1)) {
          node.process.stepWall(this.#stepFrom(deviationMs));
          // Timers use the other clock: until that has caught up, the node does not notice an end by this one.
          node.stoppedUntilMs = Math.max(node.stoppedUntilMs, this.#world.trueMs + 2 * this.#boundMs);
        }
        continue;
      }
      const slowest = Math.max(-this.#slew, (-this.#boundMs - deviationMs) / TICK_MS);
      const fastest = Math.min(this.#slew, (this.#boundMs - deviationMs) / TICK_MS);
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
