/**
 * Joins a pool from a running process: `joinPool`, and what it can be told.
 *
 * The order matters. The proof of death comes before the first report, because a report without it could
 * be answered with leases that nobody can free early; and with it the deaths of predecessors are told, so
 * that their keys can be granted to us at once. What has been opened by then belongs to the owner as soon
 * as there is one, and is closed when it has left; if there never is one, it is closed here.
 */

import { randomId } from '../../node/id.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { warnings } from '../../node/warnings.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { RangeSet } from '../../runtime/keys/range-set.ts';
import { LONGEST_NAME, LONGEST_URL } from '../wire/rules.ts';
import { resolveDurations } from '../options.ts';
import { type ManagerAddresses, resolveAddresses } from './addresses.ts';
import { Closing } from '../../runtime/closing.ts';
import { dialManagers } from './dial-managers.ts';
import { enter, withinOption } from './entering.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { PoolOwner } from './pool-owner.ts';
import { LOCK_WAIT_MS } from './supervision/locked-proof.ts';
import { proveDeath } from './supervision/prove-death.ts';
import { textOption } from '../../runtime/text-option.ts';
import type { Upcall } from './upcalls.ts';

export interface JoinOptions {
  /** Where the Managers are. @default LEASEHOLD_MANAGERS, LEASEHOLD_MANAGERS_FILE, 127.0.0.1:7400 */
  managers?: ManagerAddresses | undefined;

  /** The pool to join. It begins to exist with whoever first joins it, unless the Manager wants it declared. */
  pool: string;

  /** What stays the same after a restart, and decides where this owner's keys lie. Unlike any other's in the pool. */
  name: string;

  /** What look-ups hand to callers. Unlike any other's in the pool. */
  url: string;

  /** Load what belongs to these keys; they are served once it resolves. Called again if it fails. */
  onGrant?: Upcall | undefined;

  /**
   * These keys are to be given back: new work is refused already, what is under way may finish. Flush
   * while they are still held; they are let go of when it resolves, or after a third of the lease.
   */
  onRevoke?: Upcall | undefined;

  /** These keys are no longer ours: forget what is remembered of them. After `onRevoke`, or without it if the lease ran out. */
  onLost?: ((ranges: RangeSet) => unknown) | undefined;

  /** Asked at every renewal: requests per second, or whatever the Manager's policy understands. @default 0 */
  load?: (() => number) | undefined;

  /**
   * A file to lock for as long as this process lives. The next process that locks it under the same
   * name proves that this one is dead, and need not wait for its lease. On a local file system only.
   */
  lockFile?: string | undefined;

  /** How long to try before giving up. @default 30_000 */
  joinWithinMs?: number | undefined;

  /** Gives up joining. */
  signal?: AbortSignal | undefined;

  /** @default warnings and errors, on the standard error; `silent` for nothing */
  logger?: Logger | undefined;
}

const OPTIONS: OptionNames<JoinOptions> = {
  ...{ managers: true, pool: true, name: true, url: true, onGrant: true, onRevoke: true, onLost: true },
  ...{ load: true, lockFile: true, joinWithinMs: true, signal: true, logger: true },
};

/**
 * Resolves when the Manager has admitted this owner; keys follow.
 *
 * @throws {InvalidOptionError} before anything has started
 * @throws {ManagersUnreachableError} if none answers in time; it says what each address did
 * @throws {RefusedError} if the Manager will not have it
 * @throws {LockedError} if the process that has `lockFile` still lives
 * @throws {UnfitLockFileError} if a lock on that file would prove nothing
 * @throws {UnsupportedPlatformError} where there is no lock that ends with its process
 * @throws {StorageError} if that file cannot be opened or written
 */
export async function joinPool(options: JoinOptions): Promise<PoolOwner> {
  checkOptionNames('', options, OPTIONS);
  const pool = textOption('pool', options.pool, LONGEST_NAME);
  const name = textOption('name', options.name, LONGEST_NAME);
  const url = textOption('url', options.url, LONGEST_URL);
  const withinMs = withinOption('joinWithinMs', options.joinWithinMs);
  const { lockFile, signal, logger = warnings } = options;
  signal?.throwIfAborted();
  const runtime = nodeRuntime({
    onBackwards: (ms) => logger.error('the clock went back; what is held is dropped and taken anew', { ms }),
  });

  const startedAt = runtime.now();
  await using opening = new Closing();
  const addresses = opening.use(await resolveAddresses(options.managers, runtime, logger));
  const waitMs = Math.min(withinMs, LOCK_WAIT_MS);
  const death = opening.use(await proveDeath({ lockFile, addresses, runtime, logger, waitMs, signal }));
  let owner: PoolOwner | undefined;
  const onReachable = (): void => owner?.reachable();
  const dialer = opening.use(dialManagers({ role: 'owner', runtime, logger, onReachable }));
  owner = new PoolOwner({
    identity: { pool, name, url, incarnation: randomId(), proof: death.proof },
    ...{ addresses, durations: resolveDurations(), runtime, logger, dialer },
    application: options,
    close: async (hasLeft) => {
      if (hasLeft) death.left();
      await owned[Symbol.asyncDispose]();
    },
  });
  const owned = opening.move();
  return await enter(owner, { runtime, logger, withinMs, startedAt, signal, addresses, dialer });
}
