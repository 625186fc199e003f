import { Command } from 'commander';
import type { OwnersAnswer, PoolsAnswer, StatusAnswer } from '../answers.ts';
import { type AtOption, ManagerApi, poolPath } from '../api.ts';
import { colorsFor, type Context, interruption } from '../context.ts';
import { EventTeller } from '../event-line.ts';
import { followEvents } from '../event-stream.ts';
import { atOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, writeJson, writeLines, writeStyled } from '../output.ts';
import { connectionLines } from '../service/connection-lines.ts';

const watching = (): Command =>
  new Command('watch')
    .summary('Print events as they happen')
    .description('Print joins, moves and losses as they happen.')
    .addOption(atOption())
    .addOption(jsonOption('print a JSON object a line, for programs'));

/** `leasehold pool watch`. */
export function poolWatchCommand(context: Context): Command {
  const command = watching()
    .argument('<pool>', 'only this pool, and the Manager itself')
    .action((pool: string, options: AtOption & JsonOption) => watch(context, pool, options));
  return withExamples(command, context, [['pool watch presence', 'one pool; Ctrl-C ends it']]);
}

/** `leasehold watch`. */
export function watchCommand(context: Context): Command {
  const command = watching().action((options: AtOption & JsonOption) => watch(context, undefined, options));
  return withExamples(command, context, [
    ['watch', 'everything; Ctrl-C ends it'],
    [
      'watch --at 10.0.0.1,10.0.0.2,10.0.0.3',
      'of three Managers, the one that leads, and then its successor',
    ],
    ['watch --json | jq .kind', 'for programs'],
  ]);
}

/** Asks the Manager, until somebody presses Ctrl-C. */
type Ask = <T>(path: string) => Promise<T>;

async function watch(
  context: Context,
  pool: string | undefined,
  options: AtOption & JsonOption,
): Promise<void> {
  const api = ManagerApi.of(context, options);
  using signal = interruption();
  const teller = new EventTeller(colorsFor(context.out, context));
  const ask: Ask = (path) => api.get(path, undefined, signal);
  let status: StatusAnswer;
  try {
    status = await ask<StatusAnswer>('/v1/status');
    if (pool !== undefined) await ask(poolPath(pool)); // A misspelled pool would wait for ever.
    if (!options.json && status.pools !== null) await meet(teller, ask, pool);
  } catch (error) {
    if (signal.aborted) return; // Ctrl-C, while nobody answered.
    throw error;
  }
  const say = (text: string): void => writeLines(context.err, [text]);
  if (!options.json) for (const line of beginning(api, pool, status)) say(line);
  const back = 'Connected again; what was missed comes first, if the Manager still knows it.';
  const onState = connectionLines(context, api, { json: options.json, back });
  for await (const event of followEvents({ api, pool, after: status.latestEventId, signal, onState })) {
    if (options.json) writeJson(context.out, event);
    else writeStyled(context.out, [teller.line(event)]);
  }
}

/** A Manager that keeps nothing would seem to be silent for ever: such a Manager hears of nothing but elections. */
function beginning(api: ManagerApi, pool: string | undefined, status: StatusAnswer): readonly string[] {
  const { role, leader, store } = status;
  const first = `Watching ${pool === undefined ? api.url : `${pool} at ${api.url}`}; Ctrl-C ends it.`;
  if (role !== 'standby' || store.kind !== 'flease') return [first];
  const who =
    leader === null
      ? 'It does not know yet which Manager leads.'
      : `As far as it knows, ${leader.id} leads: watch that one, with --at.`;
  return [
    first,
    `This Manager stands by and keeps nothing, so until it leads it reports only which Manager leads. ${who}`,
  ];
}

/** The present owners; the first thousand of each pool, because they serve for words only. */
async function meet(teller: EventTeller, ask: Ask, only: string | undefined): Promise<void> {
  const { pools } = await ask<PoolsAnswer>('/v1/pool');
  for (const { name } of pools.filter((pool) => only === undefined || pool.name === only)) {
    const { owners } = await ask<OwnersAnswer>(poolPath(name, '/owners?limit=1000'));
    for (const owner of owners) if (owner.isMember) teller.know(name, owner);
  }
}
