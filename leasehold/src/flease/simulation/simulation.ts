/**
 * Flease for the runner of seeds.
 */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** Average counts per seed, below which a run proves too little. */
const FLOORS: Readonly<Record<string, number>> = {
  granted: 30,
  renewed: 10,
  'ended, lapsed': 0.5,
  'ended, clock': 0.3,
  'handed over': 3,
  cancelled: 3,
  'told: somebody': 4,
  'told: nobody': 3,
  'fenced writes refused': 3,
  'granted in turn': 15,
  lives: 12,
  'recovering, clock-jumped': 2,
  'recovering, clock-outlier': 0.5,
  views: 0.7,
  settled: 2,
  'refused, outbid': 100,
  'refused, late': 10,
  'refused, recovering': 50,
  'refused, other-view': 10,
  'refused, clock-off': 0.1,
  'wide worlds': 0.08,
  'asked for in bulk': 10,
  'packets that were full': 2,
  'clocks wrong beside others': 0.02,
};

export const simulation: Simulation = {
  name: 'flease',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.flease.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
