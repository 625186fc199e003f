import { Command } from 'commander';
import type { PoolsAnswer, RemovePoolAnswer } from '../answers.ts';
import { type AtOption, ManagerApi, poolPath } from '../api.ts';
import type { Context } from '../context.ts';
import { atOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, percent, show, table } from '../output.ts';
import { orderCommands } from './drain.ts';
import { explainCommand } from './explain.ts';
import { findCommand } from './find.ts';
import { poolStatusCommand } from './status.ts';
import { poolWatchCommand } from './watch.ts';
import { NOT_KNOWN_YET, waitingLines } from '../waiting.ts';

/** A log that is slow, or an etcd without a majority. */
const REMOVED_WITHIN_MS = 15_000;

export function poolCommand(context: Context): Command {
  const command = new Command('pool')
    .summary('Ask a Manager about pools, owners and keys')
    .description(
      'Ask a Manager about pools: their owners, the owner of a key and why, what moves and what is lost.',
    );
  for (const verb of [
    listCommand(context),
    poolStatusCommand(context),
    findCommand(context),
    explainCommand(context),
    poolWatchCommand(context),
    ...orderCommands(context),
    removePoolCommand(context),
  ])
    command.addCommand(verb);
  return withExamples(command, context, [
    ['pool list', 'all pools'],
    ['pool find presence alice', 'who owns alice'],
    ['pool watch presence', 'who joins, what moves and what is lost'],
  ]);
}

function listCommand(context: Context): Command {
  const command = new Command('list')
    .summary('List the pools')
    .description('List the pools of a Manager.')
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (options: AtOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const answer = await api.get<PoolsAnswer>('/v1/pool');
      show(context, options, answer, () => poolLines(answer));
    });
  return withExamples(command, context, [
    ['pool list', 'all pools, their owners, and how much of the ring has no owner'],
    ['pool list --json', 'the same for a program'],
  ]);
}

function removePoolCommand(context: Context): Command {
  const command = new Command('remove')
    .summary('Remove a pool without owners')
    .description(
      'Remove everything that the log has of a pool. It is refused while owners are in it (POOL_IN_USE): stop them first, or wait until the hold of a dead one is over. Look-ups of the pool are told that everything is lost. A pool that is declared, or that somebody joins again, begins anew; lease numbers go on growing.',
    )
    .argument('<pool>', 'the pool')
    .addOption(atOption())
    .addOption(jsonOption())
    .action(async (pool: string, options: AtOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const answer = await api.post<RemovePoolAnswer>(poolPath(pool, '/remove'), REMOVED_WITHIN_MS);
      show(context, options, answer, () => [removalWords(answer)]);
    });
  return withExamples(command, context, [
    ['pool remove presence', 'once all its servers have stopped'],
    ['pool remove presence --at http://10.0.0.1:7401', 'by way of the Manager that leads'],
  ]);
}

const removalWords = ({ pool, isRemoved }: RemovePoolAnswer): string =>
  isRemoved
    ? `The pool ${pool} is removed.`
    : `Nothing was done: the log has nothing of ${pool}. It is declared in the configuration, or a look-up asks for it.`;

/** The number of a commit, marked as one: the numbers of a new log begin above the clock, and would be taken for times. */
const commit = (position: number): string => (position === 0 ? '-' : `#${position}`);

export function poolLines({ pools, waitsMs }: PoolsAnswer): readonly string[] {
  if (pools.length === 0) {
    return waitsMs === null
      ? ['There are no pools yet. A pool begins when its first owner joins.']
      : ['No pools are known yet.', ...waitingLines(waitsMs)];
  }
  const isKnown = waitsMs === null;
  const rows = pools.map((pool) => [
    ...[
      pool.name,
      pool.owners,
      pool.lookups,
      pool.rows,
      isKnown ? percent(pool.unownedPercent) : NOT_KNOWN_YET,
    ],
    ...[
      isKnown && pool.misplacedPercent !== null ? percent(pool.misplacedPercent) : '-',
      commit(pool.changedAt),
    ],
    commit(pool.lastLostAt),
  ]);
  return [
    ...table(
      ['POOL', 'OWNERS', 'LOOK-UPS', 'RANGES', 'UNOWNED', 'TO MOVE', 'LAST CHANGE', 'LAST LOSS'],
      rows,
    ),
    ...waitingLines(waitsMs),
  ];
}
