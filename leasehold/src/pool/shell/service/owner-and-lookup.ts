/** What an owner and a look-up show of their state over HTTP. Read-only, and without routes of their own: the Manager tells of the pool. */

import type { EventLog, ServiceEvent } from '../../../node/service/event-log.ts';
import { STATUS_PORTS } from '../../../node/service/ports.ts';
import type { ProgressCheck } from '../../../node/service/progress.ts';
import { queryParameter } from '../../../node/service/route.ts';
import {
  boolean,
  number,
  numberOrNull,
  object,
  oneOf,
  orNull,
  text,
  textOrNull,
  whole,
} from '../../../node/service/schema.ts';
import { ownFields, type Service } from '../../../node/service/service.ts';
import type { Status } from '../../../runtime/handle.ts';
import {
  counter,
  familiesOf,
  gauge,
  type Histogram,
  histogram,
  labelled,
  type Metric,
} from '../../../runtime/metrics.ts';
import type { Carried } from '../moves/key-carrier.ts';
import type { Intent } from '../../core/messages.ts';
import type { LookupStatus, OwnerStatus } from '../status.ts';

const INTENTS: readonly Intent[] = ['stay', 'cordoned', 'emptying', 'draining'];

/** As much of an owner or a look-up as is shown. */
export interface Shown<S extends Status> {
  readonly log: EventLog<ServiceEvent>;
  /** How often keys were lost. */
  losses(): number;
  status(): S;
}

function serviceOf<S extends Status>({ log, status }: Shown<S>, who: string, check: string) {
  const { instance } = status();
  return {
    ...{ module: 'pool', instance, kind: 'pool' as const, usualPort: STATUS_PORTS.pool },
    status: () => ownFields(status()),
    problems: () => status().problems,
    checks: () => [
      {
        ...{ name: check, afterMs: 0 },
        standsStill: () => {
          const { waitsFor, problems } = status();
          const reasons = problems.map(({ what }) => `: ${what}`).join('');
          return waitsFor && `this ${who} waits for ${waitsFor}${reasons}`;
        },
      },
    ],
    events: {
      log,
      schema: {
        type: 'object',
        description:
          'pool.admitted, pool.granted, pool.arrived, pool.departed, pool.lost or pool.refused, with `id`, `atMs` and `instance`',
      },
      filter: (query: URLSearchParams) => (): boolean => [null, instance].includes(query.get('pool')),
      parameters: [queryParameter('pool', 'only events of this pool')],
    },
  };
}

export interface ShownOwner extends Shown<OwnerStatus> {
  /** Keys were held here, none is any more, and none was granted since; and it is not that they have moved away. */
  hasLostAll(): boolean;
  /** What moved with its state. */
  readonly moves: ShownMoves;
}

/** As much of the moves of an owner as is shown. */
export interface ShownMoves {
  /** Ranges. */
  readonly movedOut: number;
  readonly movedIn: number;
  readonly sent: Carried;
  readonly received: Carried;
  /** In seconds. */
  readonly stops: Histogram;
}

/** An owner stays admitted while no Manager answers, but its lease ends. */
const keysCheck = (owner: ShownOwner): ProgressCheck => ({
  ...{ name: 'keys', afterMs: 0 },
  standsStill: () =>
    owner.hasLostAll()
      ? 'this owner holds no keys any more: its lease expired, or a Manager had it give back everything'
      : undefined,
});

export const ownerService = (owner: ShownOwner): Service => {
  const common = serviceOf(owner, 'owner', 'admission');
  return {
    ...common,
    checks: () => [...common.checks(), keysCheck(owner)],
    title: 'Leasehold owner',
    description: 'An owner of keys of a pool: whether it is a member, and how many keys it holds.',
    statusSchema: {
      role: oneOf(['owner'], 'of this handle'),
      name: text('the name of this owner'),
      isAdmitted: boolean('a Manager counts this owner as a member'),
      ranges: whole('ranges of keys that can be served now'),
      sharePercent: number('which part of all keys that is'),
      intent: oneOf(INTENTS, 'what this owner wants with its keys, or is asked to'),
      moving: whole('moves of keys under way, out and in'),
    },
    metrics: () => familiesOf(OWNER_METRICS, owner),
  };
};

