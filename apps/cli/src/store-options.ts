/**
 * Where a Manager's log is, by the options of the command line: in a directory, in an etcd, or nowhere, if Managers
 * elect each other. The address of an etcd may have a password, and everybody on a machine can see the arguments of a
 * process; so the address may also stand in the environment. No part of the address is ever repeated here.
 */

import { type Command, Option } from 'commander';
import { type EtcdStore, fleasePlace, type FleaseStore, storePlace } from 'leasehold/manager';
import type { Context } from './context.ts';
import { UsageError } from './failure.ts';
import { peersOf } from './flease/member-options.ts';
import { milliseconds, wholeNumberFrom } from './options.ts';

const VARIABLE = 'LEASEHOLD_STORE';
const PEERS_VARIABLE = 'LEASEHOLD_FLEASE_PEERS';
const ID_VARIABLE = 'LEASEHOLD_FLEASE_ID';
/** The value of `--store` if nothing is to be kept. */
const FLEASE = 'flease';

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
}

export type SharedStore = EtcdStore | FleaseStore;

export const isFlease = (store: SharedStore): store is FleaseStore => 'flease' in store;

export const withStoreOptions = (command: Command): Command =>
  command
    .addOption(
      new Option(
        '--store <address>',
        `an etcd instead, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS; or ${FLEASE}: nothing is kept (default: ${VARIABLE})`,
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

/** Whether Managers are to elect each other and keep nothing. */
export const keepsNothing = ({ environment }: Context, { store }: StoreOptions): boolean =>
  (store ?? environment[VARIABLE]) === FLEASE;

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
    if (etcd === FLEASE) return fleaseOf(context, options);
    refuseFlease(options);
    if (!/^etcds?:\/\//i.test(etcd)) {
      throw new UsageError(
        `${store === undefined ? VARIABLE : '--store'} must be an etcd, as etcd://h1:2379,h2:2379/prefix, or etcds:// for TLS; or ${FLEASE}, for Managers that elect each other and keep nothing`,
      );
    }
    return { etcd, cluster, ca, cert, key };
  }
  refuseFlease(options);
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
  const given = [ca, cert, key].filter((file) => file !== undefined).length;
  if (given > 0 && given < 3)
    throw new UsageError(
      'members of a group know each other by --store-ca, --store-cert and --store-key, all three',
    );
  const tls = ca === undefined || cert === undefined || key === undefined ? undefined : { ca, cert, key };
  const { fleaseGroup: group, fleaseListen: listen, fleaseView: view } = options;
  const { fleaseSkew: clockSkewMs, fleaseTakeover: takeoverMs } = options;
  const before =
    options.fleaseBefore === undefined ? undefined : peersOf('--flease-before', options.fleaseBefore);
  return {
    flease: { id, peers: parsed, group, listen, clockSkewMs, takeoverMs, view, before, tls },
    cluster,
  };
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
  const { members, prefix, cluster } = storePlace(store);
  const name = store.cluster === undefined ? '' : ` (cluster ${cluster})`;
  return `etcd at ${members.join(', ')}, under ${prefix}${name}`;
}
