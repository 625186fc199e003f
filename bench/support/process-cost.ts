/** What a process has cost so far, by what the kernel says of it. */

import { readFileSync } from 'node:fs';

export interface ProcessCost {
  readonly cpuMs: number;
  readonly residentBytes: number;
  readonly atMs: number;
}

/** Linux counts in hundredths of a second, whatever the machine. */
const TICK_MS = 10;

export function processCost(pid: number): ProcessCost {
  // The name in parentheses may have spaces; the fields that count come after it.
  const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
  const [user, system] = [Number(fields[11]), Number(fields[12])];
  const resident = /VmRSS:\s+(\d+) kB/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1];
  return {
    cpuMs: (user + system) * TICK_MS,
    residentBytes: Number(resident) * 1024,
    atMs: performance.now(),
  };
}

/** The share of one core between two readings, in per cent. */
export const cpuPercent = (from: ProcessCost, to: ProcessCost): number =>
  (100 * (to.cpuMs - from.cpuMs)) / (to.atMs - from.atMs);
