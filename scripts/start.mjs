/**
 * `npm start`: the demonstration, a small service on real processes with everything that belongs to
 * it (`leasehold demo`). `npm start -- --story` plays a pool in a simulated world instead, told as it
 * happens; there nothing is opened or written, and the same seed tells the same story. `npm start -- limits` shows four
 * API processes with one rate limit (`examples/limits/`), `npm start -- rooms` three servers with rooms over WebSocket.
 */

import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { didYouMean, parseArguments, wholeNumber } from './arguments.mjs';
import { bundle } from './bundle.mjs';
import { runCommand, UsageError } from './command.mjs';
import { startCli } from './start/cli.mjs';

const STORY = 'leasehold/src/pool/simulation/story.ts';

const STORY_HELP = `Plays a pool of servers in a simulated world and tells what happens.

  npm start -- --story [--seed N]

  --seed N   another world (default 1)
  --help     this text

Without --story: a demonstration with real processes; see npm start -- --help.`;

/** @param {readonly string[]} argv */
async function story(argv) {
  const { words, flags, values } = parseArguments(argv, { flags: ['help', 'story'], values: ['seed'] });
  if (flags.has('help')) {
    console.log(STORY_HELP);
    return 0;
  }
  if (words.length > 0) throw new UsageError(`nothing is expected here, but got ${words.join(' ')}`);
  const seed = wholeNumber('--seed', values.seed, 0) ?? 1;
  process.setSourceMapsEnabled(true);
  /** @type {{ tell(write: (line: string) => void, options: { seed: number }): void }} */
  const { tell } = await import(pathToFileURL(await bundle(STORY)).href);
  tell((line) => console.log(line), { seed });
  return 0;
}

/** What the help of the demo cannot know, because only a checkout has it. */
const STORY_IN_HELP = `
Also: npm start -- --story   a pool of servers in a simulated world, told as it happens
      npm start -- limits    four API processes with one limit, a partition and a crash
      npm start -- rooms     three servers with rooms over WebSocket, and the death of one`;

/** @param {readonly string[]} argv */
async function demo(argv) {
  process.env['LEASEHOLD_DEMO_CALLED_AS'] = 'npm start --';
  const exitCode = await startCli(['demo', ...argv], 'npm run leasehold --');
  if (argv[0] === '--help' || argv[0] === '-h') console.log(STORY_IN_HELP);
  return exitCode;
}

const LIMITS_HELP = `Starts four API processes with one limit of 1,000 requests a second, and a client that asks them in turn.

  npm start -- limits

  --help   this text

Shows what the processes admit in each second, while the network between them is cut in two for 10 seconds and one
of them is killed. Takes 40 seconds, uses the loopback only and writes no files. Ctrl-C ends it and all processes.

The program of a process has 30 lines: examples/limits/server.ts. The guide: docs/ratelimit.md.`;

const ROOMS_HELP = `Starts a Manager and three servers with rooms over WebSocket, and two persons in one room.

  npm start -- rooms

  --help   this text

The server that has the room is killed; the persons meet again at another server, and no line is lost. Takes some
10 seconds, uses the loopback only and writes no files. Ctrl-C ends it and all processes.

The program of a server has 80 lines: examples/rooms/server.ts.`;

/** @typedef {{ server: string, write(line: string): void, signal: AbortSignal }} Play */

/**
 * An example with processes of its own; Ctrl-C ends them.
 *
 * @param {string} name of the folder in examples/
 * @param {string} help
 * @param {(module: any) => (options: Play) => Promise<unknown>} play
 * @param {readonly string[]} argv
 */
async function example(name, help, play, argv) {
  const { words, flags } = parseArguments(argv, { flags: ['help'], values: [] });
  if (flags.has('help')) {
    console.log(help);
    return 0;
  }
  if (words.length > 0) throw new UsageError(`nothing is expected after ${name}, but got ${words.join(' ')}`);
  const server = await bundle(`examples/${name}/server.ts`);
  const demo = await import(pathToFileURL(await bundle(`examples/${name}/demo.ts`)).href);
  const ending = new AbortController();
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.once(signal, () => ending.abort());
  await play(demo)({ server, write: (line) => console.log(line), signal: ending.signal });
  return ending.signal.aborted ? 130 : 0;
}

/** The words that may come first; `add-owner` and `help` are commands of the demo. */
const COMMANDS = ['limits', 'rooms', 'add-owner', 'help'];

const argv = process.argv.slice(2);
const [first = '-'] = argv;
const isStory = argv.includes('--story');
if (first === 'limits')
  await runCommand('npm start -- limits', () =>
    example('limits', LIMITS_HELP, ({ playLimits }) => playLimits, argv.slice(1)),
  );
else if (first === 'rooms')
  await runCommand('npm start -- rooms', () =>
    example('rooms', ROOMS_HELP, ({ playRooms }) => playRooms, argv.slice(1)),
  );
else if (isStory) await runCommand('npm start -- --story', () => story(argv));
else
  await runCommand('npm start --', async () => {
    if (first.startsWith('-') || COMMANDS.includes(first)) return demo(argv);
    throw new UsageError(`unknown command ${first}${didYouMean(first, COMMANDS)}`);
  });
