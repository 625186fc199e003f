/**
 * `status` and `watch` of a service, for every module that uses the service kit (`leasehold/src/node/service/`). A module
 * adds a {@link Respondent} to `respondents.ts`, and words for status and events if plain fields are not enough.
 */

import { Command } from 'commander';
import type { StatusHead } from '../answers.ts';
import { type Context, interruption } from '../context.ts';
import { followStream } from '../event-stream.ts';
import { jsonOption, withExamples } from '../options.ts';
import { clockTime, duration, type JsonOption, show, table, writeJson, writeLines } from '../output.ts';
import { type Respondent, STATUS_PATH } from '../respondents.ts';
import { connectionLines } from './connection-lines.ts';
import { type PlaceOption, placeOption, serviceApi } from './place.ts';

/** An event as the kit sends it. */
export interface WatchedEvent {
  readonly kind: string;
  readonly id?: string;
  readonly atMs: number;
}

export interface ServiceWords<Status extends StatusHead, Event extends WatchedEvent> {
  readonly respondent: Respondent;
  /** The words before `status` and `watch`: `membership`. */
  readonly group: string;
  /** @default a line for each field */
  lines?(status: Status): readonly string[];
  /** @default the kind of the event and its fields */
  eventLine?(event: Event): string;
}

type Options = PlaceOption & JsonOption;

export function serviceStatusCommand<Status extends StatusHead, Event extends WatchedEvent>(
  context: Context,
  words: ServiceWords<Status, Event>,
): Command {
  const { respondent, group } = words;
  const command = new Command('status')
    .summary(`Tell how a running ${respondent.who} is`)
    .description(`Ask a running ${respondent.who} ("${respondent.command}") how it is.`)
    .addOption(placeOption(respondent))
    .addOption(jsonOption())
    .action(async (options: Options) => {
      const status = await serviceApi(context, options, respondent).get<Status>(STATUS_PATH);
      show(context, options, status, () => words.lines?.(status) ?? statusLines(status));
    });
  return withExamples(command, context, [
    [`${group} status`, `a ${respondent.who} on this machine`],
    [`${group} status --at 10.0.0.2:${respondent.usualPort} --json`, 'another one, for programs'],
  ]);
}

export function serviceWatchCommand<Status extends StatusHead, Event extends WatchedEvent>(
  context: Context,
  words: ServiceWords<Status, Event>,
): Command {
  const { respondent, group } = words;
  const command = new Command('watch')
    .summary('Tell what happens, as it happens')
    .description(
      `Tell what happens at a running ${respondent.who} ("${respondent.command}"), as it happens. When the connection is lost it says so on the error output, and goes on after the last event that it saw.`,
    )
    .addOption(placeOption(respondent))
    .addOption(jsonOption('print a JSON object a line, for programs'))
    .action((options: Options) => watch(context, options, words));
  return withExamples(command, context, [
    [`${group} watch`, 'Ctrl-C ends it'],
    [`${group} watch --json | jq .kind`, 'for programs'],
  ]);
}

async function watch<Status extends StatusHead, Event extends WatchedEvent>(
  context: Context,
  options: Options,
  { respondent, eventLine = plainLine }: ServiceWords<Status, Event>,
): Promise<void> {
  const api = serviceApi(context, options, respondent);
  using signal = interruption();
  if (!options.json) writeLines(context.err, [`Watching ${api.url}; Ctrl-C ends it.`]);
  const onState = connectionLines(context, api, { json: options.json });
  for await (const event of followStream<Event>({ api, path: '/v1/events', signal, onState })) {
    if (options.json) writeJson(context.out, event);
    else writeLines(context.out, [`${clockTime(event.atMs)} ${eventLine(event)}`]);
  }
}

/** A line for each field; a list of objects becomes a table below. */
export function statusLines(status: StatusHead): readonly string[] {
  const { module, instance, version, isReady, whyNotReady, ...rest } = status;
  const fields = Object.entries(rest);
  const width = Math.max(8, ...fields.map(([name]) => name.length));
  const single = fields.filter(([, value]) => !isTable(value));
  const tables = fields.flatMap(([name, value]) => (isTable(value) ? [[name, value] as const] : []));
  return [
    `${module} ${instance}, ${version}, ${isReady ? 'ready' : `not ready: ${whyNotReady}`}`,
    ...single.map(([name, value]) => `  ${name.padEnd(width)}  ${cell(name, value)}`),
    ...tables.flatMap(([name, rows]) => ['', `${name}:`, ...tableOf(rows)]),
  ];
}

type Row = Readonly<Record<string, unknown>>;

const isTable = (value: unknown): value is readonly Row[] =>
  Array.isArray(value) &&
  value.length > 0 &&
  value.every((each) => typeof each === 'object' && each !== null);

function tableOf(rows: readonly Row[]): readonly string[] {
  const names = [...new Set(rows.flatMap((row) => Object.keys(row)))];
  const cells = rows.map((row) => names.map((name) => cell(name, row[name])));
  return table(
    names.map((name) => name.toUpperCase()),
    cells,
  );
}

function cell(name: string, value: unknown): string {
  if (value === null || value === undefined) return '-';
  if (typeof value === 'number' && /[a-z]Ms$/.test(name) && !/AtMs$/.test(name)) return duration(value);
  if (typeof value === 'boolean') return value ? 'yes' : 'no';
  if (Array.isArray(value)) return value.map((each) => cell('', each)).join(', ') || '-';
  return typeof value === 'object' ? JSON.stringify(value) : String(value);
}

function plainLine({ kind, id: _id, atMs: _at, ...facts }: WatchedEvent): string {
  const words = Object.entries(facts).map(([name, value]) => `${name} ${cell(name, value)}`);
  return [kind, ...words].join(', ');
}
