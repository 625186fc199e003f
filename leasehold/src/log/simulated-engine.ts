/**
 * A fenced log's engine in a simulated world: what etcd would be, as strict and no kinder.
 *
 * It elects one leader at a time and gives it a lease by its own clock; it appends only for the
 * present term and only to an empty position, where an equal value counts as written. It may drop a
 * leader before its lease is over ({@link SimulatedEngine.dropLeader}), refuse an append, or be out
 * of reach altogether ({@link SimulatedEngine.down}). Requests come and answers go over a network
 * that loses and delays, so a client often does not know what became of an append.
 */

import type { Network } from '../sim/network.ts';
import type { Random } from '../sim/random.ts';
import type { World } from '../sim/world.ts';
import type { LogBatch, LogStart } from './log.ts';

/** Where the engine sits in the network. */
export const ENGINE = 'log-engine';

export type Ask =
  | { readonly ask: 'campaign'; readonly candidate: string }
  | { readonly ask: 'keep-alive'; readonly term: number }
  | { readonly ask: 'append'; readonly term: number; readonly batch: LogBatch }
  | { readonly ask: 'compact'; readonly term: number; readonly upTo: number; readonly snapshot: Uint8Array }
  | { readonly ask: 'resign'; readonly term: number }
  | { readonly ask: 'read'; readonly after: number }
  | { readonly ask: 'head' };

export type Answer =
  | { readonly answer: 'elected'; readonly term: number; readonly start: LogStart }
  | { readonly answer: 'alive' }
  | { readonly answer: 'appended' }
  | { readonly answer: 'refused' }
  | { readonly answer: 'not-leader' }
  | { readonly answer: 'not-yet' }
  | { readonly answer: 'reset'; readonly start: LogStart }
  | { readonly answer: 'batches'; readonly history: string; readonly batches: readonly LogBatch[] }
  | { readonly answer: 'head'; readonly history: string; readonly position: number }
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
  #down = false;
  #downSince = 0;
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

  /** While true, nothing is heard and nothing is answered: a majority of the engine is dead. */
  get down(): boolean {
    return this.#down;
  }

  set down(down: boolean) {
    if (down && !this.#down) this.#downSince = this.#world.trueMs;
    this.#down = down;
  }

  /** Comes back up as if no time had passed: leases count on from where they were. */
  thaw(): void {
    if (this.#leader !== undefined && this.#down) this.#leader.until += this.#world.trueMs - this.#downSince;
    this.down = false;
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

  /**
   * What an operator does after restoring a backup: terms and positions start above anything seen,
   * in a new history, so that look-ups take everything for lost.
   */
  jump(term: number, floor: number): void {
    this.#history = `${this.#history}'`;
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
        return { answer: 'head', history: this.#history, position: this.head };
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
    if (there !== undefined)
      return { answer: sameBytes(there.bytes, batch.bytes) ? 'appended' : 'not-leader' };
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
    if (after < (this.#snapshot?.position ?? 0) || after < 0)
      return { answer: 'reset', start: this.#start() };
    const batches = this.#batches.filter(({ position }) => position > after);
    return { answer: 'batches', history: this.#history, batches };
  }

  #start(): LogStart {
    return {
      history: this.#history,
      snapshot: this.#snapshot,
      batches: this.#batches.slice(),
      floor: this.#floor,
    };
  }
}

const sameBytes = (a: Uint8Array, b: Uint8Array): boolean =>
  a.length === b.length && a.every((byte, index) => byte === b[index]);
