/// <reference lib="esnext.disposable" preserve="true" />

/**
 * One incarnation of a process that uses the log as a Manager would: stands for election, appends one batch after the
 * other while leading, compacts the log, resigns now and then; and follows, and asks for the head. All answers go to
 * the checker.
 */

import type { Logger } from '../../../runtime/logger.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { SimProcess, SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import type { Following, Leadership } from '../../log.ts';
import type { EtcdClient } from '../../../etcd/client.ts';
import { beginEtcdLog, type OpenEtcdLog } from '../etcd-log.ts';
import { type EtcdLogOptions, resolveEtcdLogOptions } from '../options.ts';
import type { Checker, Election, PromiseName } from './checker.ts';
import type { Line } from './truth.ts';

export interface MemberOptions {
  readonly process: SimProcess;
  readonly runtime: SimRuntime;
  readonly client: EtcdClient;
  readonly checker: Checker;
  readonly random: Random;
  /** Whether the process wants to lead. */
  readonly stands: boolean;
  mayAppend(): boolean;
  readonly log: Pick<
    EtcdLogOptions,
    'prefix' | 'leaderLeaseMs' | 'requestTimeoutMs' | 'retryMs' | 'pollMs' | 'chunkBytes'
  >;
  readonly pauseMs: number;
  broken(promise: PromiseName, detail: string): void;
  happened(what: string, facts?: Readonly<Record<string, string | number | undefined>>): void;
}

/** More lines than this in one incarnation are a storm. */
const LINES_MAX = 16;

interface Led {
  readonly campaign: { isOver: boolean };
  readonly candidate: string;
  readonly leadership: Leadership;
  readonly election: Election;
  /** The number of entries, as far as known. */
  count: number;
  position: number;
}

export class Member {
  readonly #options: MemberOptions;
  #log: OpenEtcdLog | undefined;
  #led: Led | undefined;
  #campaign: { isOver: boolean; readonly standing: Disposable } | undefined;
  #campaigns = 0;
  #following: Following | undefined;
  #place: { line: Line; count: number } | undefined;
  /** Of the followed log. */
  #history = '';
  #lines = 0;
  #isZombie = false;
  #isClosing = false;

  constructor(options: MemberOptions) {
    this.#options = options;
    this.#open();
  }

  get isLeading(): boolean {
    return this.#led !== undefined;
  }

  /** Whether the process has followed to the end. */
  get isUpToDate(): boolean {
    const { line } = this.#options.checker;
    return this.#place?.line === line && this.#place.count === line.entries.length;
  }

  /** Resigns and stands again. */
  resign(): void {
    const led = this.#led;
    if (led === undefined) return;
    this.#options.happened('resigned', { candidate: led.candidate });
    this.#stopLeading();
    if (this.#options.random.chance(0.5)) led.leadership.resign();
    this.#stand();
  }

  /** Takes a snapshot of all written entries, or of nearly all. */
  compact(ofAll = false): void {
    const led = this.#led;
    if (led === undefined || led.count === 0) return;
    const { random, happened } = this.#options;
    const count =
      ofAll || random.chance(0.7) ? led.count : random.integer(Math.max(1, led.count - 5), led.count);
    const { bytes, position } = led.election.line.snapshot(count, random.integer(0, 300));
    happened('compaction', { upTo: position });
    led.leadership.compact(bytes, position);
  }

  /** Whether the process knows a log. */
  get mayHalt(): boolean {
    return this.#history !== '' && !this.#isClosing;
  }

  /** Finds, as a Manager might, that a peer has seen more of the log than there is. */
  halt(): void {
    const { checker, happened, random } = this.#options;
    const { term, position } = checker.seen;
    happened('halts');
    this.#log?.halt({ history: this.#history, term, position: position + random.integer(1, 500), why: 'so' });
  }

  /**
   * The process was thought dead, and etcd was restored meanwhile: the log that this process follows from then on is
   * not checked.
   */
  zombify(): void {
    this.#isZombie = true;
    this.#options.happened('zombie');
  }

  /** Ends in good order. */
  close(closed: () => void): void {
    const led = this.#led;
    this.#stopLeading();
    this.#isClosing = true;
    if (this.#log === undefined) closed();
    this.#log?.close(() => {
      if (led?.campaign.isOver === false)
        this.#options.broken('told-once', `${led.candidate} was not told that its log is closed`);
      closed();
    });
  }

