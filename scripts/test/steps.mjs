/**
 * The steps of `npm test`, quickest first: what is wrong most often shows soonest.
 *
 * Some steps wait for real processes and real time most of the while, some work on the built package, and the rest
 * only calculates. So there are three rows side by side, and the calculating row gives way: a test that waits must not
 * be late because a simulation has the processor.
 *
 *     on time      types  lint  format  unit ─────  e2e ────────────
 *     package      build  nodes ──
 *     in between   sim ────  mutants ─────────  sim-log  …  mutants-flease ───  fuzz
 */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { cache, root, tools } from '../project.mjs';

/**
 * @typedef {object} Step
 * @property {string} name as in `--only`
 * @property {string} what a few words
 * @property {readonly (readonly string[])[]} commands for Node, in order; all must succeed
 * @property {boolean} [counts] its single tests are counted, see {@link countTests}
 * @property {boolean} [sayLast] its last line says something worth reading
 * @property {boolean} [isPackage] makes or tries the built package, in a row of its own
 * @property {boolean} [calculates] it knows no time but that of its own worlds, and can be done in between
 */

const testResults = join(cache, `leasehold-tests-${process.pid}.json`);
const sim = join(root, 'scripts', 'sim.mjs');
const json = ['--reporter=default', '--reporter=json', `--outputFile.json=${testResults}`];

