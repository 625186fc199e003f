/**
 * Breaks the protocol on purpose, one fault after the other, and looks whether the promise that
 * should notice does. A safety test that has never been seen to fail may not be testing anything.
 *
 * A mutant is caught when some seed breaks its promise first. A seed that breaks another promise
 * first is noted, and the search goes on: the fault was noticed, but not by the watcher whose work
 * this mutant is there to prove.
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
 * @property {string | undefined} problem why it could not be tried at all
 */

const SEEDS_DEFAULT = 1_000;

/**
 * @param {string} entry
 * @param {Mutant} mutant
 */
export const bundleMutant = (entry, { file, from, to }) =>
  bundle(entry, { patch: { file: join(root, 'leasehold', 'src', file), from, to } });

/**
 * @param {Crew} crew
 * @param {string} entry
 * @param {Mutant} mutant
 * @param {{ from: number, seeds: number | undefined, promises: readonly string[] }} options
 * @returns {Promise<MutantReport>}
 */
export async function hunt(crew, entry, mutant, { from, seeds, promises }) {
  const { name, promise, story } = mutant;
  /** @type {MutantReport} */
  const report = { name, promise, story, caughtBy: undefined, tried: 0, others: {}, problem: undefined };
  try {
    if (promise !== 'assertion' && !promises.includes(promise)) {
      throw new BundleError(`it names the promise ${promise}, which the simulation does not watch`);
    }
    await crew.search({
      bundle: await bundleMutant(entry, mutant),
      from,
      count: seeds ?? mutant.seeds ?? SEEDS_DEFAULT,
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
