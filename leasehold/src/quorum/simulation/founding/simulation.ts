/** The founding of cells as the runner of seeds sees it. Replicas await their disks, so `run` resolves to the outcome. */

import {
  outcomeOfAsync,
  type SeedOutcome,
  type Simulation,
  type SimulationOptions,
} from '../../../sim/simulation.ts';
import { PROMISES } from './checker.ts';
import { FoundingWorld } from './founding-world.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  founders: 4,
  founded: 1.2,
  'founded across lists': 0.03,
  'words heard': 100,
  empty: 0.4,
  cut: 1,
  restore: 0.2,
  'begun again': 0.3,
  'wrong lists': 0.5,
  'names missing': 0.3,
  'lists corrected': 0.15,
  'refused by another cluster': 2,
  'ended: emptied-directory': 2,
  'ended: running-twice': 0.2,
};

export const simulation: Omit<Simulation, 'run'> & {
  run(seed: number, options: SimulationOptions): Promise<SeedOutcome>;
} = {
  name: 'quorum-founding',
  promises: PROMISES,
  run(seed, { trace }): Promise<SeedOutcome> {
    const founding = new FoundingWorld(seed, trace);
    return outcomeOfAsync(founding.world, seed, () => founding.run());
  },
  floors: FLOORS,
  mutants,
};
