/**
 * A cell in which nothing happens by itself: every message, sync and tick of the clock is a line of a script. For schedules that chance
 * would need millions of worlds to find.
 */

import { type Instant, instant } from '../../runtime/time.ts';
import { World } from '../../sim/world.ts';
import { type Configuration, initialConfiguration, type ReaderMap } from '../core/configuration.ts';
import type { Effect } from '../core/context.ts';
import { type TakenOver, takenOver } from '../core/copy.ts';
import type { Frame } from '../core/journal.ts';
import type { Change } from '../core/membership.ts';
import type { Message } from '../core/messages.ts';
import { type Command, NO_SESSION, put } from '../core/operation.ts';
import { DEFAULT_LIMITS, resolveQuorumDurations } from '../core/options.ts';
import type { ReadMode } from '../core/reads.ts';
import { recover } from '../core/recovery.ts';
import { Replica } from '../core/replica.ts';
import { Checker, type Watched } from './checker.ts';
import type { Call } from './node.ts';
import { encode } from './operations.ts';

export const LEASE_MS = 1_000;
const HOUR_MS = 3_600_000;

interface Node extends Watched {
  readonly frames: Frame[];
  replica: Replica;
  writing: Frame | undefined;
  life: number;
  rate: number;
  behindMs: number;
}

interface Flying {
  readonly from: number;
  readonly to: number;
  readonly message: Message;
}

/** Replicas and clients are numbered from 0. */
export class Script {
  readonly world: World = new World({ seed: 0 });
  readonly checker: Checker = new Checker(this.world);
  readonly nodes: Node[] = [];
  flying: Flying[] = [];
  readonly #initial: Configuration;
  readonly #calls = new Map<number, Call>();
  #ids = 0;
  #numbers = 0;
  #session = NO_SESSION;

  constructor(replicas: number, placement: ReaderMap) {
    const members = Array.from({ length: replicas }, (_, seat) => ({ seat, storage: `r${seat + 1}` }));
    this.#initial = initialConfiguration(members, placement);
    for (let at = 0; at < replicas; at += 1) this.nodes.push(this.#build(at));
    for (const node of this.nodes) this.checker.began(node);
    const all = this.nodes.map((_, at) => at);
    this.lead(0, all.slice(1));
    this.settle(0, all.slice(1));
    this.submit(0, { kind: 'open-session' });
    this.settle(0, all.slice(1));
    this.settle(0, all.slice(1));
  }

  #build(at: number): Node {
    const storage = `r${at + 1}`;
    const script = this;
    return {
      ...{ storage, frames: [], writing: undefined, life: 1, rate: 1, behindMs: 0 },
      replica: this.#boot(storage, 1, []),
      get isLeader(): boolean {
        return script.nodes[at]?.replica.role === 'leader';
      },
    };
  }

  #boot(storage: string, life: number, frames: readonly Frame[], takenOver?: TakenOver): Replica {
    const recovery = recover(frames);
    if (recovery.kind !== 'recovered') throw new Error('a script does not damage disks');
    const durations = resolveQuorumDurations({
      ...{ leaseMs: LEASE_MS, renewEveryMs: 1, electionMs: HOUR_MS, holdMs: HOUR_MS, graceMs: HOUR_MS },
    });
    const options = {
      self: storage,
      life,
      recovered: recovery.state,
      initial: this.#initial,
      contacts: [],
      durations,
      takenOver,
    };
    return new Replica({ ...options, limits: DEFAULT_LIMITS, random: () => 0.5 }, this.#clock(1));
  }

