/**
 * The one who asks for leases: each time for as many as the batch has, never more than so many at once, each
 * for a resource that nobody has asked for before.
 *
 * The time of a lease runs from the call until the lease is held. A lease that is refused is no slow lease but a
 * mistake in the measurement, and ends it.
 */

import process from 'node:process';
import type { Commands } from '../processes/conversation.ts';
import { percentile } from '../processes/statistics.ts';

const RELEASED_AT_ONCE = 256;

export interface Batch {
  /** What the names of its resources begin with. */
  readonly prefix: string;
  readonly leases: number;
  readonly inFlight: number;
}

export interface BatchTimes {
  /** From the first call until the last lease is held. */
  readonly elapsedMs: number;
  readonly p50Ms: number;
  readonly p99Ms: number;
  /** What it cost the one who asked. */
  readonly cpuMs: number;
}

export async function askForLeases(
  acquire: (resource: string) => Promise<unknown>,
  { prefix, leases, inFlight }: Batch,
): Promise<BatchTimes> {
  const latenciesMs = new Float64Array(leases);
  let next = 0;
  const work = async (): Promise<void> => {
    while (next < leases) {
      const index = next++;
      const askedMs = performance.now();
      await acquire(`${prefix}-${index}`);
      latenciesMs[index] = performance.now() - askedMs;
    }
  };
  const cpuBefore = process.cpuUsage();
  const startedMs = performance.now();
  await Promise.all(Array.from({ length: inFlight }, work));
  const elapsedMs = performance.now() - startedMs;
  const { user, system } = process.cpuUsage(cpuBefore);
  const all = [...latenciesMs];
  return {
    elapsedMs,
    p50Ms: percentile(all, 0.5),
    p99Ms: percentile(all, 0.99),
    cpuMs: (user + system) / 1_000,
  };
}

/**
 * What a client that only asks is told to do. Between two batches it gives back what it has, as ours does: a server that
 * keeps all leases of all batches would become slower with each.
 */
export function askingCommands<Lease>(
  acquire: (resource: string) => Promise<Lease>,
  release: (lease: Lease) => Promise<unknown>,
): Commands {
  const held: Lease[] = [];
  return {
    batch: async (batch: Batch) => ({
      ...(await askForLeases(async (resource) => held.push(await acquire(resource)), batch)),
    }),
    release: async () => {
      const giveBack = async (): Promise<void> => {
        for (let lease = held.pop(); lease !== undefined; lease = held.pop()) await release(lease);
      };
      await Promise.all(Array.from({ length: RELEASED_AT_ONCE }, giveBack));
      return {};
    },
  };
}
