/**
 * The HTTP interface of a process, made from the services of its handles:
 *
 *     /                  the page of the one handle that has one, or a list of them
 *     /v1/status         version and readiness of the process, and the status of each handle
 *     /v1/problems       what stands in the way, and how to mend it
 *     /v1/events         the events as a stream that can be resumed; /v1/events/recent: the last of them
 *     /v1/<module>/…     what a module adds
 *     /healthz           200 as long as the process answers
 *     /readyz            200, or 503 with the reason: see progress.ts
 *     /metrics           the tables of all modules, the stalls, and those of the process
 *     /openapi.json      all routes with their schemas
 */

import { assert, present } from '../../runtime/assert.ts';
import type { Problem } from '../../runtime/handle.ts';
import { type Family, METRICS_CONTENT_TYPE, metricsText } from '../../runtime/metrics-text.ts';
import { counter, familiesOf, gauge, type Metric } from '../../runtime/metrics.ts';
import { printable, printableJson } from '../../runtime/printable.ts';
import { VERSION } from '../../runtime/version.ts';
import { failure, type HttpTextAnswer } from '../http/exchange.ts';
import type { ProcessUsage } from '../http/process-usage.ts';
import { hasEvents, latestEventId, recentEvents, supplyEvents } from './merged-events.ts';
import { labelsOf, mergedFamilies, sameInstance } from './merged-metrics.ts';
import { openApiDocument } from './openapi.ts';
import type { Stall } from './progress.ts';
import {
  jsonAnswer,
  type Parameter,
  pathParameter,
  queryParameter,
  type RouteDraft,
  route,
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
import type { Service } from './service.ts';

/** The process that the services run in. */
export interface ProcessHealth {
  stalls(): readonly HandleStall[];
  readonly names: readonly { readonly service: Service | undefined; readonly check: string }[];
  usage(): ProcessUsage;
  uptimeSeconds(): number;
}

/** A stall, and of which service; undefined: of the whole process. */
export interface HandleStall extends Stall {
  readonly service: Service | undefined;
}

/** The first fields of `/v1/status`. */
export interface ProcessStatus {
  readonly version: string;
  readonly isReady: boolean;
  readonly whyNotReady: string | null;
  readonly handles: readonly HandleHead[];
}

/** The first fields of each handle in it. */
export interface HandleHead {
  readonly module: string;
  readonly instance: string;
  readonly isReady: boolean;
  readonly whyNotReady: string | null;
}

const RECENT_EVENTS = { least: 1, most: 1_000, otherwise: 100 };

/** One series for each check, so that an alert can name the check. */
export const STALL_METRICS: readonly Metric<Pick<ProcessHealth, 'stalls' | 'names'>>[] = [
  {
    ...{ name: 'leasehold_stalled', type: 'gauge', labels: ['module', 'check'] },
    help: '1 while the work of this check stands still and the handle is not ready, otherwise 0.',
    read: (health) => {
      const stalls = health.stalls();
      return health.names.map(({ service, check }) => ({
        labels: { ...(service && { module: service.module, ...labelsOf(service) }), check },
        value: Number(stalls.some((stall) => stall.check === check && stall.service === service)),
      }));
    },
  },
];

export const PROCESS_METRICS: readonly Metric<ProcessHealth>[] = [
  {
    ...{ name: 'leasehold_build_info', type: 'gauge', labels: ['version'] },
    help: 'Always 1; the label is the version.',
    read: () => [{ labels: { version: VERSION }, value: 1 }],
  },
  gauge('leasehold_ready', '1 if all handles are of use, otherwise 0.', (health) =>
    health.stalls().length === 0 ? 1 : 0,
  ),
  ...STALL_METRICS,
  gauge(
    'leasehold_event_loop_delay_seconds',
    'The longest time within the last minute or two that the event loop did not turn.',
    (health) => health.usage().eventLoopDelaySeconds,
  ),
  gauge(
    'process_start_time_seconds',
    'When the process started, in seconds since 1970.',
    () => performance.timeOrigin / 1_000,
  ),
  gauge('process_resident_memory_bytes', 'Resident memory.', (health) => health.usage().residentBytes),
  counter(
    'process_cpu_seconds_total',
    'Processor time used, user and system.',
    (health) => health.usage().cpuSeconds,
  ),
];

const whyOf = (stalls: readonly Stall[]): string | null =>
  stalls.length === 0 ? null : stalls.map(({ why }) => why).join('; ');

/** @throws {InvalidArgumentError} if two services have one path that nothing tells apart */
export function statusRoutes(
  services: readonly Service[],
  health: ProcessHealth,
  { isPageShown = true }: { readonly isPageShown?: boolean } = {},
): readonly ServiceRoute[] {
  const schemas = schemasOf(services);
  /** Made once: the document is the largest answer, and never changes. */
  let openApi: HttpTextAnswer | undefined;

  const headOf = (service: Service, stalls: readonly HandleStall[]): HandleHead => {
    const own = stalls.filter((stall) => stall.service === undefined || stall.service === service);
    const { module, instance } = service;
    return { module, instance, isReady: own.length === 0, whyNotReady: whyOf(own) };
  };

  const drafts: readonly RouteDraft[] = [
    ...(isPageShown ? pages(services) : []),
    ...moduleRoutes(services),
    {
      path: '/v1/status',
      summary: 'How this process and its handles are.',
      schema: ref('Status'),
      answer: () => {
        const stalls = health.stalls();
        const status: ProcessStatus = {
          version: VERSION,
          isReady: stalls.length === 0,
          whyNotReady: whyOf(stalls),
          handles: services.map((service) => ({ ...headOf(service, stalls), ...service.status() })),
        };
        return textAnswer(`${nullJson(status)}\n`, 'application/json; charset=utf-8');
      },
    },
    {
      path: '/v1/problems',
      summary: 'What stands in the way of each handle, and how to mend it.',
      schema: ref('Problems'),
      answer: () => jsonAnswer({ problems: problemsOf(services, health.stalls()) }),
    },
    ...(hasEvents(services) ? eventRoutes(services) : []),
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
      summary: 'The handles are of use: their work goes on. Do not restart the process because of this.',
      schema: ref('Readiness'),
      problems: { 503: 'a handle is not, and why' },
      answer: () => {
        const stalls = health.stalls();
        const why = whyOf(stalls);
        const answer = {
          isReady: why === null,
          why,
          stalls: stalls.map(({ service, check, why, forMs }) => ({
            ...{ module: service?.module ?? null, instance: service?.instance ?? null },
            ...{ check, why, forMs },
          })),
          handles: services.map((service) => {
            const { module, instance, isReady } = headOf(service, stalls);
            return { module, instance, isReady, role: roleOf(service) };
          }),
        };
        return jsonAnswer(answer, why === null ? 200 : 503);
      },
    },
    {
      path: '/metrics',
      summary: 'Metrics in the text format of Prometheus.',
      contentType: 'text/plain',
      answer: () => textAnswer(metricsText(allFamilies(services, health)), METRICS_CONTENT_TYPE),
    },
    {
      path: '/openapi.json',
      summary: 'This document.',
      schema: { type: 'object' },
      answer: () => (openApi ??= jsonAnswer(openApiDocument(aboutOf(services), routes, schemas))),
    },
  ];
  const routes = drafts.map(route);
  return routes;
}

