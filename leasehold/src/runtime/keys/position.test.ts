import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../errors.ts';
import { checkHash, formatHash, highOf, lowOf, parseHash, hashOf, RING_SIZE } from './position.ts';

const edges = [0n, 1n, 2n ** 32n - 1n, 2n ** 32n, 2n ** 63n, RING_SIZE - 1n];
const positions = fc.oneof(fc.constantFrom(...edges), fc.bigInt({ min: 0n, max: RING_SIZE - 1n }));

describe('a position', () => {
  it('is its high word times 2^32 plus its low word', () => {
    fc.assert(
      fc.property(positions, (position) => {
        expect(highOf(position)).toBe(Number(position / 2n ** 32n));
        expect(lowOf(position)).toBe(Number(position % 2n ** 32n));
        expect(hashOf(highOf(position), lowOf(position))).toBe(position);
      }),
    );
  });

  it('is written as 16 hexadecimal digits', () => {
    expect(formatHash(0n)).toBe('0000000000000000');
    expect(formatHash(0x3fn << 56n)).toBe('3f00000000000000');
    expect(formatHash(RING_SIZE - 1n)).toBe('ffffffffffffffff');
  });

  it('is read back as it was written, in small letters or capitals', () => {
    fc.assert(
      fc.property(positions, (position) => {
        expect(parseHash(formatHash(position))).toBe(position);
        expect(parseHash(formatHash(position).toUpperCase())).toBe(position);
      }),
    );
  });

  it('sorts as text the way it sorts as a number', () => {
    fc.assert(
      fc.property(positions, positions, (one, other) => {
        expect(formatHash(one) < formatHash(other)).toBe(one < other);
      }),
    );
  });

  it.each(['', '0', '3f', '0x00000000000000', '00000000000000000', '000000000000000g', ' 000000000000000'])(
    'is not read from "%s"',
    (text) => expect(() => parseHash(text)).toThrow(InvalidArgumentError),
  );

  it('is nothing below 0 and nothing from 2^64 on', () => {
    for (const position of edges) expect(checkHash(position)).toBe(position);
    for (const outside of [-1n, RING_SIZE, RING_SIZE + 1n, -RING_SIZE]) {
      expect(() => checkHash(outside)).toThrow(InvalidArgumentError);
      expect(() => formatHash(outside)).toThrow(InvalidArgumentError);
    }
  });
});
