/**
 * The pool as the runner of seeds sees it: one seed is one hostile world, and many seeds prove
 * something only if enough has happened in them.
 */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';
import { hasTwoLogs, TwoLogsWorld } from './two-logs-world.ts';

/**
 * What a run of many seeds must contain, on average, to prove anything.
 *
 * Troubles of Managers and dropped leaders were more before some worlds had longer leases: a staged fault lasts for the longest
 * takeover hold that is drawn, and other faults hold back meanwhile. Worlds with a deaf owner, a steady leader or two logs have
 * none. Leaders change in every world with one log.
 */
const FLOORS: Readonly<Record<string, number>> = {
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
  'manager troubles': 0.4,
  'leaders dropped early': 0.4,
  'worlds whose leader changed': 0.9,
  'stores found to be put back': 0.05,
  'counters raised': 0.05,
  'lookup lost, reported': 5,
  'lookup lost, cut-off': 0.2,
  forgeries: 5,
  'records remove': 0.05,
  reconfigurations: 0.1,
  'leases shortened': 0.03,
  'worlds watched for starvation': 0.1,
  'batches stuck': 0.03,
  namesakes: 0.3,
  'worlds with partial lists of Managers': 0.03,
  'supervisors killed': 0.1,
  'certificates forged': 0.3,
  'deaf owners': 0.03,
  'worlds with two leaders': 0.03,
  'worlds with a new log': 0.022,
  'worlds with a copied log': 0.03,
  disagreements: 0.1,
};

export const simulation: Simulation = {
  name: 'pool',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    if (hasTwoLogs(seed)) {
      const two = new TwoLogsWorld(seed, trace);
      return outcomeOf(two.world, seed, () => two.run());
    }
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.pool.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  mutants,
};
