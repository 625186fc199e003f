/** A replica of the group that is measured, in a process of its own, which can also measure reads within this process. */

import { monitorEventLoopDelay } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate as endOfTurn } from 'node:timers/promises';
import { startReplica, type StartReplicaOptions } from 'leasehold/quorum';
import { nowMs, obey, say, told } from '../processes/conversation.ts';

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
  return { perSecond: (reads * 1_000) / ms, ...(await readLocally(keys, ms)) };
}

/** So long the process reads without looking at its sockets: one that never looks hears no promise, and reads nothing when the last one is over. */
const SLICE_MS = 10;

/** The same without promises. A read that the lease does not allow counts for nothing; the time between the slices counts, too. */
async function readLocally(
  keys: readonly string[],
  ms: number,
): Promise<{ readonly perSecondLocal: number; readonly notLocal: number }> {
  const until = nowMs() + ms;
  let reads = 0;
  let notLocal = 0;
  while (nowMs() < until) {
    for (const sliceUntil = nowMs() + SLICE_MS; nowMs() < sliceUntil; )
      for (const key of keys)
        if (replica.getLocal(key) === undefined) notLocal += 1;
        else reads += 1;
    await endOfTurn();
  }
  return { perSecondLocal: (reads * 1_000) / ms, notLocal };
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
obey({ readWithin, strain, status: () => ({ ...replica.status() }) });
