/**
 * What the HTTP API shows of a Manager, put together from the parts that know it. All of it is asked for
 * at the moment somebody wants to see it, so that nothing is kept up to date for an API nobody reads.
 */

import type { FileLog } from '../../log/file/file-log.ts';
import type { TcpCounters } from '../../node/tcp/counters.ts';
import type { LeaseholdError } from '../../runtime/errors.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { ApiSource, ProcessObservation } from '../http/source.ts';
import type { Manager } from '../manager/manager.ts';
import { VERSION } from '../version.ts';
import type { ResolvedConfiguration } from './configuration.ts';
import type { ManagerWatch } from './manager-watch.ts';

export interface ApiSourceParts {
  readonly core: Manager;
  readonly watch: Pick<ManagerWatch, 'counters' | 'events'>;
  readonly runtime: Pick<Runtime, 'now' | 'wallMs'>;
  readonly listener: { readonly counters: TcpCounters };
  readonly log: Pick<FileLog, 'stats'>;
  readonly directory: string | undefined;
  /** What is in force. */
  configuration(): ResolvedConfiguration;
  process(): ProcessObservation;
  /** Why it cannot go on; undefined if it can. */
  failure(): LeaseholdError | undefined;
}

export function apiSource(parts: ApiSourceParts): ApiSource {
  const { core, watch, runtime, listener, log, directory, configuration } = parts;
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
    store: () => ({ kind: directory === undefined ? 'memory' : 'file', directory, bytes: log.stats.bytes }),
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
    whyNotReady: () => whyNotReady(core, parts.failure()),
  };
}

function whyNotReady(
  { role, haltedBecause }: Manager,
  failure: LeaseholdError | undefined,
): string | undefined {
  if (failure !== undefined) return failure.message;
  if (role === 'halted') return haltedBecause;
  return role === 'leading' ? undefined : 'it does not lead yet';
}