  #open(): void {
    const { client, runtime, process, log, broken, happened } = this.#options;
    const options = resolveEtcdLogOptions({
      ...log,
      ...{ client, runtime, cluster: 'sim', logger: this.#logger() },
      about: { id: process.name },
      openWithinMs: 3_000,
      randomId: () => `history-${process.name}-${process.incarnation}`,
      onFatal: (error) => {
        if (!this.#isZombie) broken('readable', error.message);
        this.#stopLeading();
      },
    });
    beginEtcdLog(options, (opened, error) => {
      if (opened === undefined) {
        if (error?.retryable !== true) broken('readable', error?.message ?? '');
        return this.#open();
      }
      happened('opened');
      this.#log = opened;
      if (this.#options.stands) this.#stand();
      else this.#follow(opened);
      this.#askHeads();
    });
  }

  #logger(): Logger {
    const { broken, happened } = this.#options;
    const line = (message: string): void => {
      happened('said', { message });
      this.#lines += 1;
      if (this.#lines > LINES_MAX) broken('quiet', `more than ${LINES_MAX} lines, the last: ${message}`);
    };
    return { debug: () => {}, info: () => {}, warn: line, error: line };
  }

  #stand(): void {
    const log = this.#log;
    if (log === undefined || this.#isClosing) return;
    if (this.#campaign !== undefined) {
      this.#campaign.isOver = true;
      this.#campaign.standing[Symbol.dispose]();
    }
    this.#follow(log);
    const { process, checker, happened } = this.#options;
    this.#campaigns += 1;
    const candidate = `${process.name}.${process.incarnation}.${this.#campaigns}`;
    const campaign = { isOver: false };
    let election: Election | undefined;
    const check = (isInTurn: boolean, what: string): void => {
      const isLate = campaign.isOver || (this.#isClosing && what !== 'deposed');
      if (isLate || !isInTurn) this.#options.broken('told-once', `${candidate} was told ${what}`);
    };
    const standing = log.campaign(candidate, {
      elected: (leadership, until) => {
        check(election === undefined, 'elected');
        const { start, term } = leadership;
        happened('elected', { candidate, term, batches: start.batches.length });
        election = checker.elected(candidate, term, start, this.#trueMs(until));
        const last = start.batches.at(-1)?.position ?? start.snapshot?.position ?? 0;
        const position = Math.max(last, start.floor);
        this.#led = { campaign, candidate, leadership, election, count: election.count, position };
        this.#step(this.#led);
      },
      extended: (until) => {
        check(election !== undefined, 'extended');
        happened('extended', { candidate });
        if (election !== undefined) checker.extended(election, this.#trueMs(until));
      },
      deposed: (reason) => {
        check(election !== undefined, 'deposed');
        happened('deposed', { candidate, reason });
        campaign.isOver = true;
        this.#stopLeading();
        this.#stand();
      },
    });
    this.#campaign = Object.assign(campaign, { standing });
  }

  #stopLeading(): void {
    if (this.#led !== undefined) this.#options.checker.stopped(this.#led.election);
    this.#led = undefined;
  }

  /** One append after the other; between them a pause, a compaction, or another election. */
  #step(led: Led): void {
    const { random, checker, runtime, pauseMs, happened, broken } = this.#options;
    if (this.#led !== led || !this.#options.mayAppend()) return;
    if (random.chance(0.08)) this.compact();
    if (random.chance(0.01)) {
      this.resign();
      return;
    }
    const position = led.position + random.pick([1, 1, 1, 7]);
    const { id, bytes } = checker.submit(led.candidate, position, random.integer(0, 40));
    led.leadership.append({ position, bytes }, (outcome) => {
      if (led.campaign.isOver) broken('told-once', `#${id} was answered after ${led.candidate} was over`);
      happened(outcome, { candidate: led.candidate, position, id });
      checker.answered(id, led.election, outcome);
      if (outcome === 'appended') {
        led.position = position;
        led.count += 1;
      }
      const untilNextMs = random.chance(0.3) ? 0 : random.between(0, pauseMs);
      runtime.wakeAt(later(runtime.now(), untilNextMs), () => this.#step(led));
    });
    // Now and then the process resigns during an append.
    if (random.chance(0.005)) this.resign();
  }

  #follow(log: OpenEtcdLog): void {
    const { checker, happened, broken } = this.#options;
    this.#following?.[Symbol.dispose]();
    this.#place = undefined;
    let isReplaced = (): boolean => false;
    const wasZombie = this.#isZombie;
    const isZombie = (): boolean => this.#isZombie && !wasZombie;
    const following = log.follow({
      reset: (start) => {
        if (isReplaced()) return broken('told-once', 'a follower was reset after it had ended');
        const found = checker.followed(start);
        const before = this.#place;
        happened('reset', { snapshot: start.snapshot?.position, batches: start.batches.length });
        if (isZombie()) return;
        if (typeof found === 'string') return broken('follower-complete', `reset, and ${found}`);
        const snapshotted = start.snapshot?.position ?? 0;
        const have = before?.line.entries[before.count - 1]?.position ?? 0;
        const isSame = before?.line === found.line && this.#history === start.history;
        if (isSame && snapshotted <= have) broken('follower-complete', 'it was reset in vain');
        this.#place = { ...found };
        this.#history = start.history;
      },
      batch: (batch) => {
        if (isReplaced()) return broken('told-once', 'a follower was told after it had ended');
        if (isZombie()) return;
        const place = this.#place;
        const flaw =
          place === undefined ? 'it was not reset' : place.line.flaw(place.count, batch, this.#history);
        if (flaw !== undefined) return broken('follower-complete', flaw);
        if (place !== undefined) place.count += 1;
        checker.seen.position = Math.max(checker.seen.position, batch.position);
      },
      head: (position, askedAt) => {
        if (isReplaced()) return broken('told-once', 'a follower was told a head after it had ended');
        happened('head', { position });
        if (!isZombie()) this.#checkHead(position, askedAt);
      },
    });
    isReplaced = () => this.#following !== following;
    this.#following = following;
  }

  #askHeads(): void {
    const { runtime, random } = this.#options;
    runtime.wakeAt(later(runtime.now(), random.between(100, 1_500)), () => {
      this.#following?.askHead();
      this.#askHeads();
    });
  }

  #checkHead(position: number, askedAt: Instant): void {
    const { checker, broken } = this.#options;
    const { line } = checker;
    const atMs = this.#trueMs(askedAt);
    if (atMs < line.bornAtMs) return; // Of the time that is gone.
    const least = line.headAt(atMs);
    if (position < least)
      broken('head-fresh', `the head is ${position}, and it was ${least} when it was asked`);
    if (position > line.head)
      broken('head-fresh', `the head is ${position}, and nothing is beyond ${line.head}`);
  }

  #trueMs(at: Instant): number {
    return this.#options.process.trueMsOf(at);
  }
}
