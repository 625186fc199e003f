/**
 * One life of a process that uses the log as a Manager would: it stands for election, appends one batch after the other while
 * leading, compacts the log, resigns now and then; and follows, and asks for the head. All that it is told goes to the checker.
 */

import type { Following, Leadership } from '../../../log/log.ts';
import { type Instant, later } from '../../../runtime/time.ts';
import type { SimRuntime } from '../../../sim/process.ts';
import type { Random } from '../../../sim/random.ts';
import type { QuorumLog } from '../../fenced-log/quorum-log.ts';
import type { ReplicaNode } from '../node.ts';
import type { LogChecker } from './log-checker.ts';

export interface LogUserOptions {
  readonly node: ReplicaNode;
  readonly runtime: SimRuntime;
  readonly log: QuorumLog;
  readonly checker: LogChecker;
  readonly random: Random;
  /** The true time of each read, by the clock of the process. */
  readonly readAtMs: ReadonlyMap<Instant, number>;
  readonly stands: boolean;
  readonly pauseMs: number;
  /** Of the replica in this life. */
  readonly leaseMs: number;
  mayAppend(): boolean;
}

interface Led {
  readonly candidate: string;
  readonly leadership: Leadership;
  until: Instant;
  /** How many batches the log has, as far as this leader knows. */
  count: number;
  position: number;
}

export class LogUser {
  readonly #options: LogUserOptions;
  readonly #life: number;
  #led: Led | undefined;
  #campaign: { isOver: boolean; standing: Disposable | undefined } | undefined;
  #campaigns = 0;
  #following: Following | undefined;
  #count: number | undefined;

  constructor(options: LogUserOptions) {
    this.#options = options;
    this.#life = options.node.process.incarnation;
    if (options.stands) this.#stand();
    this.#follow();
    this.#askHeads();
  }

  get isAlive(): boolean {
    const { process } = this.#options.node;
    return process.alive && process.incarnation === this.#life;
  }

  get isLeading(): boolean {
    return this.isAlive && this.#led !== undefined;
  }

  get isUpToDate(): boolean {
    return this.#count === this.#options.checker.line.entries.length;
  }

  /** Whether this process would act as the leader of an earlier term than this, at this very instant. */
  believesBefore(term: number): string | undefined {
    const led = this.#led;
    if (!this.isAlive || led === undefined || led.leadership.term >= term) return undefined;
    const leftMs = led.until - this.#options.node.now();
    return leftMs > 0 ? `${led.candidate} of term ${led.leadership.term} for ${leftMs} ms` : undefined;
  }

