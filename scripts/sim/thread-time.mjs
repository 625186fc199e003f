/**
 * A thread's own time: how long it calculated, and how long it had nothing to do.
 *
 * A busy machine makes a thread wait for a processor, for as long as it likes. Such a wait is in neither of the two, so a
 * limit on a thread's own time says the same of a run on every machine. A run that calculates for ever uses up its
 * limit as processor time; a run that waits for something that never comes, as idle time of its event loop.
 *
 *     wall time   ██████░░░░░██░░░░░░████──────────
 *     own time    ██████     ██      ████──────────    █ calculates   ─ waits for nothing   ░ waits for a processor
 *
 * Linux tells the processor time of each thread in `/proc`. Elsewhere only that of the process is known: a thread is
 * then taken to have had an equal part of it, which has no wall time in it either.
 */

import { readFileSync, readlinkSync } from 'node:fs';
import process from 'node:process';

/** @import { Worker } from 'node:worker_threads' */

/** Linux counts processor time in ticks of 10 ms wherever Node runs. */
const TICK_MS = 10;

/**
 * Where Linux tells of the thread that asks, for another thread to read; undefined on other systems.
 *
 * @returns {string | undefined}
 */
export function whereThisThreadIs() {
  try {
    return `/proc/${readlinkSync('/proc/thread-self')}/stat`;
  } catch {
    return undefined; // There is no such file: this is not Linux.
  }
}

/**
 * The processor time of a thread, by what {@link whereThisThreadIs} said in it.
 *
 * @param {string | undefined} where
 * @param {number} threads among how many the process's time is divided when `where` is not known
 */
export function processorMs(where, threads) {
  if (where === undefined) {
    const { user, system } = process.cpuUsage();
    return (user + system) / 1000 / threads;
  }
  const text = readFileSync(where, 'utf8');
  // The name of the program is in brackets, and may have spaces in it; user and system time are the 12th and 13th field after it.
  const fields = text.slice(text.lastIndexOf(')') + 2).split(' ');
  return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
}

/**
 * @param {Worker} worker
 * @param {string | undefined} where
 * @param {number} threads
 */
export const ownMs = (worker, where, threads) =>
  processorMs(where, threads) + worker.performance.eventLoopUtilization().idle;