const allFamilies = (services: readonly Service[], health: ProcessHealth): readonly Family[] => [
  ...mergedFamilies(services),
  ...familiesOf(PROCESS_METRICS, health),
];

function roleOf(service: Service): string | null {
  const status = service.status();
  return 'role' in status && typeof status.role === 'string' ? status.role : null;
}

function aboutOf(services: readonly Service[]): {
  readonly title: string;
  readonly version: string;
  readonly description: string;
} {
  const titles = [...new Set(services.map(({ title }) => title))];
  const descriptions = [...new Set(services.map(({ description }) => description))];
  return { title: titles.join(', '), version: VERSION, description: descriptions.join(' ') };
}

/** A handle's problems, and its work that stands still, unless a problem of the handle says that already. */
function problemsOf(services: readonly Service[], stalls: readonly HandleStall[]): readonly object[] {
  const said = services.flatMap((service) => {
    const { module, instance } = service;
    return ownProblems(service).map((problem) => ({
      ...{ module, instance, ...problem },
      command: problem.command ?? null,
    }));
  });
  const untold = stalls.filter(
    ({ service, check }) =>
      service === undefined || !ownProblems(service).some((problem) => problem.id === check),
  );
  const still = untold.map(({ service, check, why, forMs }) => ({
    ...{ module: service?.module ?? null, instance: service?.instance ?? null },
    ...{ id: check, level: 'failing', what: why, sinceMs: forMs },
    cure: 'the handle goes on by itself when the cause is mended',
    command: null,
  }));
  return [...said, ...still];
}

