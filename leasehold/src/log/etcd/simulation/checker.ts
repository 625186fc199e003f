/**
 * Sees every change in etcd at the instant of the change, and all words of the log to its users; and compares the two.
 *
 *  - `fenced`: a leader writes only while the leader key is the leader's own
 *  - `appended-once`: each batch is written once, above all earlier ones
 *  - `nothing-lost`: a batch that was answered as appended was written; a leader starts from all written batches;
 *    nothing is deleted that no snapshot holds
 *  - `refused-never-appears`: a batch that was refused, or never submitted, is not written, then or later
 *  - `counters-grow`: terms grow with every election, positions after a recovery are above the highest seen and leave
 *    one out, and positions of a log that is begun where one was deleted are above the highest seen too
 *  - `halt-kept`: once a Manager has noted that the log went back, nobody is elected and no leader lease grows before
 *    an operator has raised the counters above the noted ones; and nothing is noted of a history that is over
 *  - `snapshot-whole`: when a snapshot begins to count, the snapshot is there and right, and later than the one before
 *  - `told-once`: elected once, then perhaps deposed once, nothing after that or after withdrawing
 *  - `alone-within-lease`: as long as etcd keeps leases, nobody is elected before the leader lease is over
 *  - `outlasted-by-the-wait`: whatever etcd does, a leader lease ends within one lease length after the election of
 *    the next leader
 *  - `follower-complete`: a follower is told everything, once and in order, and is not reset without need
 *  - `head-fresh`: a head counts every batch that was written before the request, and none that was never written
 *  - `readable`: nobody finds the log damaged
 *  - `makes-room`: when a leader resigns, the next is elected without waiting for a lease to expire
 *  - `no-rubbish`: the entries that compactions replace go away
 *  - `quiet`: a trouble is one line, however long the trouble lasts
 *  - `settles`: when all is well again there is a leader, appends go through, and followers are where the
 *    log is
 */

import type { AppendOutcome, LogBatch, LogStart } from '../../log.ts';
import { decodeHalt, decodePointer, Layout } from '../layout.ts';
import type { Cause } from '../../../etcd/simulation/simulated-etcd.ts';
import type { Change, SimulatedStore } from '../../../etcd/simulation/simulated-store.ts';
import { batchBytes, batchId, Line } from './truth.ts';

export const PROMISES = [
  'fenced',
  'appended-once',
  'nothing-lost',
  'refused-never-appears',
  'counters-grow',
  'halt-kept',
  'snapshot-whole',
  'told-once',
  'alone-within-lease',
  'outlasted-by-the-wait',
  'follower-complete',
  'head-fresh',
  'readable',
  'makes-room',
  'no-rubbish',
  'quiet',
  'settles',
] as const;

/** The operator's name for the history that begins with raised counters. */
export const RECOVERED = 'history-recovered';

export type PromiseName = (typeof PROMISES)[number];

/** One time that a leader key was put. */
export interface Election {
  readonly candidate: string;
  /** The process and the incarnation. */
  readonly who: string;
  readonly atMs: number;
  readonly line: Line;
  /** The number of entries at that time, and the lower bound of positions. */
  readonly count: number;
  readonly above: number;
  /** Once told. */
  term: number | undefined;
  /** The true time at which the leader lease ends, as the leader believes; undefined if not leading. */
  untilMs: number | undefined;
  /** Whether etcd deleted the key early, or was asked to, or was restored. */
  isCutShort: boolean;
}

export interface CheckerOptions {
  readonly prefix: string;
  readonly store: SimulatedStore;
  readonly leaderLeaseMs: number;
  /** By how much clocks may differ over a leader lease. */
  readonly toleranceMs: number;
  now(): number;
  broken(promise: PromiseName, detail: string): void;
}

export class Checker {
  readonly #options: CheckerOptions;
  readonly #layout: Layout;
  readonly #elections: Election[] = [];
  readonly #submitted = new Map<number, { readonly candidate: string; outcome: AppendOutcome | undefined }>();
  readonly #lines: Line[] = [new Line(0)];
  #present: Election | undefined;
  #snapshotAt = 0;
  #ids = 0;
  /** The noted position, and the time. */
  #halt: { readonly position: number; readonly atMs: number } | undefined;
  /** The operator's bound in the first attempt to raise the counters. */
  #raisedAbove: number | undefined;
  /** The highest that anybody was told. */
  seen: { term: number; position: number } = { term: 0, position: 0 };

  constructor(options: CheckerOptions) {
    this.#options = options;
    this.#layout = new Layout(options.prefix);
  }

  get line(): Line {
    return this.#lines.at(-1) as Line;
  }

  /** The election whose leader key exists. */
  get present(): Election | undefined {
    return this.#present;
  }

