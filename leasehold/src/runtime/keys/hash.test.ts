import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../assert.ts';
import { InvalidArgumentError, LONGEST_KEY } from '../errors.ts';
import { hashBytes, hashKey, type Key, keyHash, murmur128 } from './hash.ts';
import { formatHash, hashOf, RING_SIZE } from './position.ts';
import { RangeSet } from './range-set.ts';

const utf8 = new TextEncoder();

/** The four words of the hash, as 32 hexadecimal digits. */
function digest(bytes: Uint8Array, seed = 0): string {
  const words = new Uint32Array(4);
  murmur128(bytes, seed, words);
  return [...words].map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** The first 64 bits, as 16 digits: of bytes, and of a key. */
function ofBytes(bytes: Uint8Array): string {
  const words = new Uint32Array(2);
  hashBytes(bytes, words);
  return formatHash(hashOf(words[0] ?? -1, words[1] ?? -1));
}

function ofKey(key: string): string {
  const words = new Uint32Array(2);
  hashKey(key, words);
  return formatHash(hashOf(words[0] ?? -1, words[1] ?? -1));
}

describe('the hash is MurmurHash3_x86_128', () => {
  /**
   * The check by which SMHasher, the home of this hash, tells whether an implementation is the
   * real one: keys of 0 to 255 bytes, each with its own seed, and a hash over all their hashes.
   */
  it('has the verification value that SMHasher publishes for Murmur3C, 0xb3ece62a', () => {
    const digests = new Uint8Array(256 * 16);
    const words = new Uint32Array(4);
    for (let length = 0; length < 256; length += 1) {
      murmur128(
        Uint8Array.from({ length }, (_, index) => index),
        256 - length,
        words,
      );
      const view = new DataView(digests.buffer, length * 16);
      for (const [index, word] of words.entries()) view.setUint32(4 * index, word, true);
    }
    murmur128(digests, 0, words);
    expect(words[0]).toBe(0xb3ece62a);
  });

  it('has the values that other implementations give in their documentation', () => {
    expect(digest(utf8.encode(''))).toBe('00000000000000000000000000000000');
    expect(digest(utf8.encode("I will not buy this tobacconist's, it is scratched."))).toBe(
      '9b5b7ba2ef3f7866889adeaf00f3f98e',
    );
    expect(digest(Uint8Array.from({ length: 256 }, (_, index) => index))).toBe(
      '2c56c88fdb4503dfd352b21a494ca2c0',
    );
  });

  it('agrees with the algorithm written down plainly, for any bytes and any seed', () => {
    fc.assert(
      fc.property(
        fc.uint8Array({ maxLength: 70 }),
        fc.integer({ min: 0, max: 0xffffffff }),
        (bytes, seed) => {
          expect(digest(bytes, seed)).toBe(plainMurmur(bytes, seed));
        },
      ),
      { numRuns: 500 },
    );
  });

  it('is given in full, or not at all', () => {
    expect(() => murmur128(utf8.encode('user:1'), 0, new Uint32Array(3))).toThrow(AssertionError);
  });

  it('does not remember what was hashed before', () => {
    const before = ofKey('short');
    ofKey('a much longer key that fills the memory with other bytes');
    expect(ofKey('short')).toBe(before);
  });
});

describe('the position of a key', () => {
  it('is the first 64 bits of the hash, the first word being the high one', () => {
    expect(ofKey("I will not buy this tobacconist's, it is scratched.")).toBe('9b5b7ba2ef3f7866');
    expect(keyHash("I will not buy this tobacconist's, it is scratched.")).toBe(0x9b5b7ba2ef3f7866n);
    expect(keyHash('')).toBe(0n);
  });

  it('will never change, since processes of all versions and languages must agree on it', () => {
    expect(ofKey('user:1')).toBe('4a22cd1f7701f037');
    expect(ofKey('user:2')).toBe('aeb4f78971279b2f');
    expect(ofKey('žluťoučký kůň')).toBe('2693fa14938fbc9c');
    expect(ofKey('🗝️')).toBe('c254ec8ee840bc78');
  });

  it('is that of its UTF-8, whatever characters it has', () => {
    const units = fc.oneof(
      fc.integer({ min: 0, max: 0x7a }),
      fc.integer({ min: 0x7c, max: 0xffff }).filter((unit) => unit !== 0x7d),
      fc.integer({ min: 0xd800, max: 0xdfff }),
      fc.constantFrom(0x7a, 0x7f, 0x80, 0x7ff, 0x800, 0xd7ff, 0xd800, 0xdbff, 0xdc00, 0xdfff, 0xe000),
    );
    fc.assert(
      fc.property(fc.array(units, { maxLength: 50 }), (codes) => {
        const key = String.fromCharCode(...codes);
        expect(ofKey(key)).toBe(ofBytes(utf8.encode(key)));
      }),
      { numRuns: 1_000 },
    );
  });

  it('is right wherever in the key a character stands that is not plain', () => {
    const odd = [
      '|',
      '}',
      '~',
      '\u007f',
      '\u0080',
      '\u00ff',
      '\u0100',
      '\u0141',
      '\u4100',
      '\u7d41',
      '\uff41',
    ];
    const wrong: string[] = [];
    for (let length = 1; length <= 50; length += 1) {
      const plain = 'abcdefghij'.repeat(5).slice(0, length);
      for (let place = 0; place < length; place += 1) {
        for (const character of odd) {
          const key = plain.slice(0, place) + character + plain.slice(place + 1);
          if (ofKey(key) !== ofBytes(utf8.encode(key))) wrong.push(key);
        }
      }
    }
    expect(wrong).toEqual([]);
  });

  it('takes half a surrogate pair for U+FFFD', () => {
    expect(ofKey('a\ud800b')).toBe(ofKey('a\ufffdb'));
    expect(ofKey('a\udc00b')).toBe(ofKey('a\ufffdb'));
    expect(ofKey('\ud800')).toBe(ofKey('\ufffd'));
    expect(ofKey('\udc00\ud800')).toBe(ofKey('\ufffd\ufffd'));
    expect(ofKey('\ud800\ud83d\udddd')).toBe(ofKey('\ufffd\u{1f5dd}'));
  });

  it.each([0, 1, 15, 16, 17, 31, 32, 33, 680, 681, 682, 2_031, 2_032, 2_033, 2_047, 2_048, 2_049, 4_096])(
    'is right for a key of %i characters, plain or not',
    (length) => {
      for (const character of ['x', '|', 'é', '€']) {
        const key = character.repeat(length);
        expect(ofKey(key)).toBe(ofBytes(utf8.encode(key)));
      }
    },
  );

  it('is the key itself, if it is a position already', () => {
    for (const position of [0n, 1n, 2n ** 32n, RING_SIZE - 1n]) expect(keyHash(position)).toBe(position);
  });

  it('does not exist for a number outside the ring', () => {
    expect(() => keyHash(-1n)).toThrow(InvalidArgumentError);
    expect(() => keyHash(RING_SIZE)).toThrow(InvalidArgumentError);
  });
});

describe('a tag', () => {
  it.each([
    ['{ana}', 'ana'],
    ['cart:{ana}:items', 'ana'],
    ['cart:{ana}:{ben}', 'ana'],
    ['cart:{ana', 'cart:{ana'],
    ['cart:ana}', 'cart:ana}'],
    ['cart:}ana{', 'cart:}ana{'],
    ['}{ana}', 'ana'],
    ['{}', '{}'],
    ['cart:{}:{ana}', 'cart:{}:{ana}'],
    ['{{ana}}', '{ana'],
    ['{ana}}', 'ana'],
    ['{a}', 'a'],
    ['š{ž🗝️}č', 'ž🗝️'],
    ['\ud83d{\udddd}', '\udddd'],
    ['{\ud83d}\udddd', '\ud83d'],
  ])('in %s leaves %s to be hashed', (key, text) => {
    expect(ofKey(key)).toBe(ofBytes(utf8.encode(text)));
  });

  it('counts alone, whatever is around it', () => {
    const around = fc.string().map((text) => text.replaceAll(/[{}]/g, ''));
    fc.assert(
      fc.property(around, around, around, (before, tag, after) => {
        const key = `${before}{${tag}}${after}`;
        expect(ofKey(key)).toBe(ofBytes(utf8.encode(tag === '' ? key : tag)));
      }),
    );
  });
});

describe('keys that resemble each other', () => {
  /**
   * How unevenly the keys fall into 256 equal parts of the ring. For a perfect hash this is 255
   * on average, with a standard deviation of 22.6; 370 is five deviations away.
   */
  function chiSquare(keys: Iterable<string>): number {
    const counts = new Uint32Array(256);
    const words = new Uint32Array(2);
    let total = 0;
    for (const key of keys) {
      hashKey(key, words);
      const bucket = (words[0] ?? 0) >>> 24;
      counts[bucket] = (counts[bucket] ?? 0) + 1;
      total += 1;
    }
    const expected = total / 256;
    return counts.reduce((sum, count) => sum + (count - expected) ** 2 / expected, 0);
  }

  function* numbered(prefix: string, count: number, suffix = ''): Generator<string> {
    for (let number = 1; number <= count; number += 1) yield `${prefix}${number}${suffix}`;
  }

  it('spread evenly when they are numbered, user:1 to user:100000', () => {
    expect(chiSquare(numbered('user:', 100_000))).toBeLessThan(370);
  });

  it('spread evenly when the number is all there is, or comes early, or is a tag', () => {
    expect(chiSquare(numbered('', 100_000))).toBeLessThan(370);
    expect(chiSquare(numbered('', 100_000, ':a-long-ending-that-is-always-the-same'))).toBeLessThan(370);
    expect(chiSquare(numbered('cart:{', 100_000, '}:items'))).toBeLessThan(370);
  });
});

/** The published algorithm, step by step on bigints modulo 2^32, with no thought of speed. */
function plainMurmur(bytes: Uint8Array, seed: number): string {
  const modulus = 1n << 32n;
  const times = (one: bigint, other: bigint): bigint => (one * other) % modulus;
  const plus = (...terms: bigint[]): bigint => terms.reduce((sum, term) => sum + term, 0n) % modulus;
  const rotl = (word: bigint, bits: bigint): bigint => ((word << bits) % modulus) | (word >> (32n - bits));

  const lanes = [
    { first: 0x239b961bn, turn: 15n, second: 0xab0e9789n, laneTurn: 19n, constant: 0x561ccd1bn },
    { first: 0xab0e9789n, turn: 16n, second: 0x38b34ae5n, laneTurn: 17n, constant: 0x0bcaa747n },
    { first: 0x38b34ae5n, turn: 17n, second: 0xa1e38b93n, laneTurn: 15n, constant: 0x96cd1c35n },
    { first: 0xa1e38b93n, turn: 18n, second: 0x239b961bn, laneTurn: 13n, constant: 0x32ac3b17n },
  ];
  const hash = [0, 1, 2, 3].map(() => BigInt(seed));
  const lane = (index: number): bigint => hash[index % 4] ?? 0n;

  for (let block = 0; block < bytes.length; block += 16) {
    const isFull = block + 16 <= bytes.length;
    for (const [index, { first, turn, second, laneTurn, constant }] of lanes.entries()) {
      let word = 0n;
      for (let byte = 3; byte >= 0; byte -= 1) {
        word = word * 256n + BigInt(bytes[block + 4 * index + byte] ?? 0);
      }
      let mixed = lane(index) ^ times(rotl(times(word, first), turn), second);
      if (isFull) mixed = plus(times(plus(rotl(mixed, laneTurn), lane(index + 1)), 5n), constant);
      hash[index] = mixed;
    }
  }

  const addAll = (): void => {
    hash[0] = plus(...hash);
    for (const index of [1, 2, 3]) hash[index] = plus(lane(index), lane(0));
  };
  for (const index of [0, 1, 2, 3]) hash[index] = lane(index) ^ BigInt(bytes.length);
  addAll();
  for (const index of [0, 1, 2, 3]) {
    let word = lane(index);
    word = times(word ^ (word >> 16n), 0x85ebca6bn);
    word = times(word ^ (word >> 13n), 0xc2b2ae35n);
    hash[index] = word ^ (word >> 16n);
  }
  addAll();
  return hash.map((word) => word.toString(16).padStart(8, '0')).join('');
}

/** As a program without types would pass them. */
const NO_KEYS = [
  5,
  Number.NaN,
  true,
  {},
  ['a'],
  null,
  undefined,
  Symbol('a'),
  -1n,
  RING_SIZE,
] as unknown as Key[];

describe('a value that is no key', () => {
  it.each(NO_KEYS)('is refused: %s', (key) => {
    const refusal = { code: 'INVALID_KEY', retryable: false };
    expect(() => keyHash(key)).toThrow(expect.objectContaining(refusal));
    expect(() => RangeSet.everything.has(key)).toThrow(expect.objectContaining(refusal));
  });

  it('says what to pass instead of a number', () => {
    expect(() => keyHash(5 as unknown as Key)).toThrow(
      /number is not a key: .*; pass String\(id\), here '5'/,
    );
  });

  it('is a text that is too long, by one character', () => {
    expect(keyHash('a'.repeat(LONGEST_KEY))).toBeTypeOf('bigint');
    expect(() => keyHash('a'.repeat(LONGEST_KEY + 1))).toThrow(/4097 characters is too long: at most 4096/);
  });
});
