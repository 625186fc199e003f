/**
 * What a member can be asked over HTTP, by people and by programs that are no members. Nothing of it changes
 * anything: whoever wants a lease joins.
 */

import {
  failure,
  type HttpAnswer,
  type HttpRoute,
  type HttpTextAnswer,
} from '../../../node/http/exchange.ts';
import type { ProcessUsage } from '../../../node/http/process-usage.ts';
import { InvalidOptionError, LeaseholdError } from '../../../runtime/errors.ts';
import { METRICS_CONTENT_TYPE } from '../../../runtime/metrics-text.ts';
import { NoMajorityError } from '../../errors.ts';
import type { Flease } from '../flease.ts';
import { checkResource } from '../peers-option.ts';
import { holderAnswer, notKnownAnswer, statusAnswer } from './answers.ts';
import { fleaseMetrics, processMetrics } from './metrics.ts';
import { Watching } from './watching.ts';

const text = (body: string, contentType: string, status = 200): HttpTextAnswer => ({
  kind: 'text',
  status,
  headers: { 'content-type': contentType },
  body,
});

const json = (value: unknown): HttpTextAnswer =>
  text(`${JSON.stringify(value)}\n`, 'application/json; charset=utf-8');

const plain = (line: string, status = 200): HttpTextAnswer =>
  text(`${line}\n`, 'text/plain; charset=utf-8', status);

export const memberRoutes = (group: Flease, usage: () => ProcessUsage): readonly HttpRoute[] => [
  { path: '/v1/status', answer: () => json(statusAnswer(group.status())) },
  {
    path: '/v1/holder',
    answer: ({ query }) =>
      about(query, (resource) => ({ kind: 'promised', answer: tellHolder(group, resource) })),
  },
  {
    path: '/v1/watch',
    answer: ({ query }) =>
      about(query, (resource) => ({
        kind: 'stream',
        open: (onMore) => new Watching(group, resource, onMore),
      })),
  },
  {
    path: '/metrics',
    answer: () => text(fleaseMetrics([group]) + processMetrics(usage()), METRICS_CONTENT_TYPE),
  },
  { path: '/healthz', answer: () => plain('it lives') },
  {
    path: '/readyz',
    answer: () => {
      const { gone, silence } = group.status();
      const why = gone ?? silence;
      return why === undefined ? plain('it takes part') : plain(`it ${why.words}`, 503);
    },
  },
];

/** `?resource=`, if it is one. */
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
    return json(holderAnswer(resource, await group.holder(resource)));
  } catch (error) {
    if (!(error instanceof LeaseholdError)) throw error;
    const facts = error instanceof NoMajorityError ? { reasons: notKnownAnswer(error).error.reasons } : {};
    return failure(503, error.code, error.message, { facts });
  }
}