  changed(changes: readonly Change[], cause: Cause): void {
    const { leader, meta, halted, snapshot, prefix } = this.#layout;
    for (const change of changes) {
      const { key } = change;
      if (key === leader) this.#leaderChanged(change, cause);
      else if (key === meta) this.#metaChanged(change);
      else if (key === halted) this.#haltedChanged(change);
      else if (key.startsWith(prefix)) {
        if (cause.by !== 'request' || cause.who !== this.#present?.who)
          this.#break('fenced', `${key} was changed by ${describe(cause)} while ${this.#leaderName} led`);
        if (key === snapshot) this.#snapshotChanged(change);
        const position = this.#layout.positionOf(key);
        if (position !== undefined) this.#batchChanged(position, change);
      }
    }
  }

  /** A batch unlike any other. */
  submit(candidate: string, position: number, filler: number): LogBatch & { readonly id: number } {
    this.#ids += 1;
    this.#submitted.set(this.#ids, { candidate, outcome: undefined });
    return { id: this.#ids, position, bytes: batchBytes(this.#ids, filler) };
  }

  answered(id: number, { line }: Election, outcome: AppendOutcome): void {
    const submission = this.#submitted.get(id);
    if (submission?.outcome !== undefined) this.#break('told-once', `batch #${id} was answered twice`);
    if (submission !== undefined) submission.outcome = outcome;
    const entry = line.entries.findLast((each) => each.id === id);
    if (outcome === 'appended' && entry === undefined)
      this.#break('nothing-lost', `batch #${id} was said to be appended, and was not`);
    if (outcome === 'refused' && entry !== undefined)
      this.#break('refused-never-appears', `batch #${id} was said to be refused, and was written`);
    if (entry !== undefined) this.seen.position = Math.max(this.seen.position, entry.position);
  }

  elected(candidate: string, term: number, start: LogStart, untilMs: number): Election {
    const election = this.#elections.findLast((each) => each.candidate === candidate);
    if (election === undefined) throw new Error(`${candidate} was elected, and etcd knows nothing of it`);
    const count = election.line.count(start);
    if (count !== election.count)
      this.#break('nothing-lost', `${candidate} starts from ${count} of ${election.count} batches`);
    if (start.floor < election.above)
      this.#break('counters-grow', `the floor is ${start.floor}, and ${election.above} was seen`);
    const place = this.#elections.indexOf(election);
    for (const [at, other] of this.#elections.entries()) {
      if (other.term === undefined || (at < place ? other.term < term : other.term > term)) continue;
      this.#break('counters-grow', `term ${term} of ${candidate} and ${other.term} of ${other.candidate}`);
    }
    election.term = term;
    this.seen.term = Math.max(this.seen.term, term);
    this.#extend(election, untilMs);
    return election;
  }

  extended(election: Election, untilMs: number): void {
    this.#extend(election, untilMs);
    const { leaderLeaseMs, toleranceMs } = this.#options;
    if (this.#halt !== undefined && untilMs > this.#halt.atMs + leaderLeaseMs + toleranceMs)
      this.#break('halt-kept', `the lease of ${election.candidate} was extended on a log that has halted`);
  }

  /** The leader stops acting, when told to, or by choice. */
  stopped(election: Election): void {
    election.untilMs = undefined;
  }

  /** The start of a follower: the line, and the number of entries. */
  followed(start: LogStart): { readonly line: Line; readonly count: number } | string {
    let flaw = '';
    // A start that was read before etcd was restored may be told afterwards.
    for (const line of this.#lines.slice(-2).reverse()) {
      const count = line.count(start);
      if (typeof count === 'number') return { line, count };
      flaw ||= count;
    }
    return flaw;
  }

  /** The operator's bound when raising the counters: the highest that anybody was told. */
  recovering(): { readonly term: number; readonly position: number } {
    this.#raisedAbove ??= this.seen.position;
    return { ...this.seen };
  }

  /** Remembers how things are, for when etcd is put back to this. */
  backup(): () => void {
    const { entries, histories } = this.line;
    const [count, present, snapshotAt, halt] = [entries.length, this.#present, this.#snapshotAt, this.#halt];
    const names = histories.slice();
    return () => {
      for (const election of this.#elections) election.isCutShort = true;
      this.#lines.push(new Line(this.#options.now(), entries.slice(0, count), names));
      this.#present = present;
      this.#snapshotAt = snapshotAt;
      this.#halt = halt;
    };
  }

  /** Everything was deleted: a new log there must go on above the highest seen. */
  wiped(): void {
    for (const election of this.#elections) election.isCutShort = true;
    const line = new Line(this.#options.now());
    line.above = this.seen.position;
    this.#lines.push(line);
    this.#present = undefined;
    this.#snapshotAt = 0;
    this.#halt = undefined;
  }

  #leaderChanged({ value }: Change, cause: Cause): void {
    if (value === undefined) {
      const isDue = cause.by === 'expiry' && !cause.misled;
      if (this.#present !== undefined && !isDue) this.#present.isCutShort = true;
      this.#present = undefined;
      return;
    }
    const { candidate } = JSON.parse(new TextDecoder().decode(value)) as { candidate: string };
    if (this.#present !== undefined)
      this.#break('fenced', `${candidate} was elected while ${this.#leaderName} led`);
    if (this.#halt !== undefined)
      this.#break('halt-kept', `${candidate} was elected on a log that has halted`);
    const election: Election = {
      ...{ candidate, who: cause.by === 'request' ? cause.who : '', atMs: this.#options.now() },
      ...{ line: this.line, count: this.line.entries.length, above: this.line.above },
      ...{ term: undefined, untilMs: undefined, isCutShort: false },
    };
    this.#elections.push(election);
    this.#present = election;
    for (const other of this.#elections) this.#checkLease(other);
  }

  #extend(election: Election, untilMs: number): void {
    election.untilMs = untilMs;
    this.#checkLease(election);
  }

  #checkLease(election: Election): void {
    const { leaderLeaseMs, toleranceMs } = this.#options;
    const next = this.#elections[this.#elections.indexOf(election) + 1];
    if (next === undefined || election.untilMs === undefined) return;
    const overlapMs = election.untilMs - next.atMs;
    const said = `the lease of ${election.candidate} lasts ${overlapMs.toFixed(0)} ms beyond the election of ${next.candidate}`;
    if (overlapMs > leaderLeaseMs + toleranceMs) this.#break('outlasted-by-the-wait', said);
    if (overlapMs > toleranceMs && !election.isCutShort) this.#break('alone-within-lease', said);
  }

  #metaChanged({ value }: Change): void {
    const { history, floor } = JSON.parse(new TextDecoder().decode(value)) as {
      history: string;
      floor: number;
    };
    this.line.histories.push(history);
    this.line.above = Math.max(this.line.above, this.#raisedAbove ?? 0);
    if (history === RECOVERED && floor <= this.line.head)
      this.#break('counters-grow', `the floor is ${floor}, and the log ends at ${this.line.head}`);
    if (floor < (this.#halt?.position ?? 0))
      this.#break('halt-kept', `the floor is ${floor}, and ${this.#halt?.position} was noted`);
    if (floor < this.line.above)
      this.#break('counters-grow', `the floor is ${floor}, and ${this.line.above} was seen`);
  }

  #haltedChanged({ key, value, revision }: Change): void {
    if (value === undefined) {
      if (this.#options.store.at(this.#layout.meta)?.modRevision !== revision)
        this.#break('halt-kept', 'the note was taken away, and no counters were raised');
      this.#halt = undefined;
      return;
    }
    if (this.line.histories.at(-1) === RECOVERED)
      this.#break('halt-kept', 'noted of a history in which nothing was found');
    const { position = 0 } = decodeHalt(this.#options.store.at(key)) ?? {};
    this.#halt = { position, atMs: this.#halt?.atMs ?? this.#options.now() };
  }

  #batchChanged(position: number, { value }: Change): void {
    const { line } = this;
    if (value === undefined) {
      if (position > this.#snapshotAt)
        this.#break('nothing-lost', `${position} was deleted, and the snapshot is of ${this.#snapshotAt}`);
      return;
    }
    const id = batchId(value);
    const submission = this.#submitted.get(id);
    if (submission?.candidate !== this.#present?.candidate)
      this.#break('fenced', `#${id} of ${submission?.candidate} was written while ${this.#leaderName} led`);
    if (submission?.outcome === 'refused')
      this.#break('refused-never-appears', `#${id} was refused, and is written`);
    if (position <= line.head)
      this.#break('appended-once', `${position}#${id} was written after ${line.head}`);
    if (position <= line.above)
      this.#break('counters-grow', `position ${position} is given again: ${line.above} was seen`);
    line.push(position, id, this.#options.now());
  }

  #snapshotChanged({ key }: Change): void {
    const { store } = this.#options;
    const pointer = decodePointer(store.at(key));
    if (pointer === undefined) {
      this.#break('snapshot-whole', 'the snapshot was deleted');
      return;
    }
    const { position, chunks } = pointer;
    if (position <= this.#snapshotAt)
      this.#break('snapshot-whole', `the snapshot of ${position} replaces one of ${this.#snapshotAt}`);
    this.#snapshotAt = position;
    const pieces = Array.from({ length: chunks }, (_, place) =>
      store.at(this.#layout.chunk(position, place)),
    );
    const bytes = Buffer.concat(pieces.flatMap((piece) => piece?.value ?? []));
    const [history = ''] = this.line.histories;
    const count =
      bytes.length === pointer.bytes
        ? this.line.count({ history, snapshot: { position, bytes }, batches: [], floor: 0 })
        : `the snapshot of ${position} counts before it is there`;
    if (typeof count === 'string') this.#break('snapshot-whole', count);
  }

  get #leaderName(): string {
    return this.#present?.candidate ?? 'nobody';
  }

  #break(promise: PromiseName, detail: string): void {
    this.#options.broken(promise, detail);
  }
}

const describe = (cause: Cause): string => ('who' in cause ? `${cause.by} of ${cause.who}` : cause.by);
