import { Buffer } from 'node:buffer';
import { pack, unpack } from 'msgpackr';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { ByteReader, ByteWriter } from './bytes.ts';
import { Flaw } from './flaw.ts';
import {
  LONGEST_KEY,
  MapWriter,
  MOST_ENTRIES,
  readMap,
  writeBytesHead,
  writeNumber,
  writeText,
} from './msgpack.ts';

const read = (bytes: Uint8Array) => {
  const reader = new ByteReader(bytes);
  const map = readMap(reader);
  reader.finish();
  return map;
};
const bytesOf = (...parts: readonly string[]): Uint8Array =>
  Buffer.concat(parts.map((part) => Buffer.from(part.replaceAll(' ', ''), 'hex')));
const refusal = (...parts: readonly string[]): string | undefined => {
  try {
    read(bytesOf(...parts));
    return undefined;
  } catch (error) {
    if (error instanceof Flaw) return error.rule;
    throw error;
  }
};
/** `{ a: … }` */
const A = '81 a1 61';
const ascii = (text: string): string => Buffer.from(text, 'latin1').toString('hex');

describe('an envelope', () => {
  it('has texts, numbers, flags, bytes, nothing, and maps of these', () => {
    const bytes = bytesOf(
      '87',
      'a1 61 a2 c3 a9', // a: é
      'a1 62 cd 01 00', // b: 256
      'a1 63 c3', // c: true
      'a1 64 c4 02 de ad', // d: two bytes
      'a1 65 c0', // e: nil
      'a1 66 cb 3f e0 00 00 00 00 00 00', // f: 0.5
      'a1 67 81 a1 61 c2', // g: { a: false }
    );
    expect(read(bytes)).toEqual(
      new Map<string, unknown>([
        ['a', 'é'],
        ['b', 256],
        ['c', true],
        ['d', Buffer.of(0xde, 0xad)],
        ['e', undefined],
        ['f', 0.5],
        ['g', new Map([['a', false]])],
      ]),
    );
  });

  it.each([
    ['7f', 127],
    ['e0', -32],
    ['cc ff', 255],
    ['cd ff ff', 65_535],
    ['ce ff ff ff ff', 2 ** 32 - 1],
    ['cf 00 1f ff ff ff ff ff ff', 2 ** 53 - 1],
    ['cf ff ff ff ff ff ff ff ff', 2 ** 64],
    ['d0 80', -128],
    ['d1 80 00', -32_768],
    ['d2 80 00 00 00', -(2 ** 31)],
    ['d3 00 00 00 00 00 00 00 05', 5],
    ['d3 ff ff ff ff ff ff ff ff', -1],
    ['ca 3f 00 00 00', 0.5],
    ['cb 7f f0 00 00 00 00 00 00', Number.POSITIVE_INFINITY],
  ])('has a number in any form: %s', (hex, value) => {
    expect(read(bytesOf(A, hex)).get('a')).toBe(value);
  });

  it.each(['a1 78', 'd9 01 78', 'da 00 01 78', 'db 00 00 00 01 78'])('has a text in any form: %s', (hex) => {
    expect(read(bytesOf(A, hex)).get('a')).toBe('x');
  });

  it.each(['c4 01 07', 'c5 00 01 07', 'c6 00 00 00 01 07'])('has bytes in any form: %s', (hex) => {
    expect([...(read(bytesOf(A, hex)).get('a') as Uint8Array)]).toEqual([7]);
  });

  it.each(['81', 'de 00 01', 'df 00 00 00 01'])('is a map in any form: %s', (hex) => {
    expect(read(bytesOf(hex, 'a1 61 01'))).toEqual(new Map([['a', 1]]));
  });
});

