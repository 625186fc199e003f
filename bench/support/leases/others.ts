/**
 * How much of the machine went to processes that are no part of what is measured: what each of them used, with the
 * children that it has seen end, and what a host of virtual machines gave to somebody else.
 *
 * A process that ends adds all that it ever used to its parent's account. So what it had used before the first reading is taken
 * off, and what it used since is not lost.
 */

import { readdirSync, readFileSync } from 'node:fs';

/** Linux counts in hundredths of a second, whatever the machine. */
const TICK_MS = 10;

export interface Work {
  /** By process id. */
  readonly usedMs: ReadonlyMap<number, number>;
  readonly stolenMs: number;
  readonly atMs: number;
}

/** What all processes but ours have used so far. */
export function workOfOthers(ours: readonly number[]): Work {
  const usedMs = new Map<number, number>();
  for (const name of readdirSync('/proc')) {
    const pid = Number(name);
    if (!Number.isInteger(pid) || ours.includes(pid)) continue;
    const ticks = ticksOf(pid);
    if (ticks !== undefined) usedMs.set(pid, ticks * TICK_MS);
  }
  const [whole = ''] = readFileSync('/proc/stat', 'utf8').split('\n', 1);
  const stolen = Number(whole.trim().split(/\s+/)[8] ?? 0);
  return { usedMs, stolenMs: stolen * TICK_MS, atMs: performance.now() };
}

/** In user and kernel mode, its own and those of children that have ended; undefined if it has ended itself. */
function ticksOf(pid: number): number | undefined {
  try {
    // The name in parentheses may have spaces; the fields that count come after it.
    const fields = readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ').at(-1)?.split(' ') ?? [];
    return fields.slice(11, 15).reduce((sum, field) => sum + Number(field), 0);
  } catch {
    return undefined; // Its parent has its account by now.
  }
}

/** Others' share of one core between two readings, in per cent. */
export function othersPercent(from: Work, to: Work): number {
  let usedMs = to.stolenMs - from.stolenMs;
  for (const used of to.usedMs.values()) usedMs += used;
  for (const used of from.usedMs.values()) usedMs -= used;
  // Below nothing: somebody has ended whose parent did not care.
  return (100 * Math.max(0, usedMs)) / (to.atMs - from.atMs);
}
