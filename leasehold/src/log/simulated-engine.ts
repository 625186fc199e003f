/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A fenced log's engine in a simulated world: like an etcd of three members, as strict and no kinder. The observed
 * behaviour of the real etcd is in `docs/decisions/0013-what-etcd-does.md`, with the figures; this list has the parts
 * that a client can meet, and their place here:
 *
 *  - **A leader's key outlives its lease**, by up to half a second where a lease takes two: leases are checked every
 *    `sweepMs`. By the engine's clock no lease ends before its time,
 *  - **except early**, although the lease was kept alive and the holder was just told so: {@link
 *    SimulatedEngine.dropLeader}, at any moment.
 *  - **The engine's own leader is killed**: {@link SimulatedEngine.changeLeader}. While the members elect another,
 *    nothing is carried out and no lease ends; then every lease begins anew. Of the killed member's requests, half is
 *    carried out and nothing answered. Watches at that member end; watches at others go on.
 *  - **A member is stopped**: {@link SimulatedEngine.stopMember}. Requests to that member, reads too, are not answered
 *    while the others go on; when the member goes on, forgotten copies of requests land, and silent watches bring the
 *    missed changes (`simulated-members.ts`).
 *  - **A member was replaced without knowing so**: {@link SimulatedEngine.strand}. A client that reaches only that
 *    member is told that the client's lease is alive, without a question to any other member, and hears nothing else.
 *  - **A request that was carried out is not answered** for longer than that: {@link
 *    SimulatedEngine.withholdOutcomes}.
 *  - **A watch is deaf**: {@link SimulatedEngine.deafen}.
 *  - The engine refuses an append, or is out of reach altogether ({@link SimulatedEngine.down}), and is restored from
 *    a backup ({@link SimulatedEngine.backup}).
 *
 * Requests come and answers go over a network that loses and delays, too. Four comparisons keep a log on such an
 * engine safe, each made in one step with the guarded write: a candidate finds no leader; an append finds the leader's
 * own key, which no other ever equals, and the head where that leader left the head; and where the batch already is,
 * an equal one counts as written.
 */

import type { Network } from '../sim/network.ts';
import type { Random } from '../sim/random.ts';
import type { World } from '../sim/world.ts';
import type { LogBatch, LogStart } from './log.ts';
import { digest } from '../runtime/digest.ts';
import { SimulatedLeases } from './simulated-leases.ts';
import { MEMBERS, SimulatedMembers } from './simulated-members.ts';
import { type Answer, type Ask, ENGINE, type LeaderKey, type LogMessage } from './simulated-messages.ts';

export interface EngineOptions {
  readonly history: string;
  /** How long a lease lasts that is not kept alive, in true milliseconds. */
  readonly leaderKeyMs: number;
  /** How often leases are checked: a key outlives its lease by up to that much. @default 0 */
  readonly sweepMs?: number | undefined;
  /** The probability that the engine refuses an append. */
  readonly refuseChance: number;
}

interface Leader extends LeaderKey {
  readonly candidate: string;
}

export class SimulatedEngine {
  readonly #world: World;
  readonly #network: Network<LogMessage>;
  readonly #random: Random;
  readonly #members: SimulatedMembers;
  readonly #leases: SimulatedLeases;
  #history: string;
  /** Grows with everything that is written. A term is the revision of the leader's key. */
  #revision = 0;
  #term = 0;
  #leader: Leader | undefined;
  #expiry: Disposable | undefined;
  #snapshot: LogStart['snapshot'];
  #batches: LogBatch[] = [];
  #floor = 0;
  /** By client, the member of the last request, and the member that sends notices. */
  readonly #askedAt = new Map<string, number>();
  readonly #watchedAt = new Map<string, number>();
  readonly #deafUntilMs = new Map<string, number>();
  readonly #strandedUntilMs = new Map<string, number>();
  #electsUntilMs = 0;
  #outcomesFromMs = 0;
  #down = false;
  #downSince = 0;
  /** Told of every request at the instant before execution. */
  onAsk: (client: string, body: Ask) => void = () => {};
  /** Told of every batch at the instant of the commit. */
  onCommit: (batch: LogBatch, term: number) => void = () => {};
  refuseChance: number;

