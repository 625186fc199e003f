/**
 * What `docs/ratelimit.md` promises of the sum of all processes, judged by what the processes themselves said: when each let a request through, and by what.
 *
 * The kernel's monotonic clock is one for all processes of a machine, so the bound on clock rates is left out: in any interval of t seconds at most limit × t + burst, and one burst
 * more for each fresh start in the interval. A bucket that is full again at each fresh start allows exactly this.
 */

/** Between what a process does and the line in which the process says so, on a busy machine. */
const LATE_MS = 150;

export interface PromisedRate {
  /** A second. */
  readonly limit: number;
  readonly burst: number;
}

/** The most tokens above the promise in any interval since then; at most 0 if the promise was kept. A process says a little later that it is the owner. */
export function mostAbove(
  { limit, burst }: PromisedRate,
  admittedMs: readonly number[],
  freshStartsMs: readonly number[],
  fromMs: number,
): number {
  const events = [
    ...admittedMs.map((atMs) => ({ atMs, isStart: false })),
    ...freshStartsMs.map((atMs) => ({ atMs: atMs - LATE_MS, isStart: true })),
  ].filter(({ atMs }) => atMs >= fromMs);
  let [level, lastMs, most] = [burst, fromMs, 0];
  for (const { atMs, isStart } of events.sort((one, other) => one.atMs - other.atMs)) {
    level = Math.min(burst, level + ((atMs - lastMs) * limit) / 1_000) + (isStart ? burst : -1);
    lastMs = atMs;
    most = Math.max(most, -level);
  }
  return most - (limit * LATE_MS) / 1_000;
}

export type Stall = readonly [fromMs: number, toMs: number];

/** How much of an interval some process waited for a processor. */
export function disturbedMs(stalls: readonly Stall[], sinceMs: number, untilMs: number): number {
  let [sumMs, countedToMs] = [0, sinceMs];
  for (const [fromMs, toMs] of [...stalls].sort(([one], [other]) => one - other)) {
    sumMs += Math.max(0, Math.min(toMs, untilMs) - Math.max(fromMs, countedToMs));
    countedToMs = Math.max(countedToMs, toMs);
  }
  return sumMs;
}
