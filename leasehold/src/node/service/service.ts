/**
 * The HTTP interface of every service of the toolkit, made from a description of one module.
 *
 * A module gives a status function, a table of metrics, events, progress checks, and further routes if there are any. The
 * module gets, under the same paths as every other module:
 *
 *     /v1/status         the status, with `service`, `version`, `isReady` and `whyNotReady` in front
 *     /v1/events         the events as a stream that can be resumed; /v1/events/recent: the last of them
 *     /healthz           200 as long as the process answers
 *     /readyz            200, or 503 with the reason: see progress.ts
 *     /metrics           the module's table, the stalls, and those of the process
 *     /openapi.json      all routes with their schemas
 *
 * Reading changes nothing. All values are read at the moment of asking, so a service that nobody looks at does no work for
 * the status. A module's test holds real answers against the schemas (`schema-checker-script.ts`).
 */

import { printableJson } from '../../runtime/printable.ts';
import { type Family, METRICS_CONTENT_TYPE, metricsText } from '../../runtime/metrics-text.ts';
import { counter, familiesOf, gauge, labelled, type Metric } from '../../runtime/metrics.ts';
import type { EventSupply, HttpRequest } from '../http/exchange.ts';
import type { ProcessUsage } from '../http/process-usage.ts';
import type { EventFilter, EventLog, ServiceEvent } from './event-log.ts';
import { openApiDocument } from './openapi.ts';
import type { ProgressCheck, Stall } from './progress.ts';
import {
  jsonAnswer,
  type Parameter,
  queryParameter,
  route,
  type RouteDraft,
  type ServiceRoute,
  textAnswer,
  wholeNumber,
} from './route.ts';
import {
  boolean,
  listOf,
  number,
  object,
  oneOf,
  ref,
  type Schema,
  text,
  textOrNull,
  whole,
} from './schema.ts';

export interface Service<Event extends ServiceEvent = ServiceEvent> {
  /** One word, as on the command line: `manager`, `flease`. In the status, so that programs can tell services apart. */
  readonly name: string;
  readonly title: string;
  readonly description: string;
  readonly version: string;
  /** Every field is always there: undefined is shown as null. */
  status(): object;
  /** Of the fields of the status. @default any */
  readonly statusSchema?: Readonly<Record<string, Schema>> | undefined;
  metrics(): readonly Family[];
  readonly events?: ServiceEvents<Event> | undefined;
  /** `/readyz` is green while these pass and the event loop turns; read once, at the start. @default none */
  checks?(): readonly ProgressCheck[];
  /** More about readiness, beside `isReady` and `why`. */
  readonly readiness?: { readonly schema: Readonly<Record<string, Schema>>; read(): object } | undefined;
  readonly routes?: readonly RouteDraft[] | undefined;
  /** Named schemas that the routes refer to. */
  readonly schemas?: Readonly<Record<string, Schema>> | undefined;
}

/** The first fields of every service's status. */
export interface StatusHead {
  readonly service: string;
  readonly version: string;
  readonly isReady: boolean;
  readonly whyNotReady: string | null;
}

export interface ServiceEvents<Event extends ServiceEvent> {
  readonly log: EventLog<Event>;
  readonly schema: Schema;
  /** The events that a request wants, by the query. @default all */
  filter?(query: URLSearchParams): EventFilter<Event>;
  /** The parameters that `filter` reads. */
  readonly parameters?: readonly Parameter[] | undefined;
}

/** The process that the service runs in. */
export interface ServiceHealth {
  stalls(): readonly Stall[];
  readonly names: readonly string[];
  whyNotReady(): string | undefined;
  usage(): ProcessUsage;
  uptimeSeconds(): number;
}

const RECENT_EVENTS = { least: 1, most: 1_000, otherwise: 100 };

/** One series for each check, so that an alert can name the check. */
export const STALL_METRICS: readonly Metric<Pick<ServiceHealth, 'stalls' | 'names'>>[] = [
  labelled(
    'gauge',
    'leasehold_stalled',
    'check',
    '1 while the work of this check stands still and the service is not ready, otherwise 0.',
    (health) => {
      const stalled = new Set(health.stalls().map(({ check }) => check));
      return health.names.map((name) => [name, stalled.has(name) ? 1 : 0] as const);
    },
  ),
];

export const PROCESS_METRICS: readonly Metric<ProcessUsage>[] = [
  gauge(
    'leasehold_event_loop_delay_seconds',
    'The longest time within the last minute or two that the event loop did not turn.',
    ({ eventLoopDelaySeconds }) => eventLoopDelaySeconds,
  ),
  gauge('process_resident_memory_bytes', 'Resident memory.', ({ residentBytes }) => residentBytes),
  counter(
    'process_cpu_seconds_total',
    'Processor time used, user and system.',
    ({ cpuSeconds }) => cpuSeconds,
  ),
];

