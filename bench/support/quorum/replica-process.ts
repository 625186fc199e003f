/** A replica of the group that is measured, in a process of its own, which can also measure reads within this process. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { startReplica, type StartReplicaOptions } from 'leasehold/quorum';
import { cpu, nowMs, obey, say, told } from '../processes/conversation.ts';

const replica = await startReplica(told<StartReplicaOptions>());
await replica.ready();

/** Reads keys by turns with many calls under way, and counts the reads of a second. */
async function readWithin({ keys, inFlight, ms }: { keys: readonly string[]; inFlight: number; ms: number }) {
  const until = nowMs() + ms;
  let reads = 0;
  const lane = async (): Promise<void> => {
    for (let at = 0; nowMs() < until; at += 1) {
      await replica.client.get(keys[at % keys.length] as string);
      reads += 1;
    }
  };
  await Promise.all(Array.from({ length: inFlight }, lane));
  return { perSecond: (reads * 1_000) / ms, perSecondLocal: readLocally(keys, ms) };
}

/** The same without promises; a read that the lease does not allow counts for nothing. */
function readLocally(keys: readonly string[], ms: number): number {
  const until = nowMs() + ms;
  let reads = 0;
  while (nowMs() < until) for (const key of keys) if (replica.getLocal(key) !== undefined) reads += 1;
  return (reads * 1_000) / ms;
}

const delay = monitorEventLoopDelay({ resolution: 5 });
delay.enable();

/** How long the event loop stood still at most since this was asked last, and the size of the heap. */
function strain(): { stallMs: number; heapMb: number } {
  const stallMs = delay.max / 1e6;
  delay.reset();
  return { stallMs, heapMb: process.memoryUsage().heapUsed / 1_048_576 };
}

say('ready', { pid: process.pid });
obey({ cpu, readWithin, strain, status: () => ({ ...replica.status() }) });
