/** The log on etcd, as the runner of seeds sees it. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { PROMISES } from './checker.ts';
import { EtcdLogWorld } from './etcd-log-world.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  appended: 100,
  refused: 0.5,
  elected: 5,
  extended: 10,
  deposed: 1,
  resigned: 2,
  compaction: 10,
  reset: 8,
  head: 30,
  kill: 0.5,
  pause: 1,
  cut: 1,
  'etcd-down': 1,
  'etcd-leader-change': 1,
  'etcd-stale': 1,
  'etcd-full': 0.4,
  'etcd-compaction': 1,
  'watches-deaf': 1,
  'watches-end': 1,
  restored: 0.2,
  recovered: 0.4,
  zombie: 0.1,
  halts: 0.1,
  wiped: 0.1,
};

export const simulation: Simulation = {
  name: 'etcd-log',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const log = new EtcdLogWorld(seed, trace);
    return outcomeOf(log.world, seed, () => log.run());
  },
  floors: FLOORS,
  mutants,
};
