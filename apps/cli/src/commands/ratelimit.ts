/** `leasehold ratelimit`: how a process that shares limits is, what happens there, and how a key stands. */

import { Command } from 'commander';
import type { RateLimitResult } from 'leasehold/ratelimit';
import type { StatusHead } from '../answers.ts';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { duration, type JsonOption, show } from '../output.ts';
import { LIMITED } from '../respondents.ts';
import { serviceStatusCommand, serviceWatchCommand, type WatchedEvent } from '../service/commands.ts';
import { type PlaceOption, placeOption, serviceApi } from '../service/place.ts';

export function ratelimitCommand(context: Context): Command {
  const words = { respondent: LIMITED, group: 'ratelimit' };
  const command = new Command('ratelimit')
    .summary('Limits that processes share')
    .description('Look at a process that shares rate limits with others (serveStatus of leasehold).')
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  command.addCommand(serviceStatusCommand<StatusHead, WatchedEvent>(context, words));
  command.addCommand(serviceWatchCommand<StatusHead, WatchedEvent>(context, words));
  command.addCommand(peekCommand(context));
  return withExamples(command, context, [
    ['ratelimit status', 'limits, decisions and differences of a process on this machine'],
    ['ratelimit peek api ann', 'would a request for key ann be allowed?'],
  ]);
}

function peekCommand(context: Context): Command {
  const command = new Command('peek')
    .summary('Tell whether a request for a key would be allowed')
    .description(
      'Tell whether a request for a key would be allowed at a process, and how many tokens are left there. No token is taken.',
    )
    .argument('<limiter>', 'the name of the limiter')
    .argument('<key>', 'the key')
    .addOption(placeOption(LIMITED))
    .addOption(jsonOption())
    .action(async (limiter: string, key: string, options: PlaceOption & JsonOption) => {
      const query = new URLSearchParams({ limiter, key });
      const api = serviceApi(context, options, LIMITED);
      const level = await api.get<RateLimitResult>(await api.pathOf(`/key?${query}`));
      show(context, options, level, () => levelLines(limiter, key, level));
    });
  return withExamples(command, context, [['ratelimit peek api ann --json', 'for programs']]);
}

function levelLines(limiter: string, key: string, level: RateLimitResult): readonly string[] {
  const { allowed, remaining, burst, limit, perMs, retryAfterMs, by } = level;
  const answer = allowed ? 'allowed' : `denied; try again in ${duration(retryAfterMs)}`;
  return [
    `${key} of ${limiter}: ${answer}`,
    `  ${remaining} of ${burst} tokens left, ${limit} come back in every ${duration(perMs)}`,
    `  known here by: ${by === 'owner' ? 'this process owns the key' : 'the batches in hand; another process owns the key'}`,
  ];
}
