/**
 * The connection to an etcd, as an operator names it, and the facts that may be shown: members, prefix, cluster. Names
 * and passwords go into the client and nowhere else.
 */

import type { EtcdClient } from '../../log/etcd/client.ts';
import { parseEtcdAddress } from '../../log/etcd/gateway/address.ts';
import { gatewayClient } from '../../log/etcd/gateway/gateway-client.ts';
import { httpClient } from '../../node/http-client/http-client.ts';
import { secureContext } from '../../node/http-client/secure-context.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { EtcdStore } from './store.ts';
import { SurroundingsUntil } from './surroundings-until.ts';

export const DEFAULT_CLUSTER = 'leasehold';

/** Where a store is. No field is secret. */
export interface EtcdPlace {
  /** `10.0.0.1:2379`, for each member. */
  readonly members: readonly string[];
  /** The beginning of all keys. */
  readonly prefix: string;
  readonly cluster: string;
}

export interface EtcdConnection extends EtcdPlace, Disposable {
  readonly client: EtcdClient;
}

/**
 * The part of a store's address that may be shown.
 *
 * @throws {InvalidOptionError} without any part of the address
 */
export function storePlace(store: string | EtcdStore): EtcdPlace {
  const { etcd, cluster = DEFAULT_CLUSTER } = typeof store === 'string' ? { etcd: store } : store;
  const { endpoints, prefix } = parseEtcdAddress(etcd, 'store');
  return { members: endpoints.map((endpoint) => new URL(endpoint).host), prefix, cluster };
}

/** @throws {InvalidOptionError} also if a certificate cannot be read */
export function connectEtcd(
  options: EtcdStore,
  { runtime, logger }: { readonly runtime: Runtime; readonly logger: Logger },
): EtcdConnection {
  const { endpoints, credentials, isSecure } = parseEtcdAddress(options.etcd, 'store');
  const { ca, cert, key } = options;
  const kept = httpClient(isSecure ? { secureContext: secureContext({ ca, cert, key }) } : {});
  const surroundings = new SurroundingsUntil(runtime, kept);
  const { http } = surroundings;
  const client = gatewayClient({ endpoints, credentials, http, runtime: surroundings.runtime, logger });
  return {
    ...storePlace(options),
    client,
    [Symbol.dispose]: () => {
      surroundings[Symbol.dispose]();
      kept[Symbol.dispose]();
    },
  };
}
