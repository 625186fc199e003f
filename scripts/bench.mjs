/**
 * `npm run bench -- <name>`: runs one measurement from `bench/` and prints its figures beside
 * those of the peers. The exit code says whether it ran, not whether the goals were met: that a
 * busy machine was slow is news for a reader, not a failure.
 */

import { readdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { didYouMean, parseArguments } from './arguments.mjs';
import { bundle } from './bundle.mjs';
import { runCommand, UsageError } from './command.mjs';
import { root } from './project.mjs';
import { table } from './table.mjs';

/** @import { Bench, BenchResult } from './bench/bench.ts' */

const HELP = `Measures, each time beside a peer.

  npm run bench -- <name> [--json]

  --json   the figures as one JSON document
  --help   this text`;

/** @returns {string[]} */
function benchNames() {
  try {
    const files = readdirSync(join(root, 'bench')).filter((file) => /^[\w-]+\.ts$/.test(file));
    return files.map((file) => basename(file, '.ts')).sort();
  } catch {
    return []; // There is no folder yet.
  }
}

/**
 * @param {string} name
 * @returns {Promise<Bench>}
 */
async function load(name) {
  const { bench } = await import(pathToFileURL(await bundle(join('bench', `${name}.ts`))).href);
  return bench;
}

/** @param {BenchResult} result */
function print({ name, conditions, figures }) {
  console.log(`${name}\n`);
  const peers = [...new Set(figures.flatMap((figure) => figure.peers.map((peer) => peer.name)))];
  const rows = figures.map((figure) => [
    figure.metric,
    figure.unit,
    round(figure.ours),
    ...peers.map((peer) => round(figure.peers.find((each) => each.name === peer)?.value)),
    figure.ratio === undefined ? '–' : `${round(figure.ratio)}×`,
    figure.goal ?? 'none',
    figure.goal === undefined ? '' : figure.met ? 'met' : 'NOT MET',
  ]);
  for (const line of table([['metric', 'unit', 'ours', ...peers, 'ratio', 'goal', ''], ...rows]))
    console.log(line);
  console.log('');
  for (const line of table(Object.entries(conditions).map(([what, value]) => [what, String(value)]))) {
    console.log(line);
  }
  const goals = figures.filter((figure) => figure.goal !== undefined);
  console.log(`\n${goals.filter((figure) => figure.met).length} of ${goals.length} goals met`);
}

/** Three digits are as many as a measurement on a shared machine deserves. */
/** @param {number | undefined} value */
const round = (value) => (value === undefined ? '–' : String(Number(value.toPrecision(3))));

await runCommand('npm run bench --', async () => {
  const { words, flags } = parseArguments(process.argv.slice(2), { flags: ['json', 'help'], values: [] });
  const names = benchNames();
  if (flags.has('help')) {
    console.log(`${HELP}\n\n${names.length === 0 ? 'There are no measurements yet.' : 'Measurements:'}`);
    for (const name of names) console.log(`  ${name.padEnd(20)} ${(await load(name)).describe}`);
    return 0;
  }
  const [name, ...rest] = words;
  if (name === undefined) throw new UsageError('name a measurement to run');
  if (rest.length > 0) throw new UsageError(`one measurement at a time, but got also ${rest.join(' ')}`);
  if (!names.includes(name))
    throw new UsageError(`there is no measurement ${name}${didYouMean(name, names)}`);
  process.setSourceMapsEnabled(true);
  const bench = await load(name);
  const result = await bench.run((line) => console.error(line), { bundle });
  if (flags.has('json')) console.log(JSON.stringify(result, undefined, 2));
  else print(result);
  return 0;
});
