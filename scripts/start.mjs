/**
 * `npm start`: a pool in a simulated world, told as it happens. Nothing is opened or written; the
 * same seed tells the same story.
 */

import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { parseArguments, wholeNumber } from './arguments.mjs';
import { bundle } from './bundle.mjs';
import { runCommand, UsageError } from './command.mjs';

const STORY = 'leasehold/src/pool/simulation/story.ts';

const HELP = `Plays a pool of servers in a simulated world and tells what happens.

  npm start [-- options]

  --seed N   another world (default 1)
  --help     this text`;

await runCommand('npm start --', async () => {
  const { words, flags, values } = parseArguments(process.argv.slice(2), {
    flags: ['help'],
    values: ['seed'],
  });
  if (flags.has('help')) {
    console.log(HELP);
    return 0;
  }
  if (words.length > 0) throw new UsageError(`nothing is expected here, but got ${words.join(' ')}`);
  const seed = wholeNumber('--seed', values.seed, 0) ?? 1;
  process.setSourceMapsEnabled(true);
  /** @type {{ tell(write: (line: string) => void, options: { seed: number }): void }} */
  const { tell } = await import(pathToFileURL(await bundle(STORY)).href);
  tell((line) => console.log(line), { seed });
  return 0;
});
