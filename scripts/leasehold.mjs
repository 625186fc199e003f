/**
 * `npm run leasehold -- <arguments>`: the command line `leasehold`, from the sources as they are now.
 */

import process from 'node:process';
import { runCommand } from './command.mjs';
import { startCli } from './start/cli.mjs';

await runCommand('npm run leasehold --', () => startCli(process.argv.slice(2), 'npm run leasehold --'));
