/**
 * The seed that caught each mutant in the last whole search, in a committed file beside the protocol's simulation:
 * `npm run sim -- <protocol> --mutants --record` writes the file, `--recorded` reads it.
 *
 * Only the tool writes the file, after all mutants were tried. A mutant gets a new seed by a search from seed 1: otherwise a
 * rare fault could be recorded with the one lucky seed that somebody found, and nobody would see that the worlds are too
 * kind. With `--record --recorded` a mutant that is still caught by the recorded seed keeps that seed, and an interrupted run
 * keeps the old seeds of the mutants that were not tried yet, so that the next run can go on from there. A mutant without a
 * seed is searched for from seed 1, also with `--recorded`: no mutant is ever left out.
 */

import { existsSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname, join, resolve } from 'node:path';
import { root } from '../project.mjs';

/** @import { MutantReport } from './mutants.mjs' */

/** @param {string} entry the module that exports the simulation */
export const seedsFileOf = (entry) => join(dirname(resolve(root, entry)), 'mutant-seeds.json');

/**
 * @param {string} path
 * @returns {Readonly<Record<string, number>>} by the mutant's name; empty where nothing was recorded
 */
export function readSeeds(path) {
  return existsSync(path) ? JSON.parse(readFileSync(path, 'utf8')) : {};
}

/**
 * @param {string} path
 * @param {readonly MutantReport[]} reports of the mutants that were tried
 * @param {Readonly<Record<string, number>>} earlier seeds, for the mutants that were not tried
 */
export function writeSeeds(path, reports, earlier) {
  const tried = new Set(reports.map(({ name }) => name));
  const seeds = [
    ...Object.entries(earlier).filter(([name]) => !tried.has(name)),
    ...reports.flatMap(({ name, caughtBy }) => (caughtBy === undefined ? [] : [[name, caughtBy]])),
  ];
  seeds.sort(([one], [other]) => (String(one) < String(other) ? -1 : 1));
  writeFileSync(path, `${JSON.stringify(Object.fromEntries(seeds), undefined, 2)}\n`);
}
