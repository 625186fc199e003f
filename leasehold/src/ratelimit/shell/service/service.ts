/**
 * What a process that shares limits shows of its state: status, events, metrics, and the level of a key. Nothing here takes tokens.
 */

import { queryParameter, jsonAnswer, RequestProblem } from '../../../node/service/route.ts';
import { object, oneOf, text } from '../../../node/service/schema.ts';
import type { EventLog, ServiceEvent } from '../../../node/service/event-log.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { Service } from '../../../node/service/service.ts';
import { familiesOf, gauge, type Metric } from '../../../runtime/metrics.ts';
import type { Sample } from '../../../runtime/metrics-text.ts';
import { isWellFormed } from '../../../runtime/text-option.ts';
import { KEY_MAX } from '../../core/local/local-limiter.ts';
import type { RateLimitResult } from '../../core/local/result.ts';
import type { SharedLimitsStatus } from '../status.ts';

/** Until a process owns keys for the first time. */
export const NO_KEYS_YET = 'this process owns no keys yet: requests have its part of each limit until then';
/** Keys may change hands meanwhile. */
const CUT_OFF_AFTER_MS = 1_000;

/** As much of a process that shares limits as is shown. */
export interface ShownLimits {
  readonly instance: string;
  readonly isClosed: boolean;
  readonly hasBegun: boolean;
  readonly whyCutOff: string | undefined;
  status(): SharedLimitsStatus;
  peek(limiter: string, key: string): RateLimitResult | undefined;
}

export const limitService = (limits: ShownLimits, log: EventLog<ServiceEvent>): Service => ({
  ...{ module: 'ratelimit', instance: limits.instance, kind: 'pool', usualPort: STATUS_PORTS.ratelimit },
  title: 'Leasehold shared limits',
  description: 'The limits that a process shares with others, and its decisions. Read-only.',
  status: () => limits.status(),
  metrics: () => familiesOf(METRICS, limits.status()),
  checks: () => [
    {
      ...{ name: 'open', afterMs: 0 },
      standsStill: () =>
        limits.isClosed ? 'the shared limits are closed: this process no longer shares them' : undefined,
    },
    { ...{ name: 'keys', afterMs: CUT_OFF_AFTER_MS }, standsStill: () => limits.whyCutOff },
    // Red until this process owns keys for the first time. Later, keys may change hands for a moment, and a load balancer need not hear of that.
    { ...{ name: 'start', afterMs: 0 }, standsStill: () => (limits.hasBegun ? undefined : NO_KEYS_YET) },
  ],
  events: {
    log,
    schema: object({
      kind: oneOf(
        ['ratelimit.cut-off', 'ratelimit.differs'],
        'the owner of a key did not answer, or a limit differs between processes',
      ),
      limiter: text('the name of the limiter'),
    }),
  },
  routes: [
    {
      path: '/key',
      summary: 'The level of a key as this process knows it. Nothing is taken.',
      parameters: [queryParameter('limiter', 'the name of the limiter'), queryParameter('key', 'the key')],
      problems: {
        400: 'no key was given, or none that a shared limit takes',
        404: 'this process has no such limiter',
      },
      answer: ({ query }) => {
        const [limiter, key] = [query.get('limiter') ?? '', query.get('key') ?? ''];
        if (key.length > KEY_MAX || !isWellFormed(key))
          throw new RequestProblem(
            400,
            'INVALID_KEY',
            `the key must be at most ${KEY_MAX} characters of Unicode`,
          );
        if (key === '') throw new RequestProblem(400, 'INVALID_KEY', 'no key was given: add key=…');
        const level = limits.peek(limiter, key);
        if (level === undefined) {
          const names = limits.status().limiters.map(({ name }) => name);
          const there = names.length === 0 ? 'it has none' : `it has ${names.join(', ')}`;
          throw new RequestProblem(
            404,
            'NO_SUCH_LIMITER',
            `this process has no limiter ${limiter || 'without a name'}: ${there}`,
          );
        }
        return jsonAnswer({ limiter, key, ...level });
      },
    },
  ],
});

const decisions = ({ limiters }: SharedLimitsStatus): readonly Sample[] =>
  limiters.flatMap(({ name, decisions: counts }) =>
    Object.entries(counts).map(([outcome, value]) => {
      const [result = '', by = ''] = outcome.split(' by ');
      return { labels: { limiter: name, result, by }, value };
    }),
  );

/** Labels are limiters and ways to decide, of which there are few; never keys. */
export const METRICS: readonly Metric<SharedLimitsStatus>[] = [
  {
    ...{ name: 'leasehold_ratelimit_decisions_total', type: 'counter', labels: ['limiter', 'result', 'by'] },
    help: 'Requests that this process decided, by result and by where the decision was made.',
    read: decisions,
  },
  {
    ...{ name: 'leasehold_ratelimit_asks_total', type: 'counter', labels: ['limiter'] },
    help: 'Asks for tokens, and reports of used ones, that this process sent to owners of keys.',
    read: ({ limiters }) => limiters.map(({ name, asks }) => ({ labels: { limiter: name }, value: asks })),
  },
  {
    ...{ name: 'leasehold_ratelimit_keys', type: 'gauge', labels: ['limiter'] },
    help: 'Keys of which this process remembers something.',
    read: ({ limiters }) => limiters.map(({ name, keys }) => ({ labels: { limiter: name }, value: keys })),
  },
  gauge(
    'leasehold_ratelimit_differences',
    'Processes that have a limiter of the same name with another limit.',
    ({ differences }) => differences.length,
  ),
];
