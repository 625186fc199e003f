/**
 * `npm test`: everything that has to hold before a change is shared, in three rows of steps (`test/steps.mjs`), each one
 * step after the other. `npm run test:long`: the long variants of tests. A step that fails does not keep the rest from being tried; its output is shown when it ends.
 *
 * The last line is `N passed, N failed`, alone. It counts every single test of a step of
 * tests, and every other step as one. When tests fail as a whole although none of them
 * did (a file that does not load, an error outside a test), that is one failure more.
 */

import process from 'node:process';
import { didYouMean, parseArguments } from './arguments.mjs';
import { runCommand, UsageError } from './command.mjs';
import { Progress } from './progress.mjs';
import { countTests, longSteps, quickSteps, steps } from './test/steps.mjs';
import { endGivingWay, runStep, stopSteps } from './test/run-step.mjs';
import { table } from './table.mjs';

/** @import { Step } from './test/steps.mjs' */
/** @typedef {{ readonly step: Step, readonly ok: boolean, readonly seconds: number, readonly processorSeconds: number, readonly passed: number, readonly failed: number }} Result */

const HELP = `Type check, lint, format, tests, simulation, deliberate faults, real processes.

  npm test [-- options]

  --only STEP   this step alone; may be a list: --only types,lint
  --only quick  types, lint, format, tidy checks and the tests of what you changed, but for real processes
  --only unit   all tests of vitest: fast, scenarios, real
  --long        the long variants of tests, as npm run test:long
  --record      with the step real: write down how long each file took, which decides their order next time
  --help        this text

Steps, by row. The rows go on side by side; worlds give way to the others:
${table(
  [...steps]
    .sort((one, other) => one.row.localeCompare(other.row))
    .map(({ row, name, what }) => [`  ${row}`, name, what]),
).join('\n')}`;

const TESTS = 'fast,scenarios,real';

/** @param {string | undefined} only */
function chosen(only) {
  if (only === undefined) return steps;
  if (only === 'quick') return quickSteps;
  const names = [...steps.map((step) => step.name), 'quick', 'unit'];
  return (only === 'unit' ? TESTS : only).split(',').map((name) => {
    const step = steps.find((each) => each.name === name);
    if (step === undefined) throw new UsageError(`there is no step ${name}${didYouMean(name, names)}`);
    return step;
  });
}

/** What each step that is under way said last. @type {Map<Step, () => string>} */
const underWay = new Map();

/**
 * @param {Step} step
 * @param {boolean} record
 * @returns {Promise<Result>}
 */
async function tryStep(step, record) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  let latest = '';
  console.log(`▸ ${step.name}: ${step.what}`);
  underWay.set(step, () => `${step.name} ${seconds().toFixed(0)} s  ${latest}`);
  const { ok, output, processorSeconds } = await runStep(step, (line) => (latest = line));
  underWay.delete(step);
  if (!ok) {
    console.log(output.replace(/^/gm, '  │ '));
  }
  const last = ok && step.sayLast ? `  ${output.split('\n').at(-1)}` : '';
  console.log(`${ok ? '✓' : '✗'} ${step.name} ${seconds().toFixed(1)} s${last}\n`);
  const counted = step.counts ? countTests(step.name, ok, record && step.name === 'real') : undefined;
  return {
    step,
    ok,
    seconds: seconds(),
    processorSeconds,
    ...(counted ?? { passed: ok ? 1 : 0, failed: ok ? 0 : 1 }),
  };
}

/**
 * @param {readonly Step[]} row
 * @param {boolean} record
 */
async function tryInTurn(row, record) {
  /** @type {Result[]} */
  const results = [];
  for (const step of row) results.push(await tryStep(step, record));
  return results;
}

/**
 * @param {readonly Step[]} wanted
 * @param {boolean} record
 */
async function tryAll(wanted, record) {
  const progress = new Progress(() => `  ${[...underWay.values()].map((say) => say()).join('   |   ')}`);
  /** @param {Step['row']} row */
  const tryRow = (row) =>
    tryInTurn(
      wanted.filter((step) => step.row === row),
      record,
    );
  const worlds = tryRow('worlds');
  const others = Promise.all([tryRow('on time'), tryRow('package')]);
  void others.then(endGivingWay);
  const results = [...(await others), await worlds].flat();
  progress[Symbol.dispose]();
  return results;
}

/** @param {readonly Result[]} results */
function summarize(results) {
  const rows = results.map(({ step, ok, seconds, processorSeconds, passed, failed }) => [
    ok ? '✓' : '✗',
    step.name,
    `${seconds.toFixed(1).padStart(6)} s`,
    processorSeconds > 0 ? `${processorSeconds.toFixed(1).padStart(6)} s of processor time` : '',
    step.counts ? `${passed} passed, ${failed} failed` : ok ? 'passed' : 'failed',
  ]);
  for (const line of table(rows)) console.log(line);
  const first = results.find(({ ok }) => !ok);
  if (first !== undefined) {
    console.log(`\nThe first to fail was ${first.step.name}; its output is above.`);
    console.log(`Again, alone: npm test -- --only ${first.step.name}`);
  }
  /** @param {'passed' | 'failed'} what */
  const sum = (what) => results.reduce((total, result) => total + result[what], 0);
  console.log(`\n${sum('passed')} passed, ${sum('failed')} failed`);
}

await runCommand('npm test --', async () => {
  const { words, flags, values } = parseArguments(process.argv.slice(2), {
    flags: ['help', 'long', 'record'],
    values: ['only'],
  });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  if (words.length > 0) throw new UsageError(`nothing is expected here, but got ${words.join(' ')}`);
  const wanted = flags.has('long') ? longSteps() : chosen(values.only);
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.once(signal, () => {
      console.log('\nInterrupted.');
      void stopSteps().then(() => process.exit(130));
    });
  }
  const results = await tryAll(wanted, flags.has('record'));
  summarize(results);
  return results.every(({ ok }) => ok) ? 0 : 1;
});
