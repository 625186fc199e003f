/** Managers on the directory of one machine, the default deployment, as the runner of seeds sees them. */

import {
  outcomeOfAsync,
  type SeedOutcome,
  type Simulation,
  type SimulationOptions,
} from '../../../sim/simulation.ts';
import { PROMISES } from '../checker.ts';
import { FileChaos } from './file-chaos.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  elections: 3,
  commits: 30,
  losses: 15,
  'owner granted': 20,
  'owner lapsed': 2,
  'owner resumed': 1,
  'records merge': 5,
  'records silent': 1,
  'managers killed': 0.5,
  'power cuts': 0.5,
  'short restarts': 0.5,
  'first starts claimed': 0.3,
  'syncs failed': 0.4,
  'disks full': 0.4,
  'directories replaced': 0.15,
  failovers: 0.1,
  'batches found that nobody had heard of': 0.15,
  'not opened, LOCK_HELD': 5,
  'fatal, STORAGE_FAILED': 0.2,
  'fatal, LOG_REPLACED': 0.1,
  'lookup lost, reported': 15,
  'lookup lost, history-changed': 0.2,
};

export const simulation: Omit<Simulation, 'run'> & {
  run(seed: number, options: SimulationOptions): Promise<SeedOutcome>;
} = {
  name: 'file-pool',
  promises: PROMISES,
  run(seed, { trace }): Promise<SeedOutcome> {
    const chaos = new FileChaos(seed, trace);
    return outcomeOfAsync(chaos.pool.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
