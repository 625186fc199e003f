/**
 * Writes and reads of a cell of three replicas beside an etcd of three members: real processes on one machine, every write
 * synced, the same value size, the same number of calls under way. All servers run all the time; the two are measured by turns.
 *
 * Our client is `connectQuorum`, with a promise for each call, and with `gets`, one promise for many. etcd is asked through
 * its JSON gateway over node:http with kept connections, at the member that leads; gRPC would cost its client less.
 *
 * To try it out: `QUORUM_TURN_MS=500`.
 */

import { Agent, request } from 'node:http';
import process from 'node:process';
import { EtcdCluster } from '../leasehold/src/etcd/testing/etcd-cluster.ts';
import { connectQuorum, type QuorumClient, silent } from '../leasehold/src/quorum/index.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { processCost } from './support/process-cost.ts';
import { nowMs } from './support/processes/conversation.ts';
import { installed, leftOut } from './support/processes/peers.ts';
import type { Program } from './support/processes/program.ts';
import { median, percentile } from './support/processes/statistics.ts';
import { freePort, Workshop } from './support/processes/workshop.ts';

const IN_FLIGHT = 256;
const VALUE_BYTES = 200;
const KEYS: readonly string[] = Array.from({ length: 1_000 }, (_, at) => `key-${at}`);
const TURN_MS = Number(process.env['QUORUM_TURN_MS'] ?? 4_000);
const ROUNDS = 3;
const VALUE = 'x'.repeat(VALUE_BYTES);
const NAMES = ['a', 'b', 'c'];

interface Measured {
  readonly perSecond: number;
  readonly p99Ms: number;
  /** Processor time of all servers for each call. */
  readonly serverMicros: number;
}

/** Calls by turns over all keys, with as many under way at once as everybody has. */
async function measure(
  call: (key: string) => Promise<unknown>,
  servers: readonly number[],
  ms: number = TURN_MS,
): Promise<Measured> {
  const before = servers.map(processCost);
  const latencies: number[] = [];
  const from = nowMs();
  const until = from + ms;
  const lane = async (_: unknown, lane: number): Promise<void> => {
    for (let at = lane; nowMs() < until; at += IN_FLIGHT) {
      const asked = nowMs();
      await call(KEYS[at % KEYS.length] as string);
      latencies.push(nowMs() - asked);
    }
  };
  await Promise.all(Array.from({ length: IN_FLIGHT }, lane));
  const seconds = (nowMs() - from) / 1_000;
  const cpuMs = servers
    .map(processCost)
    .reduce((sum, cost, at) => sum + cost.cpuMs - (before[at]?.cpuMs ?? 0), 0);
  return {
    perSecond: latencies.length / seconds,
    p99Ms: percentile(latencies, 0.99),
    serverMicros: (cpuMs * 1_000) / latencies.length,
  };
}

class Ours implements AsyncDisposable {
  readonly client: QuorumClient;
  readonly pids: readonly number[];
  readonly programs: readonly Program[];

  private constructor(programs: readonly Program[], pids: readonly number[], client: QuorumClient) {
    this.programs = programs;
    this.pids = pids;
    this.client = client;
  }

  static async start(workshop: Workshop): Promise<Ours> {
    const addresses = await Promise.all(
      NAMES.map(async (name) => [name, `127.0.0.1:${await freePort()}`] as const),
    );
    const peers = Object.fromEntries(addresses);
    const bundle = await workshop.bundle('quorum/replica-process');
    const programs = NAMES.map((name) =>
      workshop.start(`replica ${name}`, bundle, { name, directory: workshop.folder(name), peers }),
    );
    const ready = await Promise.all(programs.map((program) => program.heard('ready')));
    const servers = NAMES.map((name) => peers[name] as string);
    const client = await connectQuorum({ servers, inOrder: true, logger: silent });
    return new Ours(
      programs,
      ready.map(({ pid }) => Number(pid)),
      client,
    );
  }

  /** Many reads with one promise: as many calls under way as otherwise. */
  async readTogether(ms: number): Promise<number> {
    const until = nowMs() + ms;
    let reads = 0;
    for (let at = 0; nowMs() < until; at += 1) {
      const from = (at * IN_FLIGHT) % (KEYS.length - IN_FLIGHT);
      await this.client.getMany(KEYS.slice(from, from + IN_FLIGHT));
      reads += IN_FLIGHT;
    }
    return (reads * 1_000) / ms;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.client[Symbol.asyncDispose]();
  }
}

const agent = new Agent({ keepAlive: true, noDelay: true, maxFreeSockets: Number.POSITIVE_INFINITY });

function post(endpoint: string, path: string, body: object): Promise<unknown> {
  const text = JSON.stringify(body);
  const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) };
  return new Promise((resolve, reject) => {
    const asked = request(`${endpoint}${path}`, { method: 'POST', agent, headers }, (response) => {
      let answer = '';
      response.setEncoding('utf8').on('data', (part: string) => (answer += part));
      response.on('end', () =>
        response.statusCode === 200 ? resolve(JSON.parse(answer)) : reject(new Error(`etcd: ${answer}`)),
      );
    });
    asked.on('error', reject);
    asked.end(text);
  });
}

