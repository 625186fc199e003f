import { Command } from 'commander';
import type { PoolSummary } from '../answers.ts';
import { type ApiOption, ManagerApi } from '../api.ts';
import type { Context } from '../context.ts';
import { apiOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, percent, show, table } from '../output.ts';

export function poolsCommand(context: Context): Command {
  const command = new Command('pools')
    .summary('List the pools')
    .description('List the pools of a Manager.')
    .addOption(apiOption())
    .addOption(jsonOption())
    .action(async (options: ApiOption & JsonOption) => {
      const api = ManagerApi.of(context, options);
      const answer = await api.get<{ pools: readonly PoolSummary[] }>('/v1/pools');
      show(context, options, answer, () => poolLines(answer.pools));
    });
  return withExamples(command, context, [
    ['pools', 'all pools, how many are in them, and what nobody owns'],
    ['pools --json', 'the same for a program'],
  ]);
}

export function poolLines(pools: readonly PoolSummary[]): readonly string[] {
  if (pools.length === 0) return ['There are no pools yet. A pool begins with whoever first joins it.'];
  return table(
    ['POOL', 'OWNERS', 'LOOK-UPS', 'RANGES', 'UNOWNED', 'TO MOVE', 'CHANGED AT', 'LAST LOSS AT'],
    pools.map((pool) => [
      ...[pool.name, pool.owners, pool.lookups, pool.rows, percent(pool.unownedPercent)],
      ...[pool.misplacedPercent === null ? '-' : percent(pool.misplacedPercent), pool.changedAt],
      pool.lastLostAt === 0 ? '-' : pool.lastLostAt,
    ]),
  );
}
