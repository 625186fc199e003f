/**
 * Five replicas in a cluster, and a client for each of them: where calls go with each kind of lease, and what they cost each replica.
 *
 * The quorum leases are those of the paper: each key has a quorum of three holders, the leader and two others, and the quorums divide the keys
 * evenly. Nothing is chosen by traffic here, because in a cluster every replica is as near as the next.
 */

import type { ReaderMap } from '../../../leasehold/src/quorum/core/configuration.ts';
import { bit, objectOf } from '../../../leasehold/src/quorum/core/configuration.ts';
import { connectQuorum, type QuorumClient, silent } from '../../../leasehold/src/quorum/index.ts';
import { nowMs, pause } from '../processes/conversation.ts';
import type { Program } from '../processes/program.ts';
import { freePort, type Workshop } from '../processes/workshop.ts';

export type Lease = 'leader' | 'quorum' | 'megastore';

/** Reads go where their key is held, or to any replica; writes enter at any. */
export type Calls = 'reads where they are held' | 'reads anywhere' | 'writes';

export interface Turn {
  /** All clients at once, on this machine. */
  readonly perSecond: number;
  /** Of each replica for one call of the cell, the leader's first. For reads, with one client at work after the other. */
  readonly cpuMicros: readonly number[];
  /** Reads that the replica which was asked answered from its own memory. */
  readonly localShare: number;
}

const NAMES = ['a', 'b', 'c', 'd', 'e'] as const;
const LEADER = 0;
const KEYS: readonly string[] = Array.from({ length: 10_000 }, (_, at) => `key-${at}`);
/** Calls that each client has under way. */
const LANES = 256;
const VALUE = 'x'.repeat(100);
const SETTLES_WITHIN_MS = 60_000;

/** A machine that others use, too, must not end the measurement. */
const PATIENT = { timeoutMs: 60_000 };

/** The two holders besides the leader, by slice: each replica holds half of the keys. */
const PAIRS = [
  [1, 2],
  [2, 3],
  [3, 4],
  [4, 1],
] as const;

const pairOf = (key: string): readonly number[] =>
  PAIRS[objectOf(key) & (PAIRS.length - 1)] as readonly number[];

interface Asker {
  readonly client: QuorumClient;
  readonly keys: readonly string[];
}

export class LeaseCluster implements AsyncDisposable {
  readonly #programs: readonly Program[];
  /** Each speaks with one replica. */
  readonly #clients: readonly QuorumClient[];

  private constructor(programs: readonly Program[], clients: readonly QuorumClient[]) {
    this.#programs = programs;
    this.#clients = clients;
  }

  static async start(workshop: Workshop): Promise<LeaseCluster> {
    const ports = await Promise.all(NAMES.map(() => freePort()));
    const peers = Object.fromEntries(NAMES.map((name, at) => [name, `127.0.0.1:${ports[at]}`]));
    const bundle = await workshop.bundle('quorum/replica-process');
    const programs = NAMES.map((name) =>
      workshop.start(`replica ${name}`, bundle, { name, directory: workshop.folder(name), peers }),
    );
    await Promise.all(programs.map((program) => program.heard('ready')));
    const clients = await Promise.all(
      NAMES.map((name) => connectQuorum({ servers: [peers[name] as string], logger: silent })),
    );
    const cluster = new LeaseCluster(programs, clients);
    await cluster.#settle();
    await (clients[LEADER] as QuorumClient).putMany(
      KEYS.map((key) => [key, VALUE]),
      PATIENT,
    );
    return cluster;
  }

  /** Gives the keys to those that hold them with this kind of lease. */
  async lease(kind: Lease): Promise<void> {
    const client = this.#clients[LEADER] as QuorumClient;
    const { members } = await client.replicaStatus(PATIENT);
    const seat = (at: number): number => members.find(({ name }) => name === NAMES[at])?.seat as number;
    const slices = PAIRS.map(([one, other]) => bit(seat(LEADER)) | bit(seat(one)) | bit(seat(other)));
    const placements: Record<Lease, ReaderMap> = {
      leader: { mode: 'leader' },
      megastore: { mode: 'all' },
      quorum: { mode: 'chosen', slices, objects: new Map(), automatic: undefined },
    };
    await client.setReaders(placements[kind], PATIENT);
    await this.#settle();
  }

