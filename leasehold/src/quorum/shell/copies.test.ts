import { describe, expect, it } from 'vitest';
import { copyOf } from './copies.ts';

describe('a copy of a value', () => {
  it('has the same bytes, whatever its length, and changes neither the value nor another copy', () => {
    const lengths = [0, 1, 200, 2_048, 2_049, 3_000];
    const values = lengths.flatMap((length) =>
      Array.from({ length: 8 }, (_, n) => new Uint8Array(length).fill(n)),
    );
    const copies = values.map(copyOf);
    expect(copies).toEqual(values);
    for (const [place, copy] of copies.entries()) if (place % 2 === 0) copy.fill(0xff);
    for (const [place, value] of values.entries()) {
      expect(value[0]).not.toBe(0xff);
      if (place % 2 === 1) expect(copies[place]).toEqual(value);
    }
  });
});