  resign(): void {
    const led = this.#led;
    if (led === undefined) return;
    this.#happened('resigned');
    this.#led = undefined;
    if (this.#options.random.chance(0.5)) led.leadership.resign();
    this.#stand();
  }

  /** Stands for election, if not yet. */
  takePart(): void {
    if (this.#campaign === undefined) this.#stand();
  }

  /** Goes on appending. */
  goOn(): void {
    if (this.#led !== undefined) this.#step(this.#led);
  }

  #stand(): void {
    const { log, node, checker } = this.#options;
    if (this.#campaign !== undefined) {
      this.#campaign.isOver = true;
      this.#campaign.standing?.[Symbol.dispose]();
    }
    this.#campaigns += 1;
    const candidate = `${node.storage}.${this.#life}.${this.#campaigns}`;
    const campaign = { isOver: false, standing: undefined as Disposable | undefined };
    this.#campaign = campaign;
    let led: Led | undefined;
    const check = (isInTurn: boolean, what: string): void => {
      if (campaign.isOver || !isInTurn || !this.isAlive)
        throw checker.broken('told-once', `${candidate} was told ${what}`);
    };
    campaign.standing = log.campaign(candidate, {
      elected: (leadership, until) => {
        check(led === undefined, 'elected');
        this.#happened('elected');
        const { start, term } = leadership;
        const count = checker.elected(candidate, term, start);
        const last = start.batches.at(-1)?.position ?? start.snapshot?.position ?? 0;
        led = { candidate, leadership, until, count, position: Math.max(last, start.floor) };
        this.#led = led;
        this.#checkLength(until);
        this.#step(led);
      },
      extended: (until) => {
        check(led !== undefined, 'extended');
        this.#happened('extended');
        if (led !== undefined) led.until = until;
        this.#checkLength(until);
      },
      deposed: (reason) => {
        check(led !== undefined, 'deposed');
        this.#happened(`deposed: ${reason}`);
        campaign.isOver = true;
        this.#led = undefined;
        this.#stand();
      },
    });
  }

  #checkLength(until: Instant): void {
    const { runtime, leaseMs, checker, node } = this.#options;
    const ms = until - runtime.now();
    if (ms > leaseMs + 1e-6) throw checker.broken('lease-is-short', `${node.storage} leads for ${ms} ms`);
  }

  /** One append after the other; between them a pause, a compaction, or another election. */
  #step(led: Led): void {
    const { random, checker, runtime, pauseMs, mayAppend } = this.#options;
    if (this.#led !== led || !mayAppend()) return;
    if (random.chance(0.1)) this.#compact(led);
    if (random.chance(0.02)) {
      this.resign();
      return;
    }
    const position = led.position + random.pick([1, 1, 1, 7]);
    const { id, bytes } = checker.submit(led.candidate, position, random.integer(0, 40));
    led.leadership.append({ position, bytes }, (outcome) => {
      if (this.#led !== led)
        throw checker.broken('told-once', `#${id} was answered after ${led.candidate} was over`);
      this.#happened(outcome);
      checker.answered(id, outcome);
      if (outcome === 'appended') {
        led.position = position;
        led.count += 1;
      }
      const untilNextMs = random.chance(0.3) ? 0 : random.between(0, pauseMs);
      runtime.wakeAt(later(runtime.now(), untilNextMs), () => this.#step(led));
    });
    if (random.chance(0.01)) this.resign(); // During an append.
  }

  #compact(led: Led): void {
    const { random, checker } = this.#options;
    if (led.count === 0) return;
    const count = random.chance(0.7) ? led.count : random.integer(Math.max(1, led.count - 5), led.count);
    if (count > checker.line.entries.length) return;
    const { bytes, position } = checker.line.snapshot(count, random.integer(0, 300));
    this.#happened('compaction');
    led.leadership.compact(bytes, position);
  }

  #follow(): void {
    const { log, checker } = this.#options;
    let endsAt = 0;
    this.#following = log.follow({
      reset: (start) => {
        this.#happened('reset');
        const count = checker.line.count(start);
        if (typeof count === 'string') throw checker.broken('follower-complete', `reset, and ${count}`);
        if (this.#count !== undefined && (start.snapshot?.position ?? 0) <= endsAt)
          throw checker.broken('follower-complete', 'it was reset in vain');
        this.#count = count;
        endsAt = start.batches.at(-1)?.position ?? start.snapshot?.position ?? 0;
      },
      batch: (batch) => {
        const flaw = this.#count === undefined ? 'it was not reset' : checker.line.flaw(this.#count, batch);
        if (flaw !== undefined) throw checker.broken('follower-complete', flaw);
        this.#count = (this.#count ?? 0) + 1;
        endsAt = batch.position;
      },
      head: (position, askedAt) => {
        this.#happened('head');
        const least = checker.line.headAt(this.#options.readAtMs.get(askedAt) ?? Number.NaN);
        if (position < least)
          throw checker.broken('head-fresh', `the head is ${position}, and was ${least} when it was asked`);
      },
    });
  }

  #askHeads(): void {
    const { runtime, random } = this.#options;
    runtime.wakeAt(later(runtime.now(), random.between(20, 400)), () => {
      this.#following?.askHead();
      if (this.#campaign !== undefined && this.#led === undefined && random.chance(0.1)) this.#stand(); // Withdraws first.
      this.#askHeads();
    });
  }

  #happened(what: string): void {
    const { node } = this.#options;
    node.world.count(`log: ${what}`);
    node.note(what, { term: this.#led?.leadership.term });
  }
}
