/** The log on etcd, as the runner of seeds sees it. */

import type { SeedOutcome, Simulation } from '../../../sim/simulation.ts';
import { BrokenPromise } from '../../../sim/world.ts';
import { PROMISES } from './checker.ts';
import { EtcdLogWorld } from './etcd-log-world.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const ENOUGH: Readonly<Record<string, number>> = {
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

/** Fewer seeds are a look, not a proof; nothing is expected of them. */
const ENOUGH_SEEDS = 100;

export const simulation: Simulation = {
  name: 'etcd-log',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const log = new EtcdLogWorld(seed, trace);
    let broken: SeedOutcome['broken'];
    try {
      log.run();
    } catch (error) {
      broken =
        error instanceof BrokenPromise
          ? { promise: error.promise, message: error.message }
          : { promise: 'assertion', message: error instanceof Error ? String(error.stack) : String(error) };
    }
    const counts = Object.fromEntries(log.world.counts);
    return { seed, broken, counts, trace: trace ? log.world.story() : undefined };
  },
  tooLittle(totals, seeds): readonly string[] {
    if (seeds < ENOUGH_SEEDS) return [];
    return Object.entries(ENOUGH).flatMap(([what, mean]) => {
      const [got, expected] = [totals[what] ?? 0, Math.ceil(mean * seeds)];
      return got >= expected ? [] : [`only ${got} ${what} in ${seeds} seeds, expected at least ${expected}`];
    });
  },
  mutants,
};
