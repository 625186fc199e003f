import { describe, expect, it } from 'vitest';
import { keyPosition } from '../../runtime/keys/hash.ts';
import { RangeSet } from '../../runtime/keys/range-set.ts';
import type { HeldKey } from './held-keys.ts';
import { LeasedMap } from './leased-map.ts';

/** A key whose lease can be lost and given again; a number continues another one if both are of one line. */
function bench() {
  let line: readonly number[] = [5];
  const isContinuous = (_: unknown, number: number): boolean => line.includes(number);
  const hold = (key = 'alice'): HeldKey => {
    const number = line.at(-1) ?? 0;
    return {
      ...{ key, number, signal: new AbortController().signal, [Symbol.dispose]: () => {} },
      isContinuous: () => isContinuous(key, number),
    };
  };
  const map = new LeasedMap<{ count: number }>(isContinuous);
  return { map, hold, lease: (...numbers: number[]) => (line = numbers) };
}

describe('state that is kept with its lease', () => {
  it('is there while the key is held, and under a number that continues the first', () => {
    const { map, hold, lease } = bench();
    const state = map.get(hold()) ?? map.set(hold(), { count: 0 });
    state.count += 1;
    expect(map.get(hold())).toBe(state);
    lease(5, 8);
    expect(map.get(hold())).toEqual({ count: 1 });
  });

  it('is gone when somebody else can have held the key, and does not come back', () => {
    const { map, hold, lease } = bench();
    map.set(hold(), { count: 1 });
    lease(9);
    expect([map.get(hold()), map.size]).toEqual([undefined, 0]);
  });

  it('is not written under the next lease by work that has lost its own', () => {
    const { map, hold, lease } = bench();
    const late = hold();
    lease(9);
    for (const use of [() => map.set(late, { count: 1 }), () => map.get(late), () => map.delete(late)])
      expect(use).toThrow(expect.objectContaining({ code: 'LEASE_LOST', number: 5 }));
    expect(map.get(hold())).toBeUndefined();
  });

  it('can be deleted, and is forgotten with its keys', () => {
    const { map, hold } = bench();
    for (const key of ['alice', 'bob']) map.set(hold(key), { count: 1 });
    expect([map.delete(hold('alice')), map.delete(hold('alice'))]).toEqual([true, false]);
    const bob = keyPosition('bob');
    map.forget(RangeSet.of([{ start: bob, end: bob + 1n }]));
    expect(map.size).toBe(0);
  });
});
