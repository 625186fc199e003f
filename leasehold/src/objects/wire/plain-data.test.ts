import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError, MalformedMessageError } from '../../runtime/errors.ts';
import { fuzzPlainData, SAMPLES } from './fuzz.ts';
import { CALL_BYTES_MAX, decodePlain, encodePlain } from './plain-data.ts';

const copyOf = (value: unknown): unknown => decodePlain(encodePlain('value', value));

function refusalOf(root: string, value: unknown): InvalidArgumentError {
  try {
    encodePlain(root, value);
  } catch (error) {
    if (error instanceof InvalidArgumentError) return error;
    throw error;
  }
  throw new Error('it was written');
}

const plain = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: 'small', withCrossShrink: true },
    fc.constantFrom(null, undefined, true, false, -0, Number.NaN, Number.NEGATIVE_INFINITY),
    fc.integer(),
    fc.double(),
    fc.bigInt(),
    fc.string({ unit: 'grapheme' }),
    fc.date({ noInvalidDate: false }),
    fc.uint8Array(),
    fc.array(tie('value')),
    fc.dictionary(
      fc.string().filter((name) => name !== '__proto__'),
      tie('value'),
      { noNullPrototype: true },
    ),
    fc.array(fc.tuple(fc.string(), tie('value'))).map((entries) => new Map(entries)),
    fc.array(fc.oneof(fc.integer(), fc.string())).map((members) => new Set(members)),
  ),
})).value;

describe('plain data', () => {
  it('is read as it was written, whatever it is made of', () => {
    fc.assert(
      fc.property(plain, (value) => {
        expect(copyOf(value)).toStrictEqual(value);
      }),
    );
    for (const sample of SAMPLES) expect(copyOf(sample)).toStrictEqual(sample);
  });

  it('is a copy: neither side sees changes of the other', () => {
    const given = { list: [1], bytes: Uint8Array.of(1) };
    const copy = copyOf(given) as typeof given;
    given.list.push(2);
    given.bytes[0] = 9;
    expect(copy).toEqual({ list: [1], bytes: Uint8Array.of(1) });
  });

  it('keeps minus zero, invalid dates, and fields that are undefined', () => {
    expect(Object.is(copyOf(-0), -0)).toBe(true);
    expect((copyOf(new Date(Number.NaN)) as Date).getTime()).toBeNaN();
    expect(Object.keys(copyOf({ a: undefined }) as object)).toEqual(['a']);
  });

  it('is read from a Buffer as a Uint8Array', () => {
    const copy = copyOf(Buffer.from('ab'));
    expect(copy).toEqual(Uint8Array.of(97, 98));
    expect(Buffer.isBuffer(copy)).toBe(false);
  });

  it('is written twice where it is reached by two ways', () => {
    const shared = [1];
    expect(copyOf({ one: shared, two: shared })).toEqual({ one: [1], two: [1] });
  });
});

class Avatar {
  readonly url = 'x';
}

describe('what is not plain data is refused', () => {
  const cyclic: Record<string, unknown> = {};
  cyclic['self'] = { inner: cyclic };
  it.each<[string, unknown, string]>([
    ['a function', [{ user: { avatar: () => {} } }], 'args[0].user.avatar is a function; plain data is'],
    ['a symbol', [Symbol('x')], 'args[0] is a symbol;'],
    ['an instance', [{ user: new Avatar() }], 'args[0].user is an instance of Avatar;'],
    ['a subclass of Map', [new (class Own extends Map {})()], 'args[0] is an instance of Own;'],
    ['an error', [new Error('x')], 'args[0] is an instance of Error;'],
    ['another typed array', [Uint16Array.of(1)], 'args[0] is an instance of Uint16Array;'],
    ['a promise', [Promise.resolve()], 'args[0] is an instance of Promise;'],
    ['a cycle', [cyclic], 'args[0].self.inner is a cycle: it contains itself;'],
    ['an array with holes', [new Array(3)], 'args[0] is an array with holes'],
    ['an array with names', [/x/.exec('x')], 'args[0] is an array with holes or with named fields;'],
    ['half a surrogate pair', ['\ud800'], 'args[0] has half of a surrogate pair;'],
    ['a symbol for a name', [{ [Symbol('x')]: 1 }], 'args[0] has a field whose name is a symbol;'],
    ['__proto__', [JSON.parse('{"__proto__":{"x":1}}')], 'args[0] has a field of the name __proto__;'],
    ['a value in a Map', [new Map([['a b', [() => {}]]])], 'args[0].get("a b")[0] is a function;'],
    ['a key in a Map', [new Map([[() => {}, 1]])], 'args[0].keys()[0] is a function;'],
    ['a member of a Set', [new Set([1, () => {}])], 'args[0].values()[1] is a function;'],
    ['a name with a space', [{ 'a b': () => {} }], 'args[0]["a b"] is a function;'],
    ['a long bigint', [1n << 9_000n], 'args[0] is a bigint of more than 1024 bytes;'],
  ])('by its path: %s', (_, args, message) => {
    const error = refusalOf('args', args);
    expect(error.message).toContain(message);
    expect(error).toMatchObject({ code: 'INVALID_DATA', retryable: false, module: 'objects' });
  });

  it('if it is a hundred levels deep', () => {
    let deep: unknown = 1;
    for (let level = 0; level < 101; level += 1) deep = [deep];
    expect(refusalOf('args', deep).message).toContain('is more than 100 levels deep');
  });
});

