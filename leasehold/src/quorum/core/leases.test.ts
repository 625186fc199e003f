import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { bit, EVERYBODY } from './configuration.ts';
import { CLOCK_RATE_BOUND } from '../../runtime/clock-rates.ts';
import { holdFor, LeaseMachine, SUSPENSION_NOTICED_MS } from './leases.ts';

const LEASE_MS = 1_000;
const at = instant;

describe('a holder', () => {
  it('holds until then for a claim, if what the grantor had accepted is reached', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    leases.promised('g', leases.ask(LEASE_MS, at(0)), 5, at(1));
    expect(leases.heldUntil('g', 5)).toBe(at(LEASE_MS));
    expect(leases.heldUntil('g', 4)).toBe(Number.NEGATIVE_INFINITY);
    expect(leases.heldUntil('h', 5)).toBe(Number.NEGATIVE_INFINITY);
  });

  it('counts its lease from the question, whenever the answer comes', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    const asked = leases.ask(LEASE_MS, at(0));
    leases.promised('g', asked, 5, at(900));
    expect(leases.heldUntil('g', 5) > at(999)).toBe(true);
    expect(leases.heldUntil('g', 5) > at(1_000)).toBe(false);
  });

  it('does not read before it has reached what its grantor had', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    leases.promised('g', leases.ask(LEASE_MS, at(0)), 5, at(1));
    expect(leases.heldUntil('g', 4) > at(2)).toBe(false);
  });

  it('keeps the lowest floor of a chain, and takes a new one after a gap', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    leases.promised('g', leases.ask(LEASE_MS, at(0)), 5, at(1));
    leases.promised('g', leases.ask(LEASE_MS, at(500)), 9, at(501));
    expect(leases.heldUntil('g', 5) > at(502)).toBe(true);
    leases.promised('g', leases.ask(LEASE_MS, at(2_000)), 9, at(2_001));
    expect(leases.heldUntil('g', 5) > at(2_002)).toBe(false);
    expect(leases.lapses).toBe(1);
  });

  it('takes no promise for a question that it has given up, or of another life', () => {
    const leases = new LeaseMachine(2, at(0), 0);
    const asked = leases.ask(LEASE_MS, at(0));
    leases.promised('g', { ...asked, life: 1 }, 5, at(1));
    leases.release();
    leases.promised('h', asked, 5, at(1));
    expect([leases.heldUntil('g', 5) > at(2), leases.heldUntil('h', 5) > at(2)]).toEqual([false, false]);
  });
});

describe('a grantor', () => {
  it('keeps a promise for longer than the slowest clock makes a lease last, by the fastest clock', () => {
    const [slowest, fastest] = [1 / Math.sqrt(CLOCK_RATE_BOUND), Math.sqrt(CLOCK_RATE_BOUND)];
    const longestLeaseMs = (LEASE_MS + SUSPENSION_NOTICED_MS) / slowest;
    expect(holdFor(LEASE_MS) / fastest).toBeCloseTo(longestLeaseMs, 6);
  });

  it('keeps a seat in its mask until the promise ends, also if the holder has moved to another seat', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    leases.grant('h', bit(2), { life: 1, number: 1 }, LEASE_MS, at(0));
    leases.grant('h', bit(4), { life: 1, number: 2 }, LEASE_MS, at(10));
    expect(leases.mask(at(20))).toBe(bit(2) | bit(4));
    expect(leases.mask(at(20 + holdFor(LEASE_MS)))).toBe(0);
  });

  it('does not let a late release undo a later question', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    leases.grant('h', bit(2), { life: 1, number: 2 }, LEASE_MS, at(0));
    leases.released('h', { life: 1, number: 1 });
    expect(leases.mask(at(1))).toBe(bit(2));
    leases.released('h', { life: 1, number: 2 });
    expect(leases.mask(at(1))).toBe(0);
  });

  it('does not let an older question that arrives late lower what a release must reach', () => {
    const leases = new LeaseMachine(1, at(0), 0);
    leases.grant('h', bit(2), { life: 1, number: 2 }, LEASE_MS, at(0));
    leases.grant('h', bit(2), { life: 1, number: 1 }, LEASE_MS, at(1));
    leases.released('h', { life: 1, number: 1 });
    expect(leases.mask(at(2))).toBe(bit(2));
  });

  it('counts everybody as promised for the longest hold of its earlier lives', () => {
    const leases = new LeaseMachine(2, at(0), 700);
    expect(leases.mask(at(699))).toBe(EVERYBODY);
    expect(leases.mask(at(700))).toBe(0);
  });
});
