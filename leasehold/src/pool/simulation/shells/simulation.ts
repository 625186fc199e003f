/** Owners as applications have them, as the runner of seeds sees them. */

import {
  outcomeOfAsync,
  type SeedOutcome,
  type Simulation,
  type SimulationOptions,
} from '../../../sim/simulation.ts';
import { ITEM_PROMISES } from './items-ledger.ts';
import { PROMISES } from './ledger.ts';
import { mutants } from './mutants.ts';
import { ShellsChaos } from './shells-chaos.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  'work done': 50,
  'work lost': 1,
  'entries found': 20,
  'upcalls, granted': 5,
  'upcalls, revoked': 3,
  'upcalls, lost': 3,
  'worlds with moves': 0.4,
  moves: 1,
  'keys moved': 1,
  'items written': 60,
  'items found': 50,
  'upcalls, about to depart': 1.5,
  'upcalls, departing in a stop': 1.5,
  'upcalls, arrived': 1,
  drains: 2,
};

export const simulation: Omit<Simulation, 'run'> & {
  run(seed: number, options: SimulationOptions): Promise<SeedOutcome>;
} = {
  name: 'pool-shells',
  promises: [...PROMISES, ...ITEM_PROMISES],
  run(seed, { trace }): Promise<SeedOutcome> {
    const chaos = new ShellsChaos(seed, trace);
    return outcomeOfAsync(chaos.pool.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
