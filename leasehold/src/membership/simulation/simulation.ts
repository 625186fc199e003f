/** Membership as the runner of seeds sees it. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  views: 20,
  'views of several': 14,
  lives: 4,
  crashes: 0.8,
  leaves: 0.4,
  partitions: 1,
  'servers that come over': 0.15,
  'suspensions noticed': 0.4,
  'new-incarnation': 0.5,
  doubt: 0.6,
  'times without a view': 0.03,
  // No server crashes in the worlds that have troubles of clients only (one of twelve) or are stalled (one of 24): 350 and 1,000 in each of the others.
  'instants at which a server continues': 320,
  'rights continued': 870,
  'messages settled, delivered': 40,
  'messages settled, new-view': 2,
  'messages settled, no-view': 0.06,
  'instants at which shards are held': 1_500,
  'letters handed over': 20,
  'letters settled, delivered': 15,
  'letters settled, new-view': 2,
  'letters settled, unknown': 0.1,
  'worlds with cuts that stay': 0.3,
  'clients: deliver-view': 5,
  'clients: start-change': 1,
  'clients: no-view': 0.3,
  'client-detached': 2,
  'faults of clients': 3,
  'troubles of clients': 0.6,
  'instants at which a client acts': 1_500,
  'worlds with a registry': 0.15,
  'worlds, usurped': 0.03,
  'worlds, restored': 0.02,
  'stores put back': 0.03,
  stories: 0.03,
  'leases ended early': 0.1,
  'faults of etcd': 0.2,
  'worlds, stalled': 0.03,
  'servers that stand still': 0.15,
  'worlds, slow-pair': 0.03,
  'worlds, drifting': 0.03,
  'worlds, deaf-middle': 0.03,
  'worlds, data-lost': 0.03,
};

export const simulation: Simulation = {
  name: 'membership',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.group.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
