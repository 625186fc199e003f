import { once } from 'node:events';
import { Worker } from 'node:worker_threads';
import { describe, expect, it } from 'vitest';
import { ownMs, processorMs, whereThisThreadIs } from './thread-time.mjs';

/** Calculates for so much processor time, by the clock of this thread or process. */
function calculate(ms: number): void {
  const startedAt = processorMs(whereThisThreadIs(), 1);
  while (processorMs(whereThisThreadIs(), 1) - startedAt < ms);
}

describe("a thread's own time", () => {
  it('grows with what the thread calculates', () => {
    const where = whereThisThreadIs();
    const before = processorMs(where, 1);
    calculate(50);
    expect(processorMs(where, 1) - before).toBeGreaterThanOrEqual(50);
  });

  it('is not that of another thread', async () => {
    const worker = new Worker(
      `const { parentPort } = require('node:worker_threads');
       const { readlinkSync, existsSync } = require('node:fs');
       parentPort.postMessage(existsSync('/proc/thread-self') ? '/proc/' + readlinkSync('/proc/thread-self') + '/stat' : undefined);
       parentPort.on('message', () => undefined);`,
      { eval: true },
    );
    const [where] = (await once(worker, 'message')) as [string | undefined];
    const before = processorMs(where, 2);
    calculate(200);
    // Where only the process's time is known, each of two threads is taken to have had half.
    expect(processorMs(where, 2) - before).toBeLessThanOrEqual(where === undefined ? 110 : 50);
    await worker.terminate();
  });

  it('grows while the thread has nothing to do', async () => {
    const worker = new Worker(`require('node:worker_threads').parentPort.on('message', () => undefined)`, {
      eval: true,
    });
    await once(worker, 'online');
    // Ends when half a second was idle; a thread that waits for a processor takes longer to get there.
    while (ownMs(worker, undefined, Number.POSITIVE_INFINITY) < 500) {
      await new Promise((resolve) => setTimeout(resolve, 20));
    }
    await worker.terminate();
  });

  it('is a part of the time of the process where threads are not told apart', () => {
    const before = processorMs(undefined, 4);
    calculate(80);
    expect(processorMs(undefined, 4) - before).toBeGreaterThanOrEqual(20 - 10 / 4);
  });
});
