/**
 * A restart without a supervisor: the new process proves that the predecessor is dead, by holding the lock that a live
 * predecessor would not have released.
 *
 *     predecessor   lock ├── writes a secret ──── joins ───── kill -9 ┤ the kernel releases the lock
 *     successor                                 lock? no, wait …      ├ reads the secret: a certificate
 *                                                                     ├ writes a new one, then joins
 *
 * *A process that holds the lock and reads a secret there knows that no process uses the proof any more.*
 *
 *  - The secret was written by a process that held the lock on this very file (the device and inode are written beside
 *    the secret: a copy of a directory carries the secret of a process that lives on).
 *  - The lock sits on a descriptor that is closed when the process ends or becomes another program, and that nothing
 *    inherits. The kernel closes the descriptor when the last thread of the process has run for the last time. So a
 *    lock that is free was let go of by an end, or by {@link LockedProof.release}.
 *  - Release takes the secret out of the file first, while the lock is still held. This order is necessary: the same
 *    proof may be in use elsewhere in this process, if a supervisor gave the proof.
 *  - All of this is the promise of one kernel, so the boot id is written there too. Another one means another machine
 *    on a shared disk, or a reboot; the former may well live, so neither proves anything. Pid namespaces do not
 *    matter: containers on one kernel share the kernel's locks.
 *
 * The argument fails on network file systems, where a server can give a held lock to another client: those are
 * refused, as far as the system names them. The argument also fails for a virtual machine that is copied while
 * running, but then every incarnation is doubled, and this is the least problem.
 *
 * If a supervisor gave this process a secret, that secret is left in the file: a report has room for one proof, and
 * both ways to show the proof show the same. Sound, since both speak of the end of one process. Nothing here is synced
 * to disk: a power cut takes only data of another boot.
 */

import { randomId } from '../../../node/id.ts';
import { acquireLock, type FileLock, LockedError } from '../../../node/process/lock.ts';
import { fileIdentity, makePrivate } from '../../../node/process/lock-file.ts';
import { bootId } from '../../../node/process/own-process.ts';
import { digest } from '../../../runtime/digest.ts';
import type { Logger } from '../../../runtime/logger.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { earliest, later } from '../../../runtime/time.ts';
import { supervisedSecret } from './supervised.ts';
import { type Place, readDeathSecrets, type DeathSecret, writeDeathSecret } from './death-secret.ts';

export interface LockedProofOptions {
  /** A file on a local disk, the same for every start under this name, and for nobody else. */
  path: string;

  runtime: Runtime;
  logger: Logger;

  /** How long to wait for a predecessor that is still ending, in milliseconds. @default 5_000 */
  waitMs?: number | undefined;

  /** Gives up waiting for the lock. Others in this process that want the same lock wait on. */
  signal?: AbortSignal | undefined;
}

export interface LockedProof {
  /** For the reports of this process. */
  readonly proof: string;
  /** Secrets of processes that are proved dead, to be shown to the Managers; the latest first. */
  readonly predecessors: readonly string[];
  /** The Managers know of this death, or need no longer hear of the death. */
  settled(predecessor: string): void;
  /**
   * Lets the next process have the lock. Only after every incarnation that reported this proof has left, as confirmed
   * by a Manager; an incarnation that could not leave keeps the lock until the process ends, so that the next process
   * can prove the death.
   */
  release(): void;
}

export const LOCK_WAIT_MS = 5_000;
const TRY_EVERY_MS = 100;

const SHARED: unique symbol = Symbol.for('leasehold.locked-proofs');

/** By path: the pools that this process joins with one lock share the lock and the proof. */
interface Shared {
  [SHARED]?: Map<string, Entry>;
}

interface Entry {
  readonly holding: Promise<Holding>;
  /** How many have the lock, or wait for the lock. */
  users: number;
}

/**
 * @throws {InUseError} LOCKED if the predecessor still lives after `waitMs`
 * @throws {InvalidArgumentError} UNFIT_LOCK_FILE on a network file system, or if the file is another user's
 * @throws {StorageError} if the file cannot be opened or written
 * @throws {RefusedError} UNSUPPORTED_PLATFORM where there is no such lock
 */
export async function lockedProof(options: LockedProofOptions): Promise<LockedProof> {
  const shared = globalThis as Shared;
  const open = (shared[SHARED] ??= new Map());
  const { path, logger, signal } = options;
  const entry = open.get(path) ?? beginHolding(open, options);
  entry.users += 1;
  let used = true;
  const leave = (): boolean => {
    if (used) entry.users -= 1;
    used = false;
    if (entry.users > 0 || open.get(path) !== entry) return false;
    open.delete(path);
    return true;
  };
  try {
    const holding = await unlessAborted(entry.holding, signal);
    return {
      proof: digest(holding.secret),
      predecessors: holding.predecessors,
      settled: (predecessor) => holding.settle(predecessor, logger),
      release: () => {
        if (leave()) holding.release(logger);
      },
    };
  } catch (cause) {
    entry.users -= 1;
    throw cause;
  }
}

