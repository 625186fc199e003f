/**
 * The calm after the faults: all servers run, the network loses a few messages, and demand stays. In half of the worlds one link stays cut, one
 * way or both, so that members have to use the overlay.
 *
 *  - **converges.** All members take part in one view, and credits follow demand.
 *  - **conserves.** No credit was lost since the members took part, and few are on their way.
 *  - **no-starvation.** Every member with traffic is allowed something.
 */

import { CREDIT } from '../../core/spread/credits.ts';
import { totalCredits } from './checker.ts';
import type { SpreadWorld } from './spread-world.ts';

const SETTLE_MS = 12_000;
const DEMAND_MS = 9_000;
const WATCHED_MS = 2_000;
/** The losses may have cost the view once more. */
const AGAIN_MS = 12_000;
const CALM_LOSS = 0.05;
const HELD_MIN = 0.9;
/** The part of the credits that may be at the wrong members. */
const MISPLACED_MAX = 0.15;

export class Calm {
  readonly #spread: SpreadWorld;

  constructor(spread: SpreadWorld) {
    this.#spread = spread;
  }

  run(): void {
    const spread = this.#spread;
    const { world, network, members, random, options } = spread;
    const stopped = members.map(({ server }) => server.stoppedUntilMs);
    spread.run(Math.max(0, ...stopped.map((untilMs) => untilMs - world.trueMs)) + 500);
    network.heal();
    const isInOrder = options.links.inOrder === true;
    const lossChance = isInOrder ? 0 : CALM_LOSS;
    network.setFaults({ lossChance, duplicateChance: isInOrder ? 0 : 0.05, slowChance: 0, breakChance: 0 });
    for (const { server } of members) {
      server.losesLargeMessages = false;
      spread.startServer(server);
    }
    const keepsCut = members.length > 2 && random.chance(0.5);
    spread.run(SETTLE_MS);
    spread.traffic.forEach((traffic, index) => {
      traffic.flows = 1 + index;
      traffic.offered = options.limit * (index === 0 ? 1.5 : 0.2);
    });
    if (keepsCut) {
      world.count('worlds with a cut that stays');
      network.cut(spread.memberAt(1).server.name, spread.memberAt(0).server.name);
      if (random.chance(0.5)) network.cut(spread.memberAt(0).server.name, spread.memberAt(1).server.name);
    }
    spread.run(DEMAND_MS);
    network.setFaults({ lossChance: 0 });
    if (!this.#isOneCohort()) spread.run(AGAIN_MS);
    const before = [...spread.checker.allowed];
    spread.run(WATCHED_MS);
    this.#takePart();
    this.#follow();
    spread.traffic.forEach((_, index) => {
      const tokens = (spread.checker.allowed[index] ?? 0) - (before[index] ?? 0);
      world.count('calm: tokens allowed', Math.round(tokens));
      if (tokens <= 0)
        throw world.broken('no-starvation', `member ${index} is allowed nothing for ${WATCHED_MS} ms`);
    });
    world.count('calm: tokens of the limit', Math.round((options.limit * WATCHED_MS) / 1_000));
    this.#conserve();
  }

  #isOneCohort(): boolean {
    const { members } = this.#spread;
    const [first] = members;
    return members.every(
      ({ alive }) =>
        alive?.participation.takesPart === true &&
        alive.participation.cohort === first?.alive?.participation.cohort,
    );
  }

  #takePart(): void {
    const { members, world } = this.#spread;
    if (this.#isOneCohort()) return;
    const cohorts = new Set(members.map(({ alive }) => alive?.participation.cohort));
    throw world.broken('converges', `the members take part in ${[...cohorts].join(' and ')}`);
  }

  /** Credits are where the demand is, but for a part. */
  #follow(): void {
    const { members, world } = this.#spread;
    const demands = members.map(({ alive }) => alive?.demand ?? 0);
    const credits = members.map(({ alive }) => alive?.credits ?? 0);
    const total = demands.reduce((sum, demand) => sum + demand, 0);
    const misplaced = demands.reduce(
      (sum, demand, index) => sum + Math.max(0, demand / total - (credits[index] ?? 0) / members.length),
      0,
    );
    if (misplaced <= MISPLACED_MAX) return;
    const text = demands.map((demand, index) => `${demand.toFixed(1)} has ${credits[index]?.toFixed(3)}`);
    throw world.broken('converges', `${(100 * misplaced).toFixed(0)} % misplaced: ${text.join(', ')}`);
  }

  /** Items that were voided come back within an answer; until then they are nowhere. */
  #conserve(): void {
    const { members, world } = this.#spread;
    const wanted = members.length * CREDIT;
    for (let tries = 0; tries < 40 && totalCredits(members) !== wanted; tries++) this.#spread.run(50);
    const total = totalCredits(members);
    if (total !== wanted) throw world.broken('conserves', `${total / CREDIT} credits of ${members.length}`);
    const held = members.reduce((sum, { alive }) => sum + (alive?.credits ?? 0), 0);
    if (held < HELD_MIN * members.length)
      throw world.broken(
        'conserves',
        `${members.length - held} credits of ${members.length} are on their way`,
      );
  }
}
