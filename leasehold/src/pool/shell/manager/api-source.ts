/**
 * The data of the HTTP API about a Manager, put together from the parts that have the data. All values are read on
 * request, so that nothing is kept up to date for an API that nobody reads.
 */

import type { TcpCounters } from '../../../node/tcp/counters.ts';
import type { LeaseholdError } from '../../../runtime/errors.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { type Instant, latest, later } from '../../../runtime/time.ts';
import type { ProcessUsage } from '../../../node/http/process-usage.ts';
import { advancing, type ProgressCheck, type ProgressMonitor } from '../../../node/service/progress.ts';
import type { ApiSource, ManagerPlace, StoreMember } from '../service/source.ts';
import type { Manager } from '../../core/manager/manager.ts';
import { VERSION } from '../../../runtime/version.ts';
import type { ResolvedConfiguration } from './configuration.ts';
import type { ManagerWatch } from './manager-watch.ts';
import type { Order } from './order-owner.ts';
import type { Store } from './store.ts';

export interface ApiSourceParts {
  readonly core: Manager;
  readonly watch: Pick<ManagerWatch, 'counters' | 'events'>;
  readonly runtime: Pick<Runtime, 'now' | 'wallMs'>;
  readonly listener: { readonly counters: TcpCounters };
  readonly store: Pick<Store, 'observe' | 'isShared' | 'isGone' | 'enrolled' | 'elected'>;
  /** The advertised address of this Manager. */
  self(): Omit<ManagerPlace, 'isSelf'>;
  stepDown(): Promise<boolean>;
  removePool(pool: string): Promise<boolean>;
  order(pool: string, order: Order): Promise<string>;
  /**
   * An instant no later than the start of a possible cut-off of a standby from the store, apart from later reads of
   * the head.
   */
  standsBySince(): Instant;
  /** The configuration in force. */
  configuration(): ResolvedConfiguration;
  process(): ProcessUsage;
  /** How often limits of the HTTP port were reached. */
  httpLimited(): Readonly<Record<string, number>>;
  /** Why the Manager cannot go on; undefined if healthy. */
  failure(): LeaseholdError | undefined;
}

/** A commit that takes longer than this is taken for a disk or an etcd that hangs. */
const COMMIT_WITHIN_MS = 5_000;

/**
 * The activities that must go on for a Manager to be of use. Owners are answered within the turn of their report
 * unless the Manager does not lead, the leader lease has expired, a commit is awaited or the event loop stands still;
 * so these checks also cover renewals that are not answered.
 */
export const progressChecks = (parts: ApiSourceParts): readonly ProgressCheck[] => [
  { name: 'manager', afterMs: 0, standsStill: () => whyNotReady(parts) },
  advancing({
    name: 'log',
    afterMs: COMMIT_WITHIN_MS,
    why: `the log has not answered a commit for ${COMMIT_WITHIN_MS / 1_000} s: nothing new is granted until it does`,
    isDue: () => parts.core.isWriting,
    mark: () => parts.watch.counters.commits + parts.watch.counters.commitsRefused,
  }),
];

export function apiSource(parts: ApiSourceParts, progress: ProgressMonitor): ApiSource {
  const { core, watch, runtime, listener, store, configuration } = parts;
  return {
    version: VERSION,
    startedAtMs: runtime.wallMs(),
    get createPools() {
      return configuration().createPools;
    },
    counters: watch.counters,
    events: watch.events,
    now: () => runtime.now(),
    wallMs: () => runtime.wallMs(),
    observe: () => core.observe(),
    declaredPools: () => [...configuration().pools.keys()],
    settings: (pool) => configuration().pools.get(pool) ?? configuration().defaults,
    store: () => store.observe(),
    elected: () => store.elected,
    managers: () => {
      const self = parts.self();
      const others = store.enrolled.filter(({ id }) => id !== self.id);
      return [
        { ...self, isSelf: true },
        ...others.map(({ id, address, http }) => ({ id, address, http, isSelf: false })),
      ];
    },
    stepDown: () => parts.stepDown(),
    removePool: (pool) => parts.removePool(pool),
    order: (pool, order) => parts.order(pool, order),
    traffic: () => {
      const { opened, closed, refused, bytesIn, bytesOut, dropped, malformed, notAllowed } =
        listener.counters;
      return {
        connections: opened - closed,
        connectionsAccepted: opened,
        connectionsRefused: refused,
        ...{ bytesIn, bytesOut, messagesDropped: dropped, messagesMalformed: malformed },
        messagesNotAllowed: notAllowed,
        limited: {
          ...{ ...listener.counters.limited, ...parts.httpLimited() },
          ...{ candidates: watch.counters.fullAnswers, pools: watch.counters.poolsRefused },
        },
      };
    },
    process: () => parts.process(),
    whyNotReady: () => progress.whyNotReady(),
    checks: progress.names,
    stalls: () => progress.stalls(),
  };
}

/** A standby that has not heard from the store for this long cannot answer look-ups. */
const CUT_OFF_AFTER_MS = 10_000;

/** There is no log to follow: a standby is ready if the standby could take over. */
function whyNotElectable(members: readonly StoreMember[], elected: Store['elected']): string | undefined {
  const connected = members.filter(({ reachable }) => reachable).length;
  if (2 * connected <= members.length)
    return `this Manager reaches ${connected} of the ${members.length} members that elect, which is no majority: no Manager could be elected`;
  return elected === undefined ? 'it does not know yet which Manager leads' : undefined;
}

function whyNotReady({ core, store, runtime, failure, standsBySince }: ApiSourceParts): string | undefined {
  const now = runtime.now();
  const failed = failure();
  if (failed !== undefined) return failed.message;
  if (core.role === 'halted') return core.haltedBecause;
  const { history, headSeen, leadsUntil } = core.observe();
  if (leadsUntil !== undefined) {
    return leadsUntil <= now
      ? 'its leader lease has expired, and the store does not extend it: owners and look-ups get no answer until it does'
      : undefined;
  }
  if (!store.isShared) return 'it does not lead yet';
  const { kind, members } = store.observe();
  if (kind === 'flease') return whyNotElectable(members, store.elected);
  if (store.isGone === true)
    return 'the log is gone from etcd: no Manager can lead until the log is restored, or a Manager is started and begins a new one';
  if (history === undefined) return 'it has read nothing of the log yet';
  const heardAt = latest(standsBySince(), headSeen?.askedAt ?? standsBySince());
  const isCutOff = later(heardAt, CUT_OFF_AFTER_MS) < now;
  return isCutOff ? `it has not heard from the store for ${CUT_OFF_AFTER_MS / 1_000} s` : undefined;
}
