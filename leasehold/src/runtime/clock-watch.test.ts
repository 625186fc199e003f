import { describe, expect, it } from 'vitest';
import { instant } from './time.ts';
import { ClockWatch } from './clock-watch.ts';

const WINDOW_MS = 15_000;
const TOLERANCE_MS = 100;

/** The rate that is found after heartbeats every 250 ms, each under way for as long as `underWayMs` says and known to within 300 ms more. */
function rateAfter(
  seconds: number,
  rate: number,
  underWayMs: (index: number) => number = () => 1,
): number | undefined {
  const watch = new ClockWatch(WINDOW_MS, TOLERANCE_MS);
  for (let index = 0; index * 250 < seconds * 1_000; index += 1) {
    const sentMs = index * 250;
    const delayMs = underWayMs(index);
    watch.read({ stamp: instant(sentMs * rate), at: instant(sentMs + delayMs), delayMs: delayMs + 300 });
  }
  return watch.rate;
}

describe('the watch over a peer’s clock', () => {
  it('finds a clock that is too fast or too slow, and how fast it is at least, or at most', () => {
    expect(rateAfter(40, 1.4)).toBeGreaterThan(1.35);
    expect(rateAfter(40, 1.4)).toBeLessThan(1.4);
    expect(rateAfter(40, 1 / 1.4)).toBeLessThan(1 / 1.35);
    expect(rateAfter(40, 1 / 1.4)).toBeGreaterThan(1 / 1.4);
  });

  it('finds a large difference within a second, and a small one when the window is over', () => {
    expect(rateAfter(1, 5)).toBeGreaterThan(1.2);
    expect(rateAfter(2, 1.25)).toBeUndefined();
    expect(rateAfter(WINDOW_MS / 1_000 + 1, 1.25)).toBeGreaterThan(1.2);
  });

  it.each([1.2, 1, 1 / 1.2])(
    'finds nothing at a rate of %d, which the bound allows, however late heartbeats are',
    (rate) => {
      expect(rateAfter(90, rate)).toBeUndefined();
      expect(rateAfter(90, rate, (index) => (index * 7_919) % 2_000)).toBeUndefined();
      expect(rateAfter(90, rate, (index) => (index < 50 ? 5_000 : 0))).toBeUndefined();
      expect(rateAfter(90, rate, (index) => (index < 200 ? 0 : 9_000))).toBeUndefined();
    },
  );
});
