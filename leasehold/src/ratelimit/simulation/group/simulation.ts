/** Limits that servers of a group share, as the runner of seeds sees them. */

import { outcomeOf, type SeedOutcome, type Simulation } from '../../../sim/simulation.ts';
import { Chaos } from './chaos.ts';
import { PROMISES } from './checker.ts';
import { mutants } from './mutants.ts';

/** What a run of many seeds must contain, on average, to prove anything. */
const FLOORS: Readonly<Record<string, number>> = {
  'allowed, owner': 200,
  'allowed, batch': 200,
  'denied, owner': 100,
  'denied, cached': 100,
  'denied, closed': 20,
  'fresh starts': 5,
  claims: 300,
  crashes: 0.3,
  partitions: 0.3,
  'worlds, calm': 0.03,
  'worlds, sleeping': 0.03,
  'worlds, there-and-back': 0.03,
  'worlds, leaving': 0.03,
  'worlds, comes-over': 0.06,
  'worlds, parted': 0.03,
  'worlds, one-hot': 0.06,
  'worlds, handing': 0.06,
  'keys taken over': 0.2,
  'servers that stop sharing': 0.3,
  'worlds with a server that does not share': 0.05,
  'tokens let through': 20,
};

/**
 * How much of the tokens of a central limiter, which is never cut off, must be allowed in all worlds of a kind together; and how many times the tokens of
 * static parts. Static parts are at their worst when one server has nearly all requests, and at their best when every server has more than its part.
 */
const USE_AT_LEAST: Readonly<Record<string, { readonly ofCentral: number; readonly ofStatic: number }>> = {
  calm: { ofCentral: 0.95, ofStatic: 1 },
  storm: { ofCentral: 0.6, ofStatic: 0 },
  'one-hot': { ofCentral: 0.6, ofStatic: 1.5 },
};
const ENOUGH_SEEDS = 300;

function unused(totals: Readonly<Record<string, number>>): readonly string[] {
  return Object.entries(USE_AT_LEAST).flatMap(([kind, least]) => {
    const tokens = (what: string): number => totals[`${kind}: tokens ${what}`] ?? 0;
    const ofCentral = tokens('allowed') / tokens('of a central limiter');
    const ofStatic = tokens('allowed') / tokens('of static parts');
    const told = `${kind}: ${(100 * ofCentral).toFixed(1)} % of a central limiter, ${ofStatic.toFixed(2)} times static parts`;
    return ofCentral >= least.ofCentral && ofStatic >= least.ofStatic ? [] : [told];
  });
}

export const simulation: Simulation = {
  name: 'ratelimit-group',
  promises: PROMISES,
  run(seed, { trace }): SeedOutcome {
    const chaos = new Chaos(seed, trace);
    return outcomeOf(chaos.limits.world, seed, () => chaos.run());
  },
  floors: FLOORS,
  tooLittle: (totals, seeds) => (seeds < ENOUGH_SEEDS ? [] : unused(totals)),
  mutants,
};
