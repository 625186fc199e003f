/** A client of a real etcd, in real surroundings. */

import { httpClient } from '../../node/http-client/http-client.ts';
import { secureContext } from '../../node/http-client/secure-context.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { type Logger, silent } from '../../runtime/logger.ts';
import type { EtcdClient } from '../client.ts';
import type { EtcdCredentials } from '../gateway/address.ts';
import { gatewayClient } from '../gateway/gateway-client.ts';
import type { EtcdCluster } from './etcd-cluster.ts';

export interface RealClientOptions {
  /** @default all of the cluster's */
  readonly endpoints?: readonly string[] | undefined;
  readonly credentials?: EtcdCredentials | undefined;
  /** @default silent */
  readonly logger?: Logger | undefined;
  /** Which endpoint it begins with, in [0, 1). @default 0, the first */
  readonly random?: number | undefined;
  readonly answerBytesMax?: number | undefined;
}

export function realClient(
  { endpoints: all, certificates }: Pick<EtcdCluster, 'endpoints' | 'certificates'>,
  { endpoints = all, credentials, logger = silent, random = 0, answerBytesMax }: RealClientOptions = {},
): EtcdClient {
  const runtime = nodeRuntime({ unref: true });
  return gatewayClient({
    endpoints,
    credentials,
    logger,
    answerBytesMax,
    http: httpClient(
      certificates === undefined
        ? {}
        : { secureContext: secureContext({ ca: certificates.ca, ...certificates.client }) },
    ),
    runtime: {
      now: () => runtime.now(),
      wallMs: () => runtime.wallMs(),
      uptimeMs: () => runtime.uptimeMs(),
      wakeAt: (at, callback) => runtime.wakeAt(at, callback),
      random: () => random,
    },
  });
}
