/**
 * Where a Manager's log is, by the options of the command line: in a directory, in an etcd, or nowhere, if Managers
 * elect each other. The address of an etcd may have a password, and everybody on a machine can see the arguments of a
 * process; so the address may also stand in the environment. No part of the address is ever repeated here.
 */

import { type Command, Option } from 'commander';
import type { Peers } from 'leasehold/flease';
import { fleasePlace, quorumPlace, storePlace } from 'leasehold/internal';
import type { EtcdStore, FleaseStore, QuorumStore } from 'leasehold/manager';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';
import { peersOf } from './flease/member-options.ts';
import { milliseconds, wholeNumberFrom } from './options.ts';

const VARIABLE = 'LEASEHOLD_STORE';
const PEERS_VARIABLE = 'LEASEHOLD_MANAGER_PEERS';
export const NAME_VARIABLE = 'LEASEHOLD_MANAGER_NAME';
/** The value of `--store` if nothing is to be kept. */
const FLEASE = 'flease';
/** The value of `--store` if the log is in a group of replicas, one in each Manager. */
const QUORUM = 'quorum';

export interface StoreOptions {
  readonly data?: string;
  readonly memory?: true;
  readonly store?: string;
  readonly cluster?: string;
  readonly storeCa?: string;
  readonly storeCert?: string;
  readonly storeKey?: string;
  readonly name?: string;
  readonly peers?: string;
  readonly cell?: string;
  readonly cellListen?: string;
  readonly newcomer?: true;
  /** In milliseconds. */
  readonly clockSkew?: number;
  /** In milliseconds. */
  readonly takeover?: number;
  readonly peersVersion?: number;
  readonly peersBefore?: string;
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
      ).conflicts('memory'),
    )
    .option('--cluster <name>', 'whose log it is, if several share one etcd or group (default: leasehold)')
    .option('--store-ca <file>', 'certificates of those who may vouch for etcd (default: those of Node)')
    .option('--store-cert <file>', 'our own certificate for etcd; needs --store-key')
    .option('--store-key <file>', 'the private key of --store-cert');

/** For Managers that are named in a list: they elect each other and keep nothing, or keep the log among themselves. */
export const withCellOptions = (command: Command): Command =>
  command
    .option(
      '--peers <addresses>',
      `with --store ${FLEASE} or ${QUORUM}: all Managers, this one too, as a=host:port,b=host:port, at ports of their own (default: ${PEERS_VARIABLE})`,
    )
    .option(
      '--cell <name>',
      'Managers in cells of different names ignore each other (default: default, with --store quorum leasehold)',
    )
    .option('--cell-listen <address>', 'where to listen for the peers, if not at the address in --peers')
    .option(
      '--newcomer',
      `with --store ${QUORUM}: join a cell that exists; then "leasehold quorum add" there`,
    )
    .addOption(
      new Option(
        '--clock-skew <time>',
        `with --store ${FLEASE}: twice what a clock may be off from true time; the same everywhere (default: a tenth of the leader lease)`,
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--takeover <time>',
        `with --store ${FLEASE}: how long a new leader waits before it grants a key; no lease may need longer; the same everywhere (default: 15s)`,
      ).argParser(milliseconds),
    )
    .addOption(
      new Option(
        '--peers-version <number>',
        `with --store ${FLEASE}: one more with each change of the peers (default: 1)`,
      ).argParser(wholeNumberFrom(1)),
    )
    .option(
      '--peers-before <addresses>',
      `with --store ${FLEASE}: the peers of the version before, while the peers change`,
    );

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
  const where = store ?? (environment[VARIABLE] || undefined);
  if (where === undefined) {
    refuse(options, CELL_OPTIONS, `--store ${FLEASE} or --store ${QUORUM}`);
    refuse(options, ETCD_OPTIONS, `an etcd with --store, or set ${VARIABLE}`);
    return undefined;
  }
  if (options.memory)
    throw new UsageError(`${VARIABLE} is set, and --memory given: a Manager keeps its log in one place`);
  if (where === QUORUM) {
    refuse(options, FLEASE_OPTIONS, `--store ${FLEASE}`);
    return quorumOf(context, options);
  }
  if (options.data !== undefined) {
    const said = store === undefined ? `${VARIABLE} is set` : '--store is given';
    throw new UsageError(`${said}, and --data too: a Manager keeps its log in one place`);
  }
  if (where === FLEASE) {
    refuse(options, ['newcomer'], `--store ${QUORUM}`);
    return fleaseOf(context, options);
  }
  refuse(options, CELL_OPTIONS, `--store ${FLEASE} or --store ${QUORUM}`);
  if (!/^etcds?:\/\//i.test(where)) {
    throw new UsageError(
      `${store === undefined ? VARIABLE : '--store'} must be an etcd, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS; or ${QUORUM}, for Managers that keep it among themselves; or ${FLEASE}, for Managers that elect each other and keep nothing`,
    );
  }
  return { etcd: { url: where, ca, cert, key }, cluster };
}

