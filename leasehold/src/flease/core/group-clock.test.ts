import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { GroupClock } from './group-clock.ts';

const WALL_MS = 1_750_000_000_000;
const reading = (ms: number, aheadMs = 0) => ({
  now: instant(ms),
  wallMs: Math.floor(WALL_MS + ms + aheadMs),
});
const shows = (clock: GroupClock): number => clock.nowMs - WALL_MS;

/** Two clocks may be 40 ms apart; so a step of more than 20 is a jump. */
const begin = (ms = 0) => new GroupClock(reading(ms), 40);

describe('the clock of a group', () => {
  it('goes on with the wall clock', () => {
    const clock = begin();
    expect(clock.read(reading(500)) - WALL_MS).toBe(500);
    expect(clock.at(reading(700)) - WALL_MS).toBe(700);
    expect(shows(clock)).toBe(500);
  });

  it('is finer than the wall clock, and never a millisecond off', () => {
    const clock = begin(0.9);
    for (const ms of [1, 1.2, 1.9, 2.5, 77.77, 400.001]) {
      clock.read(reading(ms));
      expect(Math.abs(shows(clock) - ms)).toBeLessThan(1);
    }
    clock.read(reading(500));
    const beforeMs = shows(clock);
    clock.read(reading(500.25));
    expect(shows(clock) - beforeMs).toBeCloseTo(0.25, 3);
  });

  it('follows a small step ahead at once', () => {
    const clock = begin();
    clock.read(reading(100, 15));
    expect(shows(clock)).toBe(115);
  });

  it('stands still after a small step back until the wall clock has caught up', () => {
    const clock = begin();
    clock.read(reading(100));
    clock.read(reading(101, -15));
    expect(shows(clock)).toBe(100);
    clock.read(reading(110, -15));
    expect(shows(clock)).toBe(100);
    clock.read(reading(120, -15));
    expect(shows(clock)).toBeGreaterThanOrEqual(105);
    expect(shows(clock)).toBeLessThan(107);
  });

  it.each([25, -25, 3_600_000, -3_600_000])(
    'takes a step of %d ms for a jump, and then shows the wall clock',
    (byMs) => {
      const clock = begin();
      expect(clock.hasJumped(reading(100, byMs))).toBe(true);
      clock.read(reading(100, byMs));
      expect(shows(clock)).toBe(100 + byMs);
      expect(clock.hasJumped(reading(200, byMs))).toBe(false);
    },
  );

  it('takes many small steps back for a jump as soon as they amount to one', () => {
    const clock = begin();
    clock.read(reading(100));
    clock.read(reading(102, -15));
    expect(shows(clock)).toBe(100);
    expect(clock.hasJumped(reading(104, -30))).toBe(true);
    clock.read(reading(104, -30));
    expect(shows(clock)).toBe(74);
    expect(clock.hasJumped(reading(204, -30))).toBe(false);
  });

  it('follows small steps back for as long as it has caught up before the next', () => {
    const clock = begin();
    for (let steps = 1; steps <= 10; steps += 1) {
      const backMs = -15 * steps;
      expect(clock.hasJumped(reading(100 * steps, backMs)), `step ${steps}`).toBe(false);
      clock.read(reading(100 * steps, backMs));
      clock.read(reading(100 * steps + 50, backMs));
      expect(Math.abs(shows(clock) - (100 * steps + 50 + backMs))).toBeLessThanOrEqual(1);
    }
  });

  it.each([2, 3])('takes no jump for what is only the end of a millisecond: a skew of %d ms', (skewMs) => {
    const clock = new GroupClock(reading(0.999), skewMs);
    for (let ms = 1; ms < 200; ms += 0.37) {
      expect(clock.hasJumped(reading(ms)), `at ${ms}`).toBe(false);
      clock.read(reading(ms));
    }
  });

  it('takes a suspension for a jump: the monotonic clock stood still', () => {
    const clock = begin();
    clock.read(reading(100));
    expect(clock.hasJumped({ now: instant(101), wallMs: WALL_MS + 5_000 })).toBe(true);
  });

  it('says when it will have passed an instant, so that who is woken then finds it past', () => {
    const clock = begin();
    clock.read(reading(100));
    const at = clock.instantOf(WALL_MS + 250);
    expect(at).toBeGreaterThan(250);
    expect(at).toBeLessThan(250.01);
    expect(clock.instantOf(WALL_MS + 50)).toBeLessThan(100.01);
  });
});
