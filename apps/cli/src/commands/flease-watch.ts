import { Command } from 'commander';
import type { HolderAnswer, NotKnownAnswer } from 'leasehold/internal';
import { type Context, interruption } from '../context.ts';
import { followStream } from '../event-stream.ts';
import { resourcePath } from '../flease/resource-path.ts';
import { jsonOption, withExamples } from '../options.ts';
import { clockTime, type JsonOption, writeJson, writeLines } from '../output.ts';
import { MEMBER } from '../respondents.ts';
import { connectionLines } from '../service/connection-lines.ts';
import { type PlaceOption, placeOption, serviceApi } from '../service/place.ts';

export function fleaseWatchCommand(context: Context): Command {
  const command = new Command('watch')
    .summary('Print the holder of a resource whenever it changes')
    .description(
      'Print the holder of a resource, at first and whenever it changes, as found by a running member ("flease start", or "flease hold" with --http). The member polls a few times per lease, so a change that is undone at once may be missed. If too few members answer, that is printed on the standard error, and the watch goes on; once enough answer, the holder is printed again, even if unchanged. A lost connection to the member, and its return, are printed there too.',
    )
    .argument('<resource>', 'the resource')
    .addOption(placeOption(MEMBER))
    .addOption(jsonOption('print a JSON object a line, for programs'))
    .action((resource: string, options: PlaceOption & JsonOption) => watch(context, resource, options));
  return withExamples(command, context, [
    ['flease watch backup', 'Ctrl-C ends it'],
    ['flease watch backup --json | jq .holder', 'for programs'],
  ]);
}

async function watch(context: Context, resource: string, options: PlaceOption & JsonOption): Promise<void> {
  const api = serviceApi(context, options, MEMBER);
  using signal = interruption();
  const say = (text: string): void => {
    if (!options.json) writeLines(context.err, [text]);
  };
  say(`Watching ${JSON.stringify(resource)} at ${api.url}; Ctrl-C ends it.`);
  const onState = connectionLines(context, api, { json: options.json, facts: { resource } });
  const path = await api.pathOf(resourcePath('/watch', resource), signal);
  let isKnown = true;
  for await (const answer of followStream<HolderAnswer | NotKnownAnswer>({ api, path, signal, onState })) {
    const atMs = Date.now();
    if ('error' in answer) {
      // Never among the others: to a program that looks for `holder` it would be nobody.
      if (options.json) writeJson(context.err, { atMs, ...answer });
      else writeLines(context.err, [notKnownLine(atMs, answer)]);
      isKnown = false;
      continue;
    }
    if (!isKnown) say(`${clockTime(atMs)} A majority answers again.`);
    isKnown = true;
    if (options.json) writeJson(context.out, { atMs, ...answer });
    else writeLines(context.out, [watchLine(atMs, answer)]);
  }
}

const watchLine = (atMs: number, { holder }: HolderAnswer): string =>
  `${clockTime(atMs)} ${holder === null ? 'nobody' : `${holder.holder}, under number ${holder.number}`}`;

const notKnownLine = (atMs: number, { error }: NotKnownAnswer): string =>
  `${clockTime(atMs)} Not known: ${error.message}`;
