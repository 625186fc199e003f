/** The metrics of a spread limit, shown with those of its group. */

import type { Metric } from '../../../runtime/metrics.ts';
import type { SpreadStatus } from '../status.ts';

const ofLimiter = (
  type: 'gauge' | 'counter',
  name: string,
  help: string,
  read: (status: SpreadStatus) => number,
): Metric<SpreadStatus> => ({
  ...{ name, type, help, labels: ['limiter'] },
  read: (status) => [{ labels: { limiter: status.name }, value: read(status) }],
});

export const METRICS: readonly Metric<SpreadStatus>[] = [
  ofLimiter(
    'gauge',
    'leasehold_ratelimit_spread_level_tokens_per_second',
    'Tokens a second that this process may use at present.',
    ({ levelPerSecond }) => levelPerSecond,
  ),
  ofLimiter(
    'gauge',
    'leasehold_ratelimit_spread_credits',
    'Credits held; one is limit / maxServers.',
    ({ credits }) => credits,
  ),
  ofLimiter(
    'gauge',
    'leasehold_ratelimit_spread_demand',
    'What this process shows as its demand.',
    ({ demand }) => demand,
  ),
  ofLimiter(
    'gauge',
    'leasehold_ratelimit_spread_takes_part',
    '1 while this process uses its credits, otherwise 0: at most 1 / maxServers of the limit.',
    ({ takesPart }) => (takesPart ? 1 : 0),
  ),
  ofLimiter(
    'gauge',
    'leasehold_ratelimit_spread_blacklisted_members',
    'Members that are not reached directly.',
    ({ blacklist }) => blacklist.length,
  ),
  {
    ...{ name: 'leasehold_ratelimit_spread_decisions_total', type: 'counter', labels: ['limiter', 'result'] },
    help: 'Requests that this process decided.',
    read: ({ name, counters }) =>
      (['allowed', 'denied'] as const).map((result) => ({
        labels: { limiter: name, result },
        value: counters[result],
      })),
  },
  ofLimiter(
    'counter',
    'leasehold_ratelimit_spread_credits_given_total',
    'Credits given to other members.',
    ({ counters }) => counters.creditsGiven,
  ),
  ofLimiter(
    'counter',
    'leasehold_ratelimit_spread_restarts_total',
    'Views in which credits began anew with one.',
    ({ counters }) => counters.viewsRestarted,
  ),
];
