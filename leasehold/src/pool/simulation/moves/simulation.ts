/** Moves of keys with their state, as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { PROMISES } from '../checker.ts';
import { Random } from '../../../sim/random.ts';
import type { World } from '../../../sim/world.ts';
import { MovesChaos } from './moves-chaos.ts';
import { MOVE_PROMISES } from './moves-check.ts';
import { mutants } from './mutants.ts';
import { SoftMoves } from './soft-moves.ts';
import { TwoLogsMoves } from './two-logs-moves.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  moves: 4,
  writes: 300,
  'clean worlds': 0.15,
  'owner handed': 4,
  'owner arriving': 4,
  'owner returned': 0.15,
  'abandoned: withdrawn': 0.2,
  'keys lost': 3,
  drains: 2,
  overlaps: 0.2,
  'drains taken back': 0.3,
  'manager crashes': 0.7,
  'owner crashes': 0.4,
  'owners hit in a move': 0.2,
  'hand-overs disturbed': 0.1,
  'transfers cut': 0.8,
  'owners that cannot move': 0.5,
  'records renumber': 0.5,
  'records merge': 0.5,
  'moves without a log': 1,
  'moved beside two logs': 1,
  'handed over beside two logs': 1,
  'arrivals to be taken up': 4,
};

export const simulation: Simulation = {
  name: 'moves',
  promises: [...PROMISES, ...MOVE_PROMISES],
  run(seed, { trace }): SeedOutcome {
    const drawn = draw(seed, trace);
    return outcomeOf(drawn.world, seed, () => drawn.run());
  },
  floors: FLOORS,
  mutants,
};

/** Most Managers share one log; some keep nothing, and some are two that know nothing of each other. */
function draw(seed: number, trace: boolean): { readonly world: World; run(): void } {
  const kind = new Random(seed).fork('moves, kind of world').next();
  if (kind < 0.1) return new SoftMoves(seed, trace);
  return kind < 0.2 ? new TwoLogsMoves(seed, trace) : new MovesChaos(seed, trace);
}
