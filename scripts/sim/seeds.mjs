/**
 * Plays a range of seeds and says how it went: the plain use of a simulation.
 */

/** @import { SeedOutcome } from '../../leasehold/src/sim/simulation.ts' */
/** @import { Crew } from './crew.mjs' */

/** @typedef {{ readonly seed: number, readonly promise: string, readonly message: string, readonly trace: readonly string[] }} Failure */

/**
 * @typedef {object} SeedsReport
 * @property {number} from
 * @property {number} wanted how many seeds were asked for; fewer are played when it stops early
 * @property {number} passed
 * @property {number} failed
 * @property {Failure[]} failures with their traces; at most as many as one reads
 * @property {Record<string, number>} totals
 * @property {readonly string[]} shortfalls where too little happened to prove anything
 */

/** So many failures are shown with their traces, and so many end a run that is not to keep going. */
export const FAILURES_MAX = 10;

/**
 * @param {Crew} crew
 * @param {object} request
 * @param {string} request.bundle
 * @param {number} request.from
 * @param {number} request.count
 * @param {boolean} request.scenarios
 * @param {boolean} request.keepGoing
 * @param {SeedsReport} request.report filled in as it goes, so that an interrupted run can be reported too
 * @param {(failure: Failure) => void} [request.onFailure]
 */
export async function playSeeds(crew, { bundle, from, count, scenarios, keepGoing, report, onFailure }) {
  let described = Promise.resolve();
  /** @param {SeedOutcome} outcome */
  const use = (outcome) => {
    for (const [name, value] of Object.entries(outcome.counts)) {
      report.totals[name] = (report.totals[name] ?? 0) + value;
    }
    if (outcome.broken === undefined) {
      report.passed += 1;
      return true;
    }
    report.failed += 1;
    if (report.failed <= FAILURES_MAX) {
      described = described.then(async () => {
        const failure = await describeFailure(crew, bundle, outcome, scenarios);
        report.failures.push(failure);
        onFailure?.(failure);
      });
    }
    return keepGoing || report.failed < FAILURES_MAX;
  };
  await crew.search({ bundle, from, count, scenarios, use });
  await described;
}

/**
 * @param {number} from
 * @param {number} wanted
 * @returns {SeedsReport}
 */
export const emptyReport = (from, wanted) => ({
  from,
  wanted,
  passed: 0,
  failed: 0,
  failures: [],
  totals: {},
  shortfalls: [],
});

/**
 * Plays a failing seed again, this time with a trace. Should it go another way now, that is worse
 * news than the failure: no seed of this simulation can be relied upon.
 *
 * @param {Crew} crew
 * @param {string} bundle
 * @param {SeedOutcome} outcome
 * @param {boolean} scenarios
 * @returns {Promise<Failure>}
 */
async function describeFailure(crew, bundle, { seed, broken }, scenarios) {
  const again = await playOne(crew, bundle, { seed, scenarios });
  const promise = broken?.promise ?? '';
  let message = broken?.message ?? '';
  if (again.broken?.promise !== promise || again.broken.message !== message) {
    const otherwise = again.broken ? `${again.broken.promise}: ${again.broken.message}` : 'no promise broken';
    message += `\nNOT REPEATABLE: played again with a trace, the same seed gave: ${otherwise}`;
  }
  return { seed, promise, message, trace: again.trace ?? [] };
}

/**
 * @param {Crew} crew
 * @param {string} bundle
 * @param {{ seed: number, scenarios: boolean }} which
 * @returns {Promise<SeedOutcome>}
 */
export async function playOne(crew, bundle, { seed, scenarios }) {
  /** @type {SeedOutcome | undefined} */
  let found;
  await crew.search({
    bundle,
    from: seed,
    count: 1,
    trace: true,
    scenarios,
    use: (outcome) => ((found = outcome), true),
  });
  if (found === undefined) throw new Error(`seed ${seed} gave no outcome`);
  return found;
}
