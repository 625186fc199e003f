/** The quorum protocol as the runner of seeds sees it. */

import { Random } from '../../sim/random.ts';
import { outcomeOf, type SeedOutcome, shortfalls, type Simulation } from '../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { drawWorld } from './drawn-world.ts';
import { mutants } from './mutants.ts';
import { QuorumWorld } from './quorum-world.ts';
import { SCENARIOS } from './scenarios.ts';

/** So often the schedules that are too rare for chance are played before the drawn world. */
const SEEDS_PER_SCENARIOS = 100;

/** What a run of many seeds must contain, on average, to prove anything. */
const ENOUGH: Readonly<Record<string, number>> = {
  'slots chosen': 60,
  'slots with several requests': 5,
  configurations: 5,
  'result: done': 30,
  'result: unmet': 8,
  'result: no-session': 1,
  'answered near the client': 30,
  'duplicates chosen': 8,
  'read: local': 25,
  'read: held': 3,
  'read: leader': 10,
  'read: quorum': 8,
  'read: log': 5,
  'leases lapsed': 5,
  'suspensions noticed': 0.4,
  lives: 6,
  'traced: leads': 2,
  'traced: steps-down': 0.7,
  'traced: compacted': 10,
  'traced: installed': 0.4,
  'changed: placement': 1.5,
  'worlds whose holders change all the time': 0.33,
  'traced: places': 0.8,
  'changed: replace': 0.4,
  'changed: add': 0.08,
  'changed: remove': 0.02,
  repaired: 0.25,
  'votes lost': 0.01,
  'copies refused': 0.03,
  'copies confirmed': 0.002,
  'copies whose votes nobody wrote down': 0.03,
  'members lost in the calm': 0.2,
  'histories decided': 0.95,
};

export const simulation: Simulation = {
  name: 'quorum',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(new QuorumWorld(seed, trace, drawWorld(new Random(seed, 'drawn'))));
    return outcomeOf(chaos.quorum.world, seed, () => {
      if (seed % SEEDS_PER_SCENARIOS === 1) for (const play of Object.values(SCENARIOS)) play();
      chaos.run();
    });
  },
  tooLittle: (totals, seeds) => shortfalls(ENOUGH, totals, seeds),
  mutants,
};
