/**
 * Where a Manager's log is, by the options of the command line: in a directory, in an etcd, or nowhere, if Managers
 * elect each other. The address of an etcd may have a password, and everybody on a machine can see the arguments of a
 * process; so the address may also stand in the environment. No part of the address is ever repeated here.
 */

import { type Command, Option } from 'commander';
import {
  type EtcdStore,
  fleasePlace,
  type FleaseStore,
  quorumPlace,
  type QuorumStore,
  storePlace,
} from 'leasehold/manager';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';
import { peersOf } from './flease/member-options.ts';
import { milliseconds, wholeNumberFrom } from './options.ts';

const VARIABLE = 'LEASEHOLD_STORE';
const PEERS_VARIABLE = 'LEASEHOLD_FLEASE_PEERS';
const ID_VARIABLE = 'LEASEHOLD_FLEASE_ID';
/** The value of `--store` if nothing is to be kept. */
const FLEASE = 'flease';
/** The value of `--store` if the log is in a group of replicas, one in each Manager. */
const QUORUM = 'quorum';
const QUORUM_PEERS_VARIABLE = 'LEASEHOLD_QUORUM_PEERS';
const QUORUM_NAME_VARIABLE = 'LEASEHOLD_QUORUM_NAME';

export interface StoreOptions {
  readonly data?: string;
  readonly memory?: true;
  readonly store?: string;
  readonly cluster?: string;
  readonly storeCa?: string;
  readonly storeCert?: string;
  readonly storeKey?: string;
  readonly fleaseId?: string;
  readonly fleasePeers?: string;
  readonly fleaseGroup?: string;
  readonly fleaseListen?: string;
  /** In milliseconds. */
  readonly fleaseSkew?: number;
  /** In milliseconds. */
  readonly fleaseTakeover?: number;
  readonly fleaseView?: number;
  readonly fleaseBefore?: string;
  readonly quorumName?: string;
  readonly quorumDirectory?: string;
  readonly quorumPeers?: string;
  readonly quorumGroup?: string;
  readonly quorumListen?: string;
  readonly quorumJoin?: true;
}

export type SharedStore = EtcdStore | FleaseStore | QuorumStore;

export const isFlease = (store: SharedStore): store is FleaseStore => 'flease' in store;
export const isQuorum = (store: SharedStore): store is QuorumStore => 'quorum' in store;

export const withStoreOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--store <address>',
        `an etcd instead, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS; or ${QUORUM}: in the Managers themselves; or ${FLEASE}: nothing is kept (default: ${VARIABLE})`,
      ).conflicts(['data', 'memory']),
    )
    .option('--cluster <name>', 'whose log it is, if several share one etcd or group (default: leasehold)')
    .option('--store-ca <file>', 'certificates of those who may vouch for etcd (default: those of Node)')
    .option('--store-cert <file>', 'our own certificate for etcd; needs --store-key')
    .option('--store-key <file>', 'the private key of --store-cert');

/** For Managers that elect each other, and keep nothing. */
export const withFleaseOptions = (command: Command): Command =>
  command
    .option(
      '--flease-id <name>',
      `with --store ${FLEASE}: which of the peers this is (default: ${ID_VARIABLE})`,
    )
    .option(
      '--flease-peers <addresses>',
      `all Managers, this one too, as a=host:port,b=host:port, at ports of their own (default: ${PEERS_VARIABLE})`,
    )
    .option('--flease-group <name>', 'groups of different names do not elect each other (default: default)')
    .option('--flease-listen <address>', 'where to listen for the others, if not where the peers are told')
    .addOption(
      new Option(
        '--flease-skew <time>',
        'twice what a clock may be off from true time; the same everywhere (default: a tenth of the leader lease)',
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--flease-takeover <time>',
        'how long a new leader waits before it grants a key; no lease may need longer; the same everywhere (default: 15s)',
      ).argParser(milliseconds),
    )
    .addOption(
      new Option('--flease-view <number>', 'one more with each change of the peers (default: 1)').argParser(
        wholeNumberFrom(1),
      ),
    )
    .option('--flease-before <addresses>', 'the peers of the view before, while the group changes');

