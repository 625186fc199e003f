/**
 * The routes of a member of a group, for people and for programs that are not members. No route changes anything: a
 * program that wants a lease joins the group.
 */

import { failure, type HttpAnswer, type HttpTextAnswer } from '../../../node/http/exchange.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { HandleEvents } from '../../../node/service/handle-events.ts';
import { jsonAnswer, queryParameter, type RouteDraft } from '../../../node/service/route.ts';
import { object, orNull, ref, type Schema, text, whole } from '../../../node/service/schema.ts';
import type { Service } from '../../../node/service/service.ts';
import { brokenRule, LeaseholdError } from '../../../runtime/errors.ts';
import { familiesOf } from '../../../runtime/metrics.ts';
import { isNoMajority } from '../../core/errors.ts';
import type { View } from '../../core/view.ts';
import type { Holder, Look } from '../looking.ts';
import { checkResource } from '../peers-option.ts';
import { progressChecks } from '../progress.ts';
import { holderAnswer, notKnownAnswer, statusAnswer } from './answers.ts';
import type { FleaseStatus } from '../status.ts';
import { METRICS } from './metrics.ts';
import { Watching } from './watching.ts';

/** As much of a member as is shown. */
export interface ShownMember {
  readonly view: View;
  status(): FleaseStatus;
  holder(resource: string): Promise<Holder | undefined>;
  looking(resource: string, signal?: AbortSignal): AsyncIterable<Look>;
}

export const memberService = (group: ShownMember, events: HandleEvents<'flease'>['log']): Service => ({
  ...{ module: 'flease', instance: group.status().instance, kind: 'cell', usualPort: STATUS_PORTS.flease },
  title: 'Leasehold flease member',
  description:
    'How a member of a cell is, how it finds the others, and which member holds a lease. Read-only.',
  ...{ routes: ownRoutes(group), schemas: SCHEMAS },
  status: () => statusAnswer(group.status()),
  metrics: () => familiesOf(METRICS, group.status()),
  checks: () => progressChecks(group),
  events: { log: events, schema: EVENT },
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

const EVENT: Schema = {
  type: 'object',
  description:
    'flease.recovering, .ready, .lost, .trouble, .changed, .settled or .removed, with `id`, `atMs`, `instance` and facts',
};

const RESOURCE = { ...queryParameter('resource', 'the resource'), required: true };

const ownRoutes = (group: ShownMember): readonly RouteDraft[] => [
  {
    path: '/holder',
    summary: 'Which member holds the lease on a resource.',
    parameters: [RESOURCE],
    schema: ref('Holder'),
    problems: { 400: 'a parameter is malformed', 503: 'NO_MAJORITY: too few members answer to know' },
    answer: ({ query }) =>
      about(query, (resource) => ({ kind: 'promised', answer: tellHolder(group, resource) })),
  },
  {
    path: '/watch',
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
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    return failure(400, 'INVALID_PARAMETER', `?resource=: ${broken.rule}`);
  }
  return answer(resource);
}

async function tellHolder(group: ShownMember, resource: string): Promise<HttpTextAnswer> {
  try {
    return jsonAnswer(holderAnswer(resource, await group.holder(resource)));
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    const facts = isNoMajority(error) ? { reasons: notKnownAnswer(error).error.reasons } : {};
    return failure(503, error.code, error.message, { facts });
  }
}
