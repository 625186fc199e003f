import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { Setbacks } from './setbacks.ts';

const place = { from: 'a', start: 0n };

describe('moves that came to nothing', () => {
  it('are not tried again for half a second, then for twice as long each time, and never for more than 30 s', () => {
    const setbacks = new Setbacks();
    const pauses: number[] = [];
    let now = 0;
    for (let times = 0; times < 9; times += 1) {
      setbacks.note({ ...place, to: 'b' }, instant(now));
      const next = Number(setbacks.nextAfter(instant(now)));
      expect([setbacks.pauses(place, instant(next - 1)), setbacks.pauses(place, instant(next))]).toEqual([
        true,
        false,
      ]);
      pauses.push(next - now);
      now = next;
    }
    expect(pauses).toEqual([500, 1_000, 2_000, 4_000, 8_000, 16_000, 30_000, 30_000, 30_000]);
  });

  it('are remembered with their last target, for the keys from one position of one owner', () => {
    const setbacks = new Setbacks();
    setbacks.note({ ...place, to: 'b' }, instant(0));
    setbacks.note({ ...place, to: 'c' }, instant(600));
    expect(setbacks.lastTarget(place, instant(600))).toBe('c');
    for (const other of [
      { from: 'a', start: 1n },
      { from: 'b', start: 0n },
    ])
      expect([setbacks.lastTarget(other, instant(600)), setbacks.pauses(other, instant(0))]).toEqual([
        undefined,
        false,
      ]);
  });

  it('are trouble of another day half a minute after their pause: no target is avoided, and the next pause is the first', () => {
    const setbacks = new Setbacks();
    setbacks.note({ ...place, to: 'b' }, instant(0));
    expect(setbacks.lastTarget(place, instant(30_499))).toBe('b');
    expect(setbacks.lastTarget(place, instant(30_500))).toBeUndefined();
    setbacks.note({ ...place, to: 'b' }, instant(30_500));
    expect(setbacks.nextAfter(instant(30_500))).toBe(31_000);
  });

  it('of keys that are elsewhere are forgotten', () => {
    const setbacks = new Setbacks();
    setbacks.note({ ...place, to: 'b' }, instant(0));
    setbacks.keep(({ from }) => from !== 'a');
    expect([setbacks.lastTarget(place, instant(0)), setbacks.nextAfter(instant(0))]).toEqual([
      undefined,
      undefined,
    ]);
  });
});
