/**
 * Where a Manager keeps its durable state: a directory of its own, memory, or an etcd or a quorum group that several
 * Managers share, of which one leads; or nowhere, if they elect a leader among themselves. The Manager needs only a fenced log; the other
 * facts about a store, for operators, have one shape for all kinds.
 */

import { parseEtcdAddress } from '../../../etcd/gateway/address.ts';
import { inMemory } from '../../../log/file/fence.ts';
import { openFileLog } from '../../../log/file/file-log.ts';
import { newLogFloor } from '../../../log/new-log.ts';
import { memoryStorage } from '../../../log/memory/memory-storage.ts';
import { RecencyMark } from './recency-mark.ts';
import { randomId } from '../../../node/id.ts';
import { type LockedDirectory, openLockedDirectory } from '../../../node/process/locked-directory.ts';
import { openDirectory, wholePath } from '../../../node/storage.ts';
import type { TlsOptions } from '../../../runtime/handle.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import { ETCD_OPTIONS, ETCD_STORE_OPTIONS, type EtcdStore, etcdOf } from './etcd-options.ts';
import { openEtcdStore } from './etcd-store.ts';
import { checkFleaseStore, type FleaseStore, openFleaseStore } from './flease-store.ts';
import { checkQuorumStore, openQuorumStore, type QuorumStore } from './quorum-store.ts';
import type { Store, StoreDependencies } from './store-shape.ts';
import * as is from '../../../runtime/option-kinds.ts';
import { type OptionTable, or, required, fillIn, resolveOptions } from '../../../runtime/option-table.ts';

/** A directory of this machine for the log, which the Manager makes and locks. */
export interface DirectoryStore {
  /** Made if missing. */
  directory: string;

  /**
   * Takes a directory on a network file system, too. The file server can drop the lock of a Manager that still runs;
   * true says that only this machine ever uses the directory.
   *
   * @default false
   */
  allowNetworkDirectory?: boolean | undefined;
}

/** @internal */
export const DIRECTORY_STORE_OPTIONS: OptionTable<DirectoryStore, 'allowNetworkDirectory'> = {
  directory: required(is.string),
  allowNetworkDirectory: or(false, is.flag),
};

/** A store as configured. */
export type StorePlan =
  | { readonly kind: 'memory' }
  | { readonly kind: 'file'; readonly options: DirectoryStore }
  | { readonly kind: 'etcd'; readonly options: EtcdStore }
  | { readonly kind: 'flease'; readonly options: FleaseStore }
  | { readonly kind: 'quorum'; readonly options: QuorumStore };

/** Where a Manager keeps its log, as options name it: `'memory'`, `'etcd://…'` or an object. */
export type AnyStore = string | DirectoryStore | EtcdStore | FleaseStore | QuorumStore;

/** @throws {InvalidArgumentError} */
export function planStore(store: AnyStore, around: TlsOptions): StorePlan {
  if (store === 'memory') return { kind: 'memory' };
  if (isDirectoryStore(store)) {
    resolveOptions('store.', store, DIRECTORY_STORE_OPTIONS);
    return { kind: 'file', options: store };
  }
  if (isFleaseStore(store)) {
    checkFleaseStore(store);
    return { kind: 'flease', options: store };
  }
  if (isQuorumStore(store)) {
    checkQuorumStore(store, around);
    return { kind: 'quorum', options: store };
  }
  const options = typeof store === 'string' ? { etcd: store } : store;
  checkNames('store', options, ETCD_STORE_OPTIONS);
  fillIn('store.', options, ETCD_STORE_OPTIONS);
  const etcd = etcdOf(options);
  checkNames('store.etcd', etcd, ETCD_OPTIONS);
  fillIn('store.etcd.', etcd, ETCD_OPTIONS);
  const { isSecure } = parseEtcdAddress(etcd.url, 'store');
  for (const option of ['ca', 'cert', 'key'] as const) {
    if (etcd[option] === undefined || isSecure) continue;
    throw invalidOption(
      `store.etcd.${option}`,
      'given',
      'certificates are of no use without TLS: write etcds:// instead of etcd://',
    );
  }
  return { kind: 'etcd', options };
}

const isDirectoryStore = (store: AnyStore): store is DirectoryStore =>
  typeof store === 'object' && store !== null && 'directory' in store;

const isFleaseStore = (store: AnyStore): store is FleaseStore =>
  typeof store === 'object' && store !== null && 'flease' in store;

const isQuorumStore = (store: AnyStore): store is QuorumStore =>
  typeof store === 'object' && store !== null && 'quorum' in store;

/** The value of an unknown option may be a password in the wrong place, and is not shown. */
function checkNames(place: string, options: unknown, table: object): void {
  if (typeof options !== 'object' || options === null) {
    throw invalidOption(
      place,
      typeof options,
      "it must be 'memory', 'etcd://…', or an object with directory, etcd, quorum or flease in it",
    );
  }
  const unknown = Object.keys(options).find((name) => !Object.hasOwn(table, name));
  if (unknown === undefined) return;
  const rule = `there is no such option; there are ${Object.keys(table).join(', ')}`;
  throw invalidOption(`${place}.${unknown}`, 'given', rule);
}

/**
 * Rejects as the directory, the lock, the log and etcd do: LOCKED, DAMAGED_LOG, PREFIX_IN_USE, ETCD_UNAVAILABLE, …
 */
export async function openStore(plan: StorePlan, around: StoreDependencies): Promise<Store> {
  switch (plan.kind) {
    case 'memory':
      return fileStore(undefined, around);
    case 'file':
      return fileStore(plan.options, around);
    case 'etcd':
      return openEtcdStore(plan.options, around);
    case 'flease':
      return openFleaseStore(plan.options, around);
    case 'quorum':
      return openQuorumStore(plan.options, around);
  }
}

async function fileStore(options: DirectoryStore | undefined, around: StoreDependencies): Promise<Store> {
  const { runtime, logger, leaderLeaseNowMs = () => around.leaderLeaseMs } = around;
  const directory = options && wholePath(options.directory);
  const locked =
    directory === undefined
      ? undefined
      : await lockedDirectory(directory, options?.allowNetworkDirectory ?? false);
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

async function lockedDirectory(directory: string, allowNetwork: boolean): Promise<LockedDirectory> {
  await openDirectory(directory); // A missing directory is created.
  return openLockedDirectory(directory, { allowNetwork });
}
