/** Moves of keys with their state, as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { PROMISES } from '../checker.ts';
import { MovesChaos } from './moves-chaos.ts';
import { MOVE_PROMISES } from './moves-check.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  moves: 4,
  writes: 300,
  'clean worlds': 0.15,
  'owner handed': 4,
  'owner arriving': 4,
  'owner returned': 0.15,
  'abandoned: withdrawn': 0.2,
  'keys lost': 3,
  drains: 2,
  overlaps: 0.2,
  'drains taken back': 0.3,
  'manager crashes': 0.7,
  'owner crashes': 0.4,
  'owners hit in a move': 0.2,
  'hand-overs disturbed': 0.1,
  'transfers cut': 0.8,
  'owners that cannot move': 0.5,
  'records renumber': 0.5,
  'records merge': 0.5,
};

export const simulation: Simulation = {
  name: 'moves',
  promises: [...PROMISES, ...MOVE_PROMISES],
  run(seed, { trace }): SeedOutcome {
    const chaos = new MovesChaos(seed, trace);
    return outcomeOf(chaos.pool.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
