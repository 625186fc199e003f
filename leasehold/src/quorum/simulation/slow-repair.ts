/**
 * A replica lost megabytes of its journal, and all replicas share slow links: 20 Mbit/s for all that one machine sends. The others must go on writing.
 *
 *     r3      ✝ damaged in two places ── asks ── fetches 1.3 MB ───────────────────────── whole again
 *     r1, r2       write, write, write, … never longer apart than an election time
 *
 * What one machine sends waits in one row, as in a socket: a large answer delays the heartbeats and accepts behind it. The worlds that
 * are drawn at random have no sizes, and their logs are short, so this world is built by hand.
 */

import { SimClock } from '../../sim/clock.ts';
import { Network } from '../../sim/network.ts';
import { Random } from '../../sim/random.ts';
import { World } from '../../sim/world.ts';
import type { Answer } from '../core/answer.ts';
import { initialConfiguration } from '../core/configuration.ts';
import { type Command, NO_SESSION, put } from '../core/operation.ts';
import { DEFAULT_LIMITS, type QuorumLimits, resolveQuorumDurations } from '../core/options.ts';
import { PIECE_BYTES } from '../core/serving.ts';
import { encodeMessage } from '../wire/messages.ts';
import { Checker } from './checker.ts';
import { type Call, ReplicaNode, type Reply, type Spoken } from './node.ts';

/** 20 Mbit/s. */
const BYTES_PER_MS = 2_500;
const DURATIONS = resolveQuorumDurations({ electionMs: 400, leaseMs: 800 });
const VALUES = 40;
const VALUE_BYTES = 32 * 1024;
const LOST_BYTES: number = VALUES * VALUE_BYTES;
const PATIENCE_MS = 30_000;

/** Messages of one sender leave one behind the other, as fast as its machine can send. */
class SlowNetwork extends Network<Spoken> {
  readonly #freeAt = new Map<string, number>();
  bytesPerMs: number = Number.POSITIVE_INFINITY;
  /** The size of all answers to replicas that lack slots, and of the largest. */
  fetched = 0;
  largest = 0;

  override send(from: string, to: string, spoken: Spoken): void {
    const bytes = encodeMessage(spoken.message).length;
    if (spoken.message.kind === 'fetched') {
      this.fetched += bytes;
      this.largest = Math.max(this.largest, bytes);
    }
    const beginsMs = Math.max(this.world.trueMs, this.#freeAt.get(from) ?? 0);
    const endsMs = beginsMs + bytes / this.bytesPerMs;
    this.#freeAt.set(from, endsMs);
    this.world.at(endsMs, () => super.send(from, to, spoken));
  }
}

/** Where the lost slots are when the replica asks for them. */
export type Kept = 'in the logs of the others' | 'in the states of the others';

export class SlowRepair {
  readonly #world: World = new World({ seed: 0 });
  readonly #network: SlowNetwork = new SlowNetwork(this.#world, { name: 'replicas' });
  readonly #limits: { -readonly [name in keyof QuorumLimits]: QuorumLimits[name] } = {
    ...{ ...DEFAULT_LIMITS, slotsPerSnapshot: 1e6, slotsKept: 1e6 },
  };
  readonly #nodes: readonly ReplicaNode[];
  #session = NO_SESSION;
  #number = 0;
  /** When the last write was answered, and the longest time between two. */
  #answeredMs = 0;
  #longestMs = 0;

  constructor() {
    const world = this.#world;
    const calls = new Network<Call | Reply>(world, { name: 'calls' });
    const checker = new Checker(world);
    const members = ['r1', 'r2', 'r3'].map((storage, seat) => ({ seat, storage }));
    const initial = initialConfiguration(members, { mode: 'leader' });
    this.#nodes = members.map(({ storage }) => {
      const random = new Random(0, storage);
      return new ReplicaNode(world, {
        ...{ storage, initial, random, calls, replicas: this.#network, limits: this.#limits },
        ...{ lateMs: 0, syncMs: [0.5, 2] as const, clock: new SimClock({ originMs: 0, rate: 1 }) },
        durations: () => DURATIONS,
        contacts: () => members.map((each) => each.storage).filter((each) => each !== storage),
        observer: {
          began: (node) => checker.began(node),
          settled: (node) => checker.settled(node),
          shows: (node, slot, operation) => checker.shows(node, slot, operation),
          reads: (node, call) => checker.reads(node, call),
          answers: (node, call, answer) => checker.answers(node, call, answer),
          traced: (node, what) => checker.traced(node, what),
          changed: (node, change, answer) => checker.changed(node, change, answer),
        },
      });
    });
    for (const node of this.#nodes) node.start();
  }

