import { Argument, Command } from 'commander';
import type { QuorumClient, Readers } from 'leasehold/quorum';
import { READERS } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { show } from '../output.ts';
import { type ClientOptions, withClient, withClientOptions } from '../quorum/client-options.ts';

/** Commands that change the cell; the leader is found by itself. */
export const quorumChangeCommands = (context: Context): readonly Command[] => [
  change(context, {
    ...{ name: 'add', summary: 'Make a member of a replica that was started with --newcomer' },
    description:
      'Make a member of a replica that was started with --newcomer. If the cell has a member of that name with another directory, the new one takes its place.',
    act: (client, name) => client.addReplica(name),
    done: (name) => `${name} is a member.`,
    example: 'd',
  }),
  change(context, {
    ...{ name: 'remove', summary: 'Take a member out of the cell' },
    description: 'Take a member out of the cell. It need not run. A leader has to step down first.',
    act: (client, name) => client.removeReplica(name),
    done: (name) => `${name} is no member any more.`,
    example: 'b',
  }),
  stepDownCommand(context),
  readersCommand(context),
];

function stepDownCommand(context: Context): Command {
  const command = withClientOptions(new Command('step-down').summary('Let another member lead'))
    .description('Let another member lead. Calls wait meanwhile, some tens of milliseconds.')
    .argument('[name]', 'the member that is to lead (default: the member that has most of the log)')
    .addOption(jsonOption())
    .action((to: string | undefined, options: ClientOptions) =>
      withClient(context, options, async (client) => {
        await client.stepDown({ to });
        show(context, options, { name: to ?? null, done: 'step-down' }, () => [
          to === undefined ? 'The leader steps down.' : `${to} was told to lead.`,
        ]);
      }),
    );
  return withExamples(command, context, [
    ['quorum step-down', 'before the machine of the leader is stopped'],
    ['quorum step-down b', 'b is to lead'],
  ]);
}

function readersCommand(context: Context): Command {
  const command = withClientOptions(new Command('readers').summary('Say which replicas read locally'))
    .description(
      'Say which replicas hold keys and read them locally: all, the leader, or automatic: those that the leader chooses, key by key, by what is read and written where.',
    )
    .addArgument(new Argument('<readers>', 'which replicas read locally').choices(READERS))
    .addOption(jsonOption())
    .action((readers: Readers, options: ClientOptions) =>
      withClient(context, options, async (client) => {
        await client.setReaders(readers);
        show(context, options, { readers, done: 'readers' }, () => [`Readers: ${readers}.`]);
      }),
    );
  return withExamples(command, context, [
    ['quorum readers automatic', 'for sites that are far apart'],
    ['quorum readers all', 'every replica reads every key locally'],
  ]);
}

interface ChangeWords {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly example: string;
  act(client: QuorumClient, name: string): Promise<void>;
  done(name: string): string;
}

function change(context: Context, words: ChangeWords): Command {
  const command = withClientOptions(new Command(words.name).summary(words.summary))
    .description(words.description)
    .argument('<name>', 'the name of the replica')
    .addOption(jsonOption())
    .action((name: string, options: ClientOptions) =>
      withClient(context, options, async (client) => {
        await words.act(client, name);
        show(context, options, { name, done: words.name }, () => [words.done(name)]);
      }),
    );
  return withExamples(command, context, [
    [`quorum ${words.name} ${words.example}`, words.done(words.example)],
  ]);
}
