/**
 * The steps of `npm test`, in rows that go on side by side; the steps of a row follow each other, quickest first, so that
 * what is wrong most often shows soonest.
 *
 *     on time   types  lint  format  fast ──  real ──────────────────────────────
 *     package   build  nodes ──
 *     worlds    sim ────  mutants ─────────  scenarios  sim-log  …  mutants-flease ───  fuzz
 *
 * Tests of real processes wait for real time, and must not be late because a simulation has the processor: the row
 * `worlds` gives way until the other rows are done (`run-step.mjs`). `kinds.mjs` says which test file is of which kind.
 */

import { readFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import process from 'node:process';
import { cache, root, tools } from '../project.mjs';
import { kindOf, testFiles } from './kinds.mjs';
import { recordSeconds } from './seconds.mjs';

/**
 * @typedef {object} Step
 * @property {string} name as in `--only`
 * @property {string} what a few words
 * @property {readonly (readonly string[])[]} commands for Node, in order; all must succeed
 * @property {'on time' | 'package' | 'worlds'} row
 * @property {boolean} [counts] its single tests are counted, see {@link countTests}
 * @property {boolean} [sayLast] its last line says something worth reading
 * @property {Readonly<Record<string, string>>} [environment]
 */

const sim = join(root, 'scripts', 'sim.mjs');

/** @param {string} step */
const resultsOf = (step) => join(cache, `leasehold-tests-${process.pid}-${step}.json`);

/**
 * @param {string} step
 * @param {readonly string[]} args
 */
const vitest = (step, ...args) => [
  tools.vitest,
  'run',
  ...args,
  '--reporter=default',
  '--reporter=json',
  `--outputFile.json=${resultsOf(step)}`,
];

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
    row: 'on time',
  },
  {
    name: 'lint',
    what: 'lint',
    commands: [[tools.biome, 'lint', '--error-on-warnings', '--max-diagnostics=50', root]],
    row: 'on time',
  },
  {
    name: 'format',
    what: 'format (npm run format mends it)',
    commands: [[tools.biome, 'format', '--max-diagnostics=50', root]],
    row: 'on time',
  },
  {
    name: 'fast',
    what: 'tests that know no time but what they are told, and tidy checks',
    commands: [vitest('fast', '--project=fast')],
    row: 'on time',
    counts: true,
  },
  {
    name: 'real',
    what: 'real processes: started, killed, stopped, cut off, with false clocks and failing disks',
    commands: [[join(root, 'scripts', 'setup-tools.mjs')], vitest('real', '--project=real')],
    row: 'on time',
    counts: true,
  },
  {
    name: 'build',
    what: 'the package, built and installed into an empty project',
    commands: [[join(root, 'scripts', 'build.mjs')]],
    sayLast: true,
    row: 'package',
  },
  {
    name: 'nodes',
    what: 'the built package on Node 20, 22 and 24',
    commands: [[join(root, 'scripts', 'nodes.mjs'), '--built']],
    sayLast: true,
    row: 'package',
  },
  {
    name: 'sim',
    what: 'the pool in 200 hostile worlds',
    commands: [[sim, 'pool', '--seeds', '200']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants',
    what: 'deliberate faults in the pool, each to be caught',
    commands: [[sim, 'pool', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'scenarios',
    what: 'worlds that were written by hand, and the tests of the simulations',
    commands: [vitest('scenarios', '--project=worlds')],
    row: 'worlds',
    counts: true,
  },
  {
    name: 'sim-log',
    what: 'the log on a file, through power cuts and failing disks',
    commands: [[sim, 'file-log', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-log',
    what: 'deliberate faults in the log, each to be caught',
    commands: [[sim, 'file-log', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-etcd',
    what: 'the log on etcd, through everything that etcd and networks do',
    commands: [[sim, 'etcd-log', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-etcd',
    what: 'deliberate faults in the log on etcd, each to be caught',
    commands: [[sim, 'etcd-log', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-file-pool',
    what: 'Managers on the directory of one machine in 60 hostile worlds',
    commands: [[sim, 'file-pool', '--seeds', '60']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-file-pool',
    what: 'deliberate faults in Managers on a directory, each to be caught',
    commands: [[sim, 'file-pool', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-pool-shells',
    what: 'owners as applications have them in 100 hostile worlds',
    commands: [[sim, 'pool-shells', '--seeds', '100']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-pool-shells',
    what: 'deliberate faults in what applications call, each to be caught',
    commands: [[sim, 'pool-shells', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-moves',
    what: 'keys that move with their state in 60 hostile worlds',
    commands: [[sim, 'moves', '--seeds', '60']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-moves',
    what: 'deliberate faults in moves of keys, each to be caught',
    commands: [[sim, 'moves', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-soft-pool',
    what: 'Managers that keep nothing in 60 hostile worlds',
    commands: [[sim, 'soft-pool', '--seeds', '60']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-soft-pool',
    what: 'deliberate faults in Managers that keep nothing, each to be caught',
    commands: [[sim, 'soft-pool', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-flease',
    what: 'flease in 300 hostile worlds',
    commands: [[sim, 'flease', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-flease',
    what: 'deliberate faults in flease, each to be caught',
    commands: [[sim, 'flease', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-quorum',
    what: 'the quorum core in 300 hostile worlds',
    commands: [[sim, 'quorum', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-quorum',
    what: 'deliberate faults in the quorum core, each to be caught',
    commands: [[sim, 'quorum', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-quorum-log',
    what: 'the log on a quorum group in 100 hostile worlds',
    commands: [[sim, 'quorum-log', '--seeds', '100']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-quorum-log',
    what: 'deliberate faults in the log on a quorum group, each to be caught',
    commands: [[sim, 'quorum-log', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-quorum-founding',
    what: 'the founding of quorum groups in 200 hostile worlds',
    commands: [[sim, 'quorum-founding', '--seeds', '200']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-quorum-founding',
    what: 'deliberate faults in the founding of quorum groups, each to be caught',
    commands: [[sim, 'quorum-founding', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-membership',
    what: 'groups in 300 hostile worlds',
    commands: [[sim, 'membership', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-membership',
    what: 'deliberate faults in groups, each to be caught',
    commands: [[sim, 'membership', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-objects',
    what: 'calls on objects in 200 hostile worlds',
    commands: [[sim, 'objects', '--seeds', '200']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-objects',
    what: 'deliberate faults in calls on objects, each to be caught',
    commands: [[sim, 'objects', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-ratelimit',
    what: 'shared limits in 300 hostile worlds',
    commands: [[sim, 'ratelimit', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-ratelimit',
    what: 'deliberate faults in shared limits, each to be caught',
    commands: [[sim, 'ratelimit', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-spread',
    what: 'spread limits in 100 hostile worlds',
    commands: [[sim, 'spread', '--seeds', '100']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-spread',
    what: 'deliberate faults in spread limits, each to be caught',
    commands: [[sim, 'spread', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'sim-ratelimit-group',
    what: 'limits shared in a group in 300 hostile worlds',
    commands: [[sim, 'ratelimit-group', '--seeds', '300']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'mutants-ratelimit-group',
    what: 'deliberate faults in limits shared in a group, each to be caught',
    commands: [[sim, 'ratelimit-group', '--mutants', '--recorded']],
    sayLast: true,
    row: 'worlds',
  },
  {
    name: 'fuzz',
    what: 'a million inputs that no honest peer would send',
    commands: [[join(root, 'scripts', 'fuzz.mjs'), '--inputs', '1000000']],
    sayLast: true,
    row: 'worlds',
  },
];

/**
 * Steps to run after every change, in under a minute: `npm test -- --only quick`. Its tests are those, fast or of worlds, that import, by
 * however many steps, a file that differs from the last commit; not those of real processes, which wait for minutes.
 *
 * @type {readonly Step[]}
 */
export const quickSteps = [
  ...steps.filter(({ name }) => ['types', 'lint', 'format'].includes(name)),
  {
    name: 'tidy',
    what: 'tidy checks, and whether every mutant still fits its source',
    commands: [vitest('tidy', 'scripts/tidy.test.ts', 'scripts/sim/mutants-fit.test.ts')],
    row: 'on time',
    counts: true,
  },
  {
    name: 'changed',
    what: 'tests of what differs from the last commit, but for those of real processes',
    commands: [vitest('changed', '--changed', '--passWithNoTests', '--project=fast', '--project=worlds')],
    row: 'on time',
    counts: true,
  },
];

/**
 * `npm run test:long`: the files whose tests have a long variant, in that variant. They ask for it by `inject('long')`,
 * which `vitest.config.ts` answers.
 *
 * @returns {readonly Step[]}
 */
export function longSteps() {
  const files = testFiles().filter((path) =>
    readFileSync(join(root, path), 'utf8').includes("inject('long')"),
  );
  /** @param {(path: string) => boolean} are @returns {readonly string[]} */
  const those = (are) => files.filter(are);
  const environment = { LEASEHOLD_TEST_LONG: 'yes' };
  return [
    {
      name: 'long-worlds',
      what: 'long variants of simulated worlds',
      commands: [vitest('long-worlds', ...those((path) => kindOf(path) !== 'real'))],
      row: 'worlds',
      counts: true,
      environment,
    },
    {
      name: 'long-real',
      what: 'long variants of tests with real processes',
      commands: [
        [join(root, 'scripts', 'setup-tools.mjs')],
        vitest('long-real', ...those((path) => kindOf(path) === 'real')),
      ],
      row: 'on time',
      counts: true,
      environment,
    },
  ];
}

/**
 * How many tests of a step passed and failed, by what vitest wrote down.
 *
 * @param {string} step
 * @param {boolean} ok whether vitest was content
 * @param {boolean} record whether to write down how long each file took
 */
export function countTests(step, ok, record) {
  const place = resultsOf(step);
  let [passed, failed] = [0, 0];
  try {
    const results = JSON.parse(readFileSync(place, 'utf8'));
    [passed, failed] = [Number(results.numPassedTests), Number(results.numFailedTests)];
    if (record) recordSeconds(results.testResults);
  } catch (error) {
    // Without a report it ended before it could write anything, and then it is not content either.
    if (ok) throw error;
  }
  rmSync(place, { force: true });
  return { passed, failed: !ok && failed === 0 ? 1 : failed };
}
