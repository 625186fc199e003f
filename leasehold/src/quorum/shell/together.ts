/** One promise for many calls: resolves when all are settled, and rejects with the first error. */
export function together(
  count: number,
  signal: AbortSignal | undefined,
  start: (place: number, settle: () => void, reject: (error: unknown) => void) => void,
): Promise<void> {
  return new Promise((resolve, reject) => {
    signal?.throwIfAborted();
    let left = count;
    if (left === 0) resolve();
    const settle = (): void => {
      left -= 1;
      if (left === 0) resolve();
    };
    for (let place = 0; place < count; place += 1) start(place, settle, reject);
  });
}
