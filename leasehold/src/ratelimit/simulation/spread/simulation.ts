/** Spread limits as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  lives: 4,
  views: 30,
  'takes-part-anew': 6,
  'takes-part-with-its-credits': 6,
  'allowed, spread': 4_000,
  'allowed, share': 500,
  'messages, transfer': 300,
  'messages, settle': 2,
  'messages, settled': 1,
  'messages, probe': 0.8,
  'views heard of early': 3,
  'choke points': 0.3,
  'changes that stick': 0.6,
  'suspensions noticed': 0.5,
  'worlds with a cut that stays': 0.2,
  crashes: 0.8,
  leaves: 0.8,
  partitions: 1,
};

/** How much of the limit must be used in the calm, in all worlds together. */
const CALM_USE_MIN = 0.85;
/** With fewer worlds, chance decides. */
const ENOUGH_SEEDS = 100;

function unused(totals: Readonly<Record<string, number>>, seeds: number): readonly string[] {
  const use = (totals['calm: tokens allowed'] ?? 0) / (totals['calm: tokens of the limit'] ?? 1);
  if (seeds < ENOUGH_SEEDS || use >= CALM_USE_MIN) return [];
  return [`${(100 * use).toFixed(1)} % of the limit is used in the calm, not ${100 * CALM_USE_MIN} %`];
}

export const simulation: Simulation = {
  name: 'spread',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.spread.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  tooLittle: unused,
  mutants,
};
