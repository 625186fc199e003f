/**
 * The clock of the test process, which nothing makes false. The kernel's monotonic clock is one for all
 * processes of a machine, so what programs say by it can be compared with what is measured here, unless
 * a test has given them another.
 */
export const nowMs = (): number => Number(process.hrtime.bigint() / 1_000n) / 1_000;

export const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

/** For waiting until something is so: long, because it only matters when it is not. No promise is judged by it, only what hangs. */
export const PATIENCE_MS = 240_000;

/** Resolves with the first answer that is not undefined. Asking takes half of the time at most: else it would be the load that it waits for. */
export async function until<T>(
  what: string,
  ask: () => T | undefined | Promise<T | undefined>,
  withinMs: number = PATIENCE_MS,
): Promise<T> {
  const deadline = nowMs() + withinMs;
  for (;;) {
    const askedMs = nowMs();
    const answer = await ask();
    if (answer !== undefined) return answer;
    if (nowMs() > deadline) throw new Error(`not within ${withinMs} ms: ${what}`);
    await pause(5 + nowMs() - askedMs);
  }
}
