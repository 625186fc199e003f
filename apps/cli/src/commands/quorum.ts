import { Command } from 'commander';
import type { Context } from '../context.ts';
import { withExamples } from '../options.ts';
import { quorumChangeCommands } from './quorum-changes.ts';
import { quorumDataCommands } from './quorum-data.ts';
import { quorumStartCommand } from './quorum-start.ts';
import { quorumStatusCommands } from './quorum-status.ts';

export function quorumCommand(context: Context): Command {
  const command = new Command('quorum')
    .summary('A replicated key-value store whose replicas read locally')
    .description(
      'A replicated, durable, strictly serializable key-value store of 3 to 7 replicas. Each replica may answer reads from its own memory. A majority of the replicas has to run.',
    )
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  for (const each of [
    quorumStartCommand(context),
    ...quorumStatusCommands(context),
    ...quorumDataCommands(context),
    ...quorumChangeCommands(context),
  ]) {
    command.addCommand(each);
  }
  return withExamples(command, context, [
    [
      'quorum start --name a --data ./a --peers a=127.0.0.1:7600,b=127.0.0.1:7610,c=127.0.0.1:7620',
      'the first of three on this machine',
    ],
    ['quorum status', 'a replica on this machine, and how it sees the others'],
    ['quorum put greeting hello', 'write a key'],
    ['quorum get greeting', 'read a key'],
    ['quorum watch --prefix jobs/', 'see keys change'],
  ]);
}