function ownProblems(service: Service): readonly Problem[] {
  if (service.problems !== undefined) return service.problems();
  const status = service.status();
  return 'problems' in status && Array.isArray(status.problems)
    ? (status.problems as readonly Problem[])
    : [];
}

/** Routes of one path, of several instances, are one route that finds the instance. */
function moduleRoutes(services: readonly Service[]): readonly RouteDraft[] {
  const found = new Map<string, { readonly service: Service; readonly draft: RouteDraft }[]>();
  for (const service of services) {
    for (const draft of service.routes ?? []) {
      const isWhole = draft.path.startsWith('/v1/');
      const below = service.kind === undefined ? '' : `/{${service.kind}}`;
      const path = isWhole ? draft.path : `/v1/${service.module}${below}${draft.path}`;
      const key = `${draft.method ?? 'GET'} ${path}`;
      const known = found.get(key) ?? [];
      const isApart = !isWhole && service.kind !== undefined;
      if (known.some((other) => !isApart || other.service.instance === service.instance))
        throw sameInstance(service);
      found.set(key, [...known, { service, draft: { ...draft, path } }]);
    }
  }
  return [...found.values()].map((candidates) => {
    const { service, draft } = present(candidates[0], 'a route of the path');
    const { kind } = service;
    if (kind === undefined || !draft.path.startsWith(`/v1/${service.module}/{${kind}}`)) return draft;
    return ofInstance(kind, candidates);
  });
}

function ofInstance(
  kind: string,
  candidates: readonly { readonly service: Service; readonly draft: RouteDraft }[],
): RouteDraft {
  const { draft } = present(candidates[0], 'a route of the path');
  const parameter: Parameter = pathParameter(kind, `the name of the ${kind}`);
  const names = candidates.map(({ service }) => service.instance);
  return {
    ...draft,
    parameters: [parameter, ...(draft.parameters ?? [])],
    problems: { 404: `this process has no such ${kind}; the answer names those it has`, ...draft.problems },
    answer: (request) => {
      const asked = request.parameters[kind] ?? '';
      const own = candidates.find(({ service }) => service.instance === asked);
      if (own !== undefined) return own.draft.answer(request);
      const message = `this process has no ${kind} ${asked}; it has ${names.join(', ')}`;
      return failure(404, 'NOT_FOUND', message, { facts: { [`${kind}s`]: names } });
    },
  };
}

function pages(services: readonly Service[]): readonly RouteDraft[] {
  const shown = services.flatMap((service) => {
    const { page } = service;
    return page === undefined ? [] : [{ service, page: () => page.call(service) }];
  });
  const [first, ...more] = shown;
  if (first === undefined) return [];
  const summary = 'The state for people, in a browser.';
  if (more.length === 0) return [{ path: '/', summary, contentType: 'text/html', answer: first.page }];
  const links = shown.map(({ service: { title, module, instance } }) => {
    const path = `/page/${encodeURIComponent(module)}/${encodeURIComponent(instance)}`;
    return `<li><a href="${path}">${escaped(title)}: ${escaped(instance)}</a></li>`;
  });
  const list = `<!doctype html><title>Leasehold</title><ul>${links.join('')}</ul>\n`;
  return [
    {
      path: '/',
      summary: 'The handles of this process that have a page.',
      contentType: 'text/html',
      answer: () => textAnswer(list, 'text/html; charset=utf-8'),
    },
    {
      path: '/page/{module}/{instance}',
      summary,
      contentType: 'text/html',
      parameters: [pathParameter('module', 'the module'), pathParameter('instance', 'its instance')],
      problems: { 404: 'there is no such page' },
      answer: ({ parameters }) =>
        shown
          .find(
            ({ service }) =>
              service.module === parameters['module'] && service.instance === parameters['instance'],
          )
          ?.page() ?? failure(404, 'NOT_FOUND', 'there is no such page'),
    },
  ];
}

const escaped = (words: string): string =>
  printable(words).replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('"', '&quot;');

function eventRoutes(services: readonly Service[]): readonly RouteDraft[] {
  const all = services.flatMap(({ events }) => events?.parameters ?? []);
  const parameters = [...new Map(all.map((each) => [each.name, each])).values()];
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
        open: (onMore) => supplyEvents(services, request, onMore),
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
          events: recentEvents(services, wholeNumber(query, 'limit', RECENT_EVENTS), query),
          latestEventId: latestEventId(services),
        }),
    },
  ];
}

