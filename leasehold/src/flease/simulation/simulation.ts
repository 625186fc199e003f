/** Flease as the runner of seeds sees it. */

import type { SeedOutcome, Simulation } from '../../sim/simulation.ts';
import { BrokenPromise } from '../../sim/world.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const ENOUGH: Readonly<Record<string, number>> = {
  granted: 30,
  renewed: 10,
  'ended, lapsed': 0.5,
  'ended, clock': 0.3,
  'handed over': 3,
  cancelled: 3,
  'told: somebody': 4,
  'told: nobody': 3,
  'fenced writes refused': 3,
  'granted in turn': 15,
  lives: 12,
  'silent, clock-jumped': 2,
  'silent, odd-one-out': 0.5,
  views: 0.7,
  settled: 2,
  'refused, outbid': 100,
  'refused, late': 10,
  'refused, recovering': 50,
  'refused, other-view': 10,
  'refused, clock-off': 0.1,
};

/** Fewer seeds are a look, not a proof; nothing is expected of them. */
const ENOUGH_SEEDS = 100;

export const simulation: Simulation = {
  name: 'flease',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    const { world } = chaos.flease;
    let broken: SeedOutcome['broken'];
    try {
      chaos.run();
    } catch (error) {
      if (error instanceof BrokenPromise) broken = { promise: error.promise, message: error.message };
      else
        broken = {
          promise: 'assertion',
          message: error instanceof Error ? (error.stack ?? error.message) : String(error),
        };
    }
    return {
      seed,
      broken,
      counts: Object.fromEntries(world.counts),
      trace: trace ? world.story() : undefined,
    };
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
