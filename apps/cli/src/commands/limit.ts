/** `leasehold limit`: how a process that shares limits is, what happens there, and how a key stands. */

import { Command } from 'commander';
import type { RateLimitResult } from 'leasehold/ratelimit';
import type { StatusHead } from 'leasehold/internal';
import type { Context } from '../context.ts';
import { jsonOption, withExamples } from '../options.ts';
import { duration, type JsonOption, show } from '../output.ts';
import { LIMITED } from '../respondents.ts';
import { serviceStatusCommand, serviceWatchCommand, type WatchedEvent } from '../service/commands.ts';
import { type PlaceOption, placeOption, serviceApi } from '../service/place.ts';

export function limitCommand(context: Context): Command {
  const words = { respondent: LIMITED, group: 'limit' };
  const command = new Command('limit')
    .summary('Limits that processes share')
    .description(
      'Look at a process that shares rate limits with others (serveLimits of leasehold/ratelimit).',
    )
    .helpCommand('help [command]', 'print the help of a command')
    .enablePositionalOptions();
  command.addCommand(serviceStatusCommand<StatusHead, WatchedEvent>(context, words));
  command.addCommand(serviceWatchCommand<StatusHead, WatchedEvent>(context, words));
  command.addCommand(testCommand(context));
  return withExamples(command, context, [
    ['limit status', 'limits, decisions and differences of a process on this machine'],
    ['limit test api ann', 'would a request for key ann be allowed?'],
  ]);
}

function testCommand(context: Context): Command {
  const command = new Command('test')
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
      const level = await serviceApi(context, options, LIMITED).get<RateLimitResult>(`/v1/key?${query}`);
      show(context, options, level, () => levelLines(limiter, key, level));
    });
  return withExamples(command, context, [['limit test api ann --json', 'for programs']]);
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
