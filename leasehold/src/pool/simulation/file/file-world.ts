/**
 * Managers on one directory of one machine, the default deployment, with owners and look-ups, watched by the checker of the
 * pool. The file log is the real one, on a simulated disk (`log/file/`, `sim/disk.ts`).
 *
 *     path ──► directory 2 (lock, disk)       a Manager that opens the log now
 *              directory 1 (lock, disk)       a Manager that opened the log before somebody renamed the directory
 *
 * **The truth.** A batch counts from when a Manager hears, as leader or as follower, that the batch is written: until then nobody
 * can act on the batch. If the Manager dies before that, the batch counts from when the next Manager finds it in the log. A batch
 * that was acknowledged and that the next Manager does not find is a broken promise. A directory that took the place of
 * another is a new log (`successive-logs.ts`).
 *
 * A Manager that cannot open the log, or whose storage failed, ends, and is started again after a while, as by systemd. Of two
 * Managers on one directory the second is refused as long as the first has the lock.
 *
 * The log of a {@link PoolWorld} on etcd has no clients here.
 */

import { openFileLog } from '../../../log/file/file-log.ts';
import type { LogLock } from '../../../log/file/fence.ts';
import type { FencedLog, LogBatch, LogStart } from '../../../log/log.ts';
import { newLogFloor } from '../../../log/new-log.ts';
import { silent } from '../../../runtime/logger.ts';
import { later } from '../../../runtime/time.ts';
import { SimDisk } from '../../../sim/disk.ts';
import type { SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import type { ManagerNode } from '../nodes.ts';
import { type Opening, PoolWorld, type PoolWorldOptions } from '../pool-world.ts';
import { SuccessiveLogs } from '../successive-logs.ts';
import { OpeningLog } from './opening-log.ts';

export interface FileWorldOptions
  extends Omit<PoolWorldOptions, 'leaderKeyMs' | 'oneMachine' | 'isFirstStart'> {
  readonly pools: readonly string[];
  /** Whether the operator says that no log was before: never, until there is one, or even then. */
  readonly firstStart: 'never' | 'while-true' | 'always';
  readonly slowSyncChance?: number | undefined;
  readonly sectorBytes?: number | undefined;
  readonly preallocateBytes?: number | undefined;
  /** How long until a Manager that ended is started again, at most. */
  readonly restartMs: number;
}

interface Directory {
  /** From 1; each takes the place of the one before. */
  readonly number: number;
  readonly disk: SimDisk;
  lockedBy: { readonly node: ManagerNode; readonly incarnation: number } | undefined;
  /** The last position that is known to be written. */
  head: number;
}

export class FileWorld extends PoolWorld {
  readonly #files: FileWorldOptions;
  readonly #random: Random;
  readonly #logs: SuccessiveLogs;
  #directory: Directory;
  #failure: { readonly error: unknown } | undefined;

  /** A directory has one Manager at a time. */
  protected override get isLogShared(): boolean {
    return false;
  }

  constructor(options: FileWorldOptions) {
    super({
      ...options,
      leaderKeyMs: options.durations.leaderLeaseMs,
      oneMachine: true,
      isFirstStart: () =>
        options.firstStart === 'always' || (options.firstStart === 'while-true' && this.#isFirst),
    });
    this.#files = options;
    this.#random = this.world.random.fork('file world');
    this.#logs = new SuccessiveLogs(this.world, this.checker, options.pools);
    this.#directory = this.#newDirectory(1);
    this.world.afterEach(() => {
      if (this.#failure !== undefined) throw this.#failure.error;
    });
  }

  get disk(): SimDisk {
    return this.#directory.disk;
  }

  override get confirmedLeader(): ManagerNode | undefined {
    return this.leader;
  }

  /** As {@link run}, with the promises of the file log. */
  async play(ms: number): Promise<void> {
    await this.world.runAsync({ untilMs: this.world.trueMs + ms, drain });
  }

  /** A Manager ends, and is started again. */
  end({ process }: ManagerNode, downMs: number = this.#random.between(0, this.#files.restartMs)): void {
    process.crash();
    this.world.after(downMs, () => process.alive || process.start());
  }

  /** The power of the Managers' machine is cut. */
  cutPower(downMs?: number): void {
    for (const node of this.managers) this.end(node, downMs);
    this.disk.crash();
  }

  /** Somebody renames the directory and makes another. */
  replaceDirectory(): void {
    this.#directory = this.#newDirectory(this.#directory.number + 1);
  }

  override heal(): void {
    this.disk.capacityBytes = Number.POSITIVE_INFINITY;
    this.disk.slowSyncChance = 0;
    super.heal();
  }

  /** A restart, and finding that the lock is held, twice over. */
  override get settleMs(): number {
    return super.settleMs + 4 * this.#files.restartMs;
  }

  protected override openLog({ name, durations, runtime, strayed }: Opening): FencedLog {
    const directory = this.#directory;
    const node = this.manager(name);
    const { incarnation } = node.process;
    const fail = (what: string): void => {
      this.world.count(what);
      strayed();
      this.world.after(
        this.#files.restartMs * this.#random.between(0.5, 1),
        () => node.process.alive || node.process.start(),
      );
    };
    const opening = openFileLog({
      ...{ runtime, logger: silent, storage: runtime.storage(directory.disk) },
      lock: async () => this.#lock(directory, node, runtime),
      leaderLeaseMs: () => durations.leaderLeaseMs,
      retryMs: durations.retryMs,
      preallocateBytes: this.#files.preallocateBytes,
      randomId: () => `${name}.${incarnation}.${runtime.random().toString(36).slice(2, 10)}`,
      beginAbove: () => newLogFloor(runtime),
      onFatal: (error) => fail(`fatal, ${error.code}`),
    });
    return new OpeningLog({
      opening: new Promise((resolve) => {
        opening.then(resolve, (error) => fail(`not opened, ${codeOf(error)}`));
      }),
      guarded: (act) => this.#guarded(act),
      found: (start) => this.#found(directory, start),
      written: (batch) => this.#written(directory, batch),
    });
  }

  /** No log was ever begun. */
  get #isFirst(): boolean {
    return this.#directory.number === 1 && this.#directory.head === 0;
  }

  #newDirectory(number: number): Directory {
    const { sectorBytes, slowSyncChance, durations } = this.#files;
    const disk = new SimDisk(this.world, {
      ...{ name: `disk ${number}`, sectorBytes, slowSyncChance, syncMs: [0.5, 5] },
      slowSyncMs: [20, durations.leaseMs / 2],
    });
    return { number, disk, lockedBy: undefined, head: 0 };
  }

  #lock(directory: Directory, node: ManagerNode, runtime: SimRuntime): LogLock {
    const { lockedBy } = directory;
    if (lockedBy?.node.process.alive && lockedBy.node.process.incarnation === lockedBy.incarnation)
      throw new LockHeld();
    const mine = { node, incarnation: node.process.incarnation };
    directory.lockedBy = mine;
    return {
      path: 'data',
      isInPlace: () => this.#look(directory, runtime),
      [Symbol.dispose]: () => {
        if (directory.lockedBy === mine) directory.lockedBy = undefined;
      },
    };
  }

  /** Takes a moment; the answer may be out of date by then. */
  async #look(directory: Directory, runtime: SimRuntime): Promise<boolean> {
    const isInPlace = this.#directory === directory;
    const at = later(runtime.now(), this.#random.between(0, 2));
    await new Promise<void>((resolve) => runtime.wakeAt(at, resolve));
    return isInPlace;
  }

  /** A Manager reads the log: all that was acknowledged is there, and perhaps one batch more. */
  #found(directory: Directory, { snapshot, batches }: LogStart): void {
    const head = batches.at(-1)?.position ?? snapshot?.position ?? 0;
    if (head < directory.head)
      throw this.world.broken(
        'log-is-truth',
        `${directory.head} was acknowledged, and the log ends at ${head}`,
      );
    const unheard = batches.filter(({ position }) => position > directory.head);
    this.world.count('batches found that nobody had heard of', unheard.length);
    for (const batch of unheard) this.#written(directory, batch);
  }

  #written(directory: Directory, batch: LogBatch): void {
    if (batch.position <= directory.head) return;
    directory.head = batch.position;
    this.#logs.committed(directory.number, batch);
  }

  #guarded(act: () => void): void {
    try {
      act();
    } catch (error) {
      this.#failure ??= { error };
    }
  }
}

class LockHeld extends Error {
  readonly code = 'LOCK_HELD';
}

const codeOf = (error: unknown): string =>
  error instanceof Error && 'code' in error ? String(error.code) : String(error);

/** As many turns as the longest chain of promises in the log needs, and some. */
async function drain(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await undefined;
}
