/**
 * What the HTTP API shows of a Manager, put together from the parts that know it. All of it is asked for
 * at the moment somebody wants to see it, so that nothing is kept up to date for an API nobody reads.
 */

import type { TcpCounters } from '../../node/tcp/counters.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, latest, later } from '../../runtime/time.ts';
import type { ApiSource, ManagerPlace, ProcessObservation, StoreMember } from '../http/source.ts';
import type { Manager } from '../manager/manager.ts';
import { VERSION } from '../version.ts';
import type { ResolvedConfiguration } from './configuration.ts';
import type { ManagerWatch } from './manager-watch.ts';
import type { Store } from './store.ts';

export interface ApiSourceParts {
  readonly core: Manager;
  readonly watch: Pick<ManagerWatch, 'counters' | 'events'>;
  readonly runtime: Pick<Runtime, 'now' | 'wallMs'>;
  readonly listener: { readonly counters: TcpCounters };
  readonly store: Pick<Store, 'observe' | 'isShared' | 'isGone' | 'enrolled' | 'elected'>;
  /** Where this Manager says it can be reached. */
  self(): Omit<ManagerPlace, 'isSelf'>;
  stepDown(): Promise<boolean>;
  /** No later than since when a standby may have been cut off from the store, but for what it read of the head. */
  standsBySince(): Instant;
  /** What is in force. */
  configuration(): ResolvedConfiguration;
  process(): ProcessObservation;
  /** Why it cannot go on; undefined if it can. */
  failure(): LeaseholdError | undefined;
}

export function apiSource(parts: ApiSourceParts): ApiSource {
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
    traffic: () => {
      const { opened, closed, refused, bytesIn, bytesOut, dropped, malformed } = listener.counters;
      return {
        connections: opened - closed,
        connectionsAccepted: opened,
        connectionsRefused: refused,
        ...{ bytesIn, bytesOut, messagesDropped: dropped, messagesMalformed: malformed },
      };
    },
    process: () => parts.process(),
    whyNotReady: () => whyNotReady(parts),
  };
}

/** A standby that has not heard from the store for this long cannot answer look-ups. */
const CUT_OFF_AFTER_MS = 10_000;

/** There is no log to follow: one that stands by is ready if it could take over. */
function whyNotElectable(members: readonly StoreMember[], elected: Store['elected']): string | undefined {
  const connected = members.filter(({ reachable }) => reachable).length;
  if (2 * connected <= members.length)
    return `of the ${members.length} that elect, it is connected to too few: nobody could be elected`;
  return elected === undefined ? 'it does not know who leads yet' : undefined;
}

function whyNotReady({ core, store, runtime, failure, standsBySince }: ApiSourceParts): string | undefined {
  const now = runtime.now();
  const failed = failure();
  if (failed !== undefined) return failed.message;
  if (core.role === 'halted') return core.haltedBecause;
  const { history, headSeen, leadsUntil } = core.observe();
  if (leadsUntil !== undefined) {
    return leadsUntil <= now
      ? 'its leader lease has run out, and the store does not extend it: it answers nobody until it does'
      : undefined;
  }
  if (!store.isShared) return 'it does not lead yet';
  const { kind, members } = store.observe();
  if (kind === 'flease') return whyNotElectable(members, store.elected);
  if (store.isGone === true)
    return 'the log is gone from etcd: nobody can lead until it is restored, or begun anew by a Manager that is started';
  if (history === undefined) return 'it has read nothing of the log yet';
  const heardAt = latest(standsBySince(), headSeen?.askedAt ?? standsBySince());
  const isCutOff = later(heardAt, CUT_OFF_AFTER_MS) < now;
  return isCutOff ? `it has not heard from the store for ${CUT_OFF_AFTER_MS / 1_000} s` : undefined;
}
