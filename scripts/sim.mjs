import process from 'node:process';
import { runCommand } from './command.mjs';
import { simulate } from './sim/command.mjs';
import { protocols } from './sim/protocols.mjs';

const interruption = new AbortController();
process.once('SIGINT', () => interruption.abort());
process.once('SIGTERM', () => interruption.abort());

await runCommand('npm run sim --', () =>
  simulate(process.argv.slice(2), { protocols, write: console.log, signal: interruption.signal }),
);
