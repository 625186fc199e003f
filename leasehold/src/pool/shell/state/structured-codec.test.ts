import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { structuredCodec } from './structured-codec.ts';

class Account {
  readonly total = 3;
}

/** There and back. */
const arrived = (item: unknown): unknown => structuredCodec.decode(structuredCodec.encode(item));

const refused = (item: unknown): Error => {
  try {
    structuredCodec.encode(item);
  } catch (error) {
    return error as Error;
  }
  throw new Error('the item was taken');
};

const deep = (levels: number): unknown => (levels === 0 ? 1 : [deep(levels - 1)]);

describe('an item by structured clone', () => {
  it.each([
    ['texts', ['', 'a', 'ü', '\ud800']],
    ['numbers', [0, -0, 1.5, Number.NaN, Number.NEGATIVE_INFINITY, 2 ** 53, -(2n ** 70n)]],
    ['what is missing', [undefined, null, { a: undefined }]],
    ['plain objects and lists', { a: [1, { b: [] }], 'c d': true, 7: 'seven' }],
    ['dates', [new Date(1_700_000_000_000), new Date(Number.NaN)]],
    [
      'maps and sets',
      new Map<unknown, unknown>([
        [{ a: 1 }, new Set([1, [2]])],
        ['b', new Map()],
      ]),
    ],
    ['bytes', [new Uint8Array([1, 2]), new Float64Array([1.5]), new BigInt64Array([3n]), Buffer.from('abc')]],
    ['buffers', [new Uint8Array([1, 2, 3]).buffer, new DataView(new ArrayBuffer(3), 1)]],
  ])('arrives as it left: %s', (_, item) => {
    expect(arrived(item)).toStrictEqual(item);
  });

  it('arrives as it left, whatever it is made of', () => {
    const item = fc.anything({
      withDate: true,
      withMap: true,
      withSet: true,
      withTypedArray: true,
      withBigInt: true,
    });
    fc.assert(
      fc.property(item, (each) => {
        expect(arrived(each)).toStrictEqual(each);
      }),
    );
  });

  it('keeps holes and names of a list, what is referred to twice, and cycles', () => {
    // biome-ignore lint/suspicious/noSparseArray: it is what is tested
    const list = Object.assign([1, , 3], { index: 7 });
    const item: Record<string, unknown> = { list, again: list };
    item['self'] = item;
    const copy = arrived(item) as typeof item;
    expect(copy['self']).toBe(copy);
    expect(copy['again']).toBe(copy['list']);
    expect([Object.keys(copy['list'] as object), (copy['list'] as unknown[]).length]).toEqual([
      ['0', '2', 'index'],
      3,
    ]);
  });

  it('has bytes of its own, also those of a view', () => {
    const bytes = Buffer.from(
      structuredCodec.encode([
        'a',
        new Uint8Array(8).fill(7),
        new DataView(new ArrayBuffer(2)),
        Buffer.from('xyz'),
      ]),
    );
    const [, view, data, buffer] = structuredCodec.decode(bytes) as [string, Uint8Array, DataView, Buffer];
    bytes.fill(0xff);
    expect([view, data.getInt16(0), buffer.toString()]).toEqual([new Uint8Array(8).fill(7), 0, 'xyz']);
    expect([view.buffer.byteLength, data.buffer.byteLength]).toEqual([8, 2]);
  });

  it.each<[string, unknown, string]>([
    ['an instance of a class', { account: new Account() }, 'value.account is an instance of Account'],
    [
      'a date of another class',
      { when: new (class Day extends Date {})() },
      'value.when is an instance of Day',
    ],
    ['a list of another class', new (class Rows extends Array {})(), 'value is an instance of Rows'],
    ['an instance of no name', new (class {})(), 'value is an instance of a class'],
    ['an object without a prototype', Object.create(null), 'value is an object without a prototype'],
    ['an error', [new TypeError('no')], 'value[0] is an Error'],
    ['a regular expression', /a/g, 'value is an instance of RegExp'],
    ['an object of a primitive', Object(1), 'value is an instance of Number'],
    ['a promise', Promise.resolve(), 'value is an instance of Promise'],
    ['a function', { a: [{ b: () => 1 }] }, 'value.a[0].b is a function'],
    ['a symbol', { a: Symbol('s') }, 'value.a is a symbol'],
    ['a property under a symbol', { [Symbol('s')]: 1 }, 'value is an object with a property under a symbol'],
    [
      'an accessor',
      {
        get a() {
          return 1;
        },
      },
      'value.a is an accessor',
    ],
    ['an accessor that only sets', { set a(_: number) {} }, 'value.a is an accessor'],
    ['a hidden property', Object.defineProperty({}, 'a', { value: 1 }), 'a property that is not enumerable'],
    ['a date with more', Object.assign(new Date(), { a: 1 }), 'properties of its own'],
    ['an instance in a map', new Map([['k', new Account()]]), 'value<1> is an instance of Account'],
    ['an instance in a set', new Set([new Account()]), 'value<0> is an instance of Account'],
    [
      'an instance under a name of a list',
      Object.assign([1], { a: new Account() }),
      'value.a is an instance of Account',
    ],
    [
      'an instance in a list with a hole',
      Object.assign([], { 3: new Account() }),
      'value[3] is an instance of Account',
    ],
    ['shared memory', new Uint8Array(new SharedArrayBuffer(1)), 'value is a view of a SharedArrayBuffer'],
    ['a sparse list', Object.assign([], { length: 2 ** 32 - 1 }), 'an array of 4294967295 elements'],
    ['a proxy', new Proxy({}, {}), 'value is nothing that can be copied'],
    ['a lost buffer', detached(), 'value is nothing that can be copied'],
    ['too many levels', deep(300), 'nested more than 200 deep'],
  ])('is refused, with its key and the cure, if it is %s', (_, value, place) => {
    expect(refused(['room-7', value])).toMatchObject({
      ...{ code: 'INVALID_ITEM', retryable: false, details: { key: 'room-7' } },
      message: expect.stringContaining(place),
    });
    expect(refused(['room-7', value]).message).toMatch(/^key "room-7": .* codec$/);
  });

  it('names the place in an item that begins with no key', () => {
    expect(refused({ id: 3, account: new Account() }).message).toContain(
      'an item: item.account is an instance',
    );
    expect(refused([5n, new Account()]).message).toContain('key hash 5: value is');
  });

  it('calls nothing of the application', () => {
    let calls = 0;
    const item = {
      a: {
        get b() {
          return (calls += 1);
        },
      },
    };
    refused(item);
    expect(calls).toBe(0);
  });

  it('is looked through in a time that grows with its size, although much is referred to many times', () => {
    let item: unknown = [];
    for (let level = 0; level < 100; level += 1) item = [item, item];
    expect(() => structuredCodec.encode(item)).not.toThrow();
  });

  it('decodes what it encodes at the deepest', () => {
    expect(arrived(deep(199))).toEqual(deep(199));
  });
});

function detached(): ArrayBuffer {
  const buffer = new ArrayBuffer(1);
  structuredClone(buffer, { transfer: [buffer] });
  return buffer;
}
