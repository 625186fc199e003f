import { describe, expect, it } from 'vitest';
import { put } from './operation.ts';
import { LEASE_MS, Trio } from './testing/trio.ts';

const value = new Uint8Array([1]);
const LONG_MS = 30 * LEASE_MS;

/** A cell in which the clock of one follower runs at this rate. */
function withRate(rate: number): {
  readonly trio: Trio;
  readonly odd: string;
  readonly others: readonly string[];
} {
  const trio = new Trio();
  const odd = trio.follower;
  trio.submit(trio.leader, put('k', value));
  trio.setRate(odd, rate);
  return { trio, odd, others: ['a', 'b', 'c'].filter((name) => name !== odd) };
}

const isLeased = (trio: Trio, name: string): boolean => trio.replica(name).isLeased(['k'], trio.nowOf(name));
const tooFast = (trio: Trio, name: string): string[] => [...trio.replica(name).view.clocks.tooFast.keys()];

describe('a replica whose clock is slower than the bound allows', () => {
  it('counts no promise any more, within three seconds', () => {
    const { trio, odd, others } = withRate(0.7);
    trio.pass(3_000);
    expect(tooFast(trio, odd)).toEqual(others);
    expect(isLeased(trio, odd)).toBe(false);
    for (const other of others) {
      expect(tooFast(trio, other)).toEqual([]);
      expect(isLeased(trio, other)).toBe(true);
    }
  });

  it('reads nothing locally when it is cut off and the others write, which its clock alone would allow', () => {
    const { trio, odd } = withRate(0.4);
    trio.pass(1_500); // Some promises were counted, and the last ones were not.
    trio.cutOff.add(odd);
    trio.begin(trio.leader, put('k', value));
    const { log } = trio.replica(trio.leader).view;
    let wasStale = false;
    for (let ms = 0; ms < 3 * LEASE_MS; ms += 10) {
      trio.pass(10);
      wasStale ||= log.committed > trio.replica(odd).view.log.last && isLeased(trio, odd);
    }
    expect(log.committed).toBeGreaterThan(trio.replica(odd).view.log.last);
    expect(wasStale).toBe(false);
  });

  it('counts promises again when its clock has been within the bound for a while', () => {
    const { trio, odd } = withRate(0.7);
    trio.pass(3_000);
    trio.setRate(odd, 1);
    trio.pass(LONG_MS);
    expect(tooFast(trio, odd)).toEqual([]);
    expect(isLeased(trio, odd)).toBe(true);
  });

  it('begins to compare anew after a suspension', () => {
    const { trio, odd } = withRate(0.7);
    trio.pass(3_000);
    trio.input(odd, (replica) => replica.suspended(trio.nowOf(odd)));
    expect(tooFast(trio, odd)).toEqual([]);
  });
});

describe('a replica whose clock is faster than the bound allows', () => {
  it('loses the trust of the others, who go on with each other', () => {
    const { trio, odd, others } = withRate(1.5);
    trio.pass(3_000);
    for (const other of others) {
      expect(tooFast(trio, other)).toEqual([odd]);
      expect(isLeased(trio, other)).toBe(true);
    }
    expect(tooFast(trio, odd)).toEqual([]);
    expect(isLeased(trio, odd)).toBe(true);
  });
});

describe('a replica whose clock keeps within the bound', () => {
  it.each([1 / 1.2, 0.9, 1.1, 1.2])('is trusted and trusts at a rate of %d', (rate) => {
    const { trio, odd, others } = withRate(rate);
    for (let ms = 0; ms < LONG_MS; ms += 1_000) {
      trio.pass(1_000);
      for (const name of [odd, ...others]) expect(tooFast(trio, name)).toEqual([]);
    }
    for (const name of [odd, ...others]) expect(isLeased(trio, name)).toBe(true);
  });
});
