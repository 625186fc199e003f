/**
 * Reads: when may this replica answer by itself, and what else can be done?
 *
 *     local ──── a write is pending ───► held ──── too long ──┐
 *       └────── not leased here ───► leader ──── no answer ───┴─► one key: quorum      several keys: log
 *
 * **Local.** In every configuration that counts, this replica holds the key, and a majority has promised to let no write be
 * committed without it, with floors that it has reached. Then the last write of the key in its own log is the last one
 * that can be committed anywhere. If that write is known to be committed, its value is the answer. The check and the
 * value are one turn: the read takes place when the clock was read, and a stall before the answer leaves is harmless.
 *
 * **Held.** If it is not known to be committed, the read waits for that very write and answers the value as of it, no later one.
 * The clock is not asked again: the read takes place at its arrival, when the lease was good, or at the write, which is
 * later. If the slot turns out to hold another operation the read begins again.
 *
 * **Several keys** must be held and clean at one instant; they are tried again at every change. As of their arrival they would be
 * answered from two instants.
 *
 * **Quorum.** No clock is trusted. Members are asked for the last slot of their logs. Once this replica's chosen prefix has reached
 * the answers of a majority of every configuration that counts, it has every write that was committed before the read; it waits
 * until the last write of the key is committed, because another reader may not have seen it yet. One key only: two could
 * be read on two sides of a write between them.
 *
 * **Late answers count.** An answer of the leader, or of a member to an earlier round, was given after the read arrived, and the read has not ended. If such
 * answers were thrown away, a cell that takes longer than a round to answer would answer nothing and be asked ever more.
 */

import { earliest, type Instant, instant, later, soonest } from '../../runtime/time.ts';
import type { ReadAnswer, Served } from './answer.ts';
import { bit, type Configuration, holdersOf, isQuorumOfEach, memberOf } from './configuration.ts';
import type { Context } from './context.ts';
import type { Operation } from './operation.ts';
import type { Found, Result } from './result.ts';

/** How a caller wants to be served: `best` is the first way of the list above that works. */
export type ReadMode = 'best' | 'quorum' | 'log' | 'weak';

/** Where the answer goes: to a caller in this process, or to the replica that forwarded the read. */
export type Reader =
  | { readonly at: 'here'; readonly id: number }
  | { readonly at: 'peer'; readonly peer: string; readonly id: number };

type Waiting = { readonly reader: Reader; readonly keys: readonly string[]; readonly until: Instant } & (
  | { readonly state: 'held'; readonly slot: number; readonly operation: Operation }
  | { readonly state: 'several' }
  | { readonly state: 'leader'; readonly id: number }
  | {
      readonly state: 'quorum';
      readonly id: number;
      /** The question to the leader that was not answered in time. */
      readonly askedLeader: number | undefined;
      readonly lasts: Map<string, number>;
      readonly giveUpAt: Instant;
    }
);

type Quorum = Extract<Waiting, { state: 'quorum' }>;

const leaderQuestionOf = (waiting: Waiting): number | undefined =>
  waiting.state === 'leader' ? waiting.id : waiting.state === 'quorum' ? waiting.askedLeader : undefined;

/** Of several answers of a member to one read the lowest suffices: entries that were never chosen may have been dropped since. */
const lower = (lasts: Map<string, number>, peer: string, last: number): void =>
  void lasts.set(peer, Math.min(lasts.get(peer) ?? last, last));

type WithoutReader<State> = State extends unknown ? Omit<State, 'reader' | 'keys'> : never;

/** What a read may need of the rest of the replica. */
export interface Elsewhere {
  /** The leader, if it is known and another replica. */
  readonly leader: string | undefined;
  /** Puts a read of these keys into the log. */
  log(keys: readonly string[], deliver: (result: Result | undefined, slot: number) => void): void;
}

/** Counts reads of callers in this process, and those that were answered at once. */
export interface Traffic {
  read(key: string): void;
  answeredLocally(keys: number): void;
}

/** After so many rounds without a majority the caller is told to try elsewhere. */
const QUORUM_ROUNDS = 8;

const IDS_PER_LIFE = 2 ** 32;

const NEVER = instant(Number.NEGATIVE_INFINITY);
const FOREVER = instant(Number.POSITIVE_INFINITY);

