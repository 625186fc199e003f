import { Command } from 'commander';
import type { Context } from '../context.ts';
import { withExamples } from '../options.ts';
import { fleaseHoldCommand } from './flease-hold.ts';
import { fleaseStartCommand } from './flease-start.ts';
import { fleaseStatusCommand } from './flease-status.ts';
import { fleaseWatchCommand } from './flease-watch.ts';

export function fleaseCommand(context: Context): Command {
  const command = new Command('flease')
    .summary('Leases among a few processes, with no server')
    .description(
      'Leases among the few members of a cell, with no server: a majority of them has to run. Members are processes with fixed names and addresses; "start" and "hold" each are one, under their --name.',
    )
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  for (const each of [
    fleaseHoldCommand(context),
    fleaseStartCommand(context),
    fleaseStatusCommand(context),
    fleaseWatchCommand(context),
  ]) {
    command.addCommand(each);
  }
  return withExamples(command, context, [
    [
      'flease start --name ada --peers ada=10.0.0.1:7500,ben=10.0.0.2:7500,cyd=10.0.0.3:7500 --insecure',
      'a member that stays',
    ],
    ['flease hold backup -- ./backup.sh', 'with LEASEHOLD_FLEASE_NAME and LEASEHOLD_FLEASE_PEERS set'],
    ['flease status', 'how a member on this machine is, and how it finds the others'],
    ['flease watch backup', 'who has it, as that changes'],
  ]);
}