  play(kept: Kept): void {
    this.#until('no replica leads', () => this.#leader !== undefined);
    const opened = this.#submit({ kind: 'open-session' });
    if (opened.kind === 'result' && opened.result.kind === 'opened') this.#session = opened.result.session;
    const victim = this.#nodes.find((node) => !node.isLeader) as ReplicaNode;
    const begins = victim.disk.frames.length;
    for (let at = 0; at < VALUES; at += 1) this.#put(`k${at}`, VALUE_BYTES);
    const ends = victim.disk.frames.length;
    for (let at = 0; at < 3; at += 1) this.#put('k', 1); // Frames that can be read, behind the damaged ones.
    this.#until('r3 seals its journal', () => !victim.disk.isWriting && victim.disk.frames.length > ends + 2);
    victim.crash();
    const middle = Math.round((begins + ends) / 2); // Two damaged places, with frames between them that can be read.
    victim.disk.damageBetween(begins + 1, middle - 2);
    victim.disk.damageBetween(middle + 1, ends - 1);
    if (kept === 'in the states of the others') {
      Object.assign(this.#limits, { slotsPerSnapshot: 20, slotsKept: 3 });
      for (let at = 0; at < 50; at += 1) this.#put('k', 1);
    }
    this.#repair(victim, kept);
  }

  #repair(victim: ReplicaNode, kept: Kept): void {
    const network = this.#network;
    network.bytesPerMs = BYTES_PER_MS;
    victim.start();
    this.#longestMs = 0;
    this.#answeredMs = this.#world.trueMs;
    const endMs = this.#world.trueMs + PATIENCE_MS;
    while (victim.replica === undefined) {
      this.#put('k', 1);
      if (this.#world.trueMs > endMs) throw this.#broken(`a repair lasts longer than ${PATIENCE_MS} ms`);
    }
    const boundMs = DURATIONS.electionMs;
    if (this.#longestMs > boundMs)
      throw this.#broken(
        `no write of the others was answered for ${Math.round(this.#longestMs)} ms, beyond ${boundMs}`,
      );
    if (network.fetched < LOST_BYTES / 2) throw new Error(`only ${network.fetched} bytes were lost: ${kept}`);
    if (network.fetched > 1.5 * LOST_BYTES)
      throw this.#broken(`a replica that lost ${LOST_BYTES} bytes was sent ${network.fetched}`);
    if (network.largest > 1.5 * PIECE_BYTES)
      throw this.#broken(`an answer has ${network.largest} bytes, and a piece ${PIECE_BYTES}`);
  }

  get #leader(): ReplicaNode | undefined {
    return this.#nodes.find((node) => node.isLeader);
  }

  #broken(what: string): Error {
    return this.#world.broken('bounded-repair', what);
  }

  #put(key: string, bytes: number): void {
    this.#number += 1;
    this.#submit(put(key, new Uint8Array(bytes)));
    this.#longestMs = Math.max(this.#longestMs, this.#world.trueMs - this.#answeredMs);
    this.#answeredMs = this.#world.trueMs;
  }

  /** Submits to the leader, as often as that takes, until there is a result. */
  #submit(command: Command): Answer {
    const { trueMs } = this.#world;
    let answer: Answer | undefined;
    let askedMs = Number.NEGATIVE_INFINITY;
    this.#until('a write is not answered', () => {
      if (answer === undefined && this.#world.trueMs - askedMs > 200) {
        askedMs = this.#world.trueMs;
        const isOpening = command.kind === 'open-session';
        const [session, number] = isOpening ? [NO_SESSION, 1] : [this.#session, this.#number];
        const submission = { session, number, answeredBelow: number, command };
        const node = this.#leader;
        const id = node?.await((given) => {
          if (given.kind === 'result') answer = given;
        });
        if (node !== undefined && id !== undefined)
          node.perform((replica, now) => replica.submit(id, submission, now));
      }
      return answer !== undefined;
    });
    if (answer === undefined) throw new Error(`no answer since ${trueMs}`);
    return answer;
  }

  #until(what: string, isDone: () => boolean): void {
    const endMs = this.#world.trueMs + PATIENCE_MS;
    while (!isDone()) {
      if (this.#world.trueMs > endMs) throw this.#broken(`after ${PATIENCE_MS} ms: ${what}`);
      this.#world.run({ untilMs: this.#world.trueMs + 2 });
    }
  }
}

export const SLOW_REPAIRS: Readonly<Record<string, () => void>> = {
  'a replica lost megabytes, which the others have in their logs, and all links are slow': () =>
    new SlowRepair().play('in the logs of the others'),

  'a replica lost megabytes, which the others have only in their states, and all links are slow': () =>
    new SlowRepair().play('in the states of the others'),
};
