/**
 * `npm run sim`: plays a protocol's simulation over many seeds, replays one of them, or proves that
 * deliberate faults are caught.
 *
 * The exit code is the verdict: 0 when everything asked for held, 1 when something broke (or too
 * little happened to say), 2 when the question made no sense, 130 when it was interrupted. The
 * last line is always the count.
 */

import { availableParallelism } from 'node:os';
import { pathToFileURL } from 'node:url';
import { didYouMean, parseArguments, wholeNumber } from '../arguments.mjs';
import { bundle, BundleError } from '../bundle.mjs';
import { UsageError } from '../command.mjs';
import { Progress } from '../progress.mjs';
import { Crew } from './crew.mjs';
import { bundleMutant, hunt } from './mutants.mjs';
import { shortfalls } from './floors.mjs';
import { failureLines, mutantLines, mutantsLine, seedsLine, summaryLines } from './report.mjs';
import { readSeeds, seedsFileOf, writeSeeds } from './recorded-seeds.mjs';
import { emptyReport, playOne, playSeeds } from './seeds.mjs';

/** @import { Mutant, Simulation } from '../../leasehold/src/sim/simulation.ts' */

/**
 * @typedef {object} Surroundings
 * @property {Readonly<Record<string, string>>} protocols
 * @property {(line: string) => void} write
 * @property {AbortSignal} signal
 * @property {ConstructorParameters<typeof Progress>[1]} [progress] where progress is shown
 * @property {number} [stuckMs] how much of its thread's own time one seed may take
 * @property {(entry: string) => string} [seedsFile] where the seeds that caught mutants are recorded
 */

const SEEDS_DEFAULT = 1_000;

const HELP = `Plays a protocol's simulation over many seeds.

  npm run sim -- <protocol> [options]

  --seeds N       how many seeds (default ${SEEDS_DEFAULT}; with mutants, what each mutant says)
  --from S        the first seed (default 1)
  --seed S        this seed alone; with --trace, everything that happens in it
  --trace         print the trace of --seed
  --mutants       plant every known fault, one at a time; each must be caught by its promise
  --mutant NAME   this fault alone; with --seed, that seed as it goes with the fault
  --record        with --mutants: write down the seed that caught each fault, beside the simulation
  --recorded      with --mutants: play the seed written down for each fault and the few after it;
                  with --record too: search anew for the faults that these seeds no longer catch
  --no-scenarios  drawn worlds alone, without the schedules that were written by hand
  --keep-going    do not stop at the tenth failing seed
  --jobs N        threads (default: one per core)
  --json          the result as one JSON document
  --help          this text`;

/**
 * @param {readonly string[]} argv
 * @param {Surroundings} surroundings
 * @returns {Promise<number>} the exit code
 */
export async function simulate(argv, surroundings) {
  const { write, protocols, signal } = surroundings;
  const request = understand(argv, protocols);
  if (request === 'help') {
    write(`${HELP}\n\nProtocols: ${Object.keys(protocols).join(', ')}.`);
    return 0;
  }
  const loaded = await load(request, write);
  if (loaded === undefined) return 1;
  const crew = new Crew({ jobs: request.jobs, stuckMs: surroundings.stuckMs });
  /** @type {Promise<number>} */
  const interrupted = new Promise((resolve) => signal.addEventListener('abort', () => resolve(130)));
  try {
    const command = request.mutants || request.mutant !== undefined ? huntAll : playAll;
    return request.seed !== undefined && (request.trace || request.mutant !== undefined)
      ? await Promise.race([
          replay(crew, { ...request, ...loaded, seed: request.seed }, surroundings),
          interrupted,
        ])
      : await command(crew, { ...request, ...loaded }, surroundings, interrupted);
  } finally {
    await crew[Symbol.asyncDispose]();
  }
}

/**
 * @typedef {Exclude<ReturnType<typeof understand>, 'help'>} Request
 * @typedef {Request & { readonly bundle: string, readonly simulation: Simulation }} Loaded
 */

/**
 * @param {readonly string[]} argv
 * @param {Readonly<Record<string, string>>} protocols
 */
