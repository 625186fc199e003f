/**
 * What the runner says, as lines of text.
 */

import { table } from '../table.mjs';

/** @import { MutantReport } from './mutants.mjs' */
/** @import { Failure, SeedsReport } from './seeds.mjs' */

/** The end of a trace says what broke, the lines before it mostly why. */
const TRACE_LINES = 25;

/**
 * @param {string} protocol
 * @param {Failure} failure
 */
export function failureLines(protocol, { seed, promise, message, trace }) {
  const last = trace.slice(-TRACE_LINES);
  const left = trace.length - last.length;
  return [
    `seed ${seed} broke ${promise}: ${message}`,
    ...(left > 0 ? [`    … ${left} lines before`] : []),
    ...last.map((line) => `    ${line}`),
    `  replay: npm run sim -- ${protocol} --seed ${seed} --trace`,
    '',
  ];
}

/** @param {SeedsReport} report */
export function summaryLines({ totals, shortfalls, passed, failed, wanted }) {
  const played = passed + failed;
  return [
    ...table(Object.entries(totals).map(([name, total]) => [name, total])),
    ...shortfalls.map((shortfall) => `too little happened: ${shortfall}`),
    ...(shortfalls.length === 0
      ? []
      : ['So that no seed failed proves little: play more seeds, or make more happen']),
    ...(played < wanted ? [`stopped after ${played} of ${wanted} seeds`] : []),
  ];
}

/**
 * @param {string} protocol
 * @param {SeedsReport} report
 * @param {number} seconds
 */
export function seedsLine(protocol, { passed, failed, shortfalls }, seconds) {
  const shortfall = shortfalls.length === 0 ? '' : ', too little happened';
  return `${protocol}: ${passed} seeds passed, ${failed} failed${shortfall} in ${seconds.toFixed(1)} s`;
}

/**
 * @param {string} protocol
 * @param {readonly MutantReport[]} reports
 */
export function mutantLines(protocol, reports) {
  const rows = reports.map((report) => [report.name, report.promise, verdict(protocol, report)]);
  return rows.length === 0 ? [] : table([['mutant', 'promise', 'result'], ...rows]);
}

/**
 * @param {string} protocol
 * @param {MutantReport} report
 */
function verdict(protocol, { name, story, caughtBy, tried, others, recorded, problem }) {
  if (problem !== undefined) return `CANNOT BE TRIED: ${problem}`;
  const noticed = Object.entries(others).map(([promise, times]) => `${promise} ${times}×`);
  const first = noticed.length === 0 ? '' : `; first broken in others: ${noticed.join(', ')}`;
  if (caughtBy !== undefined) return `caught by seed ${caughtBy} (${tried} tried${first})`;
  if (recorded !== undefined) {
    const search = `npm run sim -- ${protocol} --mutants --record --recorded`;
    return `NOT CAUGHT by the recorded seed ${recorded} and the ${tried - 1} after it${first}: ${story} Search anew: ${search}`;
  }
  const again = `npm run sim -- ${protocol} --mutant ${name} --seeds ${tried * 10}`;
  return `NOT CAUGHT (${tried} tried${first}): ${story} Try ${again}`;
}

/**
 * @param {readonly MutantReport[]} reports
 * @param {number} all
 */
export const mutantsLine = (reports, all) =>
  `mutants: ${reports.filter((report) => report.caughtBy !== undefined).length} of ${all} caught`;
