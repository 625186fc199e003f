/**
 * A transaction with etcd, as a Manager's log makes one for each batch: compare the leader key, put the batch
 * and the head. What it takes, in time and in work of our own process, by the platform's `fetch`, by
 * `node:http` with connections that are kept, and by our client, which is made of the latter.
 *
 * The time is etcd's above all: it syncs its log on most members before it answers. So the work is what tells
 * them apart.
 */

import { Agent, request } from 'node:http';
import process from 'node:process';
import type { EtcdTransaction } from '../leasehold/src/etcd/client.ts';
import { transactionBody } from '../leasehold/src/etcd/gateway/requests.ts';
import { PromiseClient, done, put } from '../leasehold/src/etcd/testing/promise-client.ts';
import { EtcdCluster, installed } from '../leasehold/src/etcd/testing/etcd-cluster.ts';
import { realClient } from '../leasehold/src/etcd/testing/real-client.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { leftOut } from './support/processes/peers.ts';
import { median, percentile } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

const BATCH_BYTES = 200;
const ROUNDS = 15;
const PRACTICE = 2;
const EACH = 200;

const OURS = 'our client';
const FETCH = 'fetch';
const HTTP = 'node:http';

type Transact = (transaction: EtcdTransaction) => Promise<unknown>;

function byFetch(endpoint: string): Transact {
  return async (transaction) => {
    const response = await fetch(`${endpoint}/v3/kv/txn`, {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: transactionBody(transaction),
    });
    return assured((await response.json()) as object);
  };
}

function byHttp(endpoint: string): Transact {
  const agent = new Agent({ keepAlive: true });
  return (transaction) =>
    new Promise((resolve, reject) => {
      const body = transactionBody(transaction);
      const headers = { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) };
      const asked = request(`${endpoint}/v3/kv/txn`, { method: 'POST', agent, headers }, (response) => {
        const pieces: Buffer[] = [];
        response.on('data', (piece: Buffer) => pieces.push(piece));
        response.on('end', () => resolve(assured(JSON.parse(Buffer.concat(pieces).toString()) as object)));
      });
      asked.on('error', reject);
      asked.end(body);
    });
}

/** One that fails is quicker, and measures nothing. */
function assured(answer: object): object {
  if (!('succeeded' in answer) || answer.succeeded !== true) throw new Error(JSON.stringify(answer));
  return answer;
}

interface Sample {
  readonly latenciesMs: number[];
  cpuMs: number;
}

/** The positions go on from one contestant to the next: each writes what a log would. */
class Log {
  position = 0;
  readonly leader: number;

  constructor(leader: number) {
    this.leader = leader;
  }

  next(): EtcdTransaction {
    this.position += 1;
    const key = `bench/log/${this.position.toString(16).padStart(16, '0')}`;
    return {
      compare: [
        { key: 'bench/leader', createRevision: this.leader },
        { key, createRevision: 0 },
      ],
      success: [put(key, new Uint8Array(BATCH_BYTES)), put('bench/head', String(this.position))],
      failure: [
        { do: 'get', key: 'bench/leader' },
        { do: 'get', key },
      ],
    };
  }
}

async function turn(transact: Transact, log: Log, sample: Sample | undefined): Promise<void> {
  const before = process.cpuUsage();
  const latencies: number[] = [];
  for (let count = 0; count < EACH; count += 1) {
    const transaction = log.next();
    const from = performance.now();
    await transact(transaction);
    latencies.push(performance.now() - from);
  }
  const { user, system } = process.cpuUsage(before);
  if (sample === undefined) return;
  sample.latenciesMs.push(...latencies);
  sample.cpuMs += (user + system) / 1_000;
}

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  if (installed('etcd') === undefined) throw new Error(leftOut('etcd'));
  // It sees to it that nothing is left when this is broken off.
  await using _ = new Workshop(tools);
  await using cluster = await EtcdCluster.start();
  const { endpoint } = await cluster.whenLed();
  const asking = new PromiseClient(realClient(cluster, { endpoints: [endpoint] }));
  const { revision } = done(await asking.put('bench/leader', 'x'));
  const [member] = await asking.health();
  const log = new Log(revision);
  const contestants: readonly (readonly [string, Transact])[] = [
    [FETCH, byFetch(endpoint)],
    [HTTP, byHttp(endpoint)],
    [OURS, async (transaction) => assured(done(await asking.transact(transaction)))],
  ];
  const samples = new Map(contestants.map(([name]) => [name, { latenciesMs: [], cpuMs: 0 } as Sample]));
  for (let round = 0; round < PRACTICE + ROUNDS; round += 1) {
    report(`round ${round + 1} of ${PRACTICE + ROUNDS}: ${EACH} transactions by each`);
    for (let index = 0; index < contestants.length; index += 1) {
      const [name, transact] = contestants[(index + round) % contestants.length] as (typeof contestants)[0];
      await turn(transact, log, round < PRACTICE ? undefined : samples.get(name));
    }
  }
  const figure = (metric: string, unit: string, of: (sample: Sample) => number): Figure => {
    const value = (name: string): number => of(samples.get(name) as Sample);
    return {
      metric,
      unit,
      ours: value(OURS),
      peers: [FETCH, HTTP].map((name) => ({ name, value: value(name) })),
      ratio: value(FETCH) / value(OURS),
      goal: 'not more than by fetch alone',
      met: value(OURS) <= value(FETCH),
    };
  };
  return {
    name: bench.name,
    conditions: {
      ...machineConditions(),
      etcd: `${member?.version}, three members on loopback, asked at the one that leads, each sync real`,
      transaction: `two comparisons, a batch of ${BATCH_BYTES} bytes and the head; one after the other`,
      rounds: `${ROUNDS} of ${EACH} each, in turn, after ${PRACTICE} that do not count`,
    },
    figures: [
      figure('work of our process, a transaction', 'µs', ({ cpuMs }) => (cpuMs * 1_000) / (ROUNDS * EACH)),
      figure('time of a transaction, median', 'ms', ({ latenciesMs }) => median(latenciesMs)),
      figure('time of a transaction, 99 %', 'ms', ({ latenciesMs }) => percentile(latenciesMs, 0.99)),
    ],
  };
}

export const bench: Bench = {
  name: 'etcd',
  describe: 'a transaction with etcd by our client, beside `fetch` and beside bare `node:http`',
  run,
};
