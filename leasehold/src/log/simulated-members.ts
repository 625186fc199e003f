/**
 * The members of a simulated engine: several doors to one store.
 *
 * A stopped member neither loses requests nor answers them. The member keeps the requests, and some are carried out
 * when the member goes on: long after the client has given up, asked another member, or died. The other members go on
 * meanwhile. Notices of a stopped member to watching clients are sent when the member goes on, all of them.
 *
 *     client   append ──► member 1, stopped        append ──► member 2 ──► done
 *     member 1          ├──────────────────────────────────────────────┤ carried out, or not
 *
 * Requests to a killed member stay without an answer: some were passed on in time and are carried out, and nothing is
 * answered.
 */

import type { Random } from '../sim/random.ts';
import type { World } from '../sim/world.ts';

export const MEMBERS = 3;

/** A third of the requests to a stopped member was seen to be carried out; all of them may be. */
const CARRIED_OUT_CHANCE = [0.35, 1] as const;
/** Of 261 that a killed one had been asked 133 were, in two runs. */
const PASSED_ON_CHANCE = 0.5;
/** The member needs a moment to hear from the others again. */
const SOON_MS = 60;

/** An action at a member; `canAnswer`: whether the member has not been killed meanwhile. */
export type Act = (canAnswer: boolean) => void;

interface Kept {
  readonly act: Act;
  /** Whether the action is certain when the member goes on. */
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

  /** Carries out a request at once, or, if the member is stopped, when the member goes on or never. */
  ask(member: number, act: Act): void {
    this.#through(member, { act, isSure: false });
  }

  /** Sends a notice at once, or, if the member is stopped, when the member goes on. */
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

  /** A stopped member is killed too: another stands in that place afterwards. */
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

  /** The pending requests are lost. */
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
