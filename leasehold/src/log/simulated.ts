/**
 * A fenced log in a simulated world: an engine that stores, and a client in each Manager that
 * reaches it over a network that loses and delays.
 *
 * The engine is as strict as a real one, and no kinder. It elects one leader at a time and gives it
 * a lease by its own clock; it appends only for the present term and only to an empty position; it
 * may drop a leader before its lease is over ({@link SimulatedEngine.dropLeader}), refuse an append,
 * or be out of reach altogether ({@link SimulatedEngine.down}). A request or its answer can be lost,
 * so a client often does not know what became of an append.
 *
 * The client does what every client of such an engine has to: it counts the leader lease from
 * before it asked; it repeats an append of unknown outcome at the same position with the same
 * bytes, and takes an equal value found there for success; and it takes a refusal for one only if
 * no earlier try of the same append can still be on its way.
 */

import type { Runtime, Transport } from '../runtime/runtime.ts';
import { assert } from '../runtime/assert.ts';
import { type Instant, later } from '../runtime/time.ts';
import type { Network } from '../sim/network.ts';
import type { Random } from '../sim/random.ts';
import type { World } from '../sim/world.ts';
import type {
  AppendOutcome,
  DeposedReason,
  FencedLog,
  FollowerEvents,
  Following,
  LeaderEvents,
  Leadership,
  LogBatch,
  LogStart,
} from './log.ts';

/** Where the engine sits in the network. */
export const ENGINE = 'log-engine';

type Ask =
  | { readonly ask: 'campaign'; readonly candidate: string }
  | { readonly ask: 'keep-alive'; readonly term: number }
  | { readonly ask: 'append'; readonly term: number; readonly batch: LogBatch }
  | { readonly ask: 'compact'; readonly term: number; readonly upTo: number; readonly snapshot: Uint8Array }
  | { readonly ask: 'resign'; readonly term: number }
  | { readonly ask: 'read'; readonly after: number }
  | { readonly ask: 'head' };

type Answer =
  | { readonly answer: 'elected'; readonly term: number; readonly start: LogStart }
  | { readonly answer: 'alive' }
  | { readonly answer: 'appended' }
  | { readonly answer: 'refused' }
  | { readonly answer: 'not-leader' }
  | { readonly answer: 'not-yet' }
  | { readonly answer: 'reset'; readonly start: LogStart }
  | { readonly answer: 'batches'; readonly batches: readonly LogBatch[] }
  | { readonly answer: 'head'; readonly position: number }
  | { readonly answer: 'poke' };

export type LogMessage =
  | { readonly request: number; readonly body: Ask }
  | { readonly request: number; readonly body: Answer };

export interface EngineOptions {
  readonly history: string;
  /** How long the engine keeps a leader that it does not hear, in true milliseconds. */
  readonly leaderKeyMs: number;
  /** How probable it is that the engine refuses an append. */
  readonly refuseChance: number;
}

export class SimulatedEngine {
  readonly #world: World;
  readonly #network: Network<LogMessage>;
  readonly #random: Random;
  readonly #options: EngineOptions;
  #history: string;
  #term = 0;
  #leader: { readonly candidate: string; readonly term: number; until: number } | undefined;
  #snapshot: LogStart['snapshot'];
  #batches: LogBatch[] = [];
  #floor = 0;
  readonly #followers = new Set<string>();
  /** Told of every batch at the instant it is committed. */
  onCommit: (batch: LogBatch, term: number) => void = () => {};
  /** While true, nothing is heard and nothing is answered: a majority of the engine is dead. */
  down = false;
  refuseChance: number;

  constructor(world: World, network: Network<LogMessage>, options: EngineOptions) {
    this.#world = world;
    this.#network = network;
    this.#random = world.random.fork('log engine');
    this.#options = options;
    this.#history = options.history;
    this.refuseChance = options.refuseChance;
    network.attach(ENGINE, (from, { request, body }) => {
      if (this.down || !('ask' in body)) return;
      const answer = this.#serve(from, body);
      if (answer !== undefined) network.send(ENGINE, from, { request, body: answer });
    });
  }

  get head(): number {
    return this.#batches.at(-1)?.position ?? this.#snapshot?.position ?? 0;
  }

  get history(): string {
    return this.#history;
  }

  get leader(): string | undefined {
    this.#forgetLeader();
    return this.#leader?.candidate;
  }

  /** Ends the leader's lease early, as engines have been seen to do when they change their own leader. */
  dropLeader(): void {
    this.#leader = undefined;
  }

