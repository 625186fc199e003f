import { Command } from 'commander';
import type { HolderAnswer } from 'leasehold/flease';
import { type Context, interruption } from '../context.ts';
import { followStream } from '../event-stream.ts';
import { ApiRefusedError, type HttpApi } from '../api.ts';
import { type MemberApiOption, memberApi, memberApiOption, resourcePath } from '../flease/member-api.ts';
import { jsonOption, withExamples } from '../options.ts';
import { clockTime, type JsonOption } from '../output.ts';

export function fleaseWatchCommand(context: Context): Command {
  const command = new Command('watch')
    .summary('Tell who has a resource, as that changes')
    .description(
      'Tell who has a resource, at first and whenever that changes, as a running member ("flease serve", or "flease hold" with --http) finds it. It asks a few times in a lease, so what is undone at once is not told.',
    )
    .argument('<resource>', 'the resource')
    .addOption(memberApiOption())
    .addOption(jsonOption('print a JSON object a line, for programs'))
    .action((resource: string, options: MemberApiOption & JsonOption) => watch(context, resource, options));
  return withExamples(command, context, [
    ['flease watch backup', 'Ctrl-C ends it'],
    ['flease watch backup --json | jq .holder', 'for programs'],
  ]);
}

async function watch(
  context: Context,
  resource: string,
  options: MemberApiOption & JsonOption,
): Promise<void> {
  const api = memberApi(context, options);
  using signal = interruption();
  const say = (text: string): void => {
    if (!options.json) context.err.write(`${text}\n`);
  };
  say(`Watching ${JSON.stringify(resource)} at ${api.url}; Ctrl-C ends it.`);
  await complainIfNotKnown(api, resource, say);
  const onState = (state: 'lost' | 'back'): void =>
    say(state === 'lost' ? `Lost the connection to ${api.url}; trying again …` : 'Connected again.');
  const path = resourcePath('/v1/watch', resource);
  for await (const answer of followStream<HolderAnswer>({ api, path, signal, onState })) {
    const atMs = Date.now();
    context.out.write(`${options.json ? JSON.stringify({ atMs, ...answer }) : watchLine(atMs, answer)}\n`);
  }
}

/** Who watches a group without a majority would else see nothing, and not know why. */
async function complainIfNotKnown(
  api: HttpApi,
  resource: string,
  say: (text: string) => void,
): Promise<void> {
  try {
    await api.get<HolderAnswer>(resourcePath('/v1/holder', resource));
  } catch (error) {
    if (!(error instanceof ApiRefusedError) || error.code !== 'NO_MAJORITY') throw error;
    say(`Not known yet: ${error.message}`);
  }
}

export const watchLine = (atMs: number, { holder }: HolderAnswer): string =>
  `${clockTime(atMs)} ${holder === null ? 'nobody' : `${holder.holder}, under number ${holder.number}`}`;
