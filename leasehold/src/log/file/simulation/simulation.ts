/**
 * The file log as the runner of seeds sees it. Its code awaits promises, so a seed is played by
 * `runAsync`, and `run` resolves to the outcome.
 */

import type { SeedOutcome, Simulation, SimulationOptions } from '../../../sim/simulation.ts';
import { BrokenPromise } from '../../../sim/world.ts';
import { PROMISES } from './checker.ts';
import { FileLogWorld } from './file-log-world.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const ENOUGH: Readonly<Record<string, number>> = {
  appended: 50,
  refused: 0.5,
  elections: 5,
  opened: 5,
  'power-cut': 2,
  kill: 1,
  fatal: 1,
  'torn tails cut': 0.2,
  'damage noticed': 0.2,
  'compactions asked for': 2,
};

/** Fewer seeds are a look, not a proof; nothing is expected of them. */
const ENOUGH_SEEDS = 100;

export const simulation: Omit<Simulation, 'run'> & {
  run(seed: number, options: SimulationOptions): Promise<SeedOutcome>;
} = {
  name: 'file-log',
  promises: PROMISES,
  async run(seed, { trace }): Promise<SeedOutcome> {
    const log = new FileLogWorld(seed, trace);
    let broken: SeedOutcome['broken'];
    try {
      await log.run();
    } catch (error) {
      if (error instanceof BrokenPromise) broken = { promise: error.promise, message: error.message };
      else
        broken = {
          promise: 'assertion',
          message: error instanceof Error ? (error.stack ?? error.message) : String(error),
        };
    }
    const counts = Object.fromEntries(log.world.counts);
    return { seed, broken, counts, trace: trace ? log.world.story() : undefined };
  },
  tooLittle(totals, seeds): readonly string[] {
    if (seeds < ENOUGH_SEEDS) return [];
    return Object.entries(ENOUGH).flatMap(([what, mean]) => {
      const got = totals[what] ?? 0;
      return got >= mean * seeds
        ? []
        : [`only ${got} ${what} in ${seeds} seeds, expected at least ${Math.ceil(mean * seeds)}`];
    });
  },
  mutants,
};
