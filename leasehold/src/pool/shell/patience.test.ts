import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { Patience } from './patience.ts';

// A lease of 9 s, renewed every 1.5 s; a question is repeated after half a second.
const patience = (): Patience =>
  new Patience({ leaseMs: 9_000, renewEveryMs: 1_500, retryMs: 500 }, instant(0));

describe('whoever leaves, and hears nothing', () => {
  it('waits for two questions to be answered if nothing was held', () => {
    expect(patience().until).toBe(1_000);
  });

  it('waits until what was held has run out, and as long again as for two questions', () => {
    const waiting = patience();
    waiting.held(instant(8_200));
    waiting.held(instant(3_000));
    expect(waiting.until).toBe(9_200);
  });

  it('waits no longer for what had run out before', () => {
    const waiting = patience();
    waiting.held(instant(-90_000));
    expect(waiting.until).toBe(1_000);
  });
});

describe('whoever leaves, and is answered something else', () => {
  it('waits for the next renewal, and two questions', () => {
    const waiting = patience();
    waiting.heard(instant(900));
    expect(waiting.until).toBe(3_400);
  });

  it('does not wait for longer than one and a half leases, however often that is', () => {
    const waiting = patience();
    for (let now = 0; now < 20_000; now += 500) waiting.heard(instant(now));
    expect(waiting.until).toBe(13_500);
  });
});