function understand(argv, protocols) {
  const { words, flags, values } = parseArguments(argv, {
    flags: ['trace', 'mutants', 'record', 'recorded', 'no-scenarios', 'keep-going', 'json', 'help'],
    values: ['seeds', 'from', 'seed', 'mutant', 'jobs'],
  });
  if (flags.has('help')) return 'help';
  const [protocol, ...rest] = words;
  const names = Object.keys(protocols);
  if (protocol === undefined) throw new UsageError(`name a protocol to simulate: ${names.join(', ')}`);
  if (rest.length > 0) throw new UsageError(`one protocol at a time, but got also ${rest.join(' ')}`);
  const entry = Object.hasOwn(protocols, protocol) ? protocols[protocol] : undefined;
  if (entry === undefined) {
    throw new UsageError(`there is no protocol ${protocol}${didYouMean(protocol, names)}`);
  }
  const seed = wholeNumber('--seed', values.seed, 0);
  const seeds = wholeNumber('--seeds', values.seeds, 1);
  const from = wholeNumber('--from', values.from, 0);
  const jobs = wholeNumber('--jobs', values.jobs, 1) ?? availableParallelism();
  const { mutant } = values;
  const [trace, mutants] = [flags.has('trace'), flags.has('mutants')];
  if (trace && seed === undefined) throw new UsageError('--trace needs --seed S, the seed to trace');
  if (seed !== undefined && (seeds ?? from) !== undefined) {
    throw new UsageError('--seed S is one seed; --seeds and --from are for many');
  }
  if (mutants && mutant !== undefined) throw new UsageError('--mutants is all of them, --mutant NAME is one');
  if (mutants && seed !== undefined) throw new UsageError('--seed needs one fault: --mutant NAME');
  const [record, recorded] = [flags.has('record'), flags.has('recorded')];
  if (record && (!mutants || (seeds ?? from) !== undefined)) {
    throw new UsageError('--record needs a whole search: --mutants, without --seeds and --from');
  }
  if (recorded && (!mutants || (seeds ?? from) !== undefined)) {
    throw new UsageError('--recorded goes with --mutants, and without --seeds and --from');
  }
  const scenarios = !flags.has('no-scenarios');
  if (!scenarios && (record || recorded)) {
    throw new UsageError(
      'seeds are recorded with the schedules that were written by hand: --no-scenarios is a measurement',
    );
  }
  const [json, keepGoing] = [flags.has('json'), flags.has('keep-going')];
  return {
    protocol,
    entry,
    seed,
    seeds,
    from: from ?? 1,
    jobs,
    mutant,
    mutants,
    record,
    recorded,
    trace,
    scenarios,
    json,
    keepGoing,
  };
}

/**
 * @param {Request} request
 * @param {(line: string) => void} write
 * @returns {Promise<{ bundle: string, simulation: Simulation } | undefined>}
 */
async function load({ entry, protocol }, write) {
  try {
    const path = await bundle(entry);
    const { simulation } = await import(/* @vite-ignore */ pathToFileURL(path).href);
    if (simulation === undefined) throw new BundleError(`${entry} does not export simulation`);
    return { bundle: path, simulation };
  } catch (error) {
    if (!(error instanceof BundleError)) throw error;
    write(`${protocol} cannot be simulated:\n${error.message}`);
    write(`${protocol}: 0 seeds passed, 0 failed`);
    return undefined;
  }
}

/**
 * @param {Crew} crew
 * @param {Loaded} loaded
 * @param {Surroundings} surroundings
 * @param {Promise<number>} interrupted
 */
async function playAll(crew, loaded, { write, progress, signal }, interrupted) {
  const { protocol, simulation, bundle, seed, from, json, keepGoing, scenarios } = loaded;
  const [first, count] = seed === undefined ? [from, loaded.seeds ?? SEEDS_DEFAULT] : [seed, 1];
  const report = emptyReport(first, count);
  const startedAt = performance.now();
  const seconds = () => (performance.now() - startedAt) / 1000;
  const line = new Progress(() => `${seedsLine(protocol, report, seconds())} (of ${count})`, progress);
  const playing = playSeeds(crew, {
    bundle,
    from: first,
    count,
    scenarios,
    keepGoing,
    report,
    onFailure: (failure) => {
      line.clear();
      if (!json) for (const text of failureLines(protocol, failure)) write(text);
    },
  });
  try {
    await Promise.race([playing, interrupted]);
  } finally {
    line[Symbol.dispose]();
  }
  if (seed === undefined && report.passed + report.failed === count) {
    report.shortfalls = [
      ...shortfalls(simulation.floors, report.totals, count),
      ...(simulation.tooLittle?.(report.totals, count) ?? []),
    ];
  }
  if (json) {
    write(
      JSON.stringify({ protocol, ...report, seconds: seconds(), interrupted: signal.aborted }, undefined, 2),
    );
  } else {
    for (const text of summaryLines(report)) write(text);
    write(seedsLine(protocol, report, seconds()));
  }
  if (signal.aborted) return 130;
  return report.failed === 0 && report.shortfalls.length === 0 ? 0 : 1;
}

