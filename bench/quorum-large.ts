/**
 * A replica that missed everything catches up with a large state while the others serve.
 *
 * Three replicas, real processes on one machine, every write synced. One is killed; a gigabyte is written; the killed replica is started
 * again. The missing slots are compacted away, so that replica gets a snapshot, in parts. Meanwhile a client writes and reads at the
 * leader, at a steady rate. Measured: the time, how long the leader's event loop stood still at most, the latency of writes with and
 * without the transfer, and the memory of each.
 *
 * There is no peer: etcd keeps the state on disk. For a quick run: `QUORUM_LARGE_MB=100`.
 */

import { readFileSync } from 'node:fs';
import process from 'node:process';
import { setTimeout as pause } from 'node:timers/promises';
import { connectQuorum, type QuorumClient, silent } from '../leasehold/src/quorum/index.ts';
import type { Bench, BenchResult, BenchTools, Figure } from '../scripts/bench/bench.ts';
import { machineConditions } from './support/machine.ts';
import { nowMs } from './support/processes/conversation.ts';
import type { Program } from './support/processes/program.ts';
import { percentile } from './support/processes/statistics.ts';
import { freePort, Workshop } from './support/processes/workshop.ts';

const STATE_MB = Number(process.env['QUORUM_LARGE_MB'] ?? 1_024);
const VALUE_BYTES = 4_096;
const KEYS: number = Math.ceil((STATE_MB * 1_048_576) / VALUE_BYTES);
const BATCH = 512;
const STALL_MS = 50;
const STEADY_PER_SECOND = 200;
const LEADER = 0;
const LAGGARD = 2;
const NAMES = ['a', 'b', 'c'];

interface Strain {
  readonly stallMs: number;
  /** The longest turn by processor time: what the machine does for others is not in it. */
  readonly turnMs: number;
  readonly collectionMs: number;
  readonly heapMb: number;
}

const keyOf = (at: number): string => `large/${at}`;

/** Writes and reads at a steady rate until told to stop. */
async function steady(client: QuorumClient, until: () => boolean): Promise<readonly number[]> {
  const value = new Uint8Array(VALUE_BYTES);
  const latencies: number[] = [];
  const underWay: Promise<void>[] = [];
  for (let at = 0; !until(); at += 1) {
    const from = nowMs();
    const call = at % 2 === 0 ? client.put(keyOf(at % KEYS), value) : client.get(keyOf(at % KEYS));
    underWay.push(call.then(() => void latencies.push(nowMs() - from)));
    await pause(1_000 / STEADY_PER_SECOND);
  }
  await Promise.all(underWay);
  return latencies;
}

/** The most memory that a process has had, in MB. */
const peakMb = (pid: number): number =>
  Number(/VmHWM:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1] ?? 0) / 1_024;

const figure = (
  metric: string,
  unit: string,
  ours: number,
  goal?: { words: string; met: boolean },
): Figure => ({
  ...{ metric, unit, ours, peers: [], ratio: undefined, goal: goal?.words, met: goal?.met },
});

async function run(report: (line: string) => void, tools: BenchTools): Promise<BenchResult> {
  await using workshop = new Workshop(tools);
  const ports = await Promise.all(NAMES.map(() => freePort()));
  const peers = Object.fromEntries(NAMES.map((name, at) => [name, `127.0.0.1:${ports[at]}`]));
  const bundle = await workshop.bundle('quorum/replica-process');
  const start = (name: string): Program =>
    workshop.start(`replica ${name}`, bundle, { name, directory: workshop.folder(name), peers });
  const programs = NAMES.map(start);
  await Promise.all(programs.map((program) => program.heard('ready')));
  const servers = [peers['a'] as string, peers['b'] as string];
  await using client = await connectQuorum({ servers, inOrder: true, logger: silent });
  await client.stepDown({ to: 'a' }).catch(() => {}); // Perhaps a leads already.
  const [leader, laggard] = [programs[LEADER] as Program, programs[LAGGARD] as Program];
  laggard.kill();
  await laggard.ended;

  report(`writing ${STATE_MB} MB in values of ${VALUE_BYTES} bytes, with one replica down`);
  const value = new Uint8Array(VALUE_BYTES);
  const fillFrom = nowMs();
  await leader.ask('strain');
  for (let at = 0; at < KEYS; at += BATCH) {
    const count = Math.min(BATCH, KEYS - at);
    const entries = Array.from({ length: count }, (_, place) => [keyOf(at + place), value] as const);
    await client.putMany(entries, { timeoutMs: 60_000 });
    if (at % (BATCH * 128) === 0) report(`${Math.round((100 * at) / KEYS)} %`);
  }
  const fillS = (nowMs() - fillFrom) / 1_000;
  const filling = await leader.ask<Strain>('strain');

  report('serving without the third replica');
  const calmUntil = nowMs() + 5_000;
  const calm = await steady(client, () => nowMs() > calmUntil);
  const idle = await leader.ask<Strain>('strain');

  report('the third replica comes back');
  const backFrom = nowMs();
  const back = start('c');
  let isBack = false;
  const busy = steady(client, () => isBack);
  await back.heard('ready');
  await using direct = await connectQuorum({ servers: [peers['c'] as string], logger: silent });
  const { revision } = await client.put('large/last', 'x', { timeoutMs: 60_000 });
  for (;;) {
    const found = await direct.get('large/last', { mode: 'weak', timeoutMs: 120_000 });
    if (found.revision >= revision) break;
    await pause(50);
  }
  const catchUpS = (nowMs() - backFrom) / 1_000;
  isBack = true;
  const latencies = await busy;
  const sending = await leader.ask<Strain>('strain');
  const receiving = await back.ask<Strain>('strain');
  const stallMs = Math.max(filling.stallMs, sending.stallMs);
  return {
    name: 'quorum-large',
    conditions: {
      ...machineConditions(),
      ...{ 'state in MB': STATE_MB, 'value in bytes': VALUE_BYTES, keys: KEYS },
      'steady load': `${STEADY_PER_SECOND}/s, half writes, half reads`,
    },
    figures: [
      figure('filling the state', 's', fillS),
      figure('catching up, from the start of the process', 's', catchUpS),
      figure('longest stall of the leader while it writes snapshots', 'ms', filling.stallMs),
      figure('longest stall of the leader while it sends one', 'ms', sending.stallMs),
      figure('longest stall of the leader', 'ms', stallMs, {
        words: 'at most 50 ms',
        met: stallMs <= STALL_MS,
      }),
      figure('longest stall of the leader in the calm between', 'ms', idle.stallMs),
      ...(['filling', 'calm', 'sending'] as const).flatMap((phase) => {
        const { turnMs, collectionMs } = { filling, calm: idle, sending }[phase];
        return [
          figure(`its longest turn by processor time, ${phase}`, 'ms', turnMs),
          figure(`its longest collection of memory, ${phase}`, 'ms', collectionMs),
        ];
      }),
      figure('p99 of calls, without a transfer', 'ms', percentile([...calm], 0.99)),
      figure('p99 of calls, during the transfer', 'ms', percentile([...latencies], 0.99)),
      figure('most memory of the leader', 'MB', peakMb(leader.pid)),
      figure('most memory of the replica that catches up', 'MB', peakMb(back.pid)),
      figure('its heap after that', 'MB', receiving.heapMb),
    ],
  };
}

export const bench: Bench = {
  name: 'quorum-large',
  describe: 'A replica catches up with a gigabyte of state while the others serve: time, stalls, memory.',
  run,
};
