import { Command } from 'commander';
import type { StepDownAnswer } from '../answers.ts';
import { type AtOption, ManagerApi } from '../api.ts';
import type { Context } from '../context.ts';
import { atOption, jsonOption, withExamples } from '../options.ts';
import { type JsonOption, show } from '../output.ts';

interface StepDownOptions extends AtOption, JsonOption {
  readonly follow: boolean;
}

/** With default durations a Manager says after six seconds at most that it is alone, unless etcd is slow. */
const ANSWER_WITHIN_MS = 15_000;
/** Whoever leads can change while we are on the way. */
const FOLLOWED_MAX = 3;

export function stepDownCommand(context: Context): Command {
  const command = new Command('step-down')
    .summary('Let another Manager lead')
    .description(
      'Let another Manager lead, for example before a restart: otherwise owners wait until the leader lease has expired. Asked of one that stands by, it goes to the one that leads, unless they keep nothing (--store flease): then ask the one that leads itself. Ends when another leads; if none does, it fails (ALONE), and everything stays as it is.',
    )
    .addOption(atOption())
    .option('--no-follow', 'do nothing if the Manager that is asked does not lead')
    .addOption(jsonOption())
    .action((options: StepDownOptions) => stepDown(context, options));
  return withExamples(command, context, [
    ['manager step-down', 'the leader, found through the Manager on this machine'],
    ['manager step-down --no-follow', 'the Manager on this machine, if it leads; before it is restarted'],
    ['manager step-down --at http://10.0.0.1:7401', 'by way of another'],
  ]);
}

async function stepDown(context: Context, options: StepDownOptions): Promise<void> {
  let api = ManagerApi.of(context, options);
  const asked = new Set<string>();
  let answer: StepDownAnswer;
  for (;;) {
    asked.add(api.url);
    answer = await api.post<StepDownAnswer>('/v1/manager/step-down', ANSWER_WITHIN_MS);
    const next = answer.leader?.http ?? undefined;
    const isDone = answer.hasSteppedDown || !options.follow || next === undefined;
    if (isDone || asked.has(next) || asked.size >= FOLLOWED_MAX) break;
    api = new ManagerApi(next, context.calledAs);
  }
  show(context, options, { asked: api.url, ...answer }, () => [words(api.url, answer)]);
  const isLeft = options.follow && !answer.hasSteppedDown;
  if (isLeft) context.exitCode = 1;
}

function words(url: string, { hasSteppedDown, leader, term }: StepDownAnswer): string {
  const who =
    leader === null ? 'no Manager' : leader.id + (leader.address === null ? '' : ` at ${leader.address}`);
  if (hasSteppedDown) {
    const inTerm = term === null ? '' : `, in term ${term}`;
    return `The Manager at ${url} has stepped down; ${who} leads${inTerm}.`;
  }
  const advice = leader === null || leader.http !== null ? '' : ' Ask it itself, with --at.';
  return `Nothing was done: the Manager at ${url} does not lead; ${who} does, as far as it knows.${advice}`;
}