/**
 * @param {Crew} crew
 * @param {Loaded} loaded
 * @param {Surroundings} surroundings
 * @param {Promise<number>} interrupted
 */
async function huntAll(crew, loaded, surroundings, interrupted) {
  const { write, progress, signal, seedsFile = seedsFileOf } = surroundings;
  const { protocol, simulation, entry, mutant, seeds, from, json, scenarios } = loaded;
  const mutants = mutant === undefined ? simulation.mutants : [named(simulation, mutant)];
  const recorded = loaded.recorded ? readSeeds(seedsFile(entry)) : {};
  const startedAt = performance.now();
  /** @type {(import('./mutants.mjs').MutantReport | undefined)[]} */
  const reports = mutants.map(() => undefined);
  const done = () => reports.filter((report) => report !== undefined);
  const line = new Progress(() => `${mutantsLine(done(), mutants.length)}, ${done().length} done`, progress);
  const hunting = mutants.map(async (each, at) => {
    const options = { from, seeds, scenarios, promises: simulation.promises };
    const first = await hunt(crew, entry, each, { ...options, recorded: recorded[each.name] });
    const isStale = first.recorded !== undefined && first.caughtBy === undefined;
    reports[at] = isStale && loaded.record ? await hunt(crew, entry, each, options) : first;
  });
  try {
    await Promise.race([Promise.all(hunting), interrupted]);
  } finally {
    line[Symbol.dispose]();
  }
  const seconds = (performance.now() - startedAt) / 1000;
  const caught = done().filter((report) => report.caughtBy !== undefined).length;
  if (json) {
    const of = mutants.length;
    write(
      JSON.stringify(
        { protocol, caught, of, mutants: done(), seconds, interrupted: signal.aborted },
        undefined,
        2,
      ),
    );
  } else {
    for (const text of mutantLines(protocol, done())) write(text);
    write(mutantsLine(done(), mutants.length));
  }
  if (loaded.record && (loaded.recorded || !signal.aborted)) writeSeeds(seedsFile(entry), done(), recorded);
  if (signal.aborted) return 130;
  return caught === mutants.length && caught > 0 ? 0 : 1;
}

/**
 * @param {Crew} crew
 * @param {Loaded & { readonly seed: number }} loaded
 * @param {Surroundings} surroundings
 */
async function replay(crew, loaded, { write }) {
  const { protocol, simulation, entry, seed, mutant, trace, json, scenarios } = loaded;
  const path =
    mutant === undefined
      ? loaded.bundle
      : await bundleMutant(entry, named(simulation, mutant), { maps: true });
  const outcome = await playOne(crew, path, { seed, scenarios });
  const { broken, counts } = outcome;
  if (json) {
    write(JSON.stringify({ protocol, mutant, ...outcome }, undefined, 2));
  } else {
    if (trace) for (const text of outcome.trace ?? []) write(text);
    for (const [name, value] of Object.entries(counts)) write(`${name}: ${value}`);
    const verdict = broken ? `broke ${broken.promise}: ${broken.message}` : 'passed';
    write(`${protocol}${mutant === undefined ? '' : ` with ${mutant}`}: seed ${seed} ${verdict}`);
  }
  return broken ? 1 : 0;
}

/**
 * @param {Simulation} simulation
 * @param {string} name
 * @returns {Mutant}
 */
function named(simulation, name) {
  const mutant = simulation.mutants.find((each) => each.name === name);
  if (mutant !== undefined) return mutant;
  const names = simulation.mutants.map((each) => each.name);
  throw new UsageError(`there is no mutant ${name}${didYouMean(name, names)}`);
}
