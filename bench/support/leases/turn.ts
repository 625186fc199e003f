/**
 * One turn of one system: its batches, one after the other, and what they cost.
 *
 * A turn in which others used much of the machine is made again when they have finished, a few times at most; if the machine
 * does not become quiet, the quietest counts, and the reader is told how quiet that was.
 */

import process from 'node:process';
import { processCost } from '../process-cost.ts';
import { pause } from '../processes/conversation.ts';
import { median } from '../processes/statistics.ts';
import type { Batch, BatchTimes } from './asking.ts';
import { othersPercent, workOfOthers } from './others.ts';
import type { LeasePeer } from './peer.ts';

export const IN_FLIGHT = 256;
export const OTHERS_PERCENT_MAX = 15;
export const TRIES_MAX = 2;
const LOOK_EVERY_MS = 1_000;
const LOOKS_MAX = 5;

export interface BatchMeasured {
  readonly leases: number;
  readonly perSecond: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** Work of the client, a lease. */
  readonly clientMicros: number;
  /** Work of all others that belong to it, a lease. The kernel counts it in hundredths of a second. */
  readonly serverMicros: number;
}

export interface Turn {
  readonly batches: readonly BatchMeasured[];
  readonly othersPercent: number;
  /** How many were thrown away before this one. */
  readonly discarded: number;
}

/** Of the batch in the middle, as everywhere: one pause of the machine is not all that there is to say of a turn. */
export const rateOf = ({ batches }: Turn): number => median(batches.map(({ perSecond }) => perSecond));

/** No resource is asked for twice, in whatever turn. */
let asked = 0;

export async function measureBatch({ client, servers }: LeasePeer, leases: number): Promise<BatchMeasured> {
  const serversMs = (): number => servers.reduce((sum, pid) => sum + processCost(pid).cpuMs, 0);
  const batch: Batch = { prefix: `resource-${(asked += 1)}`, leases, inFlight: IN_FLIGHT };
  const before = serversMs();
  const { elapsedMs, p50Ms, p99Ms, cpuMs } = await client.ask<BatchTimes>('batch', batch);
  const after = serversMs();
  await client.ask('release');
  return {
    ...{ leases, p50Ms, p99Ms },
    perSecond: (leases / elapsedMs) * 1_000,
    clientMicros: (cpuMs * 1_000) / leases,
    serverMicros: ((after - before) * 1_000) / leases,
  };
}

export async function takeTurn(
  peer: LeasePeer,
  sizes: readonly number[],
  report: (line: string) => void,
  /** Who else works for the measurement at the time. */
  helpers: readonly number[] = [],
): Promise<Turn> {
  const pids = [process.pid, peer.client.pid, ...peer.servers, ...helpers];
  let quietest: Omit<Turn, 'discarded'> | undefined;
  for (let tries = 1; ; tries += 1) {
    const before = workOfOthers(pids);
    const batches: BatchMeasured[] = [];
    for (const leases of sizes) batches.push(await measureBatch(peer, leases));
    const others = othersPercent(before, workOfOthers(pids));
    if (quietest === undefined || others < quietest.othersPercent)
      quietest = { batches, othersPercent: others };
    if (others <= OTHERS_PERCENT_MAX || tries === TRIES_MAX) return { ...quietest, discarded: tries - 1 };
    report(`${peer.name}: others took ${others.toFixed(0)} % of a core; once more`);
    await quiet(pids);
  }
}

/** Resolves when others have left the machine alone for a second, or do not seem to. */
async function quiet(pids: readonly number[]): Promise<void> {
  for (let looks = 0; looks < LOOKS_MAX; looks += 1) {
    const before = workOfOthers(pids);
    await pause(LOOK_EVERY_MS);
    if (othersPercent(before, workOfOthers(pids)) <= OTHERS_PERCENT_MAX) return;
  }
}