  /** All clients at once, for so long; and, if they read, one after the other, each for so long. */
  async measure(kind: Lease, calls: Calls, ms: number): Promise<Turn> {
    const askers = this.#askers(kind, calls);
    const atOnce = await this.#run(askers, calls, ms);
    if (calls === 'writes') return atOnce;
    const idle = await this.#idle(ms / 4);
    const costs: (readonly number[])[] = [];
    for (const asker of askers) costs.push((await this.#run([asker], calls, ms, idle)).cpuMicros);
    // Every client makes as many calls as the next.
    const mean = (of: number): number =>
      costs.reduce((sum, each) => sum + (each[of] as number), 0) / costs.length;
    return { ...atOnce, cpuMicros: NAMES.map((_, of) => mean(of)) };
  }

  /** The share of a processor that each replica uses when nobody asks. */
  async #idle(ms: number): Promise<readonly number[]> {
    const before = await this.#cpuMs();
    const from = nowMs();
    await pause(ms);
    const after = await this.#cpuMs();
    return after.map((cpuMs, at) => (cpuMs - (before[at] as number)) / (nowMs() - from));
  }

  /** Many calls of each of these clients under way at once. The replicas would have used this share of a processor anyway. */
  async #run(
    askers: readonly Asker[],
    calls: Calls,
    ms: number,
    idle: readonly number[] = [],
  ): Promise<Turn> {
    const before = await this.#cpuMs();
    const from = nowMs();
    const until = from + ms;
    let done = 0;
    let local = 0;
    const lane = async ({ client, keys }: Asker, first: number): Promise<void> => {
      for (let at = first; nowMs() < until; at += LANES) {
        const key = keys[at % keys.length] as string;
        if (calls === 'writes') await client.put(key, VALUE, PATIENT);
        else if ((await client.get(key, PATIENT)).served === 'local') local += 1;
        done += 1;
      }
    };
    const lanes = askers.flatMap((asker) => Array.from({ length: LANES }, (_, first) => lane(asker, first)));
    await Promise.all(lanes);
    const tookMs = nowMs() - from;
    const after = await this.#cpuMs();
    const usedMs = (at: number): number =>
      (after[at] as number) - (before[at] as number) - (idle[at] ?? 0) * tookMs;
    return {
      perSecond: (1_000 * done) / tookMs,
      cpuMicros: NAMES.map((_, at) => (1_000 * usedMs(at)) / done),
      localShare: local / done,
    };
  }

  /** The clients that ask, and for which keys: with the leader's lease only that of the leader has something to read. */
  #askers(kind: Lease, calls: Calls): readonly Asker[] {
    const all = this.#clients.map((client) => ({ client, keys: KEYS }));
    if (calls !== 'reads where they are held' || kind === 'megastore') return all;
    if (kind === 'leader') return all.slice(LEADER, LEADER + 1);
    return all.map(({ client }, at) => ({
      client,
      keys: at === LEADER ? KEYS : KEYS.filter((key) => pairOf(key).includes(at)),
    }));
  }

  async #cpuMs(): Promise<readonly number[]> {
    const found = await Promise.all(this.#programs.map((program) => program.ask<{ ms: number }>('cpu')));
    return found.map(({ ms }) => ms);
  }

  /** Waits until the first replica leads and every replica has its promises. */
  async #settle(): Promise<void> {
    const name = NAMES[LEADER];
    for (const until = nowMs() + SETTLES_WITHIN_MS; ; ) {
      const statuses = await Promise.all(this.#clients.map((client) => client.replicaStatus(PATIENT)));
      if (statuses.every(({ leader, isLeased }) => leader === name && isLeased)) return;
      if (nowMs() > until) throw new Error(`${name} does not lead`);
      const { leader } = statuses[LEADER] as (typeof statuses)[number];
      if (leader !== undefined && leader !== name)
        await this.#clients[LEADER]?.stepDown({ to: name, ...PATIENT });
      await pause(300);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await Promise.all(this.#clients.map((client) => client[Symbol.asyncDispose]()));
  }
}
