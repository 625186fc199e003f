/** What `leasehold` starts. */

import process from 'node:process';
import { runCli } from './cli.ts';
import { processContext } from './context.ts';

process.exitCode = await runCli(process.argv.slice(2), processContext());
