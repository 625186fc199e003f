/**
 * What an operator does after the store of a Manager was put back from a backup.
 *
 * Such a log has forgotten what was given out since: terms, and lease numbers, which others store and compare. So
 * both go on above everything that can have been given, in a history of its own. Whoever leads next gives out nothing
 * until all that may still be held has run out, removes everybody, and every look-up reports everything as lost. So
 * nobody has to be stopped for it but the Managers.
 *
 * **How far above.** A Manager that has halted says what somebody has seen. That is not all that was given: others,
 * who have not spoken yet, may have seen more, and a database remembers numbers of servers that are gone. So unless
 * an operator knows better, it leaps, by {@link LEAP}. A position is one commit. Ten thousand a second, for three
 * years, come to 0.95 · 10^12, which is less than the leap. A term on etcd counts with every write to that etcd,
 * whoever writes, and the same holds. Numbers stay whole in JavaScript up to 2^53: room for eight thousand leaps.
 *
 * At least one position is left out in any case: that is how whoever leads next knows that it must wait.
 */

import { raiseEtcdCounters, readEtcdCounters } from '../../log/etcd/counters.ts';
import { raiseCounters, type RaisedCounters } from '../../log/file/raise-counters.ts';
import { listFiles, recover } from '../../log/file/recovery.ts';
import { randomId } from '../../node/id.ts';
import { acquireLock } from '../../node/lock.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openExistingDirectory } from '../../node/storage.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import { connectEtcd } from './etcd-connection.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import type { FleaseStore } from './flease-store.ts';
import { type EtcdStore, planStore } from './store.ts';

export type { RaisedCounters } from '../../log/file/raise-counters.ts';

/** How far terms and positions go ahead if nobody says what was seen. */
export const LEAP: number = 2 ** 40;
/** A log that went on above more than this would run out of whole numbers, and no counter is ever lowered. */
const SEEN_MOST = 2 ** 52;

export interface RecoveryOptions {
  /** The data directory of the Manager; or `store`. */
  directory?: string | undefined;

  /** The etcd that its log is in, as for `startManager`; or `directory`. */
  store?: string | EtcdStore | FleaseStore | undefined;

  /** The highest term that anybody has seen. @default what the log says, and a leap above it */
  seenTerm?: number | undefined;

  /** The highest position, or lease number, that anybody has seen. @default what the log says, and a leap above it */
  seenPosition?: number | undefined;

  /** @default warnings and errors, on the standard error */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<RecoveryOptions> = {
  ...{ directory: true, store: true, seenTerm: true, seenPosition: true, logger: true },
};

/** Where a log has got to. */
export interface Counters {
  /** The highest term that it can have had. */
  readonly term: number;
  readonly position: number;
}

export interface Recovery {
  /** What the log says as it is. */
  readonly found: Counters & { readonly history: string };
  /** What everything goes on above. */
  readonly above: Counters;
  /** Does it. Durable when it resolves; to do it once more does no harm. */
  carryOut(): Promise<RaisedCounters>;
}

/**
 * Looks at the log, and says what would be done.
 *
 * @throws {InvalidOptionError} if an option breaks a rule, or there is no log in the directory
 * @throws {StorageError} if there is no such directory
 * @throws {LockedError} if a Manager runs on the directory
 * @throws {LeaderAliveError} if a Manager leads on the etcd
 * @throws {PrefixInUseError} if there is no log under the prefix, or another cluster's
 * @throws {EtcdUnavailableError} if etcd does not answer
 * @throws {DamagedLogError} and whatever else keeps a Manager from starting on it
 */
export async function planRecovery(options: RecoveryOptions): Promise<Recovery> {
  checkOptionNames('', options, OPTIONS);
  for (const name of ['seenTerm', 'seenPosition'] as const) {
    const value = options[name];
    if (value === undefined || (Number.isSafeInteger(value) && value >= 0 && value <= SEEN_MOST)) continue;
    throw new InvalidOptionError(name, value, `it must be a whole number from 0 to ${SEEN_MOST}`);
  }
  const plan = planStore(options.directory, options.store);
  if (plan.kind === 'memory') {
    throw new InvalidOptionError('directory', 'not given', 'either it or store must say where the log is');
  }
  if (plan.kind === 'flease') {
    const rule = 'Managers that elect each other keep nothing, so there is nothing to put back or to raise';
    throw new InvalidOptionError('store', 'flease', rule);
  }
  const logger = options.logger ?? warnings;
  const log = plan.kind === 'file' ? logIn(plan.directory, logger) : logOn(plan.options, logger);
  const { found, noted } = await log.read();
  const { seenTerm, seenPosition } = options;
  const above = {
    term: Math.max(found.term, noted?.term ?? 0, seenTerm ?? found.term + LEAP),
    position: Math.max(found.position + 1, noted?.position ?? 0, seenPosition ?? found.position + LEAP),
  };
  return { found, above, carryOut: () => log.raise(above) };
}

interface StoredLog {
  /** `noted`: what Managers have seen that found out that it went back, if they could note it in the store. */
  read(): Promise<{ readonly found: Recovery['found']; readonly noted: Counters | undefined }>;
  raise(above: Counters): Promise<RaisedCounters>;
}

function logIn(directory: string, logger: Logger): StoredLog {
  const lock = (): Promise<Disposable> => acquireLock(`${directory}/lock`);
  return {
    read: async () => {
      const storage = await openExistingDirectory(directory);
      const { segments, snapshots } = await listFiles(storage);
      if (segments.length + snapshots.length === 0)
        throw new InvalidOptionError('directory', directory, 'there is no log in it');
      using _ = await lock();
      const { history, term, floor, batches, snapshot, tail } = await recover({ storage, logger, randomId });
      await tail.file.close();
      const position = Math.max(floor, batches.at(-1)?.position ?? snapshot?.position ?? 0);
      return { found: { history, term, position }, noted: undefined };
    },
    raise: async (above) =>
      raiseCounters({ ...above, storage: await openExistingDirectory(directory), lock, logger, randomId }),
  };
}

function logOn(options: EtcdStore, logger: Logger): StoredLog {
  const around = { runtime: nodeRuntime(), logger };
  return {
    read: async () => {
      using connection = connectEtcd(options, around);
      const { halt, ...found } = await readEtcdCounters({ ...connection, ...around });
      return { found, noted: halt };
    },
    raise: async (above) => {
      using connection = connectEtcd(options, around);
      return await raiseEtcdCounters({ ...connection, ...around, ...above, randomId });
    },
  };
}
