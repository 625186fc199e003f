/**
 * The routes of the HTTP API: the requests, and their descriptions for the OpenAPI document. All of them only read,
 * except the requests of an operator, such as the one that makes a leader step down. The HTTP server below answers a
 * HEAD like a GET without the body, and makes sure that no web page can have a POST sent here.
 */

import type { HttpRequest, HttpTextAnswer } from '../../../node/http/exchange.ts';
import {
  jsonAnswer as json,
  type Parameter,
  pathParameter,
  queryParameter,
  RequestProblem,
  type RouteDraft,
  wholeNumber,
} from '../../../node/service/route.ts';
import { ref } from '../../../node/service/schema.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { Service } from '../../../node/service/service.ts';
import { InvalidArgumentError, LeaseholdError } from '../../../runtime/errors.ts';
import { parseHash, type Hash } from '../../../runtime/keys/position.ts';
import type { ManagerObservation } from '../../core/manager/observation.ts';
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
import { ofPool as eventsOfPool } from './event-log.ts';
import { explainAnswer, keyAnswer } from './explain.ts';
import { managerMetrics } from './metrics.ts';
import type { Order } from '../manager/order-owner.ts';
import { movesAnswer, type OrderAnswer } from './moves-answer.ts';
import { pageAnswer } from './page.ts';
import { EVENT, SCHEMAS, STATUS } from './schemas.ts';
import type { ApiSource } from './source.ts';

const OWNERS_PER_PAGE = { least: 1, most: 5_000, otherwise: 1_000 };
const ROWS_PER_PAGE = { least: 1, most: 5_000, otherwise: 500 };

const POOL = pathParameter('pool', 'the name of the pool');
const LIMIT = queryParameter('limit', 'how many at most', 'integer');
const AFTER = queryParameter('after', 'what the page before gave as `next`');

const DESCRIPTION =
  'What a Manager knows about its pools, owners, look-ups and keys. Everything is read-only, but for the POSTs. Places on the ring are 16 hexadecimal digits; other positions, numbers and names that end in At count commits of the log; Ms are milliseconds.';

const NOT_LEADING =
  'NOT_LEADING: this Manager stands by and cannot know; the answer names the one that leads';

const paging = ({ query }: HttpRequest): Paging => ({
  limit: wholeNumber(query, 'limit', OWNERS_PER_PAGE),
  after: query.get('after') ?? undefined,
});

export const managerService = (source: ApiSource): Service => ({
  ...{ module: 'manager', instance: source.store().where ?? source.store().kind },
  ...{ usualPort: STATUS_PORTS.manager, title: 'Leasehold Manager', description: DESCRIPTION },
  ...{ statusSchema: STATUS, schemas: SCHEMAS, routes: ownRoutes(source) },
  status: () => status(source),
  metrics: () => managerMetrics(source),
  progress: { names: source.checks, stalls: () => source.stalls() },
  page: pageAnswer,
  events: {
    ...{ log: source.events, schema: EVENT },
    filter: (query) => eventsOfPool(query.get('pool') ?? undefined),
    parameters: [queryParameter('pool', 'only events of this pool, and those of the Manager itself')],
  },
});