/** For Managers that keep their log in a group of replicas, one in each process. */
export const withQuorumOptions = (command: Command): Command =>
  command
    .option(
      '--quorum-name <name>',
      `with --store ${QUORUM}: which of the peers this is (default: ${QUORUM_NAME_VARIABLE})`,
    )
    .option(
      '--quorum-peers <addresses>',
      `the replicas of all Managers, this one too, as a=host:port,b=host:port, at ports of their own (default: ${QUORUM_PEERS_VARIABLE})`,
    )
    .option(
      '--quorum-directory <path>',
      'where its replica keeps its journal; never shared, copied or emptied (default: ./leasehold-quorum-NAME)',
    )
    .option(
      '--quorum-group <name>',
      'groups of different names have nothing to do with each other (default: leasehold)',
    )
    .option('--quorum-listen <address>', 'where to listen for the others, if not where the peers are told')
    .option('--quorum-join', 'join a group that exists; then "leasehold quorum add" there');

/** Whether Managers are to elect each other and keep nothing. */
export const keepsNothing = ({ environment }: Context, { store }: StoreOptions): boolean =>
  (store ?? environment[VARIABLE]) === FLEASE;

/** Whether the log is in a quorum group of the Managers themselves. */
export const isOnQuorum = ({ environment }: Context, { store }: StoreOptions): boolean =>
  (store ?? environment[VARIABLE]) === QUORUM;

/** @throws {UsageError} undefined: neither an etcd is wanted nor others to be elected by */
export function storeOf(context: Context, options: StoreOptions): SharedStore | undefined {
  const { environment } = context;
  const { store, cluster, storeCa: ca, storeCert: cert, storeKey: key } = options;
  const fromEnvironment = store === undefined ? environment[VARIABLE] || undefined : undefined;
  const etcd = store ?? fromEnvironment;
  if (etcd !== undefined) {
    const other = options.memory ? '--memory' : options.data === undefined ? undefined : '--data';
    if (other !== undefined)
      throw new UsageError(`${VARIABLE} is set, and ${other} given: a Manager keeps its log in one place`);
    if (etcd !== FLEASE) refuseFlease(options);
    if (etcd !== QUORUM) refuseQuorum(options);
    if (etcd === FLEASE) return fleaseOf(context, options);
    if (etcd === QUORUM) return quorumOf(context, options);
    if (!/^etcds?:\/\//i.test(etcd)) {
      throw new UsageError(
        `${store === undefined ? VARIABLE : '--store'} must be an etcd, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS; or ${QUORUM}, for Managers that keep it among themselves; or ${FLEASE}, for Managers that elect each other and keep nothing`,
      );
    }
    return { etcd, cluster, ca, cert, key };
  }
  refuseFlease(options);
  refuseQuorum(options);
  const useless = Object.entries({ cluster, 'store-ca': ca, 'store-cert': cert, 'store-key': key }).find(
    ([, value]) => value !== undefined,
  );
  if (useless === undefined) return undefined;
  throw new UsageError(
    `--${useless[0]} is about an etcd, and none is named: give --store, or set ${VARIABLE}`,
  );
}

function fleaseOf({ environment }: Context, options: StoreOptions): FleaseStore {
  const { cluster, storeCa: ca, storeCert: cert, storeKey: key } = options;
  const peers = options.fleasePeers ?? (environment[PEERS_VARIABLE] || undefined);
  const id = options.fleaseId ?? (environment[ID_VARIABLE] || undefined);
  if (peers === undefined) {
    throw new UsageError(
      `who elects? Give --flease-peers a=10.0.0.1:7500,b=10.0.0.2:7500,c=10.0.0.3:7500, or set ${PEERS_VARIABLE}`,
    );
  }
  const parsed = peersOf('--flease-peers', peers);
  const names = Object.keys(parsed).join(', ');
  if (id === undefined)
    throw new UsageError(`which of ${names} is this? Give --flease-id, or set ${ID_VARIABLE}`);
  if (!Object.hasOwn(parsed, id)) {
    throw new UsageError(
      `"${id}" is not among the peers, which are ${names}: check --flease-id, or add it with its address on every Manager`,
    );
  }
  const tls = allOf('members of a group', { ca, cert, key });
  const { fleaseGroup: group, fleaseListen: listen, fleaseView: view } = options;
  const { fleaseSkew: clockSkewMs, fleaseTakeover: takeoverMs } = options;
  const before =
    options.fleaseBefore === undefined ? undefined : peersOf('--flease-before', options.fleaseBefore);
  return {
    flease: { id, peers: parsed, group, listen, clockSkewMs, takeoverMs, view, before, tls },
    cluster,
  };
}

