/**
 * The routes of the HTTP API: what may be asked, and what the OpenAPI document says about it. All of
 * them only read, but for the one that makes a leader step down; a HEAD is answered like a GET without its body
 * by whoever has the socket, who also sees to it that no web page can have a POST sent here.
 */

import { LeaseholdError } from '../../runtime/errors.ts';
import { parsePosition, type Position } from '../../runtime/keys/position.ts';
import type { ManagerObservation } from '../manager/observation.ts';
import {
  checkPool,
  lookupsAnswer,
  ownersAnswer,
  type Paging,
  poolAnswer,
  poolsAnswer,
  status,
  stepDownAnswer,
  tableAnswer,
} from './answers.ts';
import {
  type ApiAnswer,
  type ApiRequest,
  type ApiRoute,
  ApiProblem,
  json,
  type Parameter,
  type TextAnswer,
  wholeNumber,
} from './exchange.ts';
import { explainAnswer, keyAnswer } from './explain.ts';
import { renderMetrics } from './metrics.ts';
import { METRICS_CONTENT_TYPE } from '../../runtime/metrics-text.ts';
import { openApiDocument } from './openapi.ts';
import { pageAnswer } from './page.ts';
import { schemaOf } from './schemas.ts';
import type { ApiSource } from './source.ts';
import { streamEvents } from './stream.ts';

type Draft = Omit<ApiRoute, 'method' | 'problems' | 'contentType' | 'schema'> & Partial<ApiRoute>;

const JSON_TYPE = 'application/json';
const OWNERS_PER_PAGE = { least: 1, most: 5_000, otherwise: 1_000 };
const ROWS_PER_PAGE = { least: 1, most: 5_000, otherwise: 500 };
const RECENT_EVENTS = { least: 1, most: 1_000, otherwise: 100 };

const inPath = (name: string, description: string): Parameter => ({
  name,
  in: 'path',
  required: true,
  description,
  schema: { type: 'string' },
});
const inQuery = (name: string, description: string, type = 'string'): Parameter => ({
  name,
  in: 'query',
  required: false,
  description,
  schema: { type },
});

const POOL = inPath('pool', 'the name of the pool');
const LIMIT = inQuery('limit', 'how many at most', 'integer');
const AFTER = inQuery('after', 'what the page before gave as `next`');

const STANDS_BY = 'STANDS_BY: this Manager stands by and cannot know; the answer names the one that leads';

const paging = ({ query }: ApiRequest): Paging => ({
  limit: wholeNumber(query, 'limit', OWNERS_PER_PAGE),
  after: query.get('after') ?? undefined,
});