  /** Everything stored, to go back to later. */
  backup(): () => void {
    const [term, snapshot, batches, floor] = [this.#term, this.#snapshot, this.#batches.slice(), this.#floor];
    return () => {
      this.#term = term;
      this.#snapshot = snapshot;
      this.#batches = batches.slice();
      this.#floor = floor;
      this.#leader = undefined;
    };
  }

  /** What an operator does after restoring a backup: terms and positions start above anything seen. */
  jump(term: number, floor: number): void {
    this.#term = Math.max(this.#term, term);
    this.#floor = Math.max(this.#floor, floor);
  }

  #serve(from: string, body: Ask): Answer | undefined {
    this.#forgetLeader();
    switch (body.ask) {
      case 'campaign':
        return this.#campaign(body.candidate);
      case 'keep-alive':
        if (this.#leader?.term !== body.term) return { answer: 'not-leader' };
        this.#leader.until = this.#world.trueMs + this.#options.leaderKeyMs;
        return { answer: 'alive' };
      case 'append':
        return this.#append(body.term, body.batch);
      case 'compact':
        if (this.#leader?.term !== body.term) return { answer: 'not-leader' };
        this.#compact(body.upTo, body.snapshot);
        return { answer: 'appended' };
      case 'resign':
        if (this.#leader?.term === body.term) this.#leader = undefined;
        return undefined;
      case 'read':
        this.#followers.add(from);
        return this.#read(body.after);
      case 'head':
        return { answer: 'head', position: this.head };
    }
  }

  #forgetLeader(): void {
    if (this.#leader !== undefined && this.#leader.until <= this.#world.trueMs) this.#leader = undefined;
  }

  #campaign(candidate: string): Answer {
    if (this.#leader !== undefined && this.#leader.candidate !== candidate) return { answer: 'not-yet' };
    if (this.#leader === undefined) {
      this.#term += 1;
      this.#leader = { candidate, term: this.#term, until: 0 };
    }
    this.#leader.until = this.#world.trueMs + this.#options.leaderKeyMs;
    return { answer: 'elected', term: this.#leader.term, start: this.#start() };
  }

  #append(term: number, batch: LogBatch): Answer {
    if (this.#leader?.term !== term) return { answer: 'not-leader' };
    const there = this.#batches.find(({ position }) => position === batch.position);
    if (there !== undefined) return { answer: sameBytes(there.bytes, batch.bytes) ? 'appended' : 'not-leader' };
    if (batch.position <= this.head) return { answer: 'not-leader' };
    if (this.#random.chance(this.refuseChance)) return { answer: 'refused' };
    this.#batches.push(batch);
    this.onCommit(batch, term);
    for (const follower of this.#followers) {
      this.#network.send(ENGINE, follower, { request: 0, body: { answer: 'poke' } });
    }
    return { answer: 'appended' };
  }

  #compact(upTo: number, bytes: Uint8Array): void {
    if (upTo <= (this.#snapshot?.position ?? 0)) return;
    this.#snapshot = { position: upTo, bytes };
    this.#batches = this.#batches.filter(({ position }) => position > upTo);
  }

  #read(after: number): Answer {
    if (after < (this.#snapshot?.position ?? 0) || after < 0) return { answer: 'reset', start: this.#start() };
    return { answer: 'batches', batches: this.#batches.filter(({ position }) => position > after) };
  }

  #start(): LogStart {
    return { history: this.#history, snapshot: this.#snapshot, batches: this.#batches.slice(), floor: this.#floor };
  }
}

export interface ClientOptions {
  /** How long a leader acts without hearing from the engine, by its own clock. */
  readonly leaderLeaseMs: number;
  /** How long to wait before asking again. */
  readonly retryMs: number;
  /** How often a follower asks although it was not poked. */
  readonly pollMs: number;
}

/** One Manager's way to the engine. Dies with its process. */
export class SimulatedLog implements FencedLog {
  readonly maxBatchBytes: number = Number.POSITIVE_INFINITY;
  readonly #runtime: Runtime;
  readonly #transport: Transport<LogMessage, LogMessage>;
  readonly #options: ClientOptions;
  #requests = 0;
  readonly #pending = new Map<number, (answer: Answer) => void>();
  #onPoke: () => void = () => {};

  constructor(runtime: Runtime, transport: Transport<LogMessage, LogMessage>, options: ClientOptions) {
    this.#runtime = runtime;
    this.#transport = transport;
    this.#options = options;
    transport.listen((_, { request, body }) => {
      if (!('answer' in body)) return;
      if (body.answer === 'poke') return this.#onPoke();
      const hear = this.#pending.get(request);
      this.#pending.delete(request);
      hear?.(body);
    });
  }

  campaign(candidate: string, events: LeaderEvents): Disposable {
    let leading: LeadingClient | undefined;
    let withdrawn = false;
    const stand = (): void => {
      if (withdrawn || leading !== undefined) return;
      const askedAt = this.#runtime.now();
      this.ask({ ask: 'campaign', candidate }, (answer) => {
        if (withdrawn || leading !== undefined || answer.answer !== 'elected') return;
        leading = new LeadingClient(this, this.#runtime, this.#options, answer, events);
        leading.begin(askedAt);
      });
      this.again(this.#options.retryMs, stand);
    };
    stand();
    return {
      [Symbol.dispose]: () => {
        withdrawn = true;
        leading?.resign();
      },
    };
  }

  follow(events: FollowerEvents): Following {
    let after = -1;
    let ended = false;
    const read = (): void => {
      if (ended) return;
      this.ask({ ask: 'read', after }, (answer) => {
        if (ended) return;
        if (answer.answer === 'reset') {
          const last = answer.start.batches.at(-1)?.position ?? answer.start.snapshot?.position ?? 0;
          if (last <= after) return;
          after = last;
          events.reset(answer.start);
        } else if (answer.answer === 'batches') {
          for (const batch of answer.batches) {
            if (batch.position <= after) continue;
            after = batch.position;
            events.batch(batch);
          }
        }
      });
    };
    const poll = (): void => {
      if (ended) return;
      read();
      this.again(this.#options.pollMs, poll);
    };
    this.#onPoke = read;
    poll();
    return {
      askHead: () => this.#askHead(events, () => ended),
      [Symbol.dispose]: () => {
        ended = true;
      },
    };
  }

  #askHead(events: FollowerEvents, isEnded: () => boolean): void {
    let answered = false;
    const read = (): void => {
      if (isEnded() || answered) return;
      const askedAt = this.#runtime.now();
      this.ask({ ask: 'head' }, (answer) => {
        if (isEnded() || answered || answer.answer !== 'head') return;
        answered = true;
        events.head(answer.position, askedAt);
      });
      this.again(this.#options.retryMs, read);
    };
    read();
  }

  /** @internal */
  ask(body: Ask, hear: (answer: Answer) => void): void {
    this.#requests += 1;
    this.#pending.set(this.#requests, hear);
    this.#transport.send(ENGINE, { request: this.#requests, body });
  }

  /** @internal */
  again(ms: number, act: () => void): void {
    this.#runtime.wakeAt(later(this.#runtime.now(), ms), act);
  }
}

/** One leadership, from its election to its end. */
class LeadingClient implements Leadership {
  readonly term: number;
  readonly start: LogStart;
  readonly #log: SimulatedLog;
  readonly #runtime: Runtime;
  readonly #options: ClientOptions;
  readonly #events: LeaderEvents;
  #over = false;
  #appending: LogBatch | undefined;

  constructor(
    log: SimulatedLog,
    runtime: Runtime,
    options: ClientOptions,
    { term, start }: { readonly term: number; readonly start: LogStart },
    events: LeaderEvents,
  ) {
    this.#log = log;
    this.#runtime = runtime;
    this.#options = options;
    this.term = term;
    this.start = start;
    this.#events = events;
  }

  begin(askedAt: Instant): void {
    this.#events.elected(this, later(askedAt, this.#options.leaderLeaseMs));
    this.#keepAlive();
  }

  append(batch: LogBatch, done: (outcome: AppendOutcome) => void): void {
    assert(this.#appending === undefined, `append ${batch.position} while ${this.#appending?.position} is in flight`);
    this.#appending = batch;
    let tries = 0;
    const attempt = (): void => {
      if (this.#over || this.#appending !== batch) return;
      tries += 1;
      this.#log.ask({ ask: 'append', term: this.term, batch }, ({ answer }) => {
        if (this.#over || this.#appending !== batch) return;
        if (answer === 'not-leader') return this.#end('superseded');
        // Refused now, but an earlier try may have been written, or may be yet: its outcome is unknown.
        if (answer === 'refused' && tries > 1) return;
        this.#appending = undefined;
        done(answer === 'appended' ? 'appended' : 'refused');
      });
      this.#log.again(this.#options.retryMs, attempt);
    };
    attempt();
  }

  compact(snapshot: Uint8Array, upTo: number): void {
    this.#log.ask({ ask: 'compact', term: this.term, upTo, snapshot }, () => {});
  }

  resign(): void {
    if (this.#over) return;
    this.#over = true;
    this.#log.ask({ ask: 'resign', term: this.term }, () => {});
  }

  #keepAlive(): void {
    if (this.#over) return;
    const askedAt = this.#runtime.now();
    this.#log.ask({ ask: 'keep-alive', term: this.term }, ({ answer }) => {
      if (this.#over) return;
      if (answer === 'alive') this.#events.extended(later(askedAt, this.#options.leaderLeaseMs));
      else this.#end('lease-ended');
    });
    this.#log.again(this.#options.leaderLeaseMs / 4, () => this.#keepAlive());
  }

  #end(reason: DeposedReason): void {
    if (this.#over) return;
    this.#over = true;
    this.#events.deposed(reason);
  }
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);
