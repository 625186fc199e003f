/**
 * Where a Manager keeps its durable state: a directory of its own, memory, or an etcd or a quorum group that several
 * Managers share, of which one leads; or nowhere, if they elect a leader among themselves. The Manager needs only a fenced log; the other
 * facts about a store, for operators, have one shape for all kinds.
 */

import { parseEtcdAddress } from '../../etcd/gateway/address.ts';
import type { HaltedHistory } from '../../log/etcd/halting.ts';
import type { ManagerEntry } from '../../log/etcd/manager-registry.ts';
import { inMemory } from '../../log/file/fence.ts';
import { openFileLog } from '../../log/file/file-log.ts';
import type { FencedLog } from '../../log/log.ts';
import { newLogFloor } from '../../log/new-log.ts';
import { memoryStorage } from '../../log/memory-storage.ts';
import { RecencyMark } from './recency-mark.ts';
import { randomId } from '../../node/id.ts';
import { type LockedDirectory, openLockedDirectory } from '../../node/locked-directory.ts';
import { openDirectory, wholePath } from '../../node/storage.ts';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import type { StoreObservation } from '../http/source.ts';
import { LONGEST_NAME } from '../wire/rules.ts';
import { DEFAULT_CLUSTER } from './etcd-connection.ts';
import { openEtcdStore } from './etcd-store.ts';
import { checkFleaseStore, type FleaseStore, openFleaseStore } from './flease-store.ts';
import { checkQuorumStore, openQuorumStore, type QuorumStore } from './quorum-store.ts';
import * as is from '../../runtime/option-kinds.ts';
import { type OptionTable, optional, or, required, fillIn } from '../../runtime/option-table.ts';

export interface EtcdStore {
  /** `etcd://10.0.0.1:2379,10.0.0.2:2379/prefix`, or `etcds://…` for TLS; `user:password@` may come first. */
  etcd: string;

  /**
   * The owner of the log, if several clusters of Managers share one etcd: a log with another name is not touched.
   * @default 'leasehold'
   */
  cluster?: string | undefined;

  /** Certificates of the authorities for etcd, as a path or PEM. @default those that come with Node */
  ca?: string | undefined;

  /** Our own certificate, as a path or PEM. Needs `key`. */
  cert?: string | undefined;

  /** The private key of `cert`, as a path or PEM. */
  key?: string | undefined;

  /** How long to wait for an etcd that does not answer when the Manager starts. @default 60_000 */
  openWithinMs?: number | undefined;
}

/** @internal */
export const ETCD_STORE_OPTIONS: OptionTable<EtcdStore, 'cluster' | 'openWithinMs'> = {
  etcd: required(is.anything()),
  cluster: or(DEFAULT_CLUSTER, is.name(LONGEST_NAME)),
  ca: optional(is.anything(), 'those that come with Node'),
  cert: optional(is.anything()),
  key: optional(is.anything()),
  openWithinMs: or(60_000, is.timeLimit),
};

/** A store as configured. */
export type StorePlan =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly directory: string }
  | { readonly kind: 'etcd'; readonly options: EtcdStore }
  | { readonly kind: 'flease'; readonly options: FleaseStore }
  | { readonly kind: 'quorum'; readonly options: QuorumStore };

/** A store that several Managers share, as options name it. */
export type AnyStore = string | EtcdStore | FleaseStore | QuorumStore;

/** The leader, if the store itself knows the leader and the log does not. */
export interface Elected {
  /** The leader's name in the group. */
  readonly id: string;
  readonly term: number;
}

export interface Store extends AsyncDisposable {
  readonly log: FencedLog;
  /** Other Managers may lead instead of this one. */
  readonly isShared: boolean;
  /** Somebody has deleted the log, as far as is known. */
  readonly isGone?: boolean;
  /** Says whether a leader was here a moment ago; undefined if nothing beside the log can say so. */
  readonly recency?: { isRecent(): boolean; note(position: number): void; forget(): void } | undefined;
  /** How long a leader acts without asking; undefined if that follows the configuration. */
  readonly leaderLeaseMs: number | undefined;
  /** How long every new leader waits, if all Managers have agreed on that because the log keeps nothing. */
  readonly takeoverMs?: number | undefined;
  /** The Managers that share the store, by id, as far as known. For people. */
  readonly enrolled: readonly ManagerEntry[];
  /**
   * Another leading Manager, of a store whose log cannot be followed; undefined if the log can be followed, or no
   * leader is known.
   */
  readonly elected: Elected | undefined;
  /** Resolves as soon as another Manager is known to be there; with false if that takes longer than a moment. */
  whenOther(): Promise<boolean>;
  /** A member that accepts no more writes, because its disk is full, as far as known. */
  fullMember(): string | undefined;
  /** A peer has seen more of the log than there is: the next leader has to know. */
  halt(found: HaltedHistory): void;
  /** From here on the Managers that share the store see this Manager. */
  enrol(entry: ManagerEntry): void;
  observe(): StoreObservation;
}

