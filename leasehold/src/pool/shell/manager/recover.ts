/**
 * An operator's tool for when the store of a Manager was restored from a backup.
 *
 * Such a log has forgotten the later terms and lease numbers, which others store and compare. So both go on above
 * everything that can have been given, in a new history. The next leader grants nothing until all leases that may
 * still be held have expired, removes all owners, and every look-up reports everything as lost. So only the Managers
 * have to be stopped for a recovery.
 *
 * **How far above.** A halted Manager names the highest counters that a peer has seen. That is not all that was given:
 * other peers, not heard yet, may have seen more, and a database remembers numbers of servers that are gone. So unless
 * an operator knows better, the counters leap, by {@link LEAP}. A position is one commit. Ten thousand a second, for
 * three years, come to 0.95 · 10^12, which is less than the leap. A term on etcd counts with every write to that etcd,
 * by any client, and the same holds. Numbers stay whole in JavaScript up to 2^53: room for eight thousand leaps.
 *
 * At least one position is left out in any case: by that gap the next leader knows that a wait is needed.
 */

import { raiseEtcdCounters, readEtcdCounters } from '../../../log/etcd/counters.ts';
import { raiseCounters, type RaisedCounters } from '../../../log/file/raise-counters.ts';
import { listFiles, recover } from '../../../log/file/recovery.ts';
import { newLogFloor } from '../../../log/new-log.ts';
import { randomId } from '../../../node/id.ts';
import { openLockedDirectory } from '../../../node/process/locked-directory.ts';
import { nodeRuntime } from '../../../node/runtime.ts';
import { openExistingDirectory } from '../../../node/storage.ts';
import { warnings } from '../../../node/process/warnings.ts';
import { invalidOption } from '../../../runtime/errors.ts';
import type { Logger } from '../../../runtime/logger.ts';
import { connectStore } from './etcd-connection.ts';
import * as is from '../../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  required,
  resolveOptions,
  LOGGER_WORDS,
} from '../../../runtime/option-table.ts';
import type { EtcdStore } from './etcd-options.ts';
import { type AnyStore, type DirectoryStore, planStore } from './store.ts';

export type { RaisedCounters } from '../../../log/file/raise-counters.ts';

/** How far terms and positions go ahead if nobody names the highest seen. */
export const LEAP: number = 2 ** 40;
/** A log that went on above more than this would run out of whole numbers, and no counter is ever lowered. */
const SEEN_MOST = 2 ** 52;

/** What `planRecovery` takes. */
export interface PlanRecoveryOptions {
  /** Where the log is, as for `startManager`: a directory or an etcd. */
  store: AnyStore;

  /** The highest term that anybody has seen. @default the log's term, and a leap above */
  seenTerm?: number | undefined;

  /** The highest position, or lease number, that anybody has seen. @default the log's position, and a leap above */
  seenPosition?: number | undefined;

  /** @default warnings and errors, on the standard error */
  logger?: Logger | undefined;
}

const SEEN_WORDS = 'what the log has, and 2^40';

/** @internal */
export const RECOVERY_OPTIONS: OptionTable<PlanRecoveryOptions, 'logger'> = {
  store: required(is.anything()),
  seenTerm: optional(is.whole(0, SEEN_MOST), SEEN_WORDS),
  seenPosition: optional(is.whole(0, SEEN_MOST), SEEN_WORDS),
  logger: or(warnings, is.logger, LOGGER_WORDS),
};

/** Where a log has got to. */
export interface Counters {
  /** The highest term that the log can have had. */
  readonly term: number;
  readonly position: number;
}

/** What raising the counters of a log will do; nothing is written before `carryOut`. */
export interface Recovery {
  /** The counters in the log at present. */
  readonly found: Counters & { readonly history: string };
  /** The counters that everything goes on above. */
  readonly above: Counters;
  /** Raises the counters. Durable when this resolves; a repetition does no harm. */
  carryOut(): Promise<RaisedCounters>;
}

/**
 * Reads the log, and returns the plan.
 *
 * @throws {InvalidArgumentError} if an option breaks a rule, or there is no log in the directory
 * @throws {StorageError} if there is no such directory
 * @throws {InUseError} LOCKED if a Manager runs on the directory
 * @throws {InUseError} LEADER_ALIVE if a Manager leads on the etcd
 * @throws {InUseError} PREFIX_IN_USE if there is no log under the prefix, or another cluster's
 * @throws {UnavailableError} ETCD_UNAVAILABLE if etcd does not answer
 * @throws {StorageError} DAMAGED_LOG, and every other error that keeps a Manager from starting on the log
 */
export async function planRecovery(options: PlanRecoveryOptions): Promise<Recovery> {
  const resolved = resolveOptions('', options, RECOVERY_OPTIONS);
  const { seenTerm, seenPosition, logger } = resolved;
  const plan = planStore(options.store, { tls: false, logger });
  if (plan.kind === 'memory') {
    throw invalidOption('store', 'memory', 'it must say where the log is: { directory }, or an etcd');
  }
  if (plan.kind === 'flease') {
    const rule = 'Managers that elect each other keep nothing, so there is nothing to put back or to raise';
    throw invalidOption('store', 'flease', rule);
  }
  if (plan.kind === 'quorum') {
    const rule =
      'replicas refuse a directory that was put back from a backup, so the log of a group does not go back; to begin anew, empty all directories';
    throw invalidOption('store', 'quorum', rule);
  }
  const log = plan.kind === 'file' ? logIn(plan.options, logger) : logOn(plan.options, logger);
  const { found, noted } = await log.read();
  const above = {
    term: Math.max(found.term, noted?.term ?? 0, seenTerm ?? found.term + LEAP),
    position: Math.max(found.position + 1, noted?.position ?? 0, seenPosition ?? found.position + LEAP),
  };
  return { found, above, carryOut: () => log.raise(above) };
}

interface StoredLog {
  /** `noted`: the counters that Managers noted in the store when they found that the log went back, if they could. */
  read(): Promise<{ readonly found: Recovery['found']; readonly noted: Counters | undefined }>;
  raise(above: Counters): Promise<RaisedCounters>;
}

function logIn(
  { directory, allowNetworkDirectory: allowNetwork }: DirectoryStore,
  logger: Logger,
): StoredLog {
  const around = { logger, randomId, beginAbove: () => newLogFloor(nodeRuntime()) };
  return {
    read: async () => {
      const storage = await openExistingDirectory(directory);
      const { segments, snapshots } = await listFiles(storage);
      if (segments.length + snapshots.length === 0)
        throw invalidOption('store.directory', directory, 'there is no log in it');
      using locked = await openLockedDirectory(directory, { allowNetwork });
      const { history, term, floor, batches, snapshot, tail } = await recover({
        ...around,
        storage: locked.storage,
      });
      await tail.file.close();
      const position = Math.max(floor, batches.at(-1)?.position ?? snapshot?.position ?? 0);
      return { found: { history, term, position }, noted: undefined };
    },
    raise: async (above) => {
      const locked = await openLockedDirectory(directory, { allowNetwork });
      return await raiseCounters({ ...around, ...above, storage: locked.storage, lock: async () => locked });
    },
  };
}

function logOn(options: EtcdStore, logger: Logger): StoredLog {
  const around = { runtime: nodeRuntime(), logger };
  return {
    read: async () => {
      using connection = connectStore(options, around);
      const { halt, ...found } = await readEtcdCounters({ ...connection, ...around });
      return { found, noted: halt };
    },
    raise: async (above) => {
      using connection = connectStore(options, around);
      return await raiseEtcdCounters({ ...connection, ...around, ...above, randomId });
    },
  };
}