/** An answer to a read of one key that did not wait. */
export interface Peeked {
  readonly found: Found;
  readonly position: number;
}

/** The worth of the promises that are held. */
interface Lease {
  /** Until when a majority of every configuration that counts has promised, with floors that are reached. */
  readonly until: Instant;
  readonly counting: readonly Configuration[];
  /** The seat of this replica in each of them. */
  readonly seats: readonly (number | undefined)[];
  /** Every member holds every key, in each of them. */
  readonly holdsAll: boolean;
  /** The premises: the array of the log, and the state of the promises. */
  readonly of: readonly Configuration[];
  readonly promises: number;
}

const NO_LEASE: Lease = {
  ...{ until: NEVER, counting: [], seats: [], holdsAll: false },
  ...{ of: [], promises: -1 },
};

/** Whether this replica holds the key in every configuration that counts. */
function isHolder({ counting, seats, holdsAll }: Lease, key: string): boolean {
  if (holdsAll) return true; // The time is over at once if one of them does not seat this replica.
  return counting.every((configuration, place) => {
    const seat = seats[place];
    return seat !== undefined && (holdersOf(configuration, key) & bit(seat)) !== 0;
  });
}

export class Reads {
  readonly #context: Context;
  readonly #traffic: Traffic;
  readonly #elsewhere: Elsewhere;
  #waiting: Waiting[] = [];
  #kept: Lease = NO_LEASE;
  /** Unlike those of any other life: the answer to a question of an earlier life is older than the read. */
  #ids: number;

  constructor(context: Context, traffic: Traffic, elsewhere: Elsewhere) {
    this.#context = context;
    this.#traffic = traffic;
    this.#elsewhere = elsewhere;
    this.#ids = context.life * IDS_PER_LIFE;
  }

  get count(): number {
    return this.#waiting.length;
  }

  get wakeAt(): Instant | undefined {
    let at: Instant | undefined;
    for (const { until } of this.#waiting) at = soonest(at, until);
    return at;
  }

  read(reader: Reader, keys: readonly string[], mode: ReadMode, now: Instant): void {
    if (mode === 'best') {
      if (reader.at === 'here') for (const key of keys) this.#traffic.read(key);
      this.#here(reader, keys, now);
    } else if (mode === 'weak') this.#answer(reader, keys, 'weak', this.#context.log.committed);
    else if (mode === 'quorum' && keys.length === 1) this.#query(reader, keys, now, undefined);
    else this.#log(reader, keys);
  }

  /** Something has changed in the log, in what is committed, or in who has promised. */
  retry(now: Instant): void {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const each of waiting) if (!this.#advance(each, now)) this.#waiting.push(each);
  }

  /** The leader has answered, or said that it cannot. */
  remoteAnswer(id: number, answer: ReadAnswer | undefined, now: Instant): void {
    const at = this.#waiting.findIndex((each) => leaderQuestionOf(each) === id);
    const asked = this.#waiting[at];
    if (asked === undefined || (answer === undefined && asked.state !== 'leader')) return;
    this.#waiting.splice(at, 1);
    if (answer === undefined) this.#withoutLeader(asked.reader, asked.keys, now, undefined);
    else this.#deliver(asked.reader, { ...answer, served: 'leader' });
  }

  /** A member says how far its log goes. */
  queried(peer: string, id: number, last: number): void {
    for (const each of this.#waiting) {
      if (each.state === 'quorum' && each.id === id) lower(each.lasts, peer, last);
    }
  }

  /** Whether this replica may answer for these keys by itself, at this instant. */
  isLeased(keys: readonly string[], now: Instant): boolean {
    const lease = this.#lease(now);
    if (lease.until <= now) return false;
    for (const key of keys) if (!isHolder(lease, key)) return false;
    return true;
  }

  /** Until when this replica could answer for this key by itself if nothing new came: see `key-claim.ts`. */
  leasedUntil(key: string, now: Instant): Instant {
    const lease = this.#lease(now);
    return isHolder(lease, key) ? lease.until : NEVER;
  }

  /** The answer to a read of one key, if there is one at once; nothing waits otherwise. From its position a watch misses nothing. */
  peek(key: string, now: Instant): Peeked | undefined {
    const slot = this.#legalAt(key, now);
    if (slot === undefined) return undefined;
    const { machine, log } = this.#context;
    this.#traffic.read(key);
    this.#traffic.answeredLocally(1);
    return { found: machine.read(key, slot), position: log.watchFrom(slot) };
  }

  /** The slot as of which this replica may show the key by itself at this instant; undefined if it may not. */
  #legalAt(key: string, now: Instant): number | undefined {
    const lease = this.#lease(now);
    if (lease.until <= now || !isHolder(lease, key)) return undefined;
    return this.#cleanSince(key);
  }