export const lookupService = (lookup: Shown<LookupStatus>): Service => ({
  ...serviceOf(lookup, 'look-up', 'table'),
  title: 'Leasehold look-up',
  description: 'A look-up of a pool: how old its table is, and whether it can hear a Manager.',
  statusSchema: {
    role: oneOf(['lookup'], 'of this handle'),
    name: textOrNull('look-ups have none'),
    ageMs: numberOrNull('how old the table may be; null if that is not known'),
    isCutOff: boolean('no Manager was heard for so long that everything was reported as lost'),
    position: orNull(
      object({ history: text('which log'), position: whole('commits of it that the table has') }),
    ),
  },
  metrics: () => familiesOf(LOOKUP_METRICS, lookup),
});

export const OWNER_METRICS: readonly Metric<ShownOwner>[] = [
  gauge(
    'leasehold_pool_owner_admitted',
    '1 while a Manager counts this owner as a member, otherwise 0.',
    (owner) => (owner.status().isAdmitted ? 1 : 0),
  ),
  gauge(
    'leasehold_pool_owner_ranges',
    'Ranges of keys that this owner can serve now.',
    (owner) => owner.status().ranges,
  ),
  gauge(
    'leasehold_pool_owner_share_ratio',
    'Share of the ring that this owner can serve now, from 0 to 1.',
    (owner) => owner.status().sharePercent / 100,
  ),
  counter(
    'leasehold_pool_owner_losses_total',
    'Losses that this owner told of: of keys whose lease expired, and of keys that are gone for good.',
    (owner) => owner.losses(),
  ),
  labelled(
    'counter',
    'leasehold_pool_owner_moved_ranges_total',
    'direction',
    'Ranges that moved with their state: out to another owner, or in from one.',
    ({ moves }) => [
      ['out', moves.movedOut],
      ['in', moves.movedIn],
    ],
  ),
  labelled(
    'counter',
    'leasehold_pool_owner_moved_items_total',
    'direction',
    'Items of state that were sent to other owners, or received from them, repetitions included.',
    ({ moves }) => [
      ['out', moves.sent.items],
      ['in', moves.received.items],
    ],
  ),
  labelled(
    'counter',
    'leasehold_pool_owner_moved_bytes_total',
    'direction',
    'Bytes of state that were sent to other owners, or received from them.',
    ({ moves }) => [
      ['out', moves.sent.bytes],
      ['in', moves.received.bytes],
    ],
  ),
  histogram(
    'leasehold_pool_owner_stop_seconds',
    'For how long a range took no new work because it was about to move; also if it stayed.',
    ({ moves }) => moves.stops,
  ),
];

export const LOOKUP_METRICS: readonly Metric<Shown<LookupStatus>>[] = [
  gauge(
    'leasehold_pool_lookup_age_seconds',
    'How old the table may be; none while that is not known.',
    (lookup) => {
      const { ageMs } = lookup.status();
      return Number.isFinite(ageMs) ? ageMs / 1_000 : undefined;
    },
  ),
  gauge(
    'leasehold_pool_lookup_cut_off',
    '1 while no Manager has been heard for so long that everything was reported as lost, otherwise 0.',
    (lookup) => (lookup.status().isCutOff ? 1 : 0),
  ),
  gauge(
    'leasehold_pool_lookup_log_position',
    'The position of the log that the table is of; none without a table.',
    (lookup) => lookup.status().position?.position,
  ),
  counter(
    'leasehold_pool_lookup_losses_total',
    'Losses that this look-up was told of or found out.',
    (lookup) => lookup.losses(),
  ),
];