function quorumOf({ environment }: Context, options: StoreOptions): QuorumStore {
  const { storeCa: ca, storeCert: cert, storeKey: key, cluster } = options;
  const peers = options.quorumPeers ?? (environment[QUORUM_PEERS_VARIABLE] || undefined);
  const name = options.quorumName ?? (environment[QUORUM_NAME_VARIABLE] || undefined);
  if (cluster !== undefined)
    throw new UsageError('--cluster is about an etcd or a group that elects: give --quorum-group instead');
  if (peers === undefined) {
    throw new UsageError(
      `which replicas? Give --quorum-peers a=10.0.0.1:7600,b=10.0.0.2:7600,c=10.0.0.3:7600, or set ${QUORUM_PEERS_VARIABLE}`,
    );
  }
  const parsed = peersOf('--quorum-peers', peers);
  const names = Object.keys(parsed).join(', ');
  if (name === undefined)
    throw new UsageError(`which of ${names} is this? Give --quorum-name, or set ${QUORUM_NAME_VARIABLE}`);
  if (!Object.hasOwn(parsed, name) && options.quorumJoin === undefined) {
    throw new UsageError(
      `"${name}" is not among the peers, which are ${names}: check --quorum-name, or add it with its address on every Manager`,
    );
  }
  const tls = allOf('replicas', { ca, cert, key });
  const { quorumGroup: group, quorumListen: listen, quorumJoin: join } = options;
  const directory = options.quorumDirectory ?? `./leasehold-quorum-${name}`;
  return { quorum: { name, directory, peers: parsed, group, listen, join, tls } };
}

/** All three files of mutual TLS, or none. */
function allOf(
  who: string,
  { ca, cert, key }: Readonly<Record<'ca' | 'cert' | 'key', string | undefined>>,
): { readonly ca: string; readonly cert: string; readonly key: string } | undefined {
  if (ca !== undefined && cert !== undefined && key !== undefined) return { ca, cert, key };
  if (ca === undefined && cert === undefined && key === undefined) return undefined;
  throw new UsageError(`${who} know each other by --store-ca, --store-cert and --store-key, all three`);
}

function refuseQuorum(options: StoreOptions): void {
  const useless = Object.keys(options).find((name) => name.startsWith(QUORUM));
  if (useless === undefined) return;
  const name = useless.slice(QUORUM.length).toLowerCase();
  throw new UsageError(
    `--quorum-${name} is about Managers that keep their log among themselves: give --store ${QUORUM}`,
  );
}

function refuseFlease(options: StoreOptions): void {
  const useless = Object.keys(options).find((name) => name.startsWith(FLEASE));
  if (useless === undefined) return;
  const name = useless.slice(FLEASE.length).toLowerCase();
  throw new UsageError(`--flease-${name} is about Managers that elect each other: give --store ${FLEASE}`);
}

/** `etcd at 10.0.0.1:2379, 10.0.0.2:2379, under leasehold/`: the part of the address that may be shown. */
export function storeWords(store: SharedStore): string {
  if (isFlease(store)) {
    const { members, cluster } = fleasePlace(store);
    return `nothing: ${members.join(', ')} elect who leads cluster ${cluster}`;
  }
  if (isQuorum(store)) {
    const { members, group, directory } = quorumPlace(store);
    return `the replicas ${members.join(', ')} (group ${group}); this one keeps its journal in ${directory}`;
  }
  const { members, prefix, cluster } = storePlace(store);
  const name = store.cluster === undefined ? '' : ` (cluster ${cluster})`;
  return `etcd at ${members.join(', ')}, under ${prefix}${name}`;
}
