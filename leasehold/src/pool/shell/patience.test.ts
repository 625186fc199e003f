import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { Patience } from './patience.ts';

// A lease of 9 s; a question is repeated after half a second. It begins to leave at 0.
const patience = (): Patience => new Patience({ leaseMs: 9_000, retryMs: 500 }, instant(0));

describe('whoever leaves, and is not answered', () => {
  it('waits for two questions to be answered if it never heard a Manager', () => {
    expect(patience().until).toBe(1_000);
  });

  it('waits until its lease has run out, and as long again as for two questions', () => {
    const waiting = patience();
    waiting.heard(instant(-1_200));
    expect(waiting.until).toBe(8_800);
  });

  it('waits no longer for a lease that had run out before', () => {
    const waiting = patience();
    waiting.heard(instant(-90_000));
    expect(waiting.until).toBe(1_000);
  });
});

describe('whoever leaves, and is answered something else', () => {
  it('has a lease again, which is worth waiting for', () => {
    const waiting = patience();
    waiting.heard(instant(900));
    expect(waiting.until).toBe(10_900);
  });

  it('does not wait for longer than one and a half leases, however often that is', () => {
    const waiting = patience();
    for (let now = 0; now < 20_000; now += 500) waiting.heard(instant(now));
    expect(waiting.until).toBe(13_500);
  });
});
