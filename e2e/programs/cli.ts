/**
 * The command line, for a test that wants it on another machine or in front of another program, whose command line then
 * follows. What its command prints has to be lines of JSON.
 */

import { runCli } from '../../apps/cli/src/cli.ts';
import { processContext } from '../../apps/cli/src/context.ts';
import { told } from './conversation.ts';

const { argv } = told<{ readonly argv: readonly string[] }>();
process.exitCode = await runCli([...argv, ...process.argv.slice(3)], processContext());
