/** A replica of the cell that is measured, in a process of its own, which can also measure reads within this process. */

import { readFileSync } from 'node:fs';
import { monitorEventLoopDelay, PerformanceObserver } from 'node:perf_hooks';
import process from 'node:process';
import { setImmediate as endOfTurn } from 'node:timers/promises';
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

const TICK_MS = 5;
const delay = monitorEventLoopDelay({ resolution: TICK_MS });
delay.enable();

/** The processor time of the thread that runs JavaScript: on a machine that others use, a stall is not ours unless it took that much. */
const ownMs = (): number => Number(readFileSync('/proc/self/schedstat', 'utf8').split(' ')[0]) / 1e6;

let turnMs = 0;
let lastOwnMs = ownMs();
setInterval(() => {
  const nowOwnMs = ownMs();
  turnMs = Math.max(turnMs, nowOwnMs - lastOwnMs);
  lastOwnMs = nowOwnMs;
}, TICK_MS);

let collectionMs = 0;
new PerformanceObserver((list) => {
  for (const { duration } of list.getEntries()) collectionMs = Math.max(collectionMs, duration);
}).observe({ entryTypes: ['gc'] });

/** Since this was asked last: how long the event loop stood still at most, the longest turn by processor time, the longest collection; and the heap. */
function strain(): { stallMs: number; turnMs: number; collectionMs: number; heapMb: number } {
  const seen = { stallMs: delay.max / 1e6, turnMs, collectionMs };
  delay.reset();
  turnMs = 0;
  collectionMs = 0;
  return { ...seen, heapMb: process.memoryUsage().heapUsed / 1_048_576 };
}

say('ready', { pid: process.pid });
obey({ cpu, readWithin, strain, status: () => ({ ...replica.status() }) });
