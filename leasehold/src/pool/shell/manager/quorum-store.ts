/**
 * Managers whose log is in a quorum cell of their own: each Manager has a replica in its process, and nothing else runs.
 *
 * The durations of the cell follow from those of the pools, so an operator cannot make them disagree. A replica's lease is
 * the leader lease, for which the next leader waits; and the lease is so short that a dead leader is replaced within the time
 * that owners survive without one:
 *
 *     dead ├── its promises: (lease + 100 ms) × 1.2 ──┤ `term` is written, and read
 *          ├── an election of the cell: up to 2 × electionMs = lease ──┤
 *          ├──────────────────────── leaderChangeMs ─────────────────────────┤
 *
 * **Opening waits without a limit.** A cell is founded when all of its replicas have met, and works when a majority has. A
 * Manager that gave up waiting would take the replica away that the others wait for. A log line names the missing replicas.
 *
 * **No backup brings this log back.** A directory that was restored from a copy is refused by the others (they know of its
 * later lives), so there is no note of a log that went back in time, as there is in etcd.
 */

import type { ManagerEntry } from '../../../log/etcd/manager-registry.ts';
import { fieldsOf, encodeJson } from '../../../quorum/fenced-log/layout.ts';
import type { QuorumLog } from '../../../quorum/fenced-log/quorum-log.ts';
import { resolveQuorumDurations, type ResolvedQuorumDurations } from '../../../quorum/core/options.ts';
import { openLog } from '../../../quorum/shell/open-log.ts';
import type { QuorumReplica } from '../../../quorum/shell/quorum-replica.ts';
import {
  checkReplicaOptions,
  startReplicaOn,
  type StartReplicaOptions,
} from '../../../quorum/shell/start-replica.ts';
import { tlsOfStore } from '../../../node/mesh/tls-option.ts';
import type { TlsOptions } from '../../../runtime/handle.ts';
import { AsyncDisposableStack } from '../../../runtime/async-disposable-stack.ts';
import { brokenRule, invalidOption } from '../../../runtime/errors.ts';
import { checkOptionNames, type OptionNames } from '../../../runtime/option-names.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { later } from '../../../runtime/time.ts';
import type { StoreObservation } from '../service/source.ts';
import type { Store, StoreDependencies } from './store-shape.ts';

/** The replica in the Manager's process, and its cell: as for `startReplica`. */
export interface QuorumCell
  extends Pick<
    StartReplicaOptions,
    'name' | 'directory' | 'peers' | 'cell' | 'listen' | 'newcomer' | 'tls' | 'allowNetworkDirectory'
  > {}

/** A log that three to seven Managers keep among themselves, each in a directory of its own. */
export interface QuorumStore {
  quorum: QuorumCell;
}

/** The part of such a store's configuration that may be shown. No field is secret. */
export interface QuorumPlace {
  /** `a=10.0.0.1:7600`, for each replica of the list. */
  readonly members: readonly string[];
  readonly cell: string;
  readonly directory: string;
}

const CELL_OPTIONS: OptionNames<QuorumCell> = {
  ...{ name: true, directory: true, peers: true, cell: true, listen: true, newcomer: true, tls: true },
  allowNetworkDirectory: true,
};
const STORE_OPTIONS: OptionNames<QuorumStore> = { quorum: true };

const DEFAULT_CELL = 'leasehold';

/** @throws {InvalidArgumentError} */
export function checkQuorumStore(store: QuorumStore, around: TlsOptions): void {
  checkOptionNames('store.', store, STORE_OPTIONS);
  const { quorum } = store;
  if (typeof quorum !== 'object' || quorum === null) {
    const rule = 'it must be an object with name, directory and peers';
    throw invalidOption('store.quorum', typeof quorum, rule);
  }
  checkOptionNames('store.quorum.', quorum, CELL_OPTIONS);
  try {
    const { logger } = around;
    const cell = quorum.cell ?? DEFAULT_CELL;
    checkReplicaOptions({ ...quorum, cell, ...tlsOfStore(quorum.tls, around), logger });
  } catch (error) {
    const broken = brokenRule(error);
    if (broken === undefined) throw error;
    throw invalidOption(`store.quorum.${broken.option}`, broken.value, broken.rule, broken.code);
  }
}

/** The store of Managers that keep their log among themselves. */
export const quorumPlace = ({ quorum }: QuorumStore): QuorumPlace => ({
  members: Object.entries(quorum.peers).map(([name, address]) => `${name}=${address}`),
  cell: quorum.cell ?? DEFAULT_CELL,
  directory: quorum.directory,
});

/** Of the time that owners survive without a leader, so much is one lease. */
const LEASE_SHARE = 0.4;

/** The durations of the cell, by those of the pools: the head of this file has the picture. */
export function quorumDurations(leaderLeaseMs: number, leaderChangeMs: number): ResolvedQuorumDurations {
  const leaseMs = Math.min(leaderLeaseMs, LEASE_SHARE * leaderChangeMs);
  return resolveQuorumDurations({ leaseMs, electionMs: leaseMs / 2 });
}

