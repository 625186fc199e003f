import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { LeaveDeadline } from './leave-deadline.ts';

// A lease of 9 s; a report is repeated after half a second. The owner begins to leave at 0.
const deadline = (): LeaveDeadline => new LeaveDeadline({ leaseMs: 9_000, retryMs: 500 }, instant(0));

describe('a leaving owner that no Manager answers', () => {
  it('waits for the answers to two reports if it never heard a Manager', () => {
    expect(deadline().until).toBe(1_000);
  });

  it('waits until its lease has expired, and then for the answers to two reports', () => {
    const waiting = deadline();
    waiting.heard(instant(-1_200));
    expect(waiting.until).toBe(8_800);
  });

  it('does not wait for a lease that expired before it began to leave', () => {
    const waiting = deadline();
    waiting.heard(instant(-90_000));
    expect(waiting.until).toBe(1_000);
  });
});

describe('a leaving owner that is answered, but not told that it has left', () => {
  it('waits for the lease that the answer renews', () => {
    const waiting = deadline();
    waiting.heard(instant(900));
    expect(waiting.until).toBe(10_900);
  });

  it('waits one and a half leases at most, however often it is answered', () => {
    const waiting = deadline();
    for (let now = 0; now < 20_000; now += 500) waiting.heard(instant(now));
    expect(waiting.until).toBe(13_500);
  });
});