  constructor(world: World, network: Network<LogMessage>, options: EngineOptions) {
    this.#world = world;
    this.#network = network;
    this.#random = world.random.fork('log engine');
    this.#members = new SimulatedMembers(world, this.#random.fork('members'));
    this.#leases = new SimulatedLeases(world, options.leaderKeyMs, options.sweepMs);
    this.#history = options.history;
    this.refuseChance = options.refuseChance;
    network.attach(ENGINE, (from, message) => {
      if ('member' in message) this.#hear(from, message.request, message.member, message.body);
    });
  }

  /** While true, nothing is heard and nothing is answered: a majority of the engine is dead. */
  get down(): boolean {
    return this.#down;
  }

  set down(down: boolean) {
    if (down && !this.#down) this.#downSince = this.#world.trueMs;
    this.#down = down;
    this.#lookAtLeader();
  }

  /** Comes back up as if no time had passed: leases count on from where they were. */
  thaw(): void {
    if (this.#down) this.#leases.prolong(this.#world.trueMs - this.#downSince);
    this.down = false;
  }

  /** The engine comes back with another internal leader: every lease begins anew. */
  restart(): void {
    this.#leases.beginAnew();
    this.down = false;
  }

  get head(): number {
    return this.#batches.at(-1)?.position ?? this.#snapshot?.position ?? 0;
  }

  get history(): string {
    return this.#history;
  }

  get leader(): string | undefined {
    this.#expire();
    return this.#leader?.candidate;
  }

  /** The last that was given. */
  get term(): number {
    return this.#term;
  }

  /** Ends the leader's lease early. */
  dropLeader(): void {
    if (this.#leader !== undefined) this.#endLease(this.#leader.lease);
  }

  /** The engine's leading member is killed, and for so long there is no internal leader. */
  changeLeader(ms: number, killed: number = this.#random.integer(0, MEMBERS - 1)): void {
    this.#electsUntilMs = Math.max(this.#electsUntilMs, this.#world.trueMs + ms);
    for (let member = 0; member < MEMBERS; member += 1) this.#members.stop(member, ms);
    this.#members.kill(killed);
    this.#endWatches(killed);
    this.#world.after(ms, () => {
      if (this.#isElecting) return;
      this.#leases.beginAnew();
      this.#lookAtLeader();
    });
  }

  /** The member that a client uses. */
  memberOf(client: string): number {
    return this.#askedAt.get(client) ?? 0;
  }

  stopMember(member: number, ms: number): void {
    this.#members.stop(member, ms);
  }

  /** For so long a client reaches only a member that was replaced without knowing so. */
  strand(client: string, ms: number): void {
    this.#strandedUntilMs.set(client, this.#world.trueMs + ms);
  }

  /** For so long appends are carried out and not answered. */
  withholdOutcomes(ms: number): void {
    this.#outcomesFromMs = this.#world.trueMs + ms;
  }

  /** For so long a client gets no notices, and no answers to reads of the log. */
  deafen(client: string, ms: number): void {
    this.#deafUntilMs.set(client, this.#world.trueMs + ms);
  }

  /** All troubles of the engine are over. */
  heal(): void {
    this.refuseChance = 0;
    this.#outcomesFromMs = 0;
    this.#deafUntilMs.clear();
    this.#strandedUntilMs.clear();
    if (this.#isElecting) this.#leases.beginAnew();
    this.#electsUntilMs = 0;
    this.#members.resume();
    this.down = false;
  }

  /** Everything stored, to go back to later; with the leader's key, under a lease that begins anew, or without. */
  backup(): (keepsLeader?: boolean) => void {
    const [revision, term, floor, leader] = [this.#revision, this.#term, this.#floor, this.#leader];
    const [snapshot, batches] = [this.#snapshot, this.#batches.slice()];
    return (keepsLeader = false) => {
      this.#revision = revision;
      this.#term = term;
      this.#snapshot = snapshot;
      this.#batches = batches.slice();
      this.#floor = floor;
      this.#leases.forget();
      this.#members.forget();
      this.#leader = undefined;
      if (leader !== undefined) this.#lead(leader);
      if (!keepsLeader) this.dropLeader();
    };
  }

  /** Becomes a copy of another engine as it is now, its history and terms included, without a leader. */
  copy(original: SimulatedEngine): void {
    this.#history = original.#history;
    this.#revision = original.#revision + (original.leader === undefined ? 0 : 1);
    this.#term = original.#term;
    this.#snapshot = original.#snapshot;
    this.#batches = original.#batches.slice();
    this.#floor = original.#floor;
  }

  /**
   * The operator's step after restoring a backup: terms and positions start above anything seen, in a new history, so
   * that look-ups take everything for lost.
   */
  jump(term: number, floor: number): void {
    this.#history = `${this.#history}'`;
    this.#revision = Math.max(this.#revision, term);
    this.#floor = Math.max(this.#floor, floor);
  }

  #hear(from: string, request: number, member: number, body: Ask): void {
    if (this.down) return;
    this.#askedAt.set(from, member);
    const answer = (given: Answer): void => this.#network.send(ENGINE, from, { request, body: given });
    if (this.#isStranded(from)) {
      if (body.ask === 'keep-alive') answer({ answer: 'alive' });
      return;
    }
    this.#members.ask(member, (canAnswer) => {
      if (this.down) return;
      this.onAsk(from, body);
      const given = this.#serve(from, member, body);
      if (given !== undefined && canAnswer) answer(given);
    });
  }

  #serve(from: string, member: number, body: Ask): Answer | undefined {
    this.#expire();
    switch (body.ask) {
      case 'look':
        this.#watchedAt.set(from, member);
        return { answer: 'looked', isLed: this.#leader !== undefined, history: this.#history };
      case 'grant':
        return { answer: 'granted', lease: this.#leases.grant() };
      case 'elect':
        return this.#elect(body.candidate, body.lease, body.history);
      case 'keep-alive':
        return { answer: this.#leases.keepAlive(body.lease) ? 'alive' : 'no-lease' };
      case 'confirm':
        return { answer: this.#leads(body.key) ? 'leads' : 'not-leader' };
      case 'revoke':
        this.#endLease(body.lease);
        return { answer: 'revoked' };
      case 'append': {
        const outcome = this.#append(body.key, body.after, body.batch);
        return this.#world.trueMs < this.#outcomesFromMs ? undefined : outcome;
      }
      case 'compact':
        if (!this.#leads(body.key)) return { answer: 'not-leader' };
        this.#compact(body.upTo, body.snapshot);
        return { answer: 'appended' };
      case 'read-all':
        return this.#leads(body.key) ? { answer: 'reset', start: this.#start() } : { answer: 'not-leader' };
      case 'read':
        if (this.#isDeaf(from)) return undefined;
        this.#watchedAt.set(from, member);
        return this.#read(body.after, body.last);
      case 'head':
        return { answer: 'head', history: this.#history, position: this.head };
    }
  }

  #isStranded(client: string): boolean {
    return this.#world.trueMs < (this.#strandedUntilMs.get(client) ?? 0);
  }

  #isDeaf(client: string): boolean {
    return this.#world.trueMs < (this.#deafUntilMs.get(client) ?? 0);
  }

  /** No lease ends. */
  get #isFrozen(): boolean {
    return this.#down || this.#isElecting;
  }

  get #isElecting(): boolean {
    return this.#world.trueMs < this.#electsUntilMs;
  }

  #leads({ term, lease }: LeaderKey): boolean {
    return this.#leader?.term === term && this.#leader.lease === lease;
  }

  #elect(candidate: string, lease: number, history: string): Answer {
    if (this.#leader?.lease === lease) return { answer: 'elected', term: this.#leader.term };
    if (this.#leases.isOver(lease)) return { answer: 'no-lease' };
    if (this.#leader !== undefined || history !== this.#history) return { answer: 'not-elected' };
    this.#revision += 1;
    this.#term = this.#revision;
    this.#lead({ candidate, term: this.#term, lease });
    return { answer: 'elected', term: this.#term };
  }

  #lead(leader: Leader): void {
    this.#leader = leader;
    this.#leases.begin(leader.lease);
    this.#lookAtLeader();
  }

  /** Now, and again when the key would go. While no lease ends, the code that ends that state looks. */
  #lookAtLeader(): void {
    this.#expire();
    this.#expiry?.[Symbol.dispose]();
    if (this.#leader === undefined || this.#isFrozen) return;
    this.#expiry = this.#world.at(this.#leases.goesAtMs(this.#leader.lease), () => this.#lookAtLeader());
  }

  #expire(): void {
    const leader = this.#leader;
    if (leader === undefined || this.#isFrozen) return;
    if (this.#leases.isOver(leader.lease)) this.#endLease(leader.lease);
  }

  #endLease(lease: number): void {
    this.#leases.end(lease);
    if (this.#leader?.lease !== lease) return;
    this.#leader = undefined;
    this.#revision += 1;
    this.#poke();
  }

  #append(key: LeaderKey, after: number, batch: LogBatch): Answer {
    if (!this.#leads(key)) return { answer: 'not-leader' };
    const there = this.#batches.find(({ position }) => position === batch.position);
    if (there !== undefined && sameBytes(there.bytes, batch.bytes)) return { answer: 'appended' };
    if (this.head !== after) return { answer: 'strayed' };
    if (this.#random.chance(this.refuseChance)) return { answer: 'refused' };
    this.#batches.push(batch);
    this.#revision += 1;
    this.onCommit(batch, key.term);
    this.#poke();
    return { answer: 'appended' };
  }

  /** Tells all watching clients that something has changed. */
  #poke(): void {
    for (const [client, member] of this.#watchedAt) {
      if (this.#isDeaf(client)) continue;
      this.#members.tell(member, (canTell) => {
        if (canTell) this.#tell(client, { answer: 'poke' });
      });
    }
  }

  /** Connections to a member that is killed are closed at once. */
  #endWatches(killed: number): void {
    for (const [client, member] of [...this.#watchedAt]) {
      if (member !== killed) continue;
      this.#watchedAt.delete(client);
      if (!this.#isDeaf(client)) this.#tell(client, { answer: 'watch-ended' });
    }
  }

  #tell(client: string, body: Answer): void {
    this.#network.send(ENGINE, client, { request: 0, body });
  }

  #compact(upTo: number, bytes: Uint8Array): void {
    if (upTo <= (this.#snapshot?.position ?? 0) || upTo > this.head) return;
    this.#snapshot = { position: upTo, bytes };
    this.#revision += 1;
    this.#batches = this.#batches.filter(({ position }) => position > upTo);
  }

  /** The entries after a follower's place; all entries, if there is no way on from there. */
  #read(after: number, last: LogBatch | undefined): Answer {
    const snapshotted = this.#snapshot?.position ?? 0;
    const isBehind = after < snapshotted || after < 0;
    const ours = this.#batches.find(({ position }) => position === last?.position);
    const isLost = last !== undefined && last.position > snapshotted && !sameBytes(ours?.bytes, last.bytes);
    if (isBehind || isLost || after > this.head) return { answer: 'reset', start: this.#start() };
    const batches = this.#batches.filter(({ position }) => position > after);
    return { answer: 'batches', history: this.#history, batches };
  }

  #start(): LogStart {
    return {
      history: this.#history,
      key: digest(`the key of ${this.#history}`),
      snapshot: this.#snapshot,
      batches: this.#batches.slice(),
      floor: this.#floor,
    };
  }
}

const sameBytes = (a: Uint8Array | undefined, b: Uint8Array): boolean =>
  a !== undefined && a.length === b.length && a.every((byte, index) => byte === b[index]);
