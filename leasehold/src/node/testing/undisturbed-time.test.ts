import { describe, expect, it } from 'vitest';
import { Stopwatch, UndisturbedTime } from './undisturbed-time.ts';

describe('undisturbed time', () => {
  it('is wall time while the ticks come on time', () => {
    const time = new UndisturbedTime(1_000);
    for (let ms = 1_010; ms < 2_000; ms += 10) time.tick(ms);
    expect(time.tick(2_000)).toBe(1_000);
  });

  it('counts no more than two ticks of a tick that comes late', () => {
    const time = new UndisturbedTime(1_000);
    expect(time.tick(1_500)).toBe(20);
    expect(time.tick(1_510)).toBe(30);
  });

  it('stands still while the event loop does', () => {
    const stopwatch = new Stopwatch();
    const untilMs = performance.now() + 200;
    while (performance.now() < untilMs) Math.sqrt(untilMs);
    expect(stopwatch.ms).toBeLessThanOrEqual(20);
    expect(stopwatch.disturbedMs).toBeGreaterThanOrEqual(180);
  });
});
