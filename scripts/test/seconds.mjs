/**
 * How long each file of real tests took when the times were last recorded, so that the longest begin first: a long file
 * that begins last runs alone, and everybody waits for it.
 *
 * The times are in `real-seconds.json`; `npm test -- --only real --record` measures and writes them. They decide the order
 * and nothing else, so it does no harm that they are from another machine. A file that is not among them comes last.
 */

import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { root } from '../project.mjs';

const place = join(root, 'scripts', 'test', 'real-seconds.json');

/** For shorter ones the order does not matter. */
const LEAST_SECONDS = 2;

/**
 * By path from the root of the repository.
 *
 * @returns {Readonly<Record<string, number>>}
 */
export const recordedSeconds = () => JSON.parse(readFileSync(place, 'utf8'));

/**
 * @typedef {object} FileResult one of those in vitest's JSON report
 * @property {string} name path of the file
 * @property {number} startTime
 * @property {number} endTime
 */

/** @param {readonly FileResult[]} results */
export function recordSeconds(results) {
  const rows = results
    .map(
      ({ name, startTime, endTime }) =>
        /** @type {const} */ ([name.slice(root.length + 1), Math.round((endTime - startTime) / 1000)]),
    )
    .filter(([, seconds]) => seconds >= LEAST_SECONDS)
    .sort(([one, oneSeconds], [other, otherSeconds]) =>
      oneSeconds === otherSeconds ? one.localeCompare(other) : otherSeconds - oneSeconds,
    );
  writeFileSync(place, `${JSON.stringify(Object.fromEntries(rows), undefined, 2)}\n`);
}
