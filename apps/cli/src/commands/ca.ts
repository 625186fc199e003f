/** `leasehold ca`: the root of a cluster, which signs its tokens. */

import { Command } from 'commander';
import { createRoot, readRoot } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { type JsonOption, show } from '../output.ts';

export const DEFAULT_ROOT = './leasehold-ca';
const VARIABLE = 'LEASEHOLD_CA';

export interface RootFlags {
  readonly root?: string;
}

export const withRootFlag = (command: Command): Command =>
  command.option(
    '--root <directory>',
    `the directory of the root (default: ${VARIABLE}, or ${DEFAULT_ROOT})`,
  );

export const rootOf = ({ environment }: Context, { root }: RootFlags): string =>
  root ?? (environment[VARIABLE] || DEFAULT_ROOT);

export function caCommand(context: Context): Command {
  const command = new Command('ca')
    .summary('The root of a cluster, which signs its tokens')
    .description(
      'Make the root of a cluster, or show it. The key of the root signs tokens, and belongs on no server.',
    )
    .helpCommand('help [command]', 'print the help of a command');
  command.addCommand(createCommand(context));
  command.addCommand(showCommand(context));
  return withExamples(command, context, [['ca create', `make a root in ${DEFAULT_ROOT}`]]);
}

interface CreateFlags extends RootFlags, JsonOption {
  readonly cluster?: string;
}

function createCommand(context: Context): Command {
  const command = withRootFlag(new Command('create'))
    .summary('Make a root')
    .description('Make the root of a new cluster in a directory that only its owner can read.')
    .option('--cluster <name>', 'the name of the cluster (default: drawn)')
    .addOption(jsonOption())
    .action(async (flags: CreateFlags) => {
      const { cluster, id, directory } = await createRoot(rootOf(context, flags), flags.cluster);
      show(context, flags, { cluster, id, directory }, () => [
        `Root ${id} of cluster ${cluster}, in ${directory}`,
        'Keep a copy where no server can read it: without it, no further token can be made.',
      ]);
    });
  return withExamples(command, context, [['ca create --cluster blue --root ~/blue-ca', '']]);
}

function showCommand(context: Context): Command {
  const command = withRootFlag(new Command('show'))
    .summary('Show a root, without its key')
    .description('Show the cluster of a root, and its certificate.')
    .addOption(jsonOption())
    .action(async (flags: RootFlags & JsonOption) => {
      const { cluster, id, directory, certificate } = await readRoot(rootOf(context, flags));
      show(context, flags, { cluster, id, directory, certificate }, () => [
        `Root ${id} of cluster ${cluster}, in ${directory}`,
        ...certificate.trimEnd().split('\n'),
      ]);
    });
  return withExamples(command, context, [['ca show --root ~/blue-ca', '']]);
}
