/** Calls on objects as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  answered: 100,
  turns: 50,
  reads: 20,
  'objects begun': 20,
  evictions: 1,
  moves: 2,
  'moves, forced': 0.5,
  'moves that came back': 1,
  lapses: 1,
  losses: 2,
  crashes: 0.5,
  pauses: 0.5,
  'broken links': 5,
  'suspended callers': 2,
  cycles: 5,
  'failed, over': 0.5,
  'failed, cancelled': 0.5,
  'unknown, over': 1,
  'unknown, lost': 0.5,
  'unknown, forgotten': 0.2,
};

export const simulation: Simulation = {
  name: 'objects',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
