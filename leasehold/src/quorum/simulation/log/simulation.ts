/** The fenced log on a quorum cell as the runner of seeds sees it. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { PROMISES } from './log-checker.ts';
import { LogWorld } from './log-world.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  'log: appended': 15,
  'log: elected': 5,
  'log: extended': 10,
  'log: deposed: superseded': 2,
  'log: deposed: lease-ended': 0.3,
  'log: resigned': 1,
  'log: compaction': 2,
  'log: reset': 6,
  'log: head': 25,
  'suspensions noticed': 0.3,
  'changed: replace': 0.2,
};

export const simulation: Simulation = {
  name: 'quorum-log',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const log = new LogWorld(seed, trace);
    return outcomeOf(log.world, seed, () => log.run());
  },
  floors: FLOORS,
  mutants,
};