function ownRoutes(source: ApiSource): readonly RouteDraft[] {
  /** A route about one pool, which must exist. */
  const ofPool = (
    path: string,
    schema: string,
    summary: string,
    parameters: readonly Parameter[],
    answer: (seen: ManagerObservation, pool: string, request: HttpRequest) => unknown,
  ): RouteDraft => ({
    path: `/v1/pool/{pool}${path}`,
    summary,
    parameters: [POOL, ...parameters],
    schema: ref(schema),
    problems: {
      400: 'a parameter is malformed',
      404: 'there is no such pool; the answer names those there are',
      421: NOT_LEADING,
    },
    answer: (request) =>
      orInvalidKey(() => {
        const seen = source.observe();
        return json(answer(seen, checkPool(source, seen, request.parameters['pool'] ?? ''), request));
      }),
  });

  /** A route by which an operator orders something of an owner. */
  const order = (
    kind: Order['kind'],
    summary: string,
    parameters: readonly Parameter[] = [],
  ): RouteDraft => ({
    path: `/v1/pool/{pool}/owners/{owner}/${kind}`,
    method: 'POST',
    summary,
    parameters: [POOL, pathParameter('owner', 'the name of the owner'), ...parameters],
    schema: ref('Order'),
    problems: {
      400: 'a parameter is malformed',
      403: 'it comes from a page of another site',
      404: 'there is no such pool, or UNKNOWN_OWNER: it has no such owner; the answer names those there are',
      409: 'CANNOT_MOVE: its keys do not move with their state. NOT_LEADING: ask the Manager that leads',
      415: 'the header "content-type: application/json" is missing',
      421: NOT_LEADING,
    },
    answer: ({ parameters: { pool: asked = '', owner = '' }, query }) => {
      const pool = checkPool(source, source.observe(), asked);
      const ordered = source
        .order(pool, kind === 'drain' ? { kind, owner, otherwise: otherwiseIn(query) } : { kind, owner })
        .then((incarnation) => json({ pool, owner, incarnation, order: kind } satisfies OrderAnswer));
      return {
        kind: 'promised',
        answer: orRefused(ordered, ['CANNOT_MOVE', 'NOT_LEADING'], ['UNKNOWN_OWNER']),
      };
    },
  });

  return [
    {
      path: '/step-down',
      method: 'POST',
      summary: 'Lets another Manager lead, if this one does, and says which; answered when it leads.',
      schema: ref('StepDown'),
      problems: {
        403: 'it comes from a page of another site',
        409: 'ALONE: no other Manager takes over, and this one goes on',
        415: 'the header "content-type: application/json" is missing',
      },
      answer: () => ({ kind: 'promised', answer: steppedDown(source) }),
    },
    {
      path: '/v1/pool',
      summary: 'All pools.',
      schema: ref('Pools'),
      problems: { 421: NOT_LEADING },
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
    {
      path: '/v1/pool/{pool}/remove',
      method: 'POST',
      summary: 'Removes a pool without owners; answered when the removal is in the log.',
      parameters: [POOL],
      schema: ref('RemovePool'),
      problems: {
        403: 'it comes from a page of another site',
        404: 'there is no such pool; the answer names those there are',
        409: 'POOL_IN_USE: owners are in it. NOT_LEADING: ask the Manager that leads',
        415: 'the header "content-type: application/json" is missing',
        421: NOT_LEADING,
      },
      answer: ({ parameters }) => {
        const pool = checkPool(source, source.observe(), parameters['pool'] ?? '');
        const removed = source.removePool(pool).then((isRemoved) => json({ pool, isRemoved }));
        return { kind: 'promised', answer: orRefused(removed, ['POOL_IN_USE', 'NOT_LEADING']) };
      },
    },
    ofPool(
      '/moves',
      'Moves',
      'Moves under way, and owners that hand keys over, take none or were asked about.',
      [queryParameter('owner', 'the name of an owner')],
      (seen, pool, { query }) => movesAnswer(seen, pool, query.get('owner') ?? undefined),
    ),
    order(
      'drain',
      'Hands all keys of an owner over; it stays, and takes no more. Answered when that is in the log.',
      [
        queryParameter(
          'otherwise',
          'lose: what was not handed over by now is given back without its state; stay, if nothing is said: it stays',
        ),
      ],
    ),
    order('cordon', 'Lets an owner take no more keys. Answered when that is in the log.'),
    order('uncordon', 'Lets an owner take keys again, also after a drain. Answered when that is in the log.'),
    ofPool('/lookups', 'Lookups', 'The look-ups of a pool.', [LIMIT, AFTER], (seen, pool, request) =>
      lookupsAnswer(source, seen, pool, paging(request)),
    ),
    ofPool(
      '/keys/{key}',
      'Key',
      'Where a key is.',
      [pathParameter('key', 'the key, percent-encoded: a slash in it is %2F')],
      (seen, pool, request) => keyAnswer(source, seen, pool, request.parameters['key'] ?? ''),
    ),
    ofPool(
      '/keys',
      'Key',
      'Where a key is, also an empty one.',
      [{ ...queryParameter('key', 'the key'), required: true }],
      (seen, pool, { query }) => keyAnswer(source, seen, pool, keyIn(query)),
    ),
    ofPool(
      '/explain',
      'Explanation',
      'Why a key is where it is. Give `key` or `hash`.',
      [
        queryParameter('key', 'the key'),
        queryParameter('hash', 'a place on the ring, 16 hexadecimal digits'),
      ],
      (seen, pool, request) => explainAnswer(source, seen, pool, keyOrPosition(request)),
    ),
    ofPool(
      '/table',
      'Table',
      'The lease table, row by row.',
      [LIMIT, queryParameter('from', 'a place on the ring; the first row is the one that has it')],
      (seen, pool, { query }) =>
        tableAnswer(seen, pool, {
          limit: wholeNumber(query, 'limit', ROWS_PER_PAGE),
          from: hashIn(query, 'from') ?? 0n,
        }),
    ),
  ];
}

const steppedDown = (source: ApiSource): Promise<HttpTextAnswer> =>
  orRefused(
    source.stepDown().then((hasSteppedDown) => json(stepDownAnswer(source, hasSteppedDown))),
    ['ALONE'],
  );

/**
 * A refusal by the Manager is not a fault of the API. @param conflicts codes of requests that are impossible at
 * present
 * @param unknown codes of requests about something that is not there
 */
async function orRefused(
  answer: Promise<HttpTextAnswer>,
  conflicts: readonly string[],
  unknown: readonly string[] = [],
): Promise<HttpTextAnswer> {
  try {
    return await answer;
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    return new RequestProblem(
      unknown.includes(error.code) ? 404 : conflicts.includes(error.code) ? 409 : 503,
      error.code,
      error.message,
    ).toAnswer();
  }
}

/** What is to become of keys that were not handed over. */
function otherwiseIn(query: URLSearchParams): 'lose' | 'stay' {
  const otherwise = query.get('otherwise') ?? 'stay';
  if (otherwise === 'lose' || otherwise === 'stay') return otherwise;
  throw new RequestProblem(
    400,
    'INVALID_PARAMETER',
    `otherwise is "${otherwise}", but it can be lose or stay`,
  );
}

function orInvalidKey(answer: () => HttpTextAnswer): HttpTextAnswer {
  try {
    return answer();
  } catch (problem) {
    if (!(problem instanceof InvalidArgumentError)) throw problem;
    throw new RequestProblem(400, problem.code, problem.message);
  }
}

function keyIn(query: URLSearchParams): string {
  const key = query.get('key');
  if (key === null) throw new RequestProblem(400, 'INVALID_PARAMETER', 'give a key, as in ?key=alice');
  return key;
}

function keyOrPosition({ query }: HttpRequest): string | Hash {
  const key = query.get('key');
  const hash = hashIn(query, 'hash');
  if ((key === null) === (hash === undefined)) {
    throw new RequestProblem(400, 'INVALID_PARAMETER', 'give either key or hash, as in ?key=alice');
  }
  return hash ?? key ?? '';
}

function hashIn(query: URLSearchParams, name: string): Hash | undefined {
  const text = query.get(name);
  if (text === null) return undefined;
  if (!/^[0-9a-f]{16}$/i.test(text)) {
    throw new RequestProblem(
      400,
      'INVALID_PARAMETER',
      `${name} is "${text}", but a place on the ring is 16 hexadecimal digits`,
    );
  }
  return parseHash(text);
}
