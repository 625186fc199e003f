import { Command } from 'commander';
import type { PoolsAnswer } from '../answers.ts';
import { type ApiOption, ManagerApi } from '../api.ts';
import type { Context } from '../context.ts';
import { apiOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, percent, show, table } from '../output.ts';
import { NOT_KNOWN_YET, waitingLines } from '../waiting.ts';

export function poolsCommand(context: Context): Command {
  const command = new Command('pools')
    .summary('List the pools')
    .description('List the pools of a Manager.')
    .addOption(apiOption())
    .addOption(jsonOption())
    .action(async (options: ApiOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const answer = await api.get<PoolsAnswer>('/v1/pools');
      show(context, options, answer, () => poolLines(answer));
    });
  return withExamples(command, context, [
    ['pools', 'all pools, how many are in them, and what nobody owns'],
    ['pools --json', 'the same for a program'],
  ]);
}

export function poolLines({ pools, waitsMs }: PoolsAnswer): readonly string[] {
  if (pools.length === 0) {
    return waitsMs === null
      ? ['There are no pools yet. A pool begins with whoever first joins it.']
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
    ...[isKnown && pool.misplacedPercent !== null ? percent(pool.misplacedPercent) : '-', pool.changedAt],
    pool.lastLostAt === 0 ? '-' : pool.lastLostAt,
  ]);
  return [
    ...table(
      ['POOL', 'OWNERS', 'LOOK-UPS', 'RANGES', 'UNOWNED', 'TO MOVE', 'CHANGED AT', 'LAST LOSS AT'],
      rows,
    ),
    ...waitingLines(waitsMs),
  ];
}
