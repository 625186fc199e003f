/**
 * For tests only: time as a process of this machine gets it: a clock that stands still while a process that wants to run has to wait.
 *
 * A limit such as "another leads within 6 s" is a promise of the code on a machine that lets it run. On a busy machine every
 * process waits for a processor before each of its steps, for as long as others like. So the test process measures how that is: it
 * wants to run every 10 ms. A tick that comes on time counts in full; of one that comes late, no more than two ticks count.
 *
 *     ticks        │ │ │ │       │ │   │ │ │          wall time   16
 *     counted      1 1 1 1       2 1   2 1 1          undisturbed 11
 *
 * On a quiet machine the two are the same, so the limits are as sharp there as if they were of wall time. What the test process itself
 * calculates is counted as a disturbance, too: a test that judges by this clock must not calculate much meanwhile.
 */

const nowMs = (): number => performance.now();

const TICK_MS = 10;
const MOST_MS = 2 * TICK_MS;

export class UndisturbedTime {
  #ms = 0;
  #lastMs: number;

  constructor(nowMs: number) {
    this.#lastMs = nowMs;
  }

  tick(nowMs: number): number {
    this.#ms += Math.min(nowMs - this.#lastMs, MOST_MS);
    this.#lastMs = nowMs;
    return this.#ms;
  }
}

/** From now on. It ticks until the test process ends. */
export class Stopwatch {
  readonly #startedMs: number = nowMs();
  readonly #startedUndisturbedMs: number = undisturbedMs();

  /** What is to be compared with a limit. */
  get ms(): number {
    return undisturbedMs() - this.#startedUndisturbedMs;
  }

  /** How much of the wall time does not count. */
  get disturbedMs(): number {
    return nowMs() - this.#startedMs - this.ms;
  }
}

/** From now on, by the clock `now`, each time in which this process wanted to run and could not. */
export function watchStalls(now: () => number, heard: (fromMs: number, toMs: number) => void): void {
  let lastMs = now();
  const look = (): void => {
    const [fromMs, toMs] = [lastMs + MOST_MS, now()];
    lastMs = toMs;
    if (toMs > fromMs) heard(fromMs, toMs);
  };
  setInterval(look, TICK_MS).unref();
}

const time = new UndisturbedTime(nowMs());
setInterval(undisturbedMs, TICK_MS).unref();

function undisturbedMs(): number {
  return time.tick(nowMs());
}
