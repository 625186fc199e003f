/**
 * The connection to an etcd, as an operator names it, and the facts that may be shown: members, prefix, cluster. Names
 * and passwords go into the client and nowhere else.
 */

import { connectEtcd, type EtcdConnection } from '../../../etcd/shell/connection.ts';
import { parseEtcdAddress } from '../../../etcd/gateway/address.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { DEFAULT_CLUSTER, type EtcdStore, etcdOf } from './etcd-options.ts';

/** Where a store is. No field is secret. */
export interface EtcdPlace {
  /** `10.0.0.1:2379`, for each member. */
  readonly members: readonly string[];
  /** The beginning of all keys. */
  readonly prefix: string;
  readonly cluster: string;
}

/**
 * The part of a store's address that may be shown.
 *
 * @throws {InvalidArgumentError} without any part of the address
 */
export function storePlace(store: string | EtcdStore): EtcdPlace {
  const whole = typeof store === 'string' ? { etcd: store } : store;
  const { cluster = DEFAULT_CLUSTER } = whole;
  const { endpoints, prefix } = parseEtcdAddress(etcdOf(whole).url, 'store');
  return { members: endpoints.map((endpoint) => new URL(endpoint).host), prefix, cluster };
}

/** @throws {InvalidArgumentError} also if a certificate cannot be read */
export function connectStore(
  options: EtcdStore,
  around: { readonly runtime: Runtime; readonly logger: Logger },
): EtcdConnection & EtcdPlace {
  const { url: address, ca, cert, key } = etcdOf(options);
  return Object.assign(connectEtcd({ address, option: 'store', ca, cert, key }, around), storePlace(options));
}
