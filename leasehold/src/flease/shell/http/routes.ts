/**
 * What a member can be asked over HTTP, by people and by programs that are no members. Nothing of it changes
 * anything: whoever wants a lease joins.
 */

import {
  type EventSupply,
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
import { holderAnswer, statusAnswer } from './answers.ts';
import { fleaseMetrics, processMetrics } from './metrics.ts';

const text = (body: string, contentType: string, status = 200): HttpTextAnswer => ({
  ...{ kind: 'text', status, headers: { 'content-type': contentType }, body },
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
      const { silence } = group.status();
      return silence === undefined ? plain('it takes part') : plain(`it keeps silent: ${silence.why}`, 503);
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
    const facts = error instanceof NoMajorityError ? { reasons: Object.fromEntries(error.reasons) } : {};
    return failure(503, error.code, error.message, { facts });
  }
}

/** Who has it, at first and whenever that changes. A slow reader is told the last of what it missed. */
class Watching implements EventSupply {
  readonly #resource: string;
  readonly #over = new AbortController();
  #untold: string | undefined;

  constructor(group: Flease, resource: string, onMore: () => void) {
    this.#resource = resource;
    void this.#watch(group, onMore);
  }

  next(): ReturnType<EventSupply['next']> {
    const data = this.#untold;
    this.#untold = undefined;
    return data === undefined ? undefined : { id: undefined, event: 'holder', data };
  }

  [Symbol.dispose](): void {
    this.#over.abort();
  }

  async #watch(group: Flease, onMore: () => void): Promise<void> {
    const { signal } = this.#over;
    try {
      for await (const holder of group.watch(this.#resource, { signal })) {
        this.#untold = JSON.stringify(holderAnswer(this.#resource, holder));
        onMore();
      }
    } catch (error) {
      // Nobody reads any more, or the member was closed, and the server goes with it.
      if (error !== signal.reason && !(error instanceof LeaseholdError)) throw error;
    }
  }
}