export function apiRoutes(source: ApiSource): readonly ApiRoute[] {
  /** A route about one pool, which must exist. */
  const ofPool = (
    path: string,
    schema: string,
    summary: string,
    parameters: readonly Parameter[],
    answer: (seen: ManagerObservation, pool: string, request: ApiRequest) => unknown,
  ): Draft => ({
    path: `/v1/pools/{pool}${path}`,
    summary,
    parameters: [POOL, ...parameters],
    schema: schemaOf(schema),
    problems: {
      400: 'a parameter is malformed',
      404: 'there is no such pool; the answer names those there are',
      421: STANDS_BY,
    },
    answer: (request) => {
      const seen = source.observe();
      return json(answer(seen, checkPool(source, seen, request.parameters['pool'] ?? ''), request));
    },
  });

  /** Made once: it is the largest answer that never changes. */
  let openApi: ApiAnswer | undefined;
  const drafts: readonly Draft[] = [
    {
      path: '/',
      summary: 'A page for people: the ring, the owners and what happens, live.',
      parameters: [],
      contentType: 'text/html',
      answer: () => pageAnswer(),
    },
    {
      path: '/v1/status',
      summary: 'The Manager: its role, its log, and how much it looks after.',
      parameters: [],
      schema: schemaOf('Status'),
      answer: () => json(status(source)),
    },
    {
      path: '/v1/step-down',
      method: 'POST',
      summary: 'Lets another Manager lead, if this one does, and says which; answered when it leads.',
      parameters: [],
      schema: schemaOf('StepDown'),
      problems: {
        403: 'it comes from a page of another site',
        409: 'ALONE: no other Manager takes over, and this one goes on',
        415: 'the header "content-type: application/json" is missing',
      },
      answer: () => ({ kind: 'promised', answer: steppedDown(source) }),
    },
    {
      path: '/v1/pools',
      summary: 'All pools.',
      parameters: [],
      schema: schemaOf('Pools'),
      problems: { 421: STANDS_BY },
      answer: () => json(poolsAnswer(source, source.observe())),
    },
    ofPool(
      '',
      'Pool',
      'One pool, with its durations and the bounds that follow from them.',
      [],
      (seen, pool) => poolAnswer(source, seen, pool),
    ),
    ofPool(
      '/owners',
      'Owners',
      'The owners of a pool, and those who want to be.',
      [LIMIT, AFTER],
      (seen, pool, request) => ownersAnswer(source, seen, pool, paging(request)),
    ),
    ofPool('/lookups', 'Lookups', 'The look-ups of a pool.', [LIMIT, AFTER], (seen, pool, request) =>
      lookupsAnswer(source, seen, pool, paging(request)),
    ),
    ofPool(
      '/keys/{key}',
      'Key',
      'Where a key is.',
      [inPath('key', 'the key, percent-encoded: a slash in it is %2F')],
      (seen, pool, request) => keyAnswer(source, seen, pool, request.parameters['key'] ?? ''),
    ),
    ofPool(
      '/explain',
      'Explanation',
      'Why a key is where it is. Give `key` or `position`.',
      [inQuery('key', 'the key'), inQuery('position', 'a place on the ring, 16 hexadecimal digits')],
      (seen, pool, request) => explainAnswer(source, seen, pool, keyOrPosition(request)),
    ),
    ofPool(
      '/table',
      'Table',
      'The lease table, row by row.',
      [LIMIT, inQuery('from', 'a place on the ring; the first row is the one that has it')],
      (seen, pool, { query }) =>
        tableAnswer(seen, pool, {
          limit: wholeNumber(query, 'limit', ROWS_PER_PAGE),
          from: positionIn(query, 'from') ?? 0n,
        }),
    ),
    {
      path: '/v1/events',
      summary:
        'What happens, as server-sent events. An event `gap` says that some could not be told: ask for everything else again.',
      parameters: [
        inQuery('pool', 'only events of this pool, and those of the Manager itself'),
        inQuery('after', 'the id of the last event seen, for clients that cannot set the header'),
        {
          name: 'Last-Event-ID',
          in: 'header',
          required: false,
          description: 'the id of the last event seen',
          schema: { type: 'string' },
        },
      ],
      contentType: 'text/event-stream',
      answer: (request) => streamEvents(source, request),
    },
    {
      path: '/v1/events/recent',
      summary: 'The last events.',
      parameters: [inQuery('pool', 'only events of this pool, and those of the Manager itself'), LIMIT],
      schema: schemaOf('Events'),
      problems: { 400: 'a parameter is malformed' },
      answer: ({ query }) =>
        json({
          events: source.events.recent(
            wholeNumber(query, 'limit', RECENT_EVENTS),
            query.get('pool') ?? undefined,
          ),
          latestEventId: source.events.latestId,
        }),
    },
    {
      path: '/healthz',
      summary: 'The process lives and its event loop turns. Restart it if this fails.',
      parameters: [],
      schema: schemaOf('Health'),
      answer: () =>
        json({
          status: 'ok',
          uptimeSeconds: status(source).uptimeSeconds,
          eventLoopDelaySeconds: source.process().eventLoopDelaySeconds,
        }),
    },
    {
      path: '/readyz',
      summary: 'Owners and look-ups can be served. Do not restart it because of this.',
      parameters: [],
      schema: schemaOf('Readiness'),
      problems: { 503: 'they cannot, and why' },
      answer: () => {
        const why = source.whyNotReady();
        const { role } = source.observe();
        return json({ isReady: why === undefined, why: why ?? null, role }, why === undefined ? 200 : 503);
      },
    },
    {
      path: '/metrics',
      summary: 'Metrics in the text format of Prometheus.',
      parameters: [],
      contentType: 'text/plain',
      answer: () => ({
        kind: 'text',
        status: 200,
        headers: { 'content-type': METRICS_CONTENT_TYPE },
        body: renderMetrics(source),
      }),
    },
    {
      path: '/openapi.json',
      summary: 'This document.',
      parameters: [],
      schema: { type: 'object' },
      answer: () => (openApi ??= json(openApiDocument(routes, source.version))),
    },
  ];
  const routes: readonly ApiRoute[] = drafts.map((draft) => ({
    method: 'GET',
    contentType: JSON_TYPE,
    schema: undefined,
    problems: {},
    ...draft,
    answer: (request) => orProblem(() => draft.answer(request)),
  }));
  return routes;
}

/** What the Manager has against it is no fault of the API. */
async function steppedDown(source: ApiSource): Promise<TextAnswer> {
  try {
    return json(stepDownAnswer(source, await source.stepDown()));
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    return new ApiProblem(error.code === 'ALONE' ? 409 : 503, error.code, error.message).toAnswer();
  }
}

function orProblem(answer: () => ApiAnswer): ApiAnswer {
  try {
    return answer();
  } catch (problem) {
    if (problem instanceof ApiProblem) return problem.toAnswer();
    throw problem;
  }
}

function keyOrPosition({ query }: ApiRequest): string | Position {
  const key = query.get('key');
  const position = positionIn(query, 'position');
  if ((key === null) === (position === undefined)) {
    throw new ApiProblem(400, 'INVALID_PARAMETER', 'give either key or position, as in ?key=alice');
  }
  return position ?? key ?? '';
}

function positionIn(query: URLSearchParams, name: string): Position | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[0-9a-f]{16}$/i.test(text)) {
    throw new ApiProblem(
      400,
      'INVALID_PARAMETER',
      `${name} is "${text}", but a place on the ring is 16 hexadecimal digits`,
    );
  }
  return parsePosition(text);
}