const FLEASE_OPTIONS = ['clockSkew', 'takeover', 'peersVersion', 'peersBefore'] as const;
const CELL_OPTIONS = ['peers', 'cell', 'cellListen', 'newcomer', ...FLEASE_OPTIONS] as const;
const ETCD_OPTIONS = ['cluster', 'storeCa', 'storeCert', 'storeKey'] as const;

/** @throws {UsageError} if one of these options is given, which mean nothing without something else */
function refuse(options: StoreOptions, names: readonly (keyof StoreOptions)[], needed: string): void {
  const useless = names.find((name) => options[name] !== undefined);
  if (useless === undefined) return;
  const flag = useless.replace(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
  throw new UsageError(`--${flag} means nothing here: give ${needed}, or leave it out`);
}

/** This Manager's name and the addresses of all Managers. @throws {UsageError} */
function cellOf(
  { environment }: Context,
  options: StoreOptions,
): {
  readonly name: string;
  readonly peers: Peers;
  readonly cell: string | undefined;
  readonly listen: string | undefined;
} {
  const text = options.peers ?? (environment[PEERS_VARIABLE] || undefined);
  const name = options.name ?? (environment[NAME_VARIABLE] || undefined);
  if (text === undefined) {
    throw new UsageError(
      `which Managers? Give --peers a=10.0.0.1:7500,b=10.0.0.2:7500,c=10.0.0.3:7500, or set ${PEERS_VARIABLE}`,
    );
  }
  const peers = peersOf('--peers', text);
  const names = Object.keys(peers).join(', ');
  if (name === undefined)
    throw new UsageError(`which of ${names} is this? Give --name, or set ${NAME_VARIABLE}`);
  if (!Object.hasOwn(peers, name) && options.newcomer === undefined) {
    throw new UsageError(
      `"${name}" is not among the peers, which are ${names}: check --name, or add it with its address on every Manager`,
    );
  }
  return { name, peers, cell: options.cell, listen: options.cellListen };
}

function fleaseOf(context: Context, options: StoreOptions): FleaseStore {
  const { cluster, storeCa: ca, storeCert: cert, storeKey: key } = options;
  const { clockSkew: clockSkewMs, takeover: takeoverMs, peersVersion, peersBefore: before } = options;
  const tls = allOf('members of a cell', { ca, cert, key });
  const peersBefore = before === undefined ? undefined : peersOf('--peers-before', before);
  return {
    flease: { ...cellOf(context, options), clockSkewMs, takeoverMs, peersVersion, peersBefore, tls },
    cluster,
  };
}

function quorumOf(context: Context, options: StoreOptions): QuorumStore {
  const { storeCa: ca, storeCert: cert, storeKey: key, cluster, newcomer } = options;
  if (cluster !== undefined)
    throw new UsageError('--cluster is about an etcd or a cell that elects: give --cell instead');
  const cell = cellOf(context, options);
  const directory = options.data ?? `./leasehold-quorum-${cell.name}`;
  return { quorum: { ...cell, directory, newcomer, tls: allOf('replicas', { ca, cert, key }) } };
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

/** `etcd at 10.0.0.1:2379, 10.0.0.2:2379, under leasehold/`: the part of the address that may be shown. */
export function storeWords(store: SharedStore): string {
  if (isFlease(store)) {
    const { members, cluster } = fleasePlace(store);
    return `nothing: ${members.join(', ')} elect who leads cluster ${cluster}`;
  }
  if (isQuorum(store)) {
    const { members, cell, directory } = quorumPlace(store);
    return `the replicas ${members.join(', ')} (cell ${cell}); this one keeps its journal in ${directory}`;
  }
  const { members, prefix, cluster } = storePlace(store);
  const name = store.cluster === undefined ? '' : ` (cluster ${cluster})`;
  return `etcd at ${members.join(', ')}, under ${prefix}${name}`;
}
