/**
 * The members of a simulated engine: several doors to one store.
 *
 * A member that is stopped neither loses what it is asked nor answers it. It keeps it, and when it goes on, some
 * of it is carried out: long after whoever asked has given it up, asked at another door, or died. The
 * other members go on meanwhile. What a stopped member has to tell those who watch it tells when it goes on, all of it.
 *
 *     client   append ──► member 1, stopped        append ──► member 2 ──► done
 *     member 1          ├──────────────────────────────────────────────┤ carried out, or not
 *
 * Of one that is killed nobody hears again what became of what it was asked: some of it was passed on in
 * time and is carried out, and nothing is answered.
 */

import type { Random } from '../sim/random.ts';
import type { World } from '../sim/world.ts';

export const MEMBERS = 3;

/** A third of what a stopped member had been asked was seen to be carried out; all of it may be. */
const CARRIED_OUT_CHANCE = [0.35, 1] as const;
/** Of 261 that a killed one had been asked 133 were, in two runs. */
const PASSED_ON_CHANCE = 0.5;
/** It takes a moment until it has heard from the others again. */
const SOON_MS = 60;

/** What is done at a member; `canAnswer`: whether it has not been killed meanwhile. */
export type Act = (canAnswer: boolean) => void;

interface Kept {
  readonly act: Act;
  /** Whether it is sure to be done when the member goes on. */
  readonly isSure: boolean;
}

interface Member {
  stoppedUntilMs: number;
  isKilled: boolean;
  kept: Kept[];
}

export class SimulatedMembers {
  readonly #world: World;
  readonly #random: Random;
  readonly #members: readonly Member[] = Array.from({ length: MEMBERS }, () => ({
    stoppedUntilMs: 0,
    isKilled: false,
    kept: [],
  }));

  constructor(world: World, random: Random) {
    this.#world = world;
    this.#random = random;
  }

  /** Does at once what a member was asked, or, if it is stopped, when it goes on or never. */
  ask(member: number, act: Act): void {
    this.#through(member, { act, isSure: false });
  }

  /** Does at once what a member has to tell of, or, if it is stopped, when it goes on. */
  tell(member: number, act: Act): void {
    this.#through(member, { act, isSure: true });
  }

  /** Of several stops at once the longest decides. */
  stop(member: number, ms: number): void {
    const stopped = this.#at(member);
    stopped.stoppedUntilMs = Math.max(stopped.stoppedUntilMs, this.#world.trueMs + ms);
    this.#world.after(ms, () => {
      if (this.#world.trueMs >= stopped.stoppedUntilMs) this.#goOn(member);
    });
  }

  /** One that is stopped is also killed: when it goes on, it is another that stands in its place. */
  kill(member: number): void {
    this.#at(member).isKilled = true;
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

  #through(member: number, what: Kept): void {
    const { stoppedUntilMs, kept } = this.#at(member);
    if (this.#world.trueMs < stoppedUntilMs) kept.push(what);
    else what.act(true);
  }

  #at(member: number): Member {
    return this.#members[member % MEMBERS] as Member;
  }

  #goOn(member: number): void {
    const resumed = this.#at(member);
    const { kept, isKilled } = resumed;
    resumed.kept = [];
    resumed.isKilled = false;
    const chance = isKilled ? PASSED_ON_CHANCE : this.#random.pick(CARRIED_OUT_CHANCE);
    for (const { act, isSure } of kept) {
      if (!isSure && !this.#random.chance(chance)) continue;
      const late: Kept = { act: (canAnswer) => act(canAnswer && !isKilled), isSure };
      this.#world.after(this.#random.between(0, SOON_MS), () => this.#through(member, late));
    }
  }
}
