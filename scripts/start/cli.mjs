/**
 * Runs the command line in this process. It starts more processes of itself, by the path of its own
 * bundle, and tells people what to type by the name it was called by.
 */

import process from 'node:process';
import { pathToFileURL } from 'node:url';
import { bundle } from '../bundle.mjs';

/**
 * @param {readonly string[]} argv
 * @param {string} calledAs
 * @returns {Promise<number>} with what to exit
 */
export async function startCli(argv, calledAs) {
  const path = await bundle('apps/cli/src/main.ts');
  process.setSourceMapsEnabled(true);
  process.env['LEASEHOLD_CALLED_AS'] = calledAs;
  process.argv = [process.execPath, path, ...argv];
  await import(pathToFileURL(path).href);
  return Number(process.exitCode ?? 0);
}
