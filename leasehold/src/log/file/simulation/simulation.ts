/**
 * The file log for the runner of seeds. The code awaits promises, so a seed is played by `runAsync`, and `run`
 * resolves to the outcome.
 */

import {
  outcomeOfAsync,
  type SeedOutcome,
  type Simulation,
  type SimulationOptions,
} from '../../../sim/simulation.ts';
import { PROMISES } from './checker.ts';
import { FileLogWorld } from './file-log-world.ts';
import { mutants } from './mutants.ts';

/** The average counts that many seeds must reach to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  appended: 50,
  refused: 0.5,
  elections: 5,
  opened: 5,
  'power-cut': 2,
  kill: 1,
  fatal: 1,
  'torn tails cut': 0.2,
  'damage noticed': 0.2,
  replace: 0.3,
  'compactions asked for': 2,
};

export const simulation: Omit<Simulation, 'run'> & {
  run(seed: number, options: SimulationOptions): Promise<SeedOutcome>;
} = {
  name: 'file-log',
  promises: PROMISES,
  run(seed, { trace }): Promise<SeedOutcome> {
    const log = new FileLogWorld(seed, trace);
    return outcomeOfAsync(log.world, seed, () => log.run());
  },
  floors: FLOORS,
  mutants,
};
