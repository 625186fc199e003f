import { Command, Option } from 'commander';
import type { Entry, ReadMode } from 'leasehold/quorum';
import { type Context, interruption } from '../context.ts';
import { UsageError } from '../failure.ts';
import { jsonOption, withExamples, wholeNumberFrom } from '../options.ts';
import { show, writeJson, writeLines } from '../output.ts';
import { type ClientOptions, withClient, withClientOptions } from '../quorum/client-options.ts';

/** The codes for a key that is not there, and for a condition that did not hold. */
const NOT_FOUND = 4;
const NOT_WRITTEN = 1;

const text = (value: Uint8Array | undefined): string | null =>
  value === undefined ? null : new TextDecoder().decode(value);

export const quorumDataCommands = (context: Context): readonly Command[] => [
  getCommand(context),
  putCommand(context),
  deleteCommand(context),
  watchCommand(context),
];

function getCommand(context: Context): Command {
  const command = withClientOptions(new Command('get').summary('Read a key'))
    .description(
      `Read a key, and tell how the read was served. Exit code ${NOT_FOUND}: there is no such key.`,
    )
    .argument('<key>', 'the key')
    .addOption(
      new Option('--mode <mode>', 'how to read (default: best)').choices(['best', 'quorum', 'log', 'weak']),
    )
    .addOption(jsonOption())
    .action((key: string, options: ClientOptions & { mode?: ReadMode }) =>
      withClient(context, options, async (client) => {
        const found = await client.get(key, { mode: options.mode });
        const { revision, served, position } = found;
        const value = text(found.value);
        if (value === null) context.exitCode = NOT_FOUND;
        show(context, options, { key, value, revision, served, position }, () => [
          value ?? `There is no ${JSON.stringify(key)}.`,
        ]);
      }),
    );
  return withExamples(command, context, [
    ['quorum get greeting', 'the value'],
    ['quorum get greeting --json', 'with its revision, and how the read was served'],
  ]);
}

function putCommand(context: Context): Command {
  const command = withClientOptions(new Command('put').summary('Write a key'))
    .description(
      `Write a key, under a condition if one is given. Exit code ${NOT_WRITTEN}: the condition did not hold.`,
    )
    .argument('<key>', 'the key')
    .argument('<value>', 'the value, as text')
    .option('--if-absent', 'only if the key is not there')
    .addOption(
      new Option('--if-revision <number>', 'only if the key has this revision').argParser(wholeNumberFrom(1)),
    )
    .addOption(jsonOption())
    .action((key: string, value: string, options: ClientOptions & { ifAbsent?: true; ifRevision?: number }) =>
      withClient(context, options, async (client) => {
        const { ifAbsent, ifRevision } = options;
        if (ifAbsent && ifRevision !== undefined)
          throw new UsageError('--if-absent and --if-revision contradict each other: leave one of them out');
        const expected = ifAbsent
          ? 'absent'
          : ifRevision === undefined
            ? undefined
            : { revision: ifRevision };
        if (expected === undefined) {
          const { revision } = await client.put(key, value);
          show(context, options, { key, isDone: true, revision }, () => [`Written, revision ${revision}.`]);
          return;
        }
        const outcome = await client.compareAndSet(key, expected, value);
        const found = outcome.isDone ? undefined : (outcome.found[0] as Entry);
        if (!outcome.isDone) context.exitCode = NOT_WRITTEN;
        const revision = outcome.isDone ? outcome.revision : (found?.revision ?? 0);
        show(context, options, { key, isDone: outcome.isDone, revision }, () => [
          outcome.isDone
            ? `Written, revision ${revision}.`
            : `Not written: the key ${found?.value === undefined ? 'is not there' : `has revision ${revision}`}.`,
        ]);
      }),
    );
  return withExamples(command, context, [
    ['quorum put greeting hello', 'whatever was there'],
    ['quorum put lock me --if-absent', 'only once'],
  ]);
}

function deleteCommand(context: Context): Command {
  const command = withClientOptions(new Command('delete').summary('Delete a key'))
    .description('Delete a key. To delete a key that is not there is no failure.')
    .argument('<key>', 'the key')
    .addOption(jsonOption())
    .action((key: string, options: ClientOptions) =>
      withClient(context, options, async (client) => {
        await client.delete(key);
        show(context, options, { key }, () => ['Deleted.']);
      }),
    );
  return withExamples(command, context, [['quorum delete greeting', 'there is no such key after that']]);
}

function watchCommand(context: Context): Command {
  const command = withClientOptions(new Command('watch').summary('Tell how keys change, as they change'))
    .description('Print the values that there are, then every change. Ctrl-C ends it.')
    .argument('[key]', 'one key')
    .option('--prefix <text>', 'all keys that begin so')
    .addOption(
      new Option('--from <position>', 'only changes after this position').argParser(wholeNumberFrom(0)),
    )
    .addOption(jsonOption('print a JSON object a line, for programs'))
    .action((key: string | undefined, options: ClientOptions & { prefix?: string; from?: number }) =>
      withClient(context, options, async (client) => {
        using interrupted = interruption();
        const { prefix = key === undefined ? '' : undefined, from, json } = options;
        await client.replicaStatus(); // A watch waits for a server for ever; a command should say that none answers.
        const watch = client.watch({ key, prefix, from });
        interrupted.addEventListener('abort', () => void watch.return());
        for await (const { position, changes, isWhole } of watch) {
          for (const { key: changed, value, revision } of changes) {
            if (json)
              writeJson(context.out, { position, key: changed, value: text(value), revision, isWhole });
            else writeLines(context.out, [`${position}  ${changed}  ${text(value) ?? '(deleted)'}`]);
          }
        }
      }),
    );
  return withExamples(command, context, [
    ['quorum watch greeting', 'one key'],
    ['quorum watch --prefix jobs/ --json', 'all keys that begin so, for programs'],
  ]);
}