describe('what is too large is refused', () => {
  const MIB = CALL_BYTES_MAX;
  it.each<[string, unknown]>([
    ['a text of 2 MiB', [{ text: 'x'.repeat(2 * MIB) }]],
    ['bytes of 2 MiB', [{ text: new Uint8Array(2 * MIB) }]],
    ['a text that is larger as UTF-8', [{ text: '€'.repeat(MIB / 2) }]],
    ['many small values', [{ text: Array.from({ length: MIB + 1 }, () => 1) }]],
  ])('%s', (_, args) => {
    const error = refusalOf('args', args);
    expect(error.code).toBe('TOO_LARGE');
    expect(error.message).toMatch(/^args is too large: at most 1,048,576 bytes, reached at args\[0\]/);
  });

  it('also if a few objects are reached by a million ways', () => {
    let many: unknown = [];
    for (let level = 0; level < 60; level += 1) many = [many, many];
    expect(refusalOf('args', many).code).toBe('TOO_LARGE');
  });

  it('but not what just fits', () => {
    const bytes = new Uint8Array(MIB - 5);
    expect(encodePlain('value', bytes)).toHaveLength(MIB);
    expect(refusalOf('value', new Uint8Array(MIB - 4)).code).toBe('TOO_LARGE');
  });
});

describe('bytes of a stranger', () => {
  const read = (hex: string): unknown => decodePlain(Buffer.from(hex, 'hex'));
  it.each([
    ['', 'ends too early'],
    ['0101', 'has 1 bytes too many'],
    ['ddffffffff', 'ends too early'],
    ['dfffffffff', 'ends too early'],
    ['c6ffffffff', 'ends too early'],
    ['8101', 'ends too early'],
    ['810101', 'must have texts for keys'],
    ['82a16101a16102', 'must not have a key twice'],
    ['81a95f5f70726f746f5f5f80', 'must not have a key __proto__'],
    ['d40200920101', 'must not have a member twice'],
    ['d403009401020103', 'must not have a key twice'],
    ['d4030091c0', 'must have a value for each key'],
    ['d4020001', 'must be an array'],
    ['d40900', 'must be an extension of plain data'],
    ['cfffffffffffffffff', 'must be below 2^53'],
    ['c1', 'must not have a value of type 0xc1'],
  ])('are refused: %s', (hex, rule) => {
    expect(() => read(hex)).toThrow(MalformedMessageError);
    expect(() => read(hex)).toThrow(rule);
  });

  it('do not make the stack overflow, nor more containers than a sixteenth of the bound', () => {
    expect(() => decodePlain(new Uint8Array(CALL_BYTES_MAX).fill(0x91))).toThrow('at most 100 levels deep');
    const wide = new Uint8Array(CALL_BYTES_MAX).fill(0x90);
    wide.set([0xdd, 0, 0x0f, 0xff, 0xfb]);
    expect(() => decodePlain(wide)).toThrow('must have fewer arrays and maps');
  });

  it('are refused or understood, ten thousand times', () => {
    const { accepted, refused } = fuzzPlainData(10_000, 1);
    expect(accepted).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(500);
  });
});