/** Every field is always there: a value that is not known, or has no end, is null. */
const nullJson = (value: object): string =>
  printableJson(
    JSON.parse(JSON.stringify(value, (_, field: unknown) => (field === undefined ? null : field))),
  );

const eitherOf = (schemas: readonly Schema[]): Schema => {
  const [only = { type: 'object' }, ...more] = schemas;
  return more.length === 0 ? only : { anyOf: schemas };
};

function schemasOf(services: readonly Service[]): Readonly<Record<string, Schema>> {
  const named = new Map<string, Schema>();
  const add = (name: string, schema: Schema): void => {
    const known = named.get(name);
    assert(
      known === undefined || JSON.stringify(known) === JSON.stringify(schema),
      `two modules have a schema ${name}`,
    );
    named.set(name, schema);
  };
  for (const { module, schemas = {} } of services) {
    for (const [name, schema] of Object.entries(schemas)) add(name, schema);
    add(statusName(module), statusSchemaOf(services.filter((service) => service.module === module)));
  }
  for (const [name, schema] of Object.entries(commonSchemas(services))) add(name, schema);
  return Object.fromEntries(named);
}

/** A module has handles of several roles, such as a server and a client of a group, each with a status of its own. */
function statusSchemaOf(services: readonly Service[]): Schema {
  const schemas = services.map(
    ({ statusSchema }): Schema =>
      statusSchema === undefined ? { type: 'object' } : handleSchema(statusSchema),
  );
  return eitherOf(unlike(schemas));
}

/** Each of several equal schemas once. */
const unlike = (schemas: readonly Schema[]): readonly Schema[] => [
  ...new Map(schemas.map((schema) => [JSON.stringify(schema), schema])).values(),
];

const statusName = (module: string): string => `${module.charAt(0).toUpperCase()}${module.slice(1)}Status`;

const handleSchema = (statusSchema: Readonly<Record<string, Schema>>): Schema =>
  object({
    module: text('of the handle: manager, flease …'),
    instance: text('the pool, cell, group or cluster'),
    isReady: boolean('its work goes on'),
    whyNotReady: textOrNull('why it does not'),
    ...statusSchema,
  });

const commonSchemas = (services: readonly Service[]): Readonly<Record<string, Schema>> => ({
  Status: object({
    version: text('the version of the package'),
    isReady: boolean('all handles are of use'),
    whyNotReady: textOrNull('why one is not'),
    handles: listOf(
      eitherOf([...new Set(services.map(({ module }) => statusName(module)))].map(ref)),
      'the status of each handle that is served',
    ),
  }),
  ...(hasEvents(services) && {
    Event: eitherOf(unlike(services.flatMap(({ events }) => events?.schema ?? []))),
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
  Problems: object({
    problems: listOf(
      object({
        module: textOrNull('of the handle; null: of the whole process'),
        instance: textOrNull('the pool, cell, group or cluster'),
        id: text('the same for as long as the problem lasts'),
        level: oneOf(['failing', 'warning'], 'failing: the handle is not ready because of it'),
        what: text('in words'),
        sinceMs: whole('for how long'),
        cure: text('what to do'),
        command: textOrNull('a command of the command line that does it, or shows more'),
      }),
      'of all handles',
    ),
  }),
  Health: object({
    status: oneOf(['ok'], 'it answers'),
    uptimeSeconds: whole('how long the process has run'),
    eventLoopDelaySeconds: number(
      'the longest time within the last minute or two that the event loop did not turn',
    ),
  }),
  Readiness: object({
    isReady: boolean('all handles are of use'),
    why: textOrNull('why one is not'),
    stalls: listOf(
      object({
        module: textOrNull('of the handle; null: the whole process stands still'),
        instance: textOrNull('the pool, cell, group or cluster'),
        check: text('the name of the work that stands still'),
        why: text('why it does'),
        forMs: whole('for how long'),
      }),
      'the checks that found work standing still',
    ),
    handles: listOf(
      object({
        module: text('of the handle'),
        instance: text('the pool, cell, group or cluster'),
        isReady: boolean('its work goes on'),
        role: textOrNull('of this process, if the status says so'),
      }),
      'all handles that are served',
    ),
  }),
});
