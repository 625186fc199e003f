/**
 * `npm test`: everything that has to hold before a change is shared, in three rows of steps, each one step after the
 * other. A step that fails does not keep the rest from being tried; its output is shown when it ends.
 *
 * The last line is `N passed, N failed`, alone. It counts every unit test (the tidy checks are
 * among them) and every end-to-end test, and every other step as one. When tests fail as a whole although none of them
 * did (a file that does not load, an error outside a test), that is one failure more.
 */

import process from 'node:process';
import { didYouMean, parseArguments } from './arguments.mjs';
import { runCommand, UsageError } from './command.mjs';
import { Progress } from './progress.mjs';
import { countTests, quickSteps, steps } from './test/steps.mjs';
import { runStep, stopSteps } from './test/run-step.mjs';
import { table } from './table.mjs';

/** @import { Step } from './test/steps.mjs' */
/** @typedef {{ readonly step: Step, readonly ok: boolean, readonly seconds: number, readonly passed: number, readonly failed: number }} Result */

const HELP = `Type check, lint, format, unit tests, simulation, deliberate faults, real processes.

  npm test [-- options]

  --only STEP   this step alone; may be a list: --only types,lint
  --only quick  types, lint, format, tidy checks and the unit tests of what you changed
  --help        this text

Steps:
${table(steps.map(({ name, what }) => [`  ${name}`, what])).join('\n')}`;

/** @param {string | undefined} only */
function chosen(only) {
  if (only === undefined) return steps;
  if (only === 'quick') return quickSteps;
  const names = [...steps.map((step) => step.name), 'quick'];
  return only.split(',').map((name) => {
    const step = steps.find((each) => each.name === name);
    if (step === undefined) throw new UsageError(`there is no step ${name}${didYouMean(name, names)}`);
    return step;
  });
}

/** What each step that is under way said last. @type {Map<Step, () => string>} */
const underWay = new Map();

/**
 * @param {Step} step
 * @returns {Promise<Result>}
 */
async function tryStep(step) {
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  let latest = '';
  console.log(`▸ ${step.name}: ${step.what}`);
  underWay.set(step, () => `${step.name} ${seconds().toFixed(0)} s  ${latest}`);
  const { ok, output } = await runStep(step, (line) => (latest = line));
  underWay.delete(step);
  if (!ok) {
    console.log(output.replace(/^/gm, '  │ '));
  }
  const last = ok && step.sayLast ? `  ${output.split('\n').at(-1)}` : '';
  console.log(`${ok ? '✓' : '✗'} ${step.name} ${seconds().toFixed(1)} s${last}\n`);
  const counted = step.counts ? countTests(ok) : undefined;
  return { step, ok, seconds: seconds(), ...(counted ?? { passed: ok ? 1 : 0, failed: ok ? 0 : 1 }) };
}

/** @param {readonly Step[]} row */
async function tryInTurn(row) {
  /** @type {Result[]} */
  const results = [];
  for (const step of row) results.push(await tryStep(step));
  return results;
}

/**
 * Steps that wait, steps of the package and steps that calculate, side by side.
 *
 * @param {readonly Step[]} wanted
 */
async function tryAll(wanted) {
  const progress = new Progress(() => `  ${[...underWay.values()].map((say) => say()).join('   |   ')}`);
  const rows = [
    wanted.filter((step) => !step.calculates && !step.isPackage),
    wanted.filter((step) => step.isPackage),
    wanted.filter((step) => step.calculates),
  ];
  const results = (await Promise.all(rows.map(tryInTurn))).flat();
  progress[Symbol.dispose]();
  return results;
}

/** @param {readonly Result[]} results */
function summarize(results) {
  const rows = results.map(({ step, ok, seconds, passed, failed }) => [
    ok ? '✓' : '✗',
    step.name,
    `${seconds.toFixed(1).padStart(6)} s`,
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
    flags: ['help'],
    values: ['only'],
  });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  if (words.length > 0) throw new UsageError(`nothing is expected here, but got ${words.join(' ')}`);
  const wanted = chosen(values.only);
  for (const signal of /** @type {const} */ (['SIGINT', 'SIGTERM'])) {
    process.once(signal, () => {
      console.log('\nInterrupted.');
      void stopSteps().then(() => process.exit(130));
    });
  }
  const results = await tryAll(wanted);
  summarize(results);
  return results.every(({ ok }) => ok) ? 0 : 1;
});