  #clock(rate: number, behindMs = 0): Instant {
    return instant(1_000 + this.world.trueMs * rate - behindMs);
  }

  #input(at: number, act: (replica: Replica, now: Instant) => Effect[]): void {
    const node = this.nodes[at] as Node;
    for (const effect of act(node.replica, this.#clock(node.rate, node.behindMs)))
      this.#execute(at, node, effect);
    this.checker.settled(node);
  }

  #execute(at: number, node: Node, effect: Effect): void {
    if (effect.do === 'persist') node.writing = effect.frame;
    if (effect.do === 'send') {
      const to = this.nodes.findIndex(({ storage }) => storage === effect.to);
      this.flying.push({ from: at, to, message: effect.message });
    }
    if (effect.do !== 'answer') return;
    const call = this.#calls.get(effect.id);
    if (call !== undefined) this.checker.answers(node, call, effect.answer);
    const { answer } = effect;
    if (answer.kind === 'result' && answer.result.kind === 'opened') this.#session = answer.result.session;
  }

  /** Moves true time to here. */
  at(trueMs: number): void {
    this.world.run({ untilMs: trueMs });
  }

  /** Ends what is being written, and what is written because of that. */
  sync(at: number): void {
    while (this.nodes[at]?.writing !== undefined) this.syncOnce(at);
  }

  /** Ends what is being written. */
  syncOnce(at: number): void {
    const node = this.nodes[at] as Node;
    if (node.writing === undefined) return;
    node.frames.push(node.writing);
    node.writing = undefined;
    this.#input(at, (replica, now) => replica.synced(now));
  }

  /** Delivers all messages of a kind from one to another; how many there were. Of an accept, so many entries. */
  pass(kind: Message['kind'], from: number, to: number, entries?: number): number {
    const some = this.flying.filter(
      (each) => each.message.kind === kind && each.from === from && each.to === to,
    );
    this.flying = this.flying.filter((each) => !some.includes(each));
    for (const { message } of some) this.deliver(from, to, shortened(message, entries));
    return some.length;
  }

  deliver(from: number, to: number, message: Message): void {
    const { storage } = this.nodes[from] as Node;
    this.#input(to, (replica, now) => replica.receive(storage, message, now));
  }

  /** Asks all others for promises. */
  ask(at: number): void {
    this.#input(at, (replica, now) => replica.wake(now));
  }

  ballot(at: number): number {
    return (this.nodes[at] as Node).replica.view.acceptor.ballot;
  }

  /** Changes the configuration, at the leader. */
  reconfigure(at: number, change: Change): void {
    this.#input(at, (replica, now) => replica.reconfigure(0, change, now));
  }

  /** The clock of this replica stood still for so long. */
  rewind(at: number, ms: number): void {
    (this.nodes[at] as Node).behindMs += ms;
  }

  /** The guard of this replica has noticed that its clock stood still. */
  suspended(at: number): void {
    this.#input(at, (replica, now) => replica.suspended(now));
  }

  release(at: number): void {
    this.#input(at, (replica, now) => replica.release(now));
  }

  /** Becomes the leader by the votes of these. */
  lead(at: number, voters: readonly number[]): void {
    const ballot = this.ballot(at);
    this.deliver(at, at, { kind: 'lead-now', ballot });
    this.sync(at);
    for (const voter of voters) {
      this.pass('prepare', at, voter);
      this.sync(voter);
      this.pass('prepared', voter, at);
    }
  }

  /** The leader's entries reach these, and their acknowledgements the leader; then a heartbeat says what came of it. */
  settle(leader: number, followers: readonly number[]): void {
    this.sync(leader);
    for (const isLast of [false, true]) {
      for (const follower of followers) {
        this.pass('accept', leader, follower);
        if (isLast) this.beat(leader, follower);
        this.sync(follower);
        this.pass('gap', follower, leader);
        this.pass('accept', leader, follower);
        this.sync(follower);
        this.pass('accepted', follower, leader);
      }
    }
    for (const follower of followers) this.beat(leader, follower);
  }

  /** The leader's entries reach these, and their acknowledgements the leader; nobody hears what came of it. */
  acceptedBy(leader: number, followers: readonly number[]): void {
    this.sync(leader);
    for (const follower of followers) {
      this.pass('accept', leader, follower);
      this.sync(follower);
      this.pass('accepted', follower, leader);
    }
  }

  /** A heartbeat: what is chosen and committed reaches the follower. */
  beat(leader: number, follower: number, first?: number): void {
    const { acceptor, log } = (this.nodes[leader] as Node).replica.view;
    const { ballot, merged } = acceptor;
    const { chosen, committed } = log;
    first ??= log.last + 1;
    this.deliver(leader, follower, {
      kind: 'accept',
      ballot,
      merged,
      first,
      operations: [],
      chosen,
      committed,
    });
    this.sync(follower);
  }

  submit(at: number, command: Command): void {
    const isOpening = command.kind === 'open-session';
    if (!isOpening) this.#numbers += 1;
    const session = isOpening ? NO_SESSION : this.#session;
    const submission = { session, number: this.#numbers, answeredBelow: 0, command };
    this.#call(at, { kind: 'submit', id: 0, client: '', submission });
  }

  write(at: number, key: string): void {
    this.submit(at, put(key, encode(`${this.#numbers}`)));
  }

  read(at: number, keys: readonly string[], mode: ReadMode = 'best'): void {
    const call: Call = { kind: 'read', id: 0, client: '', keys, mode };
    this.checker.reads(this.nodes[at] as Node, call);
    this.#call(at, call);
  }

  #call(at: number, call: Call): void {
    this.#ids += 1;
    const id = this.#ids;
    this.#calls.set(id, call);
    this.#input(at, (replica, now) =>
      call.kind === 'read'
        ? replica.read(id, call.keys, call.mode, now)
        : replica.submit(id, call.submission, now),
    );
  }

  /** What is on the disk of a replica now, for {@link restore}. */
  copy(at: number): readonly Frame[] {
    return [...(this.nodes[at] as Node).frames];
  }

  /**
   * Ends the process and starts it from a copy. The other members answer for the copy, and none has written down later votes; of
   * earlier lives nothing is heard any more.
   */
  restore(at: number, frames: readonly Frame[]): void {
    const node = this.nodes[at] as Node;
    this.flying = this.flying.filter(({ from }) => from !== at);
    this.nodes.forEach((_, other) => {
      if (other !== at) this.deliver(at, other, { kind: 'check-in', nonce: 0 });
    });
    const answers = this.flying.flatMap(({ message }) => (message.kind === 'checked-in' ? message : []));
    this.flying = this.flying.filter(({ message }) => message.kind !== 'checked-in');
    node.frames.splice(0, node.frames.length, ...frames);
    node.life += 1;
    node.writing = undefined;
    node.replica = this.#boot(node.storage, node.life, node.frames, takenOver(answers));
    this.checker.began(node);
  }

  /** Ends the process and starts it anew from what is synced. */
  restart(at: number): void {
    const node = this.nodes[at] as Node;
    node.life += 1;
    node.writing = undefined;
    node.replica = this.#boot(node.storage, node.life, node.frames);
    this.checker.began(node);
  }
}

const shortened = (message: Message, entries: number | undefined): Message =>
  message.kind === 'accept' ? { ...message, operations: message.operations.slice(0, entries) } : message;
