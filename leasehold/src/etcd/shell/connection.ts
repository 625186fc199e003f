/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The connection of a real process to an etcd, as an operator names the etcd. Names and passwords go into the client and
 * nowhere else.
 */

import { httpClient } from '../../node/http-client/http-client.ts';
import { secureContext } from '../../node/http-client/secure-context.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { EtcdClient } from '../client.ts';
import { parseEtcdAddress } from '../gateway/address.ts';
import { gatewayClient } from '../gateway/gateway-client.ts';
import { SurroundingsUntil } from './surroundings-until.ts';

export interface EtcdConnectionOptions {
  /** `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or `etcds://…` for TLS; `user:password@` may come first. */
  readonly address: string;
  /** The user's name for this address, for errors. */
  readonly option: string;
  readonly ca?: string | undefined;
  readonly cert?: string | undefined;
  readonly key?: string | undefined;
}

export interface EtcdConnection extends Disposable {
  readonly client: EtcdClient;
  /** `10.0.0.1:2379`, for each member. */
  readonly members: readonly string[];
  /** The beginning of all keys. */
  readonly prefix: string;
}

/** @throws {InvalidArgumentError} also if a certificate cannot be read */
export function connectEtcd(
  { address, option, ca, cert, key }: EtcdConnectionOptions,
  { runtime, logger }: { readonly runtime: Runtime; readonly logger: Logger },
): EtcdConnection {
  const { endpoints, credentials, isSecure, prefix } = parseEtcdAddress(address, option);
  const kept = httpClient(isSecure ? { secureContext: secureContext({ ca, cert, key }) } : {});
  const surroundings = new SurroundingsUntil(runtime, kept);
  const { http } = surroundings;
  return {
    client: gatewayClient({ endpoints, credentials, http, runtime: surroundings.runtime, logger }),
    members: endpoints.map((endpoint) => new URL(endpoint).host),
    prefix,
    [Symbol.dispose]: () => {
      surroundings[Symbol.dispose]();
      kept[Symbol.dispose]();
    },
  };
}
