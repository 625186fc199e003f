/**
 * A port on which a process that shares limits shows its state: status, events, metrics, and the level of a key. Nothing here takes tokens.
 */

import { queryParameter, jsonAnswer, RequestProblem } from '../../../node/service/route.ts';
import { object, oneOf, text } from '../../../node/service/schema.ts';
import { type ServeOptions, type ServiceServer, serveService } from '../../../node/service/serve-service.ts';
import type { Service } from '../../../node/service/service.ts';
import { familiesOf, gauge, type Metric } from '../../../runtime/metrics.ts';
import type { Sample } from '../../../runtime/metrics-text.ts';
import { isWellFormed } from '../../../runtime/text-option.ts';
import { VERSION } from '../../../runtime/version.ts';
import { KEY_MAX } from '../../wire/codec.ts';
import type { LimitEvent, LimitSharing, SharingStatus } from '../limit-sharing.ts';

export const DEFAULT_LIMIT_HTTP_PORT = 7_801;

/** Keys may change hands meanwhile. */
const CUT_OFF_AFTER_MS = 1_000;

/**
 * Resolves when the port listens, on port 7801 unless the options say otherwise. Close it before the sharing.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {PortInUseError} if another process listens there
 */
export const serveLimits = (sharing: LimitSharing, options: ServeOptions = {}): Promise<ServiceServer> =>
  serveService(limitService(sharing), options, DEFAULT_LIMIT_HTTP_PORT);

const limitService = (sharing: LimitSharing): Service<LimitEvent> => ({
  ...{ name: 'ratelimit', title: 'Leasehold shared limits', version: VERSION },
  description: 'The limits that a process shares with others, and its decisions. Read-only.',
  status: () => sharing.status(),
  metrics: () => familiesOf(METRICS, sharing.status()),
  checks: () => [
    {
      ...{ name: 'sharing', afterMs: 0 },
      standsStill: () =>
        sharing.status().isClosed ? 'the sharing is closed: this process no longer shares limits' : undefined,
    },
    { ...{ name: 'keys', afterMs: CUT_OFF_AFTER_MS }, standsStill: () => sharing.whyCutOff },
  ],
  events: {
    log: sharing.events,
    schema: object({
      kind: oneOf(
        ['cut-off', 'differs'],
        'the owner of a key did not answer, or a limit differs between processes',
      ),
      limiter: text('the name of the limiter'),
    }),
  },
  routes: [
    {
      path: '/v1/key',
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
        const level = sharing.peek(limiter, key);
        if (level === undefined) {
          const names = sharing.status().limiters.map(({ name }) => name);
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

const decisions = ({ limiters }: SharingStatus): readonly Sample[] =>
  limiters.flatMap(({ name, decisions: counts }) =>
    Object.entries(counts).map(([outcome, value]) => {
      const [result = '', by = ''] = outcome.split(' by ');
      return { labels: { limiter: name, result, by }, value };
    }),
  );

/** Labels are limiters and ways to decide, of which there are few; never keys. */
export const METRICS: readonly Metric<SharingStatus>[] = [
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
