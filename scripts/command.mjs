/**
 * How a command ends: with an exit code, or with a sentence and an exit code. Anything else that
 * is thrown is a fault in the command itself and keeps its stack trace.
 */

import process from 'node:process';

/** The command cannot do what was asked. The message is for the person who asked. */
export class CommandError extends Error {
  exitCode = 1;
}

/** The command line makes no sense. The message says why, and what would. */
export class UsageError extends CommandError {
  /** @override */
  name = 'UsageError';
  /** @override */
  exitCode = 2;
}

/**
 * @param {string} command as one would type it, for the hint: `npm run sim --`
 * @param {() => Promise<number>} main
 */
export async function runCommand(command, main) {
  process.stdout.on('error', (error) => {
    if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EPIPE') throw error;
    process.exit(); // Whoever read has seen enough: `npm run sim -- pool --seed 7 --trace | head`.
  });
  try {
    process.exitCode = await main();
  } catch (error) {
    if (!(error instanceof CommandError)) throw error;
    console.error(error.message);
    if (error instanceof UsageError) console.error(`See ${command} --help.`);
    process.exitCode = error.exitCode;
  }
}
