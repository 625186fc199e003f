import { Command } from 'commander';
import { planRecovery, type RaisedCounters, type Recovery } from 'leasehold/manager';
import type { Context } from '../context.ts';
import { UsageError } from '../failure.ts';
import { createLogger } from '../logger.ts';
import { jsonOption, wholeNumberFrom, withExamples } from '../options.ts';
import { type JsonOption, show, writeLines } from '../output.ts';
import {
  isOnQuorum,
  keepsNothing,
  type StoreOptions,
  storeOf,
  storeWords,
  withStoreOptions,
} from '../store-options.ts';

interface RecoverOptions extends JsonOption, StoreOptions {
  readonly seenTerm?: number;
  readonly seenPosition?: number;
  readonly yes?: true;
  readonly allowNetworkDirectory?: true;
}

export function recoverCommand(context: Context): Command {
  const command = new Command('recover')
    .summary('Raise the counters of a log that was put back from a backup')
    .description(
      'After a restore: raise the counters of the log above everything that was given out since the backup, so that no term and no lease number is given twice. All Managers must be stopped. It says what it will do, and asks.',
    )
    .option('--data <directory>', 'the data directory that was put back');
  withStoreOptions(command)
    .option(
      '--seen-term <term>',
      'the highest term that anybody has seen (default: a leap of 2^40)',
      wholeNumberFrom(0),
    )
    .option(
      '--seen-position <position>',
      'the highest position or lease number that anybody has seen (default: a leap of 2^40)',
      wholeNumberFrom(0),
    )
    .option('--allow-network-directory', 'take a --data directory on a network file system')
    .option('--yes', 'do not ask')
    .addOption(jsonOption())
    .action((options: RecoverOptions) => recover(context, options));
  return withExamples(command, context, [
    ['manager recover --data /var/lib/leasehold', 'a directory that was put back'],
    ['manager recover --store etcd://10.0.0.1:2379,10.0.0.2:2379', 'an etcd that was restored'],
    ['manager recover --data DIR --seen-term 40 --seen-position 9000 --yes', 'by numbers that you know'],
  ]);
}

async function recover(context: Context, options: RecoverOptions): Promise<void> {
  if (keepsNothing(context, options))
    throw new UsageError(
      'Managers that elect each other keep nothing: there is nothing to recover, start them',
    );
  if (isOnQuorum(context, options))
    throw new UsageError(
      'a log on --store quorum is not recovered: the other Managers refuse a directory that was put back, and have what it lacks. Start that Manager with an empty directory and --newcomer, then let the group take it (leasehold quorum add <name>). If the directories of all Managers were put back, what was given out since the backup is lost: found a new group in empty directories, under another --cluster',
    );
  const store = storeOf(context, options);
  if (store === undefined && options.data === undefined) {
    throw new UsageError('say which log: --data DIRECTORY, or --store etcd://… (or LEASEHOLD_STORE)');
  }
  const mustAsk = options.yes === undefined;
  if (mustAsk && (options.json || context.ask === undefined)) {
    throw new UsageError('no terminal to ask for confirmation: give --yes to recover without a question');
  }
  const logger = createLogger(context, { format: options.json ? 'json' : undefined, level: 'warn' });
  const { data: directory, seenTerm, seenPosition, allowNetworkDirectory } = options;
  const recovery = await planRecovery({
    store: store ?? { directory: directory ?? '', allowNetworkDirectory },
    ...{ seenTerm, seenPosition, logger },
  });
  const where = store === undefined ? (directory ?? '') : storeWords(store);
  if (!options.json) writeLines(context.out, planLines(where, recovery));
  if (mustAsk && !(await isConfirmed(context))) {
    writeLines(context.out, ['Nothing was changed.']);
    context.exitCode = 1;
    return;
  }
  const raised = await recovery.carryOut();
  show(context, options, { found: recovery.found, raised }, () => doneLines(context, raised));
}

const isConfirmed = async ({ ask }: Context): Promise<boolean> =>
  /^\s*yes\s*$/i.test((await ask?.('Raise the counters? Type yes if you mean it: ')) ?? '');

const planLines = (where: string, { found, above }: Recovery): readonly string[] => [
  `The log in ${where} has got to position ${found.position}, and its terms to ${found.term} at most.`,
  'What will be done: a history of its own begins, in which',
  `  terms go on above                         ${above.term}`,
  `  positions, and lease numbers, go on above ${above.position}`,
  'What follows, when a Manager leads on it again:',
  '  all leases that may still be held are waited out before anybody is given anything;',
  '  all owners are removed, and join anew by themselves;',
  '  look-ups report everything as lost.',
  'Numbers do not go back: a database that compares them needs a column with 64 bits.',
];

const doneLines = ({ calledAs }: Context, { history, term, floor }: RaisedCounters): readonly string[] => [
  `Done: history ${history}, terms above ${term}, positions above ${floor}.`,
  `Start the Managers (${calledAs} manager start). One that had halted must have been stopped.`,
];
