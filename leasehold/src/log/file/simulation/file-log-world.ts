/**
 * One seed: a log on a simulated disk, one process after the other that writes to the log at full speed, and every
 * fault of disks and processes.
 *
 * An incarnation opens the log, is elected, appends, compacts, resigns and stands again. An incarnation ends by a kill, by a power
 * cut, when told that the storage failed, or in good order. Then the next one begins, and the result of its read is
 * compared with all acknowledged batches.
 */

import type { LeaseholdError } from '../../../runtime/errors.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import { SimDisk } from '../../../sim/disk.ts';
import { SimProcess, type SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import { World } from '../../../sim/world.ts';
import type { Leadership } from '../../log.ts';
import { DamagedLogError, StorageFailedError } from '../errors.ts';
import { openFileLog } from '../file-log.ts';
import type { FileLog } from '../file-log-options.ts';
import { Checker, type PromiseName } from './checker.ts';
import { damage, type Repair } from './damage.ts';
import { FaultyStorage } from './faulty-storage.ts';

const CHAOS_MS = 1_000;
const CALM_MS = 250;
const MAX_BATCH_BYTES = 3_000;

export class FileLogWorld {
  readonly world: World;
  readonly #random: Random;
  readonly #disk: SimDisk;
  readonly #process: SimProcess;
  readonly #checker: Checker;
  readonly #drawn: {
    readonly preallocateBytes: number;
    readonly batchBytes: number;
    readonly pauseMs: number;
    readonly leaderLeaseMs: number;
  };
  readonly #troubles: Readonly<Record<Trouble, () => void>> = {
    kill: () => this.#endIncarnation('kill'),
    'power-cut': () => this.#endIncarnation('power-cut'),
    'sync-error': () => this.#disk.failNextSync(),
    'name-error': () => this.#storage?.failNextSyncOfNames(),
    'write-error': () => {
      this.#mayBeTorn = true;
      this.#storage?.failNextWrite();
    },
    'disk-full': () => this.#fill(),
    'good-order': () => void this.#close(),
    damage: () => void this.#probe(),
    replace: () => this.#replace(),
  };
  #storage: FaultyStorage | undefined;
  #log: FileLog | undefined;
  #leadership: Leadership | undefined;
  #campaign: Disposable | undefined;
  #hasFailed = false;
  /** Set while harm is done to the files, until undone. */
  #repair: Repair | undefined;
  #isProbing = false;
  #isCalm = false;
  #appendsInCalm = 0;
  #isLocked = false;
  /** When the path came to lead elsewhere, by the clock of the process. */
  #replacedAt: Instant | undefined;
  /** Since the last opening, something happened that can leave half a frame. A kill cannot. */
  #mayBeTorn = false;
  #broken: { readonly promise: PromiseName; readonly detail: string } | undefined;

  constructor(seed: number, trace: boolean) {
    this.world = new World({ seed, trace });
    this.#random = this.world.random.fork('workload');
    const random = this.#random;
    this.#disk = new SimDisk(this.world, {
      name: 'disk',
      sectorBytes: random.pick([64, 512]),
      syncMs: [0.2, random.pick([1, 4])],
      slowSyncChance: random.pick([0, 0.02]),
      slowSyncMs: [20, 100],
    });
    this.#drawn = {
      preallocateBytes: random.pick([0, 300, 4_096]),
      batchBytes: random.pick([40, 700, MAX_BATCH_BYTES + 100]),
      pauseMs: random.pick([2, 5, 15]),
      leaderLeaseMs: random.pick([10, 40]),
    };
    this.#checker = new Checker((promise, detail) => this.#break(promise, detail));
    this.#process = new SimProcess(this.world, {
      name: 'manager',
      start: (runtime, incarnation) => void this.#live(runtime, incarnation),
    });
    this.world.afterEach(() => {
      if (this.#broken !== undefined) throw this.world.broken(this.#broken.promise, this.#broken.detail);
    });
  }

  async run(): Promise<void> {
    const { world } = this;
    this.#process.start();
    const troubles = world.every([5, 150], () => this.#trouble());
    await world.runAsync({ untilMs: CHAOS_MS, drain });
    troubles[Symbol.dispose]();
    await world.runAsync({ untilMs: world.trueMs + 200, drain });
    this.#isCalm = true;
    if (!this.#isProbing && this.#random.chance(0.5)) this.#endIncarnation('power-cut');
    await world.runAsync({ untilMs: world.trueMs + CALM_MS, drain });
    if (this.#appendsInCalm === 0)
      throw world.broken('settles', 'nothing was appended although all was well');
    world.count('batches', this.#checker.count);
  }

  #break(promise: PromiseName, detail: string): void {
    this.#broken ??= { promise, detail };
  }

  #note(what: string, facts: Readonly<Record<string, string | number | boolean | undefined>> = {}): void {
    if (this.world.tracing) this.world.note('manager', { what, facts });
  }

  async #live(runtime: SimRuntime, incarnation: number): Promise<void> {
    const disk = runtime.storage(this.#disk);
    const random = this.#random.fork(`life ${incarnation}`);
    const storage = new FaultyStorage(this.#disk, disk, random.fork('faults'));
    this.#storage = storage;
    this.#log = undefined;
    this.#leadership = undefined;
    this.#hasFailed = false;
    const torn = { count: 0 };
    try {
      this.#isLocked = false; // The lock died with the process before.
      this.#replacedAt = undefined; // And somebody has put the directory back.
      this.#log = await openFileLog({
        ...{ storage, runtime, maxBatchBytes: MAX_BATCH_BYTES, retryMs: 20 },
        preallocateBytes: this.#drawn.preallocateBytes,
        lock: async () => {
          this.#isLocked = true;
          return {
            path: 'data',
            isInPlace: () => this.#look(runtime),
            [Symbol.dispose]: () => (this.#isLocked = false),
          };
        },
        leaderLeaseMs: () => this.#drawn.leaderLeaseMs,
        logger: {
          ...{ debug: () => {}, info: () => {}, error: () => {} },
          warn: (message) => (torn.count += message.startsWith('cut a torn tail') ? 1 : 0),
        },
        randomId: () => `history-${incarnation}`,
        beginAbove: () => 0,
        onFatal: (error) => this.#onFatal(error),
      });
    } catch (error) {
      return this.#couldNotOpen(error);
    }
    this.world.count('opened');
    if (torn.count > 0) this.world.count('torn tails cut');
    this.#note('opened', {
      bytes: this.#log.stats.bytes,
      segments: this.#log.stats.segments,
      torn: torn.count,
    });
    if (!this.#isLocked) this.#break('opens', 'the log is open without the lock');
    if (torn.count > 0 && !this.#mayBeTorn)
      this.#break('clean-stays-clean', 'the end is torn, and nothing tore it');
    this.#mayBeTorn = storage.willFail || this.#disk.capacityBytes < Number.POSITIVE_INFINITY;
    if (this.#isProbing) return this.#probeOpened(this.#log);
    this.#stand(runtime, random, this.#log);
  }

  #couldNotOpen(error: unknown): void {
    this.#note('not-opened', { why: error instanceof Error ? error.message : String(error) });
    if (this.#isLocked) this.#break('opens', 'the lock was not given back');
    const isDamage = error instanceof DamagedLogError;
    // An injected failure may hit here too; then the next incarnation tries again.
    const isExpected = isDamage ? this.#isProbing : error instanceof StorageFailedError;
    if (!isExpected) this.#break('opens', String(error));
    this.world.count(isDamage ? 'damage noticed' : 'failed to open');
    if (this.#isProbing) this.#endProbe();
    else this.#endLifeWithin(5, 'kill');
  }

  #onFatal(error: LeaseholdError): void {
    if (this.#hasFailed) this.#break('fatal-is-final', 'onFatal was called twice');
    this.#hasFailed = true;
    this.world.count('fatal');
    this.#note('fatal', { why: error.message });
    this.#endLifeWithin(20, this.#random.chance(0.5) ? 'kill' : 'power-cut');
  }

  #stand(runtime: SimRuntime, random: Random, log: FileLog): void {
    this.#campaign = log.campaign(`${this.#process.incarnation}`, {
      elected: (leadership, until) => {
        this.#leadsUntil(until);
        if (this.#hasFailed) this.#break('fatal-is-final', 'elected after the storage had failed');
        this.world.count('elections');
        this.#note('elected', { term: leadership.term, batches: leadership.start.batches.length });
        this.#leadership = leadership;
        this.#checker.elected(leadership.term);
        this.#checker.read(leadership.start, false);
        if (this.#broken === undefined) this.#step(runtime, random, log, leadership);
      },
      extended: (until) => this.#leadsUntil(until),
      deposed: () => {},
    });
  }

  /** One append after the other; between them a pause, a compaction, or another election. */
  #step(runtime: SimRuntime, random: Random, log: FileLog, leadership: Leadership): void {
    const again = (): void => {
      const pauseMs = this.#isCalm || random.chance(0.5) ? 1 : random.between(0, this.#drawn.pauseMs);
      runtime.wakeAt(later(runtime.now(), pauseMs), () => {
        if (this.#leadership === leadership) this.#step(runtime, random, log, leadership);
      });
    };
    if (random.chance(0.04) && this.#checker.count > 0) this.#compact(random, leadership);
    const resigns = random.chance(0.03);
    if (resigns && random.chance(0.5)) {
      this.#resign(runtime, random, log);
      return;
    }
    const position = Math.max(this.#checker.head, leadership.start.floor) + random.pick([1, 1, 1, 7]);
    const length = random.integer(0, this.#drawn.batchBytes);
    const isReplaced = this.#replacedAt !== undefined;
    leadership.append(this.#checker.submit(position, length), (outcome) => {
      if (this.#hasFailed) this.#break('fatal-is-final', `${position} answered after the storage had failed`);
      if (isReplaced && outcome === 'appended')
        this.#break('replaced-is-noticed', `${position} was appended after the path led elsewhere`);
      this.world.count(outcome);
      this.#note(outcome, { position, length });
      this.#checker.answered(position, outcome);
      if (this.#isCalm && outcome === 'appended') this.#appendsInCalm += 1;
      again();
    });
    if (resigns) this.#resign(runtime, random, log);
  }

  #resign(runtime: SimRuntime, random: Random, log: FileLog): void {
    this.#leadership = undefined;
    this.#campaign?.[Symbol.dispose]();
    this.#stand(runtime, random, log);
  }

  #compact(random: Random, leadership: Leadership): void {
    const { count } = this.#checker;
    const upTo = random.chance(0.7) ? count : random.integer(Math.max(1, count - 5), count);
    const { bytes, position } = this.#checker.snapshot(upTo, random.integer(0, 4_000));
    this.world.count('compactions asked for');
    leadership.compact(bytes, position);
  }

  #trouble(): void {
    if (this.#isProbing || !this.#process.alive) return;
    const what = this.#random.pick(TROUBLES);
    this.world.count(what);
    this.#note('trouble', { what });
    this.#troubles[what]();
  }

  /** The process is gone; the next incarnation begins a little later. */
  #endIncarnation(how: 'kill' | 'power-cut'): void {
    this.#leadership = undefined;
    this.#process.crash();
    if (how === 'power-cut') this.#disk.crash();
    if (how === 'power-cut') this.#mayBeTorn = true;
    this.world.after(this.#random.between(0, 5), () => {
      if (!this.#process.alive) this.#process.start();
    });
  }

  /** The same in a while, unless the incarnation has ended otherwise. */
  #endLifeWithin(ms: number, how: 'kill' | 'power-cut'): void {
    const { incarnation } = this.#process;
    this.world.after(this.#random.between(0, ms), () => {
      if (this.#process.alive && incarnation === this.#process.incarnation && !this.#isProbing)
        this.#endIncarnation(how);
    });
  }

  /** Somebody renames the directory and makes another. */
  #replace(): void {
    this.#replacedAt ??= this.#process.now();
    const { incarnation } = this.#process;
    this.world.after(5 * this.#drawn.leaderLeaseMs, () => {
      if (incarnation !== this.#process.incarnation || !this.#process.alive || this.#leadership === undefined)
        return;
      if (!this.#hasFailed)
        this.#break('replaced-is-noticed', 'the path leads elsewhere, and somebody leads');
    });
  }

  /** The observation may be out of date by the time of the answer. */
  async #look(runtime: SimRuntime): Promise<boolean> {
    const isInPlace = this.#replacedAt === undefined;
    const takesMs = this.#random.between(0, this.#drawn.leaderLeaseMs / 8);
    await new Promise<void>((resolve) => runtime.wakeAt(later(runtime.now(), takesMs), resolve));
    return isInPlace;
  }

  #leadsUntil(until: Instant): void {
    this.world.count('leader leases');
    const { leaderLeaseMs } = this.#drawn;
    if (this.#replacedAt === undefined || until <= later(this.#replacedAt, leaderLeaseMs)) return;
    this.#break('replaced-is-noticed', 'a leader lease is longer than one from when the path still led here');
  }

  #fill(): void {
    this.#mayBeTorn = true;
    this.#disk.capacityBytes = this.#disk.usedBytes + this.#random.integer(0, 3_000);
    this.world.after(this.#random.between(10, 150), () => {
      this.#disk.capacityBytes = Number.POSITIVE_INFINITY;
    });
  }

  async #close(): Promise<void> {
    const { incarnation } = this.#process;
    this.#leadership = undefined;
    await this.#log?.[Symbol.asyncDispose]();
    if (incarnation !== this.#process.incarnation || !this.#process.alive) return;
    if (this.#log !== undefined && this.#isLocked) this.#break('opens', 'the lock was not given back');
    this.#endIncarnation('kill');
  }

  /** Kills the process, does harm to a file, and checks the reaction of the next incarnation. */
  async #probe(): Promise<void> {
    this.#isProbing = true;
    this.#leadership = undefined;
    this.#process.crash();
    this.#disk.capacityBytes = Number.POSITIVE_INFINITY;
    this.#repair = await damage(this.#disk, this.#random.fork(`damage ${this.#process.incarnation}`));
    this.#note('damage', { done: this.#repair !== undefined });
    this.#process.start();
  }

  /** The log opened: then the harm was in an unused place. */
  async #probeOpened(log: FileLog): Promise<void> {
    log.follow({
      reset: (start) => {
        this.#checker.read(start, this.#repair !== undefined);
        this.#endProbe();
      },
      batch: () => {},
      head: () => {},
    });
  }

  #endProbe(): void {
    const repair = this.#repair;
    this.#repair = undefined;
    this.#process.crash();
    const goOn = (): void => {
      this.#isProbing = false;
      this.#process.start();
    };
    if (repair === undefined) goOn();
    else void repair().then(goOn);
  }
}

type Trouble =
  | 'kill'
  | 'power-cut'
  | 'sync-error'
  | 'name-error'
  | 'write-error'
  | 'disk-full'
  | 'good-order'
  | 'damage'
  | 'replace';

/** As often as they are listed. */
const TROUBLES: readonly Trouble[] = [
  ...(['kill', 'kill', 'power-cut', 'power-cut', 'power-cut', 'sync-error', 'sync-error'] as const),
  ...(['name-error', 'write-error', 'disk-full', 'disk-full', 'good-order', 'damage', 'replace'] as const),
];

/** As many turns as the longest chain of promises in the log needs, and some. */
async function drain(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await undefined;
}
