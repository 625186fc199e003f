import { Argument, Command } from 'commander';
import { completionScript, SHELLS, type Shell } from '../completion.ts';
import type { Context } from '../context.ts';
import { withExamples } from '../options.ts';

export function completionCommand(context: Context, program: () => Command): Command {
  const command = new Command('completion')
    .summary('Print a completion script for a shell')
    .description('Print a script that completes commands and options in a shell.')
    .addArgument(new Argument('<shell>', 'the shell').choices(SHELLS))
    .action((shell: Shell) => context.out.write(completionScript(program(), shell)));
  return withExamples(command, context, [
    ['completion bash > ~/.local/share/bash-completion/completions/leasehold', ''],
    ['completion zsh > "$HOME/.zsh/completions/_leasehold"', ''],
    ['completion fish > ~/.config/fish/completions/leasehold.fish', ''],
  ]);
}