/** @type {readonly Step[]} */
export const steps = [
  {
    name: 'types',
    what: 'type check',
    commands: [
      [tools.tsc, '-p', join(root, 'tsconfig.json')],
      [tools.tsc, '-p', join(root, 'apps', 'page', 'tsconfig.json')],
      [tools.tsc, '-p', join(root, 'scripts', 'tsconfig.json')],
    ],
  },
  {
    name: 'lint',
    what: 'lint',
    commands: [[tools.biome, 'lint', '--error-on-warnings', '--max-diagnostics=50', root]],
  },
  {
    name: 'format',
    what: 'format (npm run format mends it)',
    commands: [[tools.biome, 'format', '--max-diagnostics=50', root]],
  },
  {
    name: 'unit',
    what: 'unit tests and tidy checks',
    commands: [[join(root, 'scripts', 'setup-tools.mjs')], [tools.vitest, 'run', ...json]],
    counts: true,
  },
  {
    name: 'build',
    what: 'the package, built and installed into an empty project',
    commands: [[join(root, 'scripts', 'build.mjs')]],
    sayLast: true,
    isPackage: true,
  },
  {
    name: 'nodes',
    what: 'the built package on Node 20, 22 and 24',
    commands: [[join(root, 'scripts', 'nodes.mjs'), '--built']],
    sayLast: true,
    isPackage: true,
  },
  {
    name: 'sim',
    what: 'the pool in 200 hostile worlds',
    commands: [[sim, 'pool', '--seeds', '200']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants',
    what: 'deliberate faults in the pool, each to be caught',
    commands: [[sim, 'pool', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-log',
    what: 'the log on a file, through power cuts and failing disks',
    commands: [[sim, 'file-log', '--seeds', '300']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-log',
    what: 'deliberate faults in the log, each to be caught',
    commands: [[sim, 'file-log', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-etcd',
    what: 'the log on etcd, through everything that etcd and networks do',
    commands: [[sim, 'etcd-log', '--seeds', '300']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-etcd',
    what: 'deliberate faults in the log on etcd, each to be caught',
    commands: [[sim, 'etcd-log', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-file-pool',
    what: 'Managers on the directory of one machine in 60 hostile worlds',
    commands: [[sim, 'file-pool', '--seeds', '60']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-file-pool',
    what: 'deliberate faults in Managers on a directory, each to be caught',
    commands: [[sim, 'file-pool', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-pool-shells',
    what: 'owners as applications have them in 100 hostile worlds',
    commands: [[sim, 'pool-shells', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-pool-shells',
    what: 'deliberate faults in what applications call, each to be caught',
    commands: [[sim, 'pool-shells', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-soft-pool',
    what: 'Managers that keep nothing in 60 hostile worlds',
    commands: [[sim, 'soft-pool', '--seeds', '60']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-soft-pool',
    what: 'deliberate faults in Managers that keep nothing, each to be caught',
    commands: [[sim, 'soft-pool', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-flease',
    what: 'flease in 300 hostile worlds',
    commands: [[sim, 'flease', '--seeds', '300']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-flease',
    what: 'deliberate faults in flease, each to be caught',
    commands: [[sim, 'flease', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-quorum',
    what: 'the quorum core in 100 hostile worlds',
    commands: [[sim, 'quorum', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-quorum',
    what: 'deliberate faults in the quorum core, each to be caught',
    commands: [[sim, 'quorum', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-quorum-log',
    what: 'the log on a quorum group in 100 hostile worlds',
    commands: [[sim, 'quorum-log', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-quorum-log',
    what: 'deliberate faults in the log on a quorum group, each to be caught',
    commands: [[sim, 'quorum-log', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-quorum-founding',
    what: 'the founding of quorum groups in 100 hostile worlds',
    commands: [[sim, 'quorum-founding', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-quorum-founding',
    what: 'deliberate faults in the founding of quorum groups, each to be caught',
    commands: [[sim, 'quorum-founding', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-membership',
    what: 'groups in 100 hostile worlds',
    commands: [[sim, 'membership', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-membership',
    what: 'deliberate faults in groups, each to be caught',
    commands: [[sim, 'membership', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-ratelimit',
    what: 'shared limits in 300 hostile worlds',
    commands: [[sim, 'ratelimit', '--seeds', '300']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-ratelimit',
    what: 'deliberate faults in shared limits, each to be caught',
    commands: [[sim, 'ratelimit', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-spread',
    what: 'spread limits in 100 hostile worlds',
    commands: [[sim, 'spread', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-spread',
    what: 'deliberate faults in spread limits, each to be caught',
    commands: [[sim, 'spread', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'sim-ratelimit-group',
    what: 'limits shared in a group in 100 hostile worlds',
    commands: [[sim, 'ratelimit-group', '--seeds', '100']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'mutants-ratelimit-group',
    what: 'deliberate faults in limits shared in a group, each to be caught',
    commands: [[sim, 'ratelimit-group', '--mutants', '--recorded']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'fuzz',
    what: 'a million inputs that no honest peer would send',
    commands: [[join(root, 'scripts', 'fuzz.mjs'), '--inputs', '1000000']],
    sayLast: true,
    calculates: true,
  },
  {
    name: 'e2e',
    what: 'real processes: killed, stopped, cut off, with false clocks and failing disks',
    commands: [
      [join(root, 'scripts', 'setup-tools.mjs')],
      [tools.vitest, 'run', '--config', join(root, 'e2e', 'vitest.config.ts'), ...json],
    ],
    counts: true,
  },
];

/**
 * Steps to run after every change, in under a minute: `npm test -- --only quick`. Unit tests are those that import, by
 * however many steps, a file that differs from the last commit; but not those with real servers and processes
 * (`real-*.test.ts`), which wait for minutes.
 *
 * @type {readonly Step[]}
 */
export const quickSteps = [
  ...steps.filter(({ name }) => ['types', 'lint', 'format'].includes(name)),
  {
    name: 'tidy',
    what: 'tidy checks, and whether every mutant still fits its source',
    commands: [[tools.vitest, 'run', 'scripts/tidy.test.ts', 'scripts/sim/mutants-fit.test.ts', ...json]],
    counts: true,
  },
  {
    name: 'changed',
    what: 'unit tests of what differs from the last commit, but for real servers and processes (real-*.test.ts)',
    commands: [
      [tools.vitest, 'run', '--changed', '--passWithNoTests', '--exclude', '**/real-*.test.ts', ...json],
    ],
    counts: true,
  },
];

/**
 * How many tests passed and failed, by what vitest wrote down.
 *
 * @param {boolean} ok whether vitest was content
 */
export function countTests(ok) {
  let [passed, failed] = [0, 0];
  try {
    const results = JSON.parse(readFileSync(testResults, 'utf8'));
    [passed, failed] = [Number(results.numPassedTests), Number(results.numFailedTests)];
  } catch {
    // It ended before it could write anything.
  }
  rmSync(testResults, { force: true });
  return { passed, failed: !ok && failed === 0 ? 1 : failed };
}
