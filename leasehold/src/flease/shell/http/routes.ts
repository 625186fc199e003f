/**
 * The routes of a member of a group, for people and for programs that are not members. No route changes anything: a
 * program that wants a lease joins the group.
 */

import { failure, type HttpAnswer, type HttpTextAnswer } from '../../../node/http/exchange.ts';
import { jsonAnswer, queryParameter, type RouteDraft } from '../../../node/service/route.ts';
import { object, orNull, ref, text, whole } from '../../../node/service/schema.ts';
import type { Service } from '../../../node/service/service.ts';
import { InvalidOptionError, LeaseholdError } from '../../../runtime/errors.ts';
import { familiesOf } from '../../../runtime/metrics.ts';
import { VERSION } from '../../../runtime/version.ts';
import { NoMajorityError } from '../../errors.ts';
import type { Flease } from '../flease.ts';
import { checkResource } from '../peers-option.ts';
import { progressChecks } from '../progress.ts';
import { holderAnswer, notKnownAnswer, statusAnswer } from './answers.ts';
import { METRICS } from './metrics.ts';
import { Watching } from './watching.ts';

export const memberService = (group: Flease): Service => ({
  ...{ name: 'flease', title: 'Leasehold flease member', version: VERSION },
  description:
    'How a member of a group is, how it finds the others, and which member holds a lease. Read-only.',
  ...{ routes: ownRoutes(group), schemas: SCHEMAS },
  status: () => statusAnswer(group.status()),
  metrics: () => familiesOf(METRICS, [group.status()]),
  checks: () => progressChecks(group),
});

const SCHEMAS = {
  Holder: object({
    resource: text('the resource'),
    holder: orNull(
      object({
        holder: text('the member that holds the lease'),
        number: whole('the lease number'),
        validUntil: whole('when the lease runs out unless it is renewed, in milliseconds since 1970'),
      }),
    ),
  }),
};

const RESOURCE = { ...queryParameter('resource', 'the resource'), required: true };

const ownRoutes = (group: Flease): readonly RouteDraft[] => [
  {
    path: '/v1/holder',
    summary: 'Which member holds the lease on a resource.',
    parameters: [RESOURCE],
    schema: ref('Holder'),
    problems: { 400: 'a parameter is malformed', 503: 'NO_MAJORITY: too few members answer to know' },
    answer: ({ query }) =>
      about(query, (resource) => ({ kind: 'promised', answer: tellHolder(group, resource) })),
  },
  {
    path: '/v1/watch',
    summary: 'Which member holds the lease, at first and whenever that changes, as server-sent events.',
    parameters: [RESOURCE],
    contentType: 'text/event-stream',
    problems: { 400: 'a parameter is malformed' },
    answer: ({ query }) =>
      about(query, (resource) => ({
        kind: 'stream',
        open: (onMore) => new Watching(group, resource, onMore),
      })),
  },
];

/** `?resource=`, if that is a valid resource. */
function about(query: URLSearchParams, answer: (resource: string) => HttpAnswer): HttpAnswer {
  const resource = query.get('resource') ?? '';
  try {
    checkResource(resource);
  } catch (error) {
    if (!(error instanceof InvalidOptionError)) throw error;
    return failure(400, 'INVALID_PARAMETER', `?resource=: ${error.rule}`);
  }
  return answer(resource);
}

async function tellHolder(group: Flease, resource: string): Promise<HttpTextAnswer> {
  try {
    return jsonAnswer(holderAnswer(resource, await group.holder(resource)));
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    const facts = error instanceof NoMajorityError ? { reasons: notKnownAnswer(error).error.reasons } : {};
    return failure(503, error.code, error.message, { facts });
  }
}
