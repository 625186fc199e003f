/** Shared limits as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  'allowed, owner': 200,
  'allowed, batch': 200,
  'denied, owner': 100,
  'denied, cached': 300,
  'allowed, share': 10,
  'allowed, open': 30,
  'denied, closed': 100,
  'fresh starts': 20,
  'holders that go on': 0.2,
  moves: 1,
  crashes: 0.5,
  partitions: 0.1,
  refunds: 5,
  'suspensions noticed': 0.2,
  'worlds, calm': 0.03,
  'worlds, flood': 0.03,
  'worlds, hoard': 0.06,
  'worlds, hand-over': 0.06,
  'worlds, leaving': 0.06,
  'keys taken over': 2,
  'tokens let through': 20,
};

/** How much of the tokens of a central limiter, which is never cut off, must be allowed in all worlds of a kind together. */
const USE_AT_LEAST: Readonly<Record<string, number>> = { calm: 0.95, storm: 0.6 };

/** With fewer worlds of a kind, chance decides. */
const ENOUGH_SEEDS = 300;

function unused(totals: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(USE_AT_LEAST).flatMap(([kind, least]) => {
    const use =
      (totals[`${kind}: tokens allowed`] ?? 0) / (totals[`${kind}: tokens of a central limiter`] ?? 1);
    return use >= least
      ? []
      : [`${kind}: ${(100 * use).toFixed(1)} % of the limit is used, not ${100 * least} %`];
  });
}

export const simulation: Simulation = {
  name: 'ratelimit',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  tooLittle: (totals, seeds) => (seeds < ENOUGH_SEEDS ? [] : unused(totals)),
  mutants,
};
