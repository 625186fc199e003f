/**
 * The members of a simulated engine: several doors to one store.
 *
 * A member that is stopped neither loses what it is asked nor answers it. It keeps it, and when it goes on, some
 * of it is carried out: long after whoever asked has given it up, asked at another door, or died. The
 * other members go on meanwhile. What a stopped member has to tell those who watch is kept likewise.
 *
 *     client   append ──► member 1, stopped        append ──► member 2 ──► done
 *     member 1          ├──────────────────────────────────────────────┤ carried out, or not
 */

import type { Random } from '../sim/random.ts';
import type { World } from '../sim/world.ts';

export const MEMBERS = 3;

/** A third of what a stopped member had been asked was seen to be carried out; all of it may be. */
const CARRIED_OUT_CHANCE = [0.35, 1] as const;
/** It takes a moment until it has heard from the others again. */
const SOON_MS = 60;

interface Member {
  stoppedUntilMs: number;
  kept: (() => void)[];
}

export class SimulatedMembers {
  readonly #world: World;
  readonly #random: Random;
  readonly #members: readonly Member[] = Array.from({ length: MEMBERS }, () => ({
    stoppedUntilMs: 0,
    kept: [],
  }));

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  /** Does this at once, or, at a member that is stopped, when it goes on or never. */
  through(member: number, act: () => void): void {
    const { stoppedUntilMs, kept } = this.#at(member);
    if (this.#world.trueMs < stoppedUntilMs) kept.push(act);
    else act();
  }

  /** Of several stops at once the longest decides. */
  stop(member: number, ms: number): void {
    const stopped = this.#at(member);
    stopped.stoppedUntilMs = Math.max(stopped.stoppedUntilMs, this.#world.trueMs + ms);
    this.#world.after(ms, () => {
      if (this.#world.trueMs >= stopped.stoppedUntilMs) this.#goOn(member);
    });
  }

  /** All go on. */
  resume(): void {
    this.#members.forEach((stopped, member) => {
      stopped.stoppedUntilMs = 0;
      this.#goOn(member);
    });
  }

  /** What they were asked is lost. */
  forget(): void {
    for (const member of this.#members) member.kept = [];
  }

  #at(member: number): Member {
    return this.#members[member % MEMBERS] as Member;
  }

  #goOn(member: number): void {
    const resumed = this.#at(member);
    const { kept } = resumed;
    resumed.kept = [];
    const chance = this.#random.pick(CARRIED_OUT_CHANCE);
    for (const act of kept) {
      if (!this.#random.chance(chance)) continue;
      this.#world.after(this.#random.between(0, SOON_MS), () => this.through(member, act));
    }
  }
}
