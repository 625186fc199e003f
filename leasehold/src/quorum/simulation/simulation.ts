/** The quorum protocol as the runner of seeds sees it. */

import { Random } from '../../sim/random.ts';
import { outcomeOf, type SeedOutcome, type Simulation } from '../../sim/simulation.ts';
import { PROMISES } from './checker.ts';
import { drawWorld } from './drawn-world.ts';
import { calm, worsen } from './hostile-world.ts';
import { mutants } from './mutants.ts';
import { QuorumWorld } from './quorum-world.ts';
import { SCENARIOS } from './scenarios.ts';

/** So often the schedules that are too rare for chance are played before the drawn world. */
const SEEDS_PER_SCENARIOS = 100;

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  'slots chosen': 90,
  'slots with several requests': 10,
  configurations: 7,
  'result: done': 35,
  'result: unmet': 11,
  'result: no-session': 0.5,
  'answered near the client': 30,
  'duplicates chosen': 25,
  'read: local': 140,
  'read: held': 30,
  'read: leader': 15,
  'read: quorum': 20,
  'read: log': 10,
  'leases lapsed': 6,
  'suspensions noticed': 0.2,
  lives: 7,
  'traced: leads': 2.5,
  'traced: steps-down': 1.2,
  'traced: compacted': 10,
  'traced: installed': 0.4,
  'changed: placement': 3,
  'worlds whose holders change all the time': 0.33,
  'traced: places': 0.25,
  'changed: replace': 0.4,
  'changed: add': 0.05,
  'changed: remove': 0.02,
  repaired: 0.1,
  'votes lost': 0.02,
  'copies refused': 0.1,
  'copies confirmed': 3,
  'copies whose votes nobody wrote down': 0.2,
  'members lost in the calm': 0.2,
  'histories decided': 0.95,
  'trouble: reader cut off': 0.5,
  'trouble: changing majorities': 0.5,
};

export const simulation: Simulation = {
  name: 'quorum',
  promises: PROMISES,
  run(seed, { trace, scenarios = true }): SeedOutcome {
    const quorum = new QuorumWorld(seed, trace, drawWorld(new Random(seed, 'drawn')));
    return outcomeOf(quorum.world, seed, () => {
      if (scenarios && seed % SEEDS_PER_SCENARIOS === 1) for (const play of Object.values(SCENARIOS)) play();
      worsen(quorum);
      calm(quorum);
    });
  },
  floors: FLOORS,
  mutants,
};
