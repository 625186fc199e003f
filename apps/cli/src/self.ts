/** This program, to be started again: Node, and the file we are in. */

import process from 'node:process';
import { fileURLToPath } from 'node:url';

export const selfCommand = (argv: readonly string[]): { command: string; args: readonly string[] } => ({
  command: process.execPath,
  args: [...process.execArgv, fileURLToPath(import.meta.url), ...argv],
});