export async function openQuorumStore({ quorum }: QuorumStore, around: StoreDependencies): Promise<Store> {
  const { runtime, logger, leaderLeaseMs, leaderChangeMs, signal } = around;
  const { cell = DEFAULT_CELL } = quorum;
  const durations = quorumDurations(leaderLeaseMs, leaderChangeMs);
  signal?.throwIfAborted();
  await using open = new AsyncDisposableStack();
  const replica = open.use(
    await startReplicaOn(runtime, {
      ...{ ...quorum, cell, readers: 'all', ...tlsOfStore(quorum.tls, around), logger },
      ...durations,
    }),
  );
  await ready(replica, around);
  void replica.closed.then((error) => error && around.onFatal(error));
  const { log } = open.use(
    openLog({ replica, runtime, durations, logger, onFatal: (error) => around.onFatal(error) }),
  );
  const owned = open.move();
  const others = (): readonly ManagerEntry[] => enrolled(log, replica, true);
  return {
    log,
    isShared: true,
    leaderLeaseMs,
    elected: undefined,
    get enrolled() {
      return enrolled(log, replica, false);
    },
    whenOther: () => whenSome(others, runtime),
    fullMember: () => undefined,
    halt: () => {},
    enrol: (entry) => log.enrol(encodeJson(entry)),
    observe: () => observation(replica, quorum.directory),
    [Symbol.asyncDispose]: async () => {
      log.enrol(undefined);
      await owned[Symbol.asyncDispose]();
    },
  };
}

const FIRST_WORD_MS = 1_000;
const WORD_EVERY_MS = 5_000;

/** Resolves when the replica serves; logs the wait. */
async function ready(replica: QuorumReplica, { runtime, logger, signal }: StoreDependencies): Promise<void> {
  const since = runtime.now();
  let hasSpoken = false;
  const sayIn = (ms: number): Disposable =>
    runtime.wakeAt(later(runtime.now(), ms), () => {
      const { awaited, role, members } = replica.status();
      const away = members.filter(({ isConnected }) => !isConnected).map(({ name }) => name);
      hasSpoken = true;
      logger.warn(
        awaited.length > 0
          ? 'waits until all replicas of the new cell have met'
          : 'waits for a majority of the replicas of the cell',
        {
          ...{ missing: [...awaited, ...away].join(', '), role },
          waitedSeconds: Math.round((runtime.now() - since) / 1_000),
        },
      );
      next = sayIn(WORD_EVERY_MS);
    });
  let next = sayIn(FIRST_WORD_MS);
  try {
    await replica.entered(signal);
  } finally {
    next[Symbol.dispose]();
  }
  if (hasSpoken) logger.info('the replicas of the cell answer');
}

/** The Managers in the processes of connected replicas, by their entries in the cell. */
function enrolled(log: QuorumLog, replica: QuorumReplica, areOthers: boolean): readonly ManagerEntry[] {
  return replica
    .status()
    .members.filter(({ isConnected, isSelf }) => isConnected && !(isSelf && areOthers))
    .flatMap(({ storage }) => {
      const value = log.view.managers.get(storage);
      return (value && entryOf(fieldsOf(value))) ?? [];
    });
}

function entryOf(fields: Readonly<Record<string, unknown>>): ManagerEntry | undefined {
  const { id, address, http, version, sinceMs } = fields;
  const isWhole =
    typeof id === 'string' &&
    typeof address === 'string' &&
    typeof version === 'string' &&
    typeof sinceMs === 'number';
  if (!isWhole) return undefined;
  return { id, address, http: typeof http === 'string' ? http : undefined, version, sinceMs };
}

/** A Manager that has just started has entered itself by then. */
const OTHER_WITHIN_MS = 3_000;
const OTHER_EVERY_MS = 50;

async function whenSome(list: () => readonly unknown[], runtime: Runtime): Promise<boolean> {
  const endAt = later(runtime.now(), OTHER_WITHIN_MS);
  while (list().length === 0) {
    if (runtime.now() >= endAt) return false;
    await new Promise<void>((resolve) => {
      runtime.wakeAt(later(runtime.now(), OTHER_EVERY_MS), resolve);
    });
  }
  return true;
}

function observation(replica: QuorumReplica, directory: string): StoreObservation {
  const { name, role, members, isLeased, isDiskFull, log } = replica.status();
  return {
    kind: 'quorum',
    where: `cell ${replica.cell}, replica ${name} in ${directory}`,
    bytes: undefined,
    members: members.map((member) => ({
      endpoint: `${member.name}=${member.address ?? 'unknown'}`,
      reachable: member.isConnected,
      complaint: member.problem,
      version: undefined,
      databaseBytes: undefined,
      isLeader: member.isLeader,
      isSelf: member.isSelf,
    })),
    replica: { state: role, readsLocally: isLeased, isDiskFull, committed: log.committed },
  };
}
