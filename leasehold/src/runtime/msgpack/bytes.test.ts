import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from './bytes.ts';
import { Flaw } from './flaw.ts';

const written = (write: (writer: ByteWriter) => void): string => {
  const writer = new ByteWriter();
  write(writer);
  return Buffer.from(writer.take()).toString('hex');
};
const readerOf = (hex: string): ByteReader => new ByteReader(Buffer.from(hex, 'hex'));
const refusal = (read: () => unknown): string | undefined => {
  try {
    read();
    return undefined;
  } catch (error) {
    if (error instanceof Flaw) return error.rule;
    throw error;
  }
};

describe('a varint', () => {
  it.each([
    [0, '00'],
    [127, '7f'],
    [128, '8001'],
    [300, 'ac02'],
    [2 ** 31 - 1, 'ffffffff07'],
    [2 ** 31, '8080808008'],
    [2 ** 32, '8080808010'],
    [2 ** 53 - 1, 'ffffffffffffff0f'],
  ])('of %d is %s', (value, hex) => {
    expect(written((writer) => writer.varint(value))).toBe(hex);
    expect(readerOf(hex).varint()).toBe(value);
  });

  it('is read as it was written', () => {
    fc.assert(
      fc.property(fc.array(fc.maxSafeNat()), (values) => {
        const writer = new ByteWriter();
        for (const value of values) writer.varint(value);
        const reader = new ByteReader(writer.take());
        expect(values.map(() => reader.varint())).toEqual(values);
        expect(reader.left).toBe(0);
      }),
    );
  });

  it.each([
    ['', 'ends too early'],
    ['80', 'ends too early'],
    ['ffffffffffffff', 'ends too early'],
    ['8000', 'must not be longer than it need be'],
    ['ff8000', 'must not be longer than it need be'],
    ['ffffffffffffff10', 'must be below 2^53'],
    ['ffffffffffffffff01', 'must be below 2^53'],
    ['80'.repeat(1_000), 'must be below 2^53'],
  ])('is refused as %s', (hex, rule) => {
    expect(refusal(() => readerOf(hex).varint())).toBe(rule);
  });
});

describe('a place', () => {
  it('has 64 bits, the big end first, and 2^64 is written as 0', () => {
    expect(written((writer) => writer.place(0x0123_4567_89ab_cdefn))).toBe('0123456789abcdef');
    expect(written((writer) => writer.place(1n << 64n))).toBe('0000000000000000');
    expect(readerOf('ffffffffffffffff').place()).toBe((1n << 64n) - 1n);
  });
});

describe('a text', () => {
  const roundTrip = (text: string): string => {
    const writer = new ByteWriter();
    writer.text(text, (length) => writer.varint(length));
    const reader = new ByteReader(writer.take());
    return reader.text(reader.varint());
  };

  it('is read as it was written, with its byte-order mark if it has one', () => {
    for (const text of ['', 'plain', 'é', '€', '😀', '\ufeffmarked', '\u0000', 'x'.repeat(100_000)]) {
      expect(roundTrip(text)).toBe(text);
    }
    fc.assert(fc.property(fc.string({ unit: 'binary' }), (text) => roundTrip(text) === text));
  });

  it.each(['c328', 'e28228', 'c0af', 'eda080', 'f4908080', 'ff'])(
    'is refused if it is no UTF-8: %s',
    (hex) => {
      expect(refusal(() => readerOf(hex).text(hex.length / 2))).toBe('must be UTF-8');
    },
  );
});

describe('a reader', () => {
  it('does not read beyond its end, whatever it is asked for', () => {
    const reads: ((reader: ByteReader) => unknown)[] = [
      (reader) => reader.uint8(),
      (reader) => reader.int8(),
      (reader) => reader.uint16(),
      (reader) => reader.int16(),
      (reader) => reader.uint32(),
      (reader) => reader.int32(),
      (reader) => reader.uint64(),
      (reader) => reader.int64(),
      (reader) => reader.float32(),
      (reader) => reader.float64(),
      (reader) => reader.place(),
      (reader) => reader.bytes(8),
      (reader) => reader.bytes(2 ** 32 - 1),
      (reader) => reader.text(8),
      (reader) => reader.text(2 ** 32 - 1),
    ];
    // The frame ends in the middle of a piece of memory that goes on.
    const memory = new Uint8Array(64);
    for (const read of reads) {
      expect(refusal(() => read(new ByteReader(memory.subarray(8, 8))))).toBe('ends too early');
    }
  });

  it('says what is left over', () => {
    expect(refusal(() => readerOf('0000').finish())).toBe('has 2 bytes too many');
    expect(refusal(() => readerOf('').finish())).toBeUndefined();
  });
});

describe('a writer', () => {
  it('grows as it must, and can be used again', () => {
    const writer = new ByteWriter();
    const long = 'x'.repeat(3_000_000);
    for (const text of [long, 'short', long]) {
      writer.uint8(1);
      writer.text(text, (length) => writer.uint32(length));
      expect(writer.take().length).toBe(5 + text.length);
      expect(writer.length).toBe(0);
    }
  });

  it('keeps nothing of what was taken', () => {
    const writer = new ByteWriter();
    writer.uint8(1);
    const first = writer.take();
    writer.uint8(2);
    expect([...first, ...writer.take()]).toEqual([1, 2]);
  });
});
