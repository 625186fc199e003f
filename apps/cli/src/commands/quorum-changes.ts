import { Argument, Command } from 'commander';
import { READERS, type Readers } from 'leasehold/quorum';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { show } from '../output.ts';
import {
  type ClientOptions,
  type CommandClient,
  withClient,
  withClientOptions,
} from '../quorum/client-options.ts';

/** Commands that change the group; the leader is found by itself. */
export const quorumChangeCommands = (context: Context): readonly Command[] => [
  change(context, {
    ...{ name: 'add', summary: 'Make a member of a replica that was started with --join' },
    description:
      'Make a member of a replica that was started with --join. If the group has a member of that name with another directory, the new one takes its place.',
    act: (client, name) => client.add(name, client.options),
    done: (name) => `${name} is a member.`,
    example: 'd',
  }),
  change(context, {
    ...{ name: 'remove', summary: 'Take a member out of the group' },
    description: 'Take a member out of the group. It need not run. A leader has to be transferred first.',
    act: (client, name) => client.remove(name, client.options),
    done: (name) => `${name} is no member any more.`,
    example: 'b',
  }),
  change(context, {
    ...{ name: 'transfer', summary: 'Let another member lead' },
    description: 'Let another member lead. Calls wait meanwhile, some tens of milliseconds.',
    act: (client, name) => client.transfer(name, client.options),
    done: (name) => `${name} was told to lead.`,
    example: 'b',
  }),
  placeCommand(context),
];

function placeCommand(context: Context): Command {
  const command = withClientOptions(new Command('place').summary('Say which replicas read locally'))
    .description(
      'Say which replicas hold keys and read them locally: all, the leader, or automatic: those that the leader chooses, key by key, by what is read and written where.',
    )
    .addArgument(new Argument('<readers>', 'which replicas read locally').choices(READERS))
    .addOption(jsonOption())
    .action((readers: Readers, options: ClientOptions) =>
      withClient(context, options, async (client) => {
        await client.place(readers, client.options);
        show(context, options, { readers, done: 'place' }, () => [`Readers: ${readers}.`]);
      }),
    );
  return withExamples(command, context, [
    ['quorum place automatic', 'for sites that are far apart'],
    ['quorum place all', 'every replica reads every key locally'],
  ]);
}

interface ChangeWords {
  readonly name: string;
  readonly summary: string;
  readonly description: string;
  readonly example: string;
  act(client: CommandClient, name: string): Promise<void>;
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