describe('bytes that are no envelope are refused where that is seen', () => {
  it.each([
    ['nothing', '', 'ends too early'],
    ['a number', '01', 'must be a map'],
    ['a list', '91 01', 'must be a map'],
    ['a map of four thousand million', 'df ff ff ff ff', 'must have at most 32 entries'],
    ['a map of 65,535', 'de ff ff', 'must have at most 32 entries'],
    ['a map with fewer entries than it says', '82 a1 61 01', 'ends too early'],
    ['a list of four thousand million', `${A} dd ff ff ff ff`, 'must not have a value of type 0xdd'],
    ['a list of 65,535', `${A} dc ff ff`, 'must not have a value of type 0xdc'],
    ['an empty list', `${A} 90`, 'must not have a value of type 0x90'],
    ['bytes, four thousand million', `${A} c6 ff ff ff ff`, 'ends too early'],
    ['a text of four thousand million', `${A} db ff ff ff ff`, 'ends too early'],
    [
      'a key of four thousand million',
      '81 db ff ff ff ff',
      'must have keys that are texts of at most 16 bytes',
    ],
    ['a key that is a number', '81 01 01', 'must have keys that are texts of at most 16 bytes'],
    ['a key that is a map', '81 80 01', 'must have keys that are texts of at most 16 bytes'],
    ['an inner map of four thousand million', `${A} df ff ff ff ff`, 'must have at most 32 entries'],
    ['a map in a map in a map', `${A} ${A} ${A} 01`, 'must not have maps so deep'],
    ['a type that does not exist', `${A} c1`, 'must not have a value of type 0xc1'],
    ['a timestamp', `${A} d6 ff 00 00 00 01`, 'must not have a value of type 0xd6'],
    ['a fixed extension', `${A} d4 72 40`, 'must not have a value of type 0xd4'],
    ['a long extension', `${A} c9 ff ff ff ff 01`, 'must not have a value of type 0xc9'],
    ['the same key twice', '82 a1 61 01 a1 61 02', 'must not have a key twice'],
    ['the same key in two forms', '82 a1 61 01 d9 01 61 02', 'must not have a key twice'],
    ['the same key twice, within', `${A} 82 a1 62 01 a1 62 01`, 'must not have a key twice'],
    ['one byte too many', `${A} 01 00`, 'has 1 bytes too many'],
    ['a second envelope behind it', `${A} 01 ${A} 01`, 'has 4 bytes too many'],
    ['a text that is no UTF-8', `${A} a2 c3 28`, 'must be UTF-8'],
    ['a key that is no UTF-8', '81 a1 ff 01', 'must be UTF-8'],
  ])('%s', (_, hex, rule) => {
    expect(refusal(hex)).toBe(rule);
  });

  it('maps without end, however many', () => {
    expect(refusal(A.repeat(1_000_000))).toBe('must not have maps so deep');
    expect(refusal(`${A}`, '91'.repeat(1_000_000))).toBe('must not have a value of type 0x91');
  });

  it(`more than ${MOST_ENTRIES} entries, or keys longer than ${LONGEST_KEY} bytes`, () => {
    const entries = (count: number) =>
      Array.from({ length: count }, (_, index) => `a2 ${ascii(String(10 + index))} 01`).join('');
    expect(refusal('de 00 20', entries(32))).toBeUndefined();
    expect(refusal('de 00 21', entries(33))).toBe('must have at most 32 entries');
    expect(refusal(`81 b0 ${ascii('k'.repeat(16))} 01`)).toBeUndefined();
    expect(refusal(`81 b1 ${ascii('k'.repeat(17))} 01`)).toBe(
      'must have keys that are texts of at most 16 bytes',
    );
  });

  it('a key that names a prototype is read like any other key', () => {
    const map = read(bytesOf(`81 a9 ${ascii('__proto__')} 81 a1 78 01`));
    expect([...map.keys()]).toEqual(['__proto__']);
    expect(({} as Record<string, unknown>)['x']).toBeUndefined();
  });
});

describe('a written value', () => {
  const entry = (write: (writer: ByteWriter) => void): Uint8Array => {
    const writer = new ByteWriter();
    write(new MapWriter(writer).key('a'));
    return writer.take();
  };

  it.each([
    [0, '00'],
    [127, '7f'],
    [128, 'cc80'],
    [256, 'cd0100'],
    [65_536, 'ce00010000'],
    [2 ** 32, 'cf0000000100000000'],
    [0.5, 'cb3fe0000000000000'],
    [-1, 'cbbff0000000000000'],
  ])('is as short as it can be: %d', (value, hex) => {
    expect(Buffer.from(entry((writer) => writeNumber(writer, value))).toString('hex')).toBe(`81a161${hex}`);
  });

  it('is what another library reads', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.maxSafeNat(),
          fc.double({ noNaN: true, min: 0 }).map((value) => value + 0),
        ),
        fc.string(),
        (number, text) => {
          // The library makes a bigint of every 64-bit number.
          const { a } = unpack(entry((writer) => writeNumber(writer, number))) as { a: number | bigint };
          expect(Number(a)).toBe(number);
          expect(unpack(entry((writer) => writeText(writer, text)))).toEqual({ a: text });
        },
      ),
    );
    for (const length of [0, 31, 32, 255, 256, 65_535, 65_536]) {
      expect(unpack(entry((writer) => writeText(writer, 'x'.repeat(length))))).toEqual({
        a: 'x'.repeat(length),
      });
      const bytes = Buffer.alloc(length, 7);
      const packed = entry((writer) => {
        writeBytesHead(writer, length);
        writer.bytes(bytes);
      });
      expect(Buffer.compare((unpack(packed) as { a: Buffer }).a, bytes)).toBe(0);
    }
  });

  it('by another library is read here', () => {
    const value = fc.oneof(
      fc.string(),
      fc.boolean(),
      fc.nat(),
      fc.double({ noNaN: true }).map((number) => number + 0), // The library packs -0 as 0.
      fc.constant(null),
    );
    const map = fc.uniqueArray(fc.tuple(fc.stringMatching(/^[a-z_]{1,8}$/), value), {
      maxLength: 20,
      selector: ([key]) => key,
    });
    fc.assert(
      fc.property(map, (fields) => {
        const expected = fields.map(([key, value]) => [key, value ?? undefined] as const);
        expect([...read(pack(Object.fromEntries(fields)))]).toEqual(expected);
      }),
    );
  });
});
