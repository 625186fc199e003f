/**
 * Where a Manager's log is, as the command line says it: in a directory, or in an etcd. The address of an etcd
 * may have a password in it, and everybody on a machine can see the arguments of a process; so it may also stand in
 * the environment. Nothing of it is ever repeated here.
 */

import { type Command, Option } from 'commander';
import { type EtcdStore, storePlace } from 'leasehold/manager';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';

const VARIABLE = 'LEASEHOLD_STORE';

export interface StoreOptions {
  readonly data?: string;
  readonly memory?: true;
  readonly store?: string;
  readonly cluster?: string;
  readonly storeCa?: string;
  readonly storeCert?: string;
  readonly storeKey?: string;
}

export const withStoreOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--store <address>',
        `an etcd instead, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS (default: ${VARIABLE})`,
      ).conflicts(['data', 'memory']),
    )
    .option('--cluster <name>', 'whose log it is, if several share one etcd (default: leasehold)')
    .option('--store-ca <file>', 'certificates of those who may vouch for etcd (default: those of Node)')
    .option('--store-cert <file>', 'our own certificate for etcd; needs --store-key')
    .option('--store-key <file>', 'the private key of --store-cert');

/** @throws {UsageError} undefined: no etcd is wanted */
export function storeOf({ environment }: Context, options: StoreOptions): EtcdStore | undefined {
  const { store, cluster, storeCa: ca, storeCert: cert, storeKey: key } = options;
  const fromEnvironment = store === undefined ? environment[VARIABLE] || undefined : undefined;
  const etcd = store ?? fromEnvironment;
  if (etcd !== undefined) {
    const other = options.memory ? '--memory' : options.data === undefined ? undefined : '--data';
    if (other !== undefined)
      throw new UsageError(`${VARIABLE} is set, and ${other} given: a Manager keeps its log in one place`);
    return { etcd, cluster, ca, cert, key };
  }
  const useless = Object.entries({ cluster, 'store-ca': ca, 'store-cert': cert, 'store-key': key }).find(
    ([, value]) => value !== undefined,
  );
  if (useless === undefined) return undefined;
  throw new UsageError(
    `--${useless[0]} is about an etcd, and none is named: give --store, or set ${VARIABLE}`,
  );
}

/** `etcd at 10.0.0.1:2379, 10.0.0.2:2379, under leasehold/`: what may be shown of it. */
export function storeWords(store: EtcdStore): string {
  const { members, prefix, cluster } = storePlace(store);
  const name = store.cluster === undefined ? '' : ` (cluster ${cluster})`;
  return `etcd at ${members.join(', ')}, under ${prefix}${name}`;
}
