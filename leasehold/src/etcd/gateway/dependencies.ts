/** The parts that all requests of one client share. */

import type { HttpClient } from '../../runtime/http.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { EpisodeLog } from '../../runtime/episode-log.ts';
import { clusterOf, type Fields } from './answers.ts';
import type { Endpoints } from './endpoints.ts';

export interface GatewayDependencies {
  readonly http: HttpClient;
  readonly runtime: Runtime;
  readonly endpoints: Endpoints;
  readonly episodes: EpisodeLog;
  /** The largest answer, or line of a stream, that is read. */
  readonly answerBytesMax: number;
  /** Undefined until known; see `identity.ts`. */
  clusterId: string | undefined;
}

/**
 * The complaint about a member that answers for another cluster than the intended one; undefined if the cluster is
 * right, or unknown yet.
 */
export function strangerTo(
  around: GatewayDependencies,
  endpoint: string,
  answer: Fields,
): string | undefined {
  const id = clusterOf(answer);
  if (around.endpoints.all.length === 1) around.clusterId ??= id;
  if (id === undefined || around.clusterId === undefined || id === around.clusterId) return undefined;
  return (
    `${endpoint} belongs to another etcd cluster than the one asked before; ` +
    'name the members of one cluster, and restart this process if it was set up anew or restored'
  );
}

/**
 * etcd recognizes a request through the gateway by `accept`; without that header, etcd would take the gateway's own
 * certificate for the caller's.
 *
 * `hasleader` makes a member that has lost its leader say so at once, before starting, and end watches that nothing
 * would come through any more. Otherwise the member would wait, and we too.
 */
export const headersWith = (
  token: string | undefined,
  needsLeader = true,
): Readonly<Record<string, string>> => ({
  accept: 'application/json',
  'content-type': 'application/json',
  ...(needsLeader ? { 'grpc-metadata-hasleader': 'true' } : {}),
  ...(token === undefined ? {} : { authorization: token }),
});
