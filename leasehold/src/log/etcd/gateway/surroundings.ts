/** What all requests of one client share. */

import type { HttpClient } from '../../../runtime/http.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Troubles } from '../troubles.ts';
import { clusterOf, type Fields } from './answers.ts';
import type { Endpoints } from './endpoints.ts';

export interface GatewaySurroundings {
  readonly http: HttpClient;
  readonly runtime: Runtime;
  readonly endpoints: Endpoints;
  readonly troubles: Troubles;
  /** The largest answer, or line of a stream, that is read. */
  readonly answerBytesMax: number;
  /** Undefined until it is known; see `identity.ts`. */
  clusterId: string | undefined;
}

/**
 * What is to be said of a member that answers for another cluster than the one that is meant; undefined if it does not, or
 * that is not known yet.
 */
export function strangerTo(
  around: GatewaySurroundings,
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
 * `accept` is how etcd knows a request that came by its gateway; without it, it would take the gateway's own
 * certificate for the one who asks.
 *
 * `hasleader` makes a member that has lost its leader say so at once, before it begins, and end the watches
 * that nothing would come through any more. Otherwise it would wait, and we with it.
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