  /**
   * The worth of the promises, kept until the configurations or the promises change, or the time is over. The chosen prefix is
   * not compared: while it grows more floors are reached, so the kept time is too short at most.
   */
  #lease(now: Instant): Lease {
    const { log, leases, self, isComplete } = this.#context;
    if (!isComplete) return NO_LEASE;
    const { countingConfigurations } = log;
    const kept = this.#kept;
    const isKept = kept.of === countingConfigurations && kept.promises === leases.changes && kept.until > now;
    if (isKept) return kept;
    const counting = countingConfigurations;
    const seats = counting.map((configuration) => memberOf(configuration, self)?.seat);
    let until = FOREVER;
    counting.forEach(({ members, quorum }, place) => {
      const promises = members
        .map(({ storage }) => (storage === self ? FOREVER : leases.heldUntil(storage, log.chosen)))
        .sort((a, b) => b - a);
      const needed = quorum === 'all' ? members.length : Math.floor(members.length / 2) + 1;
      until = earliest(until, seats[place] === undefined ? NEVER : (promises[needed - 1] ?? NEVER));
    });
    const holdsAll = counting.every(({ placement }) => placement.mode === 'all');
    this.#kept = {
      ...{ of: countingConfigurations, promises: leases.changes },
      ...{ until, counting, seats, holdsAll },
    };
    return this.#kept;
  }

  #here(reader: Reader, keys: readonly string[], now: Instant): void {
    const position = keys.length === 1 ? this.#legalAt(keys[0] as string, now) : undefined;
    if (position !== undefined) {
      this.#answer(reader, keys, 'local', position);
      return;
    }
    if (!this.isLeased(keys, now)) {
      this.#notHere(reader, keys, now);
      return;
    }
    if (this.#answerIfClean(reader, keys, 'local')) return;
    const { log, durations } = this.#context;
    const until = later(now, durations.holdMs);
    const slot = keys.length === 1 ? log.lastWriter(keys[0] as string) : undefined;
    if (slot === undefined) this.#wait(reader, keys, { state: 'several', until });
    else this.#wait(reader, keys, { state: 'held', slot, operation: log.at(slot).operation, until });
  }

  #advance(waiting: Waiting, now: Instant): boolean {
    const { reader, keys } = waiting;
    const { log } = this.#context;
    switch (waiting.state) {
      case 'held': {
        const { slot, operation } = waiting;
        const isThere = log.find(slot)?.operation === operation;
        if (!isThere) this.#here(reader, keys, now);
        else if (log.isCommitted(slot)) this.#answer(reader, keys, 'held', slot);
        else if (waiting.until <= now) this.#notHere(reader, keys, now);
        else return false;
        return true;
      }
      case 'several':
        if (this.isLeased(keys, now) && this.#answerIfClean(reader, keys, 'held')) return true;
        if (waiting.until > now) return false;
        this.#notHere(reader, keys, now);
        return true;
      case 'leader':
        if (waiting.until > now) return false;
        this.#withoutLeader(reader, keys, now, waiting.id);
        return true;
      case 'quorum':
        return this.#advanceQuorum(waiting, now);
    }
  }

  #advanceQuorum(waiting: Quorum, now: Instant): boolean {
    const { reader, keys, lasts } = waiting;
    const { log } = this.#context;
    const isReached = (storage: string): boolean =>
      (lasts.get(storage) ?? Number.POSITIVE_INFINITY) <= log.chosen;
    const isUpToDate = isQuorumOfEach(log.countingConfigurations, isReached);
    if (isUpToDate && this.#answerIfClean(reader, keys, 'quorum')) return true;
    if (waiting.until > now) return false;
    if (waiting.giveUpAt <= now) this.#refuse(reader);
    else this.#ask(reader, keys, now, waiting);
    return true;
  }

  #notHere(reader: Reader, keys: readonly string[], now: Instant): void {
    const { leader } = this.#elsewhere;
    if (reader.at === 'peer') this.#refuse(reader);
    else if (leader === undefined) this.#withoutLeader(reader, keys, now, undefined);
    else {
      this.#ids += 1;
      const id = this.#ids;
      this.#context.send(leader, { kind: 'remote-read', id, keys });
      this.#wait(reader, keys, { state: 'leader', id, until: later(now, this.#context.durations.holdMs) });
    }
  }

  /** @param askedLeader the question that the leader may still answer */
  #withoutLeader(
    reader: Reader,
    keys: readonly string[],
    now: Instant,
    askedLeader: number | undefined,
  ): void {
    if (keys.length === 1) this.#query(reader, keys, now, askedLeader);
    else this.#log(reader, keys);
  }

  #query(reader: Reader, keys: readonly string[], now: Instant, askedLeader: number | undefined): void {
    this.#ids += 1;
    const giveUpAt = later(now, QUORUM_ROUNDS * this.#context.durations.electionMs);
    this.#ask(reader, keys, now, { id: this.#ids, askedLeader, lasts: new Map(), giveUpAt });
  }

  /** Asks the members, again with each round. */
  #ask(
    reader: Reader,
    keys: readonly string[],
    now: Instant,
    { id, askedLeader, lasts, giveUpAt }: Pick<Quorum, 'id' | 'askedLeader' | 'lasts' | 'giveUpAt'>,
  ): void {
    const { self, log, durations, isComplete } = this.#context;
    if (isComplete) lower(lasts, self, log.last);
    this.#context.broadcast({ kind: 'query', id });
    const until = later(now, durations.electionMs);
    this.#wait(reader, keys, { state: 'quorum', id, askedLeader, lasts, until, giveUpAt });
  }

  #log(reader: Reader, keys: readonly string[]): void {
    this.#elsewhere.log(keys, (result, position) => {
      if (result?.kind !== 'done') this.#refuse(reader);
      else this.#deliver(reader, { kind: 'read', served: 'log', found: result.found, position });
    });
  }

  /** Answers if the last writes of all keys in our log are known to be committed. */
  #answerIfClean(reader: Reader, keys: readonly string[], served: Served): boolean {
    const position = this.#cleanPosition(keys);
    if (position !== undefined) this.#answer(reader, keys, served, position);
    return position !== undefined;
  }

  /** The slot as of which all keys can be shown; undefined if the last write of one is not known to be committed. */
  #cleanPosition(keys: readonly string[]): number | undefined {
    let position = this.#context.log.committed;
    for (const key of keys) {
      const slot = this.#cleanSince(key);
      if (slot === undefined) return undefined;
      position = Math.max(position, slot);
    }
    return position;
  }

  /** The committed prefix, or the last write of the key if that lies beyond; undefined if that is not known to be committed. */
  #cleanSince(key: string): number | undefined {
    const { log } = this.#context;
    const slot = log.lastWriter(key);
    if (slot === undefined) return log.committed;
    if (!log.isCommitted(slot)) return undefined;
    return Math.max(log.committed, slot);
  }

  #answer(reader: Reader, keys: readonly string[], served: Served, position: number): void {
    const found = keys.map((key) => this.#context.machine.read(key, position));
    this.#deliver(reader, { kind: 'read', served, found, position });
  }

  #deliver(reader: Reader, answer: ReadAnswer): void {
    if (reader.at === 'here') {
      if (answer.served === 'local') this.#traffic.answeredLocally(answer.found.length);
      this.#context.answer(reader.id, answer);
    } else this.#context.send(reader.peer, { kind: 'remote-answer', id: reader.id, answer });
  }

  #refuse(reader: Reader): void {
    if (reader.at === 'here') this.#context.answer(reader.id, { kind: 'refused', why: 'not-ready' });
    else this.#context.send(reader.peer, { kind: 'remote-answer', id: reader.id, answer: undefined });
  }

  #wait(reader: Reader, keys: readonly string[], state: WithoutReader<Waiting>): void {
    this.#waiting.push({ reader, keys, ...state } as Waiting);
  }
}
