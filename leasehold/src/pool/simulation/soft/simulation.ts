/** Managers that elect each other and keep nothing, as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { PROMISES } from '../checker.ts';
import { mutants } from './mutants.ts';
import { SoftChaos } from './soft-chaos.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  failovers: 1,
  'staged takeovers': 0.6,
  'settings changed': 2,
  'settings refused': 0.3,
  'managers with another takeover': 0.2,
  'trouble, other-durations': 0.2,
  'group changes': 0.2,
  'views settled': 0.2,
  'takeovers lowered': 0.1,
  'power cuts': 0.1,
  'rolling restarts': 0.1,
  'manager pauses': 0.5,
  'manager suspensions': 0.5,
  'owner granted': 10,
  'owner lapsed': 1,
  'lookup lost, history-changed': 2,
};

export const simulation: Simulation = {
  name: 'soft-pool',
  promises: [...PROMISES, 'one-leader'],
  run(seed, { trace }): SeedOutcome {
    const chaos = new SoftChaos(seed, trace);
    return outcomeOf(chaos.soft.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
