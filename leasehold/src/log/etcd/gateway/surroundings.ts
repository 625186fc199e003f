/** What all requests of one client share. */

import type { HttpClient } from '../../../runtime/http.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import type { Troubles } from '../troubles.ts';
import type { Endpoints } from './endpoints.ts';

export interface GatewaySurroundings {
  readonly http: HttpClient;
  readonly runtime: Runtime;
  readonly endpoints: Endpoints;
  readonly troubles: Troubles;
  /** The largest answer, or line of a stream, that is read. */
  readonly answerBytesMax: number;
  /** Of the first member that answered; see `call.ts`. */
  clusterId: string | undefined;
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
