import { Command } from 'commander';
import type { HolderAnswer, NotKnownAnswer } from 'leasehold/flease';
import { type Context, interruption } from '../context.ts';
import { followStream } from '../event-stream.ts';
import { type MemberApiOption, memberApi, memberApiOption, resourcePath } from '../flease/member-api.ts';
import { jsonOption, withExamples } from '../options.ts';
import { clockTime, type JsonOption } from '../output.ts';

export function fleaseWatchCommand(context: Context): Command {
  const command = new Command('watch')
    .summary('Tell who has a resource, as that changes')
    .description(
      'Tell who has a resource, at first and whenever that changes, as a running member ("flease serve", or "flease hold" with --http) finds it. It asks a few times in a lease, so what is undone at once is not told. If too few members answer it says so, on the standard error, and goes on; once enough do it tells who has it, even if that has not changed. It says there as well when it has lost the connection to the member, and when it is back.',
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
  const onState = (connection: 'lost' | 'back', why?: Error): void => {
    if (options.json) {
      const line = { atMs: Date.now(), resource, connection, ...(why && { why: why.message }) };
      context.err.write(`${JSON.stringify(line)}\n`);
    } else
      say(connection === 'lost' ? `Lost the connection to ${api.url}; trying again …` : 'Connected again.');
  };
  const path = resourcePath('/v1/watch', resource);
  let isKnown = true;
  for await (const answer of followStream<HolderAnswer | NotKnownAnswer>({ api, path, signal, onState })) {
    const atMs = Date.now();
    if ('error' in answer) {
      // Never among the others: to a program that looks for `holder` it would be nobody.
      const line = options.json ? JSON.stringify({ atMs, ...answer }) : notKnownLine(atMs, answer);
      context.err.write(`${line}\n`);
      isKnown = false;
      continue;
    }
    if (!isKnown) say(`${clockTime(atMs)} A majority answers again.`);
    isKnown = true;
    context.out.write(`${options.json ? JSON.stringify({ atMs, ...answer }) : watchLine(atMs, answer)}\n`);
  }
}

const watchLine = (atMs: number, { holder }: HolderAnswer): string =>
  `${clockTime(atMs)} ${holder === null ? 'nobody' : `${holder.holder}, under number ${holder.number}`}`;

const notKnownLine = (atMs: number, { error }: NotKnownAnswer): string =>
  `${clockTime(atMs)} Not known: ${error.message}`;
