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

import { Asking } from '../../log/etcd/asking.ts';
import type { EtcdRefusalReason, EtcdTransactionResult } from '../../log/etcd/client.ts';
import { EtcdUnavailableError, LeaderAliveError, PrefixInUseError } from '../../log/etcd/errors.ts';
import { decodeHead, decodeMeta, Layout, leaderName } from '../../log/etcd/layout.ts';
import { Lifetime } from '../../log/etcd/lifetime.ts';
import { raiseEtcdCounters } from '../../log/etcd/raise-counters.ts';
import { raiseCounters, type RaisedCounters } from '../../log/file/raise-counters.ts';
import { listFiles, recover } from '../../log/file/recovery.ts';
import { randomId } from '../../node/id.ts';
import { acquireLock } from '../../node/lock.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { openExistingDirectory } from '../../node/storage.ts';
import { warnings } from '../../node/warnings.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { connectEtcd, type EtcdConnection } from './etcd-connection.ts';
import { checkOptionNames, type OptionNames } from './option-names.ts';
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
  store?: string | EtcdStore | undefined;

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
  const logger = options.logger ?? warnings;
  const log = plan.kind === 'file' ? logIn(plan.directory, logger) : logOn(plan.options, logger);
  const found = await log.read();
  const { seenTerm, seenPosition } = options;
  const above = {
    term: Math.max(found.term, seenTerm ?? found.term + LEAP),
    position: Math.max(found.position + 1, seenPosition ?? found.position + LEAP),
  };
  return { found, above, carryOut: () => log.raise(above) };
}

interface StoredLog {
  read(): Promise<Recovery['found']>;
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
      return {
        history,
        term,
        position: Math.max(floor, batches.at(-1)?.position ?? snapshot?.position ?? 0),
      };
    },
    raise: async (above) =>
      raiseCounters({ ...above, storage: await openExistingDirectory(directory), lock, logger, randomId }),
  };
}

function logOn(options: EtcdStore, logger: Logger): StoredLog {
  const runtime = nodeRuntime();
  return {
    read: async () => {
      using connection = connectEtcd(options, { runtime, logger });
      return await readCounters(connection, runtime, logger);
    },
    raise: async (above) => {
      using connection = connectEtcd(options, { runtime, logger });
      const { client, prefix, cluster } = connection;
      return await raiseEtcdCounters({ ...above, client, prefix, cluster, runtime, logger, randomId });
    },
  };
}

const READ_WITHIN_MS = 10_000;
const REQUEST_TIMEOUT_MS = 2_000;
const RETRY_MS = 200;

async function readCounters(
  { client, prefix, cluster }: EtcdConnection,
  runtime: Runtime,
  logger: Logger,
): Promise<Recovery['found']> {
  const layout = new Layout(prefix);
  const timing = { requestTimeoutMs: REQUEST_TIMEOUT_MS, retryMs: RETRY_MS };
  const asking = new Asking({ client, runtime, logger, ...timing });
  using life = new Lifetime(runtime);
  const unavailable = (why: string, reason?: EtcdRefusalReason): EtcdUnavailableError =>
    new EtcdUnavailableError('read the log', why, reason);
  const { revision, found } = await new Promise<EtcdTransactionResult>((resolve, reject) => {
    life.after(READ_WITHIN_MS, () => reject(unavailable(`no answer within ${READ_WITHIN_MS / 1_000} s`)));
    asking.insist<EtcdTransactionResult>(
      life,
      (hear) => asking.get([layout.meta, layout.head, layout.leader], hear),
      resolve,
      ({ message, reason }) => reject(unavailable(message, reason)),
    );
  });
  const [meta, head, leader] = found;
  if (meta === undefined)
    throw new PrefixInUseError(layout.meta, 'is missing: there is no log under the prefix');
  const { history, termBase, floor } = decodeMeta(meta, cluster);
  if (leader !== undefined) throw new LeaderAliveError(leaderName(leader));
  return { history, term: termBase + revision, position: Math.max(floor, decodeHead(head)) };
}
