/**
 * What the package may cost: its size, and what an import costs before it has done anything.
 *
 * An import is measured by the processor time of fresh processes, not by a clock, because other programs run beside. A busy or a slow
 * machine needs more processor time for the same work too, so the bar is a share of what `import 'express'` takes
 * in the same run, process about process: 45 ms of 75, which express takes on an idle machine of the kind we measure on.
 */

import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { CommandError } from '../command.mjs';
import { root } from '../project.mjs';
import { home } from './library.mjs';
import { npm } from './package.mjs';

const PACKED_MAX = 1_100_000;
const FILES_MAX = 700;
const POOL_SHARE_OF_EXPRESS = 45 / 75;
const PROCESSES = 11;

export async function checkSize() {
  const said = await npm('npm pack', ['pack', '--dry-run', '--json'], home);
  /** @type {unknown} */
  const answer = JSON.parse(said);
  // A list in some versions of npm, an object by the name of the package in others.
  const [packed] = /** @type {{ size: number, entryCount: number }[]} */ (Object.values(Object(answer)));
  if (packed === undefined) throw new CommandError('npm pack told of no package');
  const { size, entryCount } = packed;
  const words = `${(size / 1e6).toFixed(2)} MB packed, ${entryCount} files`;
  if (!(size <= PACKED_MAX && entryCount <= FILES_MAX))
    throw new CommandError(
      `the package is too large: ${words}; at most ${PACKED_MAX / 1e6} MB and ${FILES_MAX} files`,
    );
  console.log(`the package has ${words}`);
}

export function checkImports() {
  const pool = built('pool/index.js');
  /** @type {number[]} */
  const ours = [];
  /** @type {number[]} */
  const theirs = [];
  for (let turn = 0; turn < PROCESSES; turn++) {
    ours.push(imported(pool).processorMs);
    theirs.push(imported('express').processorMs);
  }
  const words = `import 'leasehold/pool' takes ${median(ours).toFixed(0)} ms of processor, import 'express' ${median(theirs).toFixed(0)} ms`;
  if (!(median(ours) <= POOL_SHARE_OF_EXPRESS * median(theirs)))
    throw new CommandError(`${words}: at most ${POOL_SHARE_OF_EXPRESS} of that`);
  console.log(words);
  const network = imported(built('ratelimit/index.js'), 'limit').network;
  if (network.length > 0)
    throw new CommandError(
      `a rate limiter of one process loads ${network.join(', ')}, although it needs no network`,
    );
}

/**
 * In a process of its own, which has loaded nothing else.
 *
 * @param {string[]} args of `import-cost.mjs`
 * @returns {{ processorMs: number, network: readonly string[] }}
 */
function imported(...args) {
  const program = join(root, 'scripts', 'build', 'import-cost.mjs');
  const { status, stdout, stderr } = spawnSync(process.execPath, [program, ...args], {
    ...{ cwd: root, encoding: 'utf8' },
  });
  if (status !== 0) throw new CommandError(`${args[0]} cannot be imported: ${stderr}`);
  return JSON.parse(stdout);
}

const built = (/** @type {string} */ path) => pathToFileURL(join(home, 'dist', path)).href;

const median = (/** @type {number[]} */ values) =>
  values.toSorted((one, other) => one - other)[Math.floor(values.length / 2)] ?? Number.NaN;
