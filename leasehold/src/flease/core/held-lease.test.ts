import { describe, expect, it } from 'vitest';
import { HeldLease } from './held-lease.ts';

const newLease = (): HeldLease => new HeldLease('job', { number: 7, untilMs: 2_000 });

describe('a lease that is held', () => {
  it('is held until its end, by the clock, whatever it is called', () => {
    const held = newLease();
    expect([held.isHeldAt(2_000), held.isHeldAt(2_001), held.state]).toEqual([true, false, 'held']);
    held.noticed();
    expect([held.isHeldAt(2_000), held.state]).toEqual([true, 'ending']);
  });

  it('is as before if it is renewed, also after its holder was told that it ends', () => {
    const held = newLease();
    held.noticed();
    held.renewed({ number: 7, untilMs: 3_000 });
    expect([held.isHeldAt(3_000), held.state]).toEqual([true, 'held']);
  });

  it('is never held again once it is over', () => {
    const held = newLease();
    held.end('lapsed');
    expect([held.isHeldAt(1_000), held.ended]).toEqual([false, 'lapsed']);
  });

  it('was given back if a majority knows, and is only over if nobody is told any more', () => {
    const [told, untold] = [newLease(), newLease()];
    for (const each of [told, untold]) {
      each.end('released');
      each.leaving();
      expect(each.state).toBe('leaving');
    }
    told.givenBack();
    told.left();
    untold.left();
    expect([told.state, untold.state]).toEqual(['given-back', 'over']);
  });
});