export function serviceRoutes<Event extends ServiceEvent>(
  service: Service<Event>,
  health: ServiceHealth,
): readonly ServiceRoute[] {
  const whyNotReady = (): string | null => health.whyNotReady() ?? null;
  const schemas = { ...schemasOf(service), ...service.schemas };
  /** Made once: the document is the largest answer, and never changes. */
  let openApi: ReturnType<typeof jsonAnswer> | undefined;

  const drafts: readonly RouteDraft[] = [
    ...(service.routes ?? []),
    {
      path: '/v1/status',
      summary: 'How this process is.',
      schema: ref('Status'),
      answer: () => {
        const why = whyNotReady();
        const { name, version } = service;
        const head: StatusHead = { service: name, version, isReady: why === null, whyNotReady: why };
        return textAnswer(
          `${nullJson({ ...head, ...service.status() })}\n`,
          'application/json; charset=utf-8',
        );
      },
    },
    ...(service.events === undefined ? [] : eventRoutes(service.events)),
    {
      path: '/healthz',
      summary: 'The process lives and its event loop turns. Restart it if this fails.',
      schema: ref('Health'),
      answer: () =>
        jsonAnswer({
          status: 'ok',
          uptimeSeconds: health.uptimeSeconds(),
          eventLoopDelaySeconds: health.usage().eventLoopDelaySeconds,
        }),
    },
    {
      path: '/readyz',
      summary: 'The service is of use: its work goes on. Do not restart it because of this.',
      schema: ref('Readiness'),
      problems: { 503: 'it is not, and why' },
      answer: () => {
        const why = whyNotReady();
        const answer = { isReady: why === null, why, stalls: health.stalls(), ...service.readiness?.read() };
        return jsonAnswer(answer, why === null ? 200 : 503);
      },
    },
    {
      path: '/metrics',
      summary: 'Metrics in the text format of Prometheus.',
      contentType: 'text/plain',
      answer: () =>
        textAnswer(
          metricsText([
            ...service.metrics(),
            ...familiesOf(STALL_METRICS, health),
            ...familiesOf(PROCESS_METRICS, health.usage()),
          ]),
          METRICS_CONTENT_TYPE,
        ),
    },
    {
      path: '/openapi.json',
      summary: 'This document.',
      schema: { type: 'object' },
      answer: () => (openApi ??= jsonAnswer(openApiDocument(service, routes, schemas))),
    },
  ];
  const routes = drafts.map(route);
  return routes;
}

function eventRoutes<Event extends ServiceEvent>({
  log,
  filter,
  parameters = [],
}: ServiceEvents<Event>): readonly RouteDraft[] {
  return [
    {
      path: '/v1/events',
      summary:
        'What happens, as server-sent events. An event `gap` says that some could not be told: ask for everything else again.',
      parameters: [
        ...parameters,
        queryParameter('after', 'the id of the last event seen, for clients that cannot set the header'),
        {
          ...{ name: 'Last-Event-ID', in: 'header', required: false },
          ...{ description: 'the id of the last event seen', schema: { type: 'string' } },
        },
      ],
      contentType: 'text/event-stream',
      answer: (request) => ({
        kind: 'stream',
        open: (onMore) => supply(log, request, filter?.(request.query), onMore),
      }),
    },
    {
      path: '/v1/events/recent',
      summary: 'The last events.',
      parameters: [...parameters, queryParameter('limit', 'how many at most', 'integer')],
      schema: ref('Events'),
      problems: { 400: 'a parameter is malformed' },
      answer: ({ query }) =>
        jsonAnswer({
          events: log.recent(wholeNumber(query, 'limit', RECENT_EVENTS), filter?.(query)),
          latestEventId: log.latestId,
        }),
    },
  ];
}

/**
 * A reader that shows the id of the last event seen gets everything since, or a `gap` where that is
 * not kept any more; a reader that shows no id gets the events from now on. A gap has no id: the
 * next event has one, and until then the old one is still true.
 */
function supply<Event extends ServiceEvent>(
  log: EventLog<Event>,
  request: HttpRequest,
  filter: EventFilter<Event> | undefined,
  onMore: () => void,
): EventSupply {
  // A browser that reconnects sends the header, so the header is newer than the query.
  const after = request.header('last-event-id') ?? request.query.get('after') ?? undefined;
  const reader = log.read({ after, filter, onMore });
  return {
    next: () => {
      const event = reader.next();
      if (event === undefined) return undefined;
      const id = event.kind === 'gap' ? undefined : (event as { readonly id: string }).id;
      return { id, event: event.kind, data: printableJson(event) };
    },
    [Symbol.dispose]: () => reader[Symbol.dispose](),
  };
}

/** Every field is always there: a value that is not known, or has no end, is null. */
const nullJson = (value: object): string =>
  printableJson(
    JSON.parse(JSON.stringify(value, (_, field: unknown) => (field === undefined ? null : field))),
  );

const schemasOf = <Event extends ServiceEvent>({
  statusSchema,
  events,
  readiness,
}: Service<Event>): Readonly<Record<string, Schema>> => ({
  Status:
    statusSchema === undefined
      ? { type: 'object' }
      : object({
          service: text('what kind of process answers'),
          version: text('the version of the package'),
          isReady: boolean('its work goes on'),
          whyNotReady: textOrNull('why it does not'),
          ...statusSchema,
        }),
  ...(events && {
    Event: events.schema,
    Events: object({
      events: listOf(ref('Event'), 'the newest last'),
      latestEventId: text('to be shown as Last-Event-ID to read on'),
    }),
  }),
  Error: {
    type: 'object',
    properties: {
      error: {
        type: 'object',
        properties: { code: text('for programs; does not change'), message: text('for people') },
        required: ['code', 'message'],
        additionalProperties: true,
      },
    },
    required: ['error'],
    additionalProperties: false,
  },
  Health: object({
    status: oneOf(['ok'], 'it answers'),
    uptimeSeconds: whole('how long the process has run'),
    eventLoopDelaySeconds: number(
      'the longest time within the last minute or two that the event loop did not turn',
    ),
  }),
  Readiness: object({
    isReady: boolean('its work goes on'),
    why: textOrNull('why it does not'),
    stalls: listOf(
      object({
        check: text('the name of the work that stands still'),
        why: text('why it does'),
        forMs: whole('for how long'),
      }),
      'the checks that found work standing still',
    ),
    ...readiness?.schema,
  }),
});
