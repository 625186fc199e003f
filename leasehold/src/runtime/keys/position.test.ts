import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidOptionError } from '../errors.ts';
import {
  checkPosition,
  formatPosition,
  highOf,
  lowOf,
  parsePosition,
  positionOf,
  RING_SIZE,
} from './position.ts';

const edges = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, RING_SIZE - 1n];
const positions = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: 0n, max: RING_SIZE - 1n }));

describe('a position', () => {
  it('is its high word times 2^32 plus its low word', () => {
    fc.assert(
      fc.property(positions, (position) => {
        expect(highOf(position)).toBe(Number(position / 2n ** 32n));
        expect(lowOf(position)).toBe(Number(position % 2n ** 32n));
        expect(positionOf(highOf(position), lowOf(position))).toBe(position);
      }),
    );
  });

  it('is written as 16 hexadecimal digits', () => {
    expect(formatPosition(0n)).toBe('0000000000000000');
    expect(formatPosition(0x3fn << 56n)).toBe('3f00000000000000');
    expect(formatPosition(RING_SIZE - 1n)).toBe('ffffffffffffffff');
  });

  it('is read back as it was written, in small letters or capitals', () => {
    fc.assert(
      fc.property(positions, (position) => {
        expect(parsePosition(formatPosition(position))).toBe(position);
        expect(parsePosition(formatPosition(position).toUpperCase())).toBe(position);
      }),
    );
  });

  it('sorts as text the way it sorts as a number', () => {
    fc.assert(
      fc.property(positions, positions, (one, other) => {
        expect(formatPosition(one) < formatPosition(other)).toBe(one < other);
      }),
    );
  });

  it.each(['', '0', '3f', '0x00000000000000', '00000000000000000', '000000000000000g', ' 000000000000000'])(
    'is not read from "%s"',
    (text) => expect(() => parsePosition(text)).toThrow(InvalidOptionError),
  );

  it('is nothing below 0 and nothing from 2^64 on', () => {
    for (const position of edges) expect(checkPosition(position)).toBe(position);
    for (const outside of [-1n, RING_SIZE, RING_SIZE + 1n, -RING_SIZE]) {
      expect(() => checkPosition(outside)).toThrow(InvalidOptionError);
      expect(() => formatPosition(outside)).toThrow(InvalidOptionError);
    }
  });
});
