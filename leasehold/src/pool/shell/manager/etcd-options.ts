/** The options of a store in etcd. */

import * as is from '../../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, required } from '../../../runtime/option-table.ts';
import { LONGEST_NAME } from '../../wire/rules.ts';

export const DEFAULT_CLUSTER = 'leasehold';

/** An etcd with certificates. */
export interface Etcd {
  /** `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or `etcds://…` for TLS; `user:password@` may come first. */
  url: string;

  /** Certificates of the authorities for etcd, as a path or PEM. @default those that come with Node */
  ca?: string | undefined;

  /** Our own certificate, as a path or PEM. Needs `key`. */
  cert?: string | undefined;

  /** The private key of `cert`, as a path or PEM. */
  key?: string | undefined;
}

/** A log in an etcd, for several Managers. */
export interface EtcdStore {
  /** The URL of an etcd; or the URL and certificates. */
  etcd: string | Etcd;

  /**
   * The owner of the log, if several clusters of Managers share one etcd: a log with another name is not touched.
   * @default 'leasehold'
   */
  cluster?: string | undefined;
}

/** @internal */
export const ETCD_OPTIONS: OptionTable<Etcd> = {
  url: required(is.anything()),
  ca: optional(is.anything(), 'those that come with Node'),
  cert: optional(is.anything()),
  key: optional(is.anything()),
};

/** @internal */
export const ETCD_STORE_OPTIONS: OptionTable<EtcdStore, 'cluster'> = {
  etcd: required(is.anything()),
  cluster: or(DEFAULT_CLUSTER, is.name(LONGEST_NAME)),
};

/** The URL and the certificates, whichever way they were given. */
export const etcdOf = ({ etcd }: EtcdStore): Etcd => (typeof etcd === 'string' ? { url: etcd } : etcd);
