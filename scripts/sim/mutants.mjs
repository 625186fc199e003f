/**
 * Breaks the protocol on purpose, one fault after the other, and checks that the named promise breaks.
 * A safety test that has never been seen to fail may not be testing anything.
 *
 * A mutant is caught when some seed breaks its promise first. A seed that breaks another promise
 * first is counted, and the search goes on: the fault was noticed, but not by the check whose work
 * this mutant proves.
 *
 * A search from seed 1 takes up to a thousand seeds a mutant. So a protocol may keep a file with the seed that
 * caught each mutant in the last whole search (`recorded-seeds.mjs`), and `npm test` plays only that seed and the
 * few after it. A mutant that none of them catches fails: the worlds have changed, and a whole search has to show
 * that the mutant is still caught. A mutant without a recorded seed is searched for from the start.
 */

import { join } from 'node:path';
import { bundle, BundleError } from '../bundle.mjs';
import { root } from '../project.mjs';

/** @import { Mutant } from '../../leasehold/src/sim/simulation.ts' */
/** @import { Crew } from './crew.mjs' */

/**
 * @typedef {object} MutantReport
 * @property {string} name
 * @property {string} promise
 * @property {string} story
 * @property {number | undefined} caughtBy the seed
 * @property {number} tried seeds played, the catching one included
 * @property {Record<string, number>} others the other promises that broke first, and how often
 * @property {number | undefined} recorded the seed from which the search began, if an earlier search recorded one
 * @property {string | undefined} problem why it could not be tried at all
 */

const SEEDS_DEFAULT = 1_000;

/** How many seeds are played from a recorded one on. */
const SEEDS_FROM_RECORDED = 10;

/**
 * @param {string} entry
 * @param {Mutant} mutant
 * @param {{ maps: boolean }} options whether somebody will read where it broke
 */
export const bundleMutant = (entry, { file, from, to }, { maps }) =>
  bundle(entry, { patch: { file: join(root, 'leasehold', 'src', file), from, to }, maps });

/**
 * @param {Crew} crew
 * @param {string} entry
 * @param {Mutant} mutant
 * @param {{ from: number, seeds: number | undefined, scenarios: boolean, promises: readonly string[], recorded?: number | undefined }} options
 * @returns {Promise<MutantReport>}
 */
export async function hunt(crew, entry, mutant, { from, seeds, scenarios, promises, recorded }) {
  const { name, promise, story } = mutant;
  const start = recorded ?? from;
  const count = recorded === undefined ? (seeds ?? mutant.seeds ?? SEEDS_DEFAULT) : SEEDS_FROM_RECORDED;
  /** @type {MutantReport} */
  const report = {
    name,
    promise,
    story,
    caughtBy: undefined,
    tried: 0,
    others: {},
    recorded,
    problem: undefined,
  };
  try {
    if (promise !== 'assertion' && !promises.includes(promise)) {
      throw new BundleError(`it names the promise ${promise}, which the simulation does not watch`);
    }
    await crew.search({
      bundle: await bundleMutant(entry, mutant, { maps: false }),
      from: start,
      count,
      scenarios,
      use: ({ seed, broken }) => {
        report.tried += 1;
        if (broken?.promise === promise) report.caughtBy = seed;
        else if (broken) report.others[broken.promise] = (report.others[broken.promise] ?? 0) + 1;
        return report.caughtBy === undefined;
      },
    });
  } catch (error) {
    report.problem = error instanceof Error ? error.message : String(error);
  }
  return report;
}
