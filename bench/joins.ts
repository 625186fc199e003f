/**
 * A whole fleet starts at once, as after a power cut: 1,000 owners join one pool in the same moment, with the default
 * options, on one Manager that writes to a file. How long until the last owner is admitted, how long until every key
 * is served, and how many joins fail?
 *
 * The peer is an etcd to which 1,000 clients say in the same moment that they are there: a lease and one key each. That
 * is less than a join: nobody shares out keys, and nobody is told of the others.
 */

import process from 'node:process';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import type { JoinersAnswer, JoinersConfig } from './support/joins/joiners-process.ts';
import type { BatchTimes } from './support/leases/asking.ts';
import type { EtcdConfig } from './support/leases/etcd-process.ts';
import { machineConditions } from './support/machine.ts';
import { nowMs, pause } from './support/processes/conversation.ts';
import type { ManagerConfig } from './support/processes/manager-process.ts';
import { leftOut, openEtcd } from './support/processes/peers.ts';
import type { Program } from './support/processes/program.ts';
import { median, percentile } from './support/processes/statistics.ts';
import { Workshop } from './support/processes/workshop.ts';

/** A share of the owners, for a first look: `JOINS_SHARE=0.1 npm run bench -- joins`. */
const SHARE = Number(process.env['JOINS_SHARE'] ?? 1);
const OWNERS = 1_000 * SHARE;
/** One process with all of them would be measured itself. */
const PROCESSES = 4;
const ALL_WITHIN_MS = 10_000;
const SERVED_WITHIN_MS = 60_000;
const LOOK_EVERY_MS = 100;

interface Fleet {
  readonly admittedMs: readonly number[];
  readonly failures: readonly string[];
  /** Infinite if some keys were not served in time. */
  readonly servedMs: number;
  /** Processor time until then. */
  readonly managerCpuMs: number;
  readonly ownersCpuMs: number;
}

async function startFleet(workshop: Workshop): Promise<Fleet> {
  const config: ManagerConfig = { directory: workshop.folder('manager') };
  const manager = workshop.start('the Manager', await workshop.bundle('processes/manager-process'), config);
  const managers = [String((await manager.heard('ready'))['address'])];
  const bundle = await workshop.bundle('joins/joiners-process');
  const joiners = Array.from({ length: PROCESSES }, (_, part) => {
    const names = Array.from({ length: OWNERS / PROCESSES }, (_, index) => `owner-${part}-${index}`);
    const each: JoinersConfig = { managers, pool: 'fleet', names };
    return workshop.start(`owners ${part}`, bundle, each);
  });
  for (const joiner of joiners) await joiner.heard('ready');
  const startedAt = nowMs();
  const answers = await Promise.all(joiners.map((joiner) => joiner.ask<JoinersAnswer>('join')));
  let servedMs = Number.POSITIVE_INFINITY;
  while (servedMs === Number.POSITIVE_INFINITY && nowMs() - startedAt < SERVED_WITHIN_MS) {
    const shares = await Promise.all(joiners.map((joiner) => joiner.ask<{ share: number }>('share')));
    if (sum(shares.map(({ share }) => share)) > 0.999_999) servedMs = nowMs() - startedAt;
    else await pause(LOOK_EVERY_MS);
  }
  const managerCpuMs = await cpuMs(manager);
  const ownersCpuMs = sum(await Promise.all(joiners.map(cpuMs)));
  for (const program of [...joiners, manager]) program.kill();
  await Promise.all([...joiners, manager].map(({ ended }) => ended));
  return {
    admittedMs: answers.flatMap(({ admittedAtMs }) => admittedAtMs).map((at) => at - startedAt),
    failures: answers.flatMap(({ failures }) => failures),
    ...{ servedMs, managerCpuMs, ownersCpuMs },
  };
}

const cpuMs = async (program: Program): Promise<number> => (await program.ask<{ ms: number }>('cpu')).ms;
const sum = (values: readonly number[]): number => values.reduce((total, value) => total + value, 0);

async function startEtcdClients(workshop: Workshop): Promise<number | undefined> {
  const endpoint = await openEtcd(workshop);
  if (endpoint === undefined) return undefined;
  const config: EtcdConfig = { endpoint };
  const client = workshop.start('etcd clients', await workshop.bundle('leases/etcd-process'), config);
  await client.heard('ready');
  const batch = { prefix: 'fleet', leases: OWNERS, inFlight: OWNERS };
  const { elapsedMs } = await client.ask<BatchTimes>('batch', batch);
  return elapsedMs;
}

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  report(`${OWNERS} owners join at once`);
  const { admittedMs, failures, servedMs, managerCpuMs, ownersCpuMs } = await startFleet(workshop);
  const lastMs = failures.length === 0 ? Math.max(...admittedMs) : Number.POSITIVE_INFINITY;
  report(
    `admitted: p50 ${median(admittedMs).toFixed(0)} ms, p99 ${percentile(admittedMs, 0.99).toFixed(0)} ms; ${failures.length} failed; all keys served after ${servedMs.toFixed(0)} ms`,
  );
  const processorTime = `the Manager ${managerCpuMs.toFixed(0)} ms, the owners ${ownersCpuMs.toFixed(0)} ms`;
  report(`processor time: ${processorTime}`);
  const etcdMs = await startEtcdClients(workshop);
  report(
    etcdMs === undefined ? leftOut('etcd') : `etcd: ${OWNERS} leases and keys in ${etcdMs.toFixed(0)} ms`,
  );
  const peers = etcdMs === undefined ? [] : [{ name: 'etcd, a lease and a key each', value: etcdMs }];
  const within = (metric: string, ours: number): Figure => ({
    ...{ metric, unit: 'ms', ours, peers, ratio: etcdMs === undefined ? undefined : etcdMs / ours },
    goal: `at most ${ALL_WITHIN_MS} ms`,
    met: ours <= ALL_WITHIN_MS,
  });
  return {
    name: 'joins',
    conditions: {
      ...machineConditions(),
      owners: `${OWNERS} in ${PROCESSES} processes, joinPool with its defaults, 64 virtual nodes`,
      'median admission': `${median(admittedMs).toFixed(0)} ms`,
      'processor time': processorTime,
    },
    figures: [
      within(`the last of ${OWNERS} owners is admitted`, lastMs),
      within('every key is served', servedMs),
      {
        ...{ metric: 'joins that failed', unit: 'joins', ours: failures.length, peers: [] },
        ...{ goal: 'none', met: failures.length === 0 },
      },
    ],
  };
}

export const bench: Bench = {
  name: 'joins',
  describe: '1,000 owners that join one pool in the same moment, beside 1,000 clients of etcd',
  run,
};