/** A lock that comes when nobody wants the lock any more stays, for the next user in this process. */
function beginHolding(open: Map<string, Entry>, options: LockedProofOptions): Entry {
  const { path } = options;
  const entry: Entry = { holding: takeHold(options, () => entry.users > 0), users: 0 };
  open.set(path, entry);
  entry.holding.catch(() => {
    if (open.get(path) === entry) open.delete(path);
  });
  return entry;
}

/** @throws the reason of the signal, if the abort comes first */
function unlessAborted<T>(promise: Promise<T>, signal: AbortSignal | undefined): Promise<T> {
  if (signal === undefined) return promise;
  return new Promise((resolve, reject) => {
    const abort = (): void => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
    void promise.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
    if (signal.aborted) abort();
  });
}

async function takeHold(options: LockedProofOptions, isWanted: () => boolean): Promise<Holding> {
  const { path, logger } = options;
  const [supervised, lock] = await Promise.all([supervisedSecret(logger), lockWithin(options, isWanted)]);
  try {
    makePrivate(path);
    const place: Place = { boot: bootId(), file: fileIdentity(path) };
    const proved = readDeathSecrets(lock.read(), place);
    if ('why' in proved) logger.info(EXPLAINED[proved.why], { path, why: proved.why });
    return new Holding(lock, place, supervised ?? randomId(32), proved.dead);
  } catch (cause) {
    lock[Symbol.dispose]();
    throw cause;
  }
}

const EXPLAINED = {
  'other-boot':
    'the lock was last held before a restart of this machine, or on another: that proves no death, so the leases of its holder have to expire',
  'other-file':
    'the lock file is a copy of another: the process that wrote it may still run, so its leases have to expire',
  unreadable:
    'the lock file does not say which process held it last: the leases of that process, if it had any, have to expire',
} as const;

/** Tries again for a while: a predecessor that was told to end may not have ended yet. */
async function lockWithin(
  { path, runtime, logger, waitMs }: LockedProofOptions,
  isWanted: () => boolean,
): Promise<FileLock> {
  const until = later(runtime.now(), waitMs ?? LOCK_WAIT_MS);
  let isWaiting = false;
  for (;;) {
    try {
      return await acquireLock(path);
    } catch (cause) {
      if (!(cause instanceof LockedError) || runtime.now() >= until || !isWanted()) throw cause;
      if (!isWaiting) logger.info('waiting for the lock', { path, holder: cause.holder });
      isWaiting = true;
    }
    const next = later(runtime.now(), TRY_EVERY_MS * (0.75 + runtime.random() / 2));
    await new Promise<void>((resolve) => runtime.wakeAt(earliest(next, until), resolve));
  }
}

/** The lock in hand, and our secret in the file. */
class Holding {
  readonly secret: string;
  readonly predecessors: readonly string[];
  readonly #lock: FileLock;
  readonly #place: Place;
  #unsettled: readonly string[];
  #isReleased = false;

  constructor(lock: FileLock, place: Place, secret: string, predecessors: readonly string[]) {
    this.#lock = lock;
    this.#place = place;
    this.secret = secret;
    // In any case we live: never certify ourselves.
    this.predecessors = predecessors.filter((each) => each !== secret);
    this.#unsettled = this.predecessors;
    this.#write();
  }

  settle(predecessor: string, logger: Logger): void {
    if (this.#isReleased || !this.#unsettled.includes(predecessor)) return;
    this.#unsettled = this.#unsettled.filter((each) => each !== predecessor);
    try {
      this.#write();
    } catch (cause) {
      const facts = { path: this.#lock.path, cause: String(cause) };
      logger.warn('the lock file could not be written: our death may have to wait for our lease', facts);
    }
  }

  release(logger: Logger): void {
    if (this.#isReleased) return;
    this.#isReleased = true;
    try {
      this.#lock.write('');
    } catch (cause) {
      const facts = { path: this.#lock.path, cause: String(cause) };
      logger.warn('the lock is kept until this process ends: its file could not be cleared', facts);
      return;
    }
    this.#lock[Symbol.dispose]();
  }

  #write(): void {
    const { boot = '', file } = this.#place;
    const deathSecret: DeathSecret = { boot, file, secret: this.secret, earlier: this.#unsettled };
    this.#lock.write(writeDeathSecret(deathSecret));
  }
}
