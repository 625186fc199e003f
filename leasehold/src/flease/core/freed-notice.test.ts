import { describe, expect, it } from 'vitest';
import { FreedNotice } from './freed-notice.ts';

const PAUSE_MS = 10;

describe('a word that a lease may be had', () => {
  it('is looked into at once the first time', () => {
    const notice = new FreedNotice(false, 1_000);
    notice.received(1_000, PAUSE_MS);
    expect([notice.isOpen, notice.atMs]).toEqual([true, 1_000]);
  });

  it('changes nothing until it has been looked into', () => {
    const notice = new FreedNotice(false, 1_000);
    notice.received(1_000, PAUSE_MS);
    notice.received(1_005, PAUSE_MS);
    expect(notice.atMs).toBe(1_000);
    notice.attempted();
    expect(notice.isOpen).toBe(false);
  });

  it('is looked into after a pause when it is said again, twice as long each time, up to sixteen times', () => {
    const notice = new FreedNotice(false, 1_000);
    const pauses = Array.from({ length: 8 }, () => {
      const beforeMs = notice.atMs;
      notice.received(beforeMs, PAUSE_MS);
      notice.attempted();
      return notice.atMs - beforeMs;
    });
    expect(pauses).toEqual([0, 10, 20, 40, 80, 160, 160, 160]);
  });

  it('is looked into at once again if the pause is over by then', () => {
    const notice = new FreedNotice(false, 1_000);
    notice.received(1_000, PAUSE_MS);
    notice.attempted();
    notice.received(1_500, PAUSE_MS);
    expect(notice.atMs).toBe(1_500);
  });
});
