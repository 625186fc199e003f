import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { resolveDurations } from './durations.ts';
import { Link } from './link.ts';

const durations = resolveDurations(); // Down after 1 s, up after 0.5 s.
const first = { startedMs: 1, nonce: 0 };
const second = { startedMs: 2, nonce: 0 };

/** A link on which every stamp comes back 10 ms later, from one instant to another. */
function beat(link: Link, fromMs: number, toMs: number): void {
  for (let ms = fromMs; ms <= toMs; ms += 250) {
    link.hear(first, instant(ms));
    link.prove(instant(ms - 10), instant(ms));
    link.update(instant(ms));
  }
}

describe('a link', () => {
  it('is up after half a second of echoes, and not by heartbeats alone', () => {
    const link = new Link('b', durations);
    for (let ms = 0; ms < 5_000; ms += 250) {
      link.hear(first, instant(ms));
      link.update(instant(ms));
    }
    expect(link.isUp).toBe(false);
    beat(link, 5_000, 5_250);
    expect(link.isUp).toBe(false);
    beat(link, 5_500, 5_500);
    expect(link.isUp).toBe(true);
  });

  it('is down when the newest echoed stamp was sent a second ago, however late its echo came', () => {
    const link = new Link('b', durations);
    beat(link, 0, 1_000);
    expect(link.isUp).toBe(true);
    link.prove(instant(1_500), instant(1_510));
    link.update(instant(2_499));
    expect(link.isUp).toBe(true);
    link.update(instant(2_500));
    expect(link.isUp).toBe(false);
  });

  it('waits twice as long after each break', () => {
    const link = new Link('b', durations);
    beat(link, 0, 1_000);
    link.break(instant(1_000));
    beat(link, 1_250, 2_000);
    expect(link.isUp).toBe(false);
    beat(link, 2_250, 2_250);
    expect(link.isUp).toBe(true);
  });

  it('is down when the peer restarts, and ignores the process before', () => {
    const link = new Link('b', durations);
    beat(link, 0, 1_000);
    expect(link.hear(second, instant(3))).toBe(true);
    expect(link.isUp).toBe(false);
    expect(link.incarnation).toEqual(second);
    expect(link.hear(first, instant(2_000))).toBe(false);
    expect(link.heard).toEqual({ incarnation: second, stamp: 3 });
  });

  it('compares clocks anew after a suspension, in which the own clock stood still', () => {
    const beatFrom = (link: Link, ahead: number, fromMs: number): void => {
      for (let ms = fromMs; ms <= fromMs + 20_000; ms += 250) {
        link.hear(first, instant(ms + ahead));
        link.prove(instant(ms - 10), instant(ms));
      }
    };
    const link = new Link('b', durations);
    beatFrom(link, 0, 0);
    beatFrom(link, 8_000, 20_250); // The peer's clock went on for 8 s more.
    expect(link.clockRate).toBeGreaterThan(1.2);
    link.break(instant(40_500));
    expect(link.clockRate).toBeUndefined();
    beatFrom(link, 8_000, 40_500);
    expect(link.clockRate).toBeUndefined();
  });
});