const figure = (
  metric: string,
  unit: string,
  ours: number,
  etcd: number | undefined,
  goal?: { readonly words: string; readonly least: number },
): Figure => {
  const ratio = etcd === undefined ? undefined : unit === '/s' ? ours / etcd : etcd / ours;
  return {
    ...{ metric, unit, ours, peers: etcd === undefined ? [] : [{ name: 'etcd', value: etcd }], ratio },
    goal: goal?.words,
    met: goal === undefined || ratio === undefined ? undefined : ratio >= goal.least,
  };
};

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  const hasEtcd = installed('etcd') !== undefined;
  if (!hasEtcd) report(leftOut('etcd'));
  await using workshop = new Workshop(tools);
  await using ours = await Ours.start(workshop);
  await using etcd = hasEtcd ? await EtcdCluster.start() : undefined;
  const endpoint = (await etcd?.whenLed())?.endpoint ?? '';
  const etcdPids = etcd?.members.map(({ pid }) => pid) ?? [];
  const etcdPut = (key: string) => post(endpoint, '/v3/kv/put', { key: btoa(key), value: btoa(VALUE) });
  const etcdGet = (key: string) => post(endpoint, '/v3/kv/range', { key: btoa(key) });
  const ourPut = (key: string) => ours.client.put(key, VALUE);
  const ourGet = (key: string) => ours.client.get(key);

  const writes: Measured[] = [];
  const reads: Measured[] = [];
  const together: number[] = [];
  const within: number[] = [];
  const locally: number[] = [];
  const missed: number[] = [];
  const theirWrites: Measured[] = [];
  const theirReads: Measured[] = [];
  await ours.client.putMany(KEYS.map((key) => [key, VALUE]));
  await measure(ourPut, [], TURN_MS / 2); // For practice.
  if (hasEtcd) await measure(etcdPut, [], TURN_MS / 2);
  for (let round = 1; round <= ROUNDS; round += 1) {
    report(`round ${round} of ${ROUNDS}`);
    writes.push(await measure(ourPut, ours.pids));
    reads.push(await measure(ourGet, ours.pids));
    together.push(await ours.readTogether(TURN_MS));
    const asked = { keys: KEYS, inFlight: IN_FLIGHT, ms: TURN_MS };
    const { perSecond, perSecondLocal, notLocal } = await (ours.programs[0] as Program).ask(
      'readWithin',
      asked,
    );
    missed.push(Number(notLocal));
    within.push(Number(perSecond));
    locally.push(Number(perSecondLocal));
    if (!hasEtcd) continue;
    theirWrites.push(await measure(etcdPut, etcdPids));
    theirReads.push(await measure(etcdGet, etcdPids));
  }
  const { counters } = await ours.client.replicaStatus();
  const of = (all: readonly Measured[], which: keyof Measured): number | undefined =>
    all.length === 0 ? undefined : median(all.map((each) => each[which]));
  const mine = (all: readonly Measured[], which: keyof Measured): number => of(all, which) as number;
  return {
    name: 'quorum',
    conditions: {
      ...machineConditions(),
      ...{
        'calls under way': IN_FLIGHT,
        'value in bytes': VALUE_BYTES,
        rounds: ROUNDS,
        'ms a turn': TURN_MS,
      },
      'client of etcd': 'its JSON gateway over node:http with kept connections, at the member that leads',
      'our reads': `served ${JSON.stringify(counters?.served)}`,
      'reads that getLocal left to the client': missed.join(', '),
    },
    figures: [
      figure('durable writes', '/s', mine(writes, 'perSecond'), of(theirWrites, 'perSecond'), {
        ...{ words: 'at least 3 times', least: 3 },
      }),
      figure('durable writes, p99', 'ms', mine(writes, 'p99Ms'), of(theirWrites, 'p99Ms'), {
        ...{ words: 'no worse', least: 1 },
      }),
      figure('servers’ CPU a write', 'µs', mine(writes, 'serverMicros'), of(theirWrites, 'serverMicros')),
      figure(
        'linearizable reads, a promise each',
        '/s',
        mine(reads, 'perSecond'),
        of(theirReads, 'perSecond'),
        {
          ...{ words: 'at least 10 times', least: 10 },
        },
      ),
      figure('reads, p99', 'ms', mine(reads, 'p99Ms'), of(theirReads, 'p99Ms'), {
        words: 'no worse',
        least: 1,
      }),
      figure('servers’ CPU a read', 'µs', mine(reads, 'serverMicros'), of(theirReads, 'serverMicros')),
      figure(
        'linearizable reads, one promise for many',
        '/s',
        median(together),
        of(theirReads, 'perSecond'),
        {
          ...{ words: 'at least 25 times', least: 25 },
        },
      ),
      figure('reads within the replica, a promise each', '/s', median(within), of(theirReads, 'perSecond')),
      figure('reads within the replica, getLocal', '/s', median(locally), of(theirReads, 'perSecond'), {
        ...{ words: 'at least 100 times', least: 100 },
      }),
    ],
  };
}

export const bench: Bench = {
  name: 'quorum',
  describe: 'Writes and reads of three replicas, each write synced, beside an etcd of three members.',
  run,
};
