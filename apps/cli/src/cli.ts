/** The command line as a function: arguments in, exit code out. */

import type { Context } from './context.ts';
import { report } from './failure.ts';
import { buildProgram } from './program.ts';

export async function runCli(argv: readonly string[], context: Context): Promise<number> {
  try {
    await buildProgram(context).parseAsync([...argv], { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return report(error, context, wantsJson(argv));
  }
}

/** Also when the command line could not be read any further; but what stands behind `--` is another's. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).includes('--json');
}
