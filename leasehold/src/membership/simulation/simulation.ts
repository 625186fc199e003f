/** Membership as the runner of seeds sees it. */

import { outcomeOf, type SeedOutcome, shortfalls, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const ENOUGH: Readonly<Record<string, number>> = {
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
  panics: 0.03,
  'instants at which a server continues': 350,
  'rights continued': 1_000,
  'messages settled, delivered': 40,
  'messages settled, new-view': 2,
  'messages settled, panic': 0.06,
  'worlds with cuts that stay': 0.3,
  'clients: deliver-view': 5,
  'clients: start-change': 1,
  'clients: panic': 0.3,
  'client-detached': 2,
  'faults of clients': 3,
  'instants at which a client acts': 1_500,
  'worlds with a registry': 0.15,
  'worlds, usurped': 0.03,
  'worlds, restored': 0.02,
  'stores put back': 0.03,
  stories: 0.03,
  'leases ended early': 0.1,
  'faults of etcd': 0.2,
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
  tooLittle: (totals, seeds) => shortfalls(ENOUGH, totals, seeds),
  mutants,
};
