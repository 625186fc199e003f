/** The command line as a function: arguments in, exit code out. */

import type { Context } from './context.ts';
import { report } from './failure.ts';
import { buildProgram } from './program.ts';
import { commandAt } from './usage.ts';

/** How other programs are asked for their version, beside `--version`. */
const VERSION_ELSEWHERE: ReadonlySet<string | undefined> = new Set(['-v', '-V', 'version']);

export async function runCli(typed: readonly string[], context: Context): Promise<number> {
  const argv = typed.length === 1 && VERSION_ELSEWHERE.has(typed[0]) ? ['--version'] : typed;
  const program = buildProgram(context);
  // Help about a command that there is not would be the help about everything, without a word of why.
  const isLost = argv[0] === 'help' && argv.length > 1 && commandAt(program, argv.slice(1)) === program;
  try {
    await program.parseAsync(argv.slice(isLost ? 1 : 0), { from: 'user' });
    return context.exitCode;
  } catch (error) {
    return report(error, commandAt(program, argv), context, wantsJson(argv));
  }
}

/** Also when the command line could not be read any further; but what stands behind `--` is another's. */
function wantsJson(argv: readonly string[]): boolean {
  const end = argv.indexOf('--');
  return argv.slice(0, end < 0 ? undefined : end).includes('--json');
}