export interface StoreDependencies {
  readonly runtime: Runtime;
  readonly logger: Logger;
  readonly leaderLeaseMs: number;
  /** The same, as configured by now. @default leaderLeaseMs */
  readonly leaderLeaseNowMs?: (() => number) | undefined;
  /** The directory may be on a network file system. */
  readonly allowNetworkDirectory?: boolean | undefined;
  /** The longest time without a leader that owners are to survive, in milliseconds. */
  readonly leaderChangeMs: number;
  /** For people who look into the store. */
  readonly about: Readonly<Record<string, string>>;
  /** Gives up opening. */
  readonly signal?: AbortSignal | undefined;
  /** Whether the Manager may listen elsewhere than on loopback, where every process that can connect can take part. */
  readonly insecure?: boolean | undefined;
  /** Another is {@link Store.elected}. */
  onChange(): void;
  /** The store cannot keep a promise: end the process. */
  onFatal(error: LeaseholdError): void;
}

/** @throws {InvalidOptionError} */
export function planStore(
  directory: string | undefined,
  store: AnyStore | undefined,
  insecure?: boolean,
): StorePlan {
  if (store === undefined) return directory === undefined ? { kind: 'memory' } : { kind: 'file', directory };
  if (directory !== undefined) {
    throw new InvalidOptionError(
      'store',
      'given',
      'a directory is given too, and what must not be forgotten is kept in one place',
    );
  }
  if (isFleaseStore(store)) {
    checkFleaseStore(store);
    return { kind: 'flease', options: store };
  }
  if (isQuorumStore(store)) {
    checkQuorumStore(store, insecure);
    return { kind: 'quorum', options: store };
  }
  const options = typeof store === 'string' ? { etcd: store } : store;
  checkNames(options);
  fillIn('', options, ETCD_STORE_OPTIONS);
  const { isSecure } = parseEtcdAddress(options.etcd, 'store');
  for (const option of ['ca', 'cert', 'key'] as const) {
    if (options[option] === undefined || isSecure) continue;
    throw new InvalidOptionError(
      option,
      'given',
      'certificates are of no use without TLS: write etcds:// instead of etcd://',
    );
  }
  return { kind: 'etcd', options };
}

const isFleaseStore = (store: AnyStore): store is FleaseStore =>
  typeof store === 'object' && store !== null && 'flease' in store;

const isQuorumStore = (store: AnyStore): store is QuorumStore =>
  typeof store === 'object' && store !== null && 'quorum' in store;

/** The value of an unknown option may be a password in the wrong place, and is not shown. */
function checkNames(options: unknown): void {
  if (typeof options !== 'object' || options === null) {
    throw new InvalidOptionError(
      'store',
      typeof options,
      "it must be 'etcd://…', or an object with etcd, quorum or flease in it",
    );
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(ETCD_STORE_OPTIONS, name));
  if (unknown === undefined) return;
  const rule = `there is no such option; there are ${Object.keys(ETCD_STORE_OPTIONS).join(', ')}`;
  throw new InvalidOptionError(`store.${unknown}`, 'given', rule);
}

/**
 * Rejects as the directory, the lock and the log do, or etcd: LockedError, StorageError, DamagedLogError,
 * PrefixInUseError, EtcdUnavailableError, …
 */
export async function openStore(plan: StorePlan, around: StoreDependencies): Promise<Store> {
  switch (plan.kind) {
    case 'memory':
      return fileStore(undefined, around);
    case 'file':
      return fileStore(wholePath(plan.directory), around);
    case 'etcd':
      return openEtcdStore(plan.options, around);
    case 'flease':
      return openFleaseStore(plan.options, around);
    case 'quorum':
      return openQuorumStore(plan.options, around);
  }
}

async function fileStore(directory: string | undefined, around: StoreDependencies): Promise<Store> {
  const { runtime, logger, leaderLeaseNowMs = () => around.leaderLeaseMs } = around;
  const locked = directory === undefined ? undefined : await lockedDirectory(directory, around);
  const log = await openFileLog({
    ...{ runtime, logger, randomId, storage: locked?.storage ?? memoryStorage() },
    lock: async () => locked ?? inMemory,
    leaderLeaseMs: locked && leaderLeaseNowMs,
    beginAbove: () => newLogFloor(runtime),
    onFatal: (error) => around.onFatal(error),
  });
  const mark = locked && (await markOf(locked, log, around));
  return {
    log,
    isShared: false,
    recency: mark && {
      isRecent: () => mark.isRecent(log.head),
      note: (position) => mark.note(position),
      forget: () => mark.forget(),
    },
    leaderLeaseMs: undefined,
    enrolled: [],
    elected: undefined,
    whenOther: async () => false,
    fullMember: () => undefined,
    halt: () => {},
    enrol: () => {},
    observe: () => ({
      kind: directory === undefined ? 'memory' : 'file',
      where: directory,
      bytes: log.stats.bytes,
      members: [],
    }),
    [Symbol.asyncDispose]: async () => {
      await mark?.close();
      await log[Symbol.asyncDispose]();
    },
  };
}

/** The log is open, and is closed again if the mark cannot be opened. */
async function markOf(
  { storage }: LockedDirectory,
  log: AsyncDisposable,
  { runtime, logger }: StoreDependencies,
): Promise<RecencyMark> {
  try {
    return await RecencyMark.open(storage, runtime, logger);
  } catch (error) {
    await log[Symbol.asyncDispose]();
    throw error;
  }
}

async function lockedDirectory(
  directory: string,
  { allowNetworkDirectory }: StoreDependencies,
): Promise<LockedDirectory> {
  await openDirectory(directory); // A missing directory is created.
  return openLockedDirectory(directory, { allowNetwork: allowNetworkDirectory });
}
