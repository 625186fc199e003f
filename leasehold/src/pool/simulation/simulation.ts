/**
 * The pool as the runner of seeds sees it: one seed is one hostile world, and many seeds prove
 * something only if enough has happened in them.
 */

import { outcomeOf, type SeedOutcome, shortfalls, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const ENOUGH: Readonly<Record<string, number>> = {
  elections: 2,
  commits: 20,
  losses: 5,
  'owner granted': 10,
  'owner lapsed': 0.5,
  'owner resumed': 0.2,
  'owner revoking': 3,
  'records merge': 1,
  'records renumber': 0.2,
  'owner crashes': 1,
  'owner suspensions': 0.3,
  'manager troubles': 1,
  'leaders dropped early': 0.7,
  'worlds whose leader changed': 1,
  'stores found to be put back': 0.05,
  'counters raised': 0.05,
  'lookup lost, reported': 5,
  'lookup lost, cut-off': 0.2,
};

export const simulation: Simulation = {
  name: 'pool',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.pool.world, seed, () => chaos.run());
  },
  tooLittle: (totals, seeds) => shortfalls(ENOUGH, totals, seeds),
  mutants,
};
