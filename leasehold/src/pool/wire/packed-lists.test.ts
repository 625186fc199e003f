import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import { ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw } from '../../runtime/msgpack/flaw.ts';
import type { Value } from '../../runtime/msgpack/msgpack.ts';
import { packed } from '../../runtime/wire/envelope.ts';
import * as lists from './packed-lists.ts';
import { MOST_ROWS, MOST_SPANS } from './rules.ts';

type Read<T> = (value: Value) => T;
const held = packed(lists.held).read;
const letGo = packed(lists.letGo).read;
const granted = packed(lists.granted).read;
const rows = packed(lists.rows).read;

const bytesOf = (hex: string): Uint8Array => Buffer.from(hex.replaceAll(' ', ''), 'hex');

/** Path and rule. */
function refusal(read: Read<unknown>, value: Value): string | undefined {
  try {
    read(typeof value === 'string' ? bytesOf(value) : value);
    return undefined;
  } catch (error) {
    if (error instanceof Flaw) return `${error.path} ${error.rule}`.trim();
    throw error;
  }
}

const ONE = '00 00 00 00 00 00 00 01';
const FOUR = '00 00 00 00 00 00 00 04';
const EIGHT = '00 00 00 00 00 00 00 08';
const ZERO = '00 00 00 00 00 00 00 00';

describe('a packed list', () => {
  it('is its count and its items', () => {
    expect(held(bytesOf(`02  00 ${FOUR} 07  01 ${EIGHT} ${ZERO} ac 02`))).toEqual([
      { start: 0n, end: 4n, number: 7 },
      { start: 8n, end: RING_SIZE, number: 300 },
    ]);
  });

  it('may give a start although there is no need', () => {
    expect(held(bytesOf(`02  01 ${ZERO} ${FOUR} 07  01 ${FOUR} ${EIGHT} 07`))).toEqual([
      { start: 0n, end: 4n, number: 7 },
      { start: 4n, end: 8n, number: 7 },
    ]);
  });

  it('says of what was let go how', () => {
    expect(letGo(bytesOf(`02  00 ${FOUR} 07  02 ${EIGHT} 07`))).toEqual([
      { start: 0n, end: 4n, number: 7, how: 'released' },
      { start: 4n, end: 8n, number: 7, how: 'lapsed' },
    ]);
  });

  it('says of what is granted whether it is recalled, and what it continues', () => {
    expect(granted(bytesOf(`02  00 ${FOUR} 07  06 ${EIGHT} 09  01 ${FOUR} ${EIGHT} 02`))).toEqual([
      { start: 0n, end: 4n, number: 7, recalled: false, continues: [] },
      {
        start: 4n,
        end: 8n,
        number: 9,
        recalled: true,
        continues: [{ start: 4n, end: 8n, number: 2 }],
      },
    ]);
  });

  it('says of a row which owner it has, and the same object each time', () => {
    const list = rows(
      bytesOf(`01 01 61 01 62 01 63  03  02 ${ONE} 07 05  00 ${FOUR} 00 00  02 ${EIGHT} 09 00`),
    );
    const owner = { incarnation: 'a', name: 'b', url: 'c' };
    expect(list).toEqual([
      { start: 0n, end: 1n, owner, number: 7, lostAt: 5 },
      { start: 1n, end: 4n, owner: undefined, number: 0, lostAt: 0 },
      { start: 4n, end: 8n, owner, number: 9, lostAt: 0 },
    ]);
    expect(list[0]?.owner).toBe(list[2]?.owner);
  });
});

describe('a packed list is refused', () => {
  it.each<[string, Read<unknown>, Value, string]>([
    ['if it is no bytes', held, ['no'] as never, 'must be packed bytes'],
    ['if it is empty', held, '', 'ends too early'],
    ['if something follows', held, '00 00', 'has 1 bytes too many'],
    ['if it has fewer items than it says', held, `02 00 ${FOUR} 07`, 'ends too early'],
    ['if its last item is cut', held, `02 00 ${FOUR} 07 01 ${FOUR} 00`, '[1] ends too early'],
    ['if its first span is empty', held, `01 01 ${FOUR} ${FOUR} 07`, '[0].end must be above start'],
    ['if a span is backward', held, `01 01 ${EIGHT} ${FOUR} 07`, '[0].end must be above start'],
    [
      'if it descends',
      held,
      `02 01 ${FOUR} ${EIGHT} 07 01 ${ONE} ${FOUR} 07`,
      '[1].start must not be below the end of the one before',
    ],
    [
      'if it overlaps',
      held,
      `02 00 ${FOUR} 07 01 ${ONE} ${EIGHT} 07`,
      '[1].start must not be below the end of the one before',
    ],
    ['if it goes on after 2^64', held, `02 00 ${ZERO} 07 00 ${FOUR} 07`, '[1].end must be above start'],
    ['if it goes round', held, `02 00 ${ZERO} 07 00 ${ZERO} 07`, '[1].end must be above start'],
    [
      'if a number is too great',
      held,
      `01 00 ${FOUR} ff ff ff ff ff ff ff 10`,
      '[0].number must be below 2^53',
    ],
    [
      'if what is held has more bits',
      held,
      `01 02 ${FOUR} 07`,
      '[0].head must have no bits but those that are known',
    ],
    [
      'if what was let go has',
      letGo,
      `01 04 ${FOUR} 07`,
      '[0].head must have no bits but those that are known',
    ],
    ['if it continues more than is there', granted, `01 04 ${FOUR} 07`, '[0].continues ends too early'],
    [
      'if it continues more than can be',
      granted,
      `01 fc ff ff ff ff ff ff 0f ${FOUR} 07`,
      '[0].continues must have at most 100000 items',
    ],
    [
      'if what it continues has bits',
      granted,
      `01 04 ${FOUR} 07 02 ${FOUR} 07`,
      '[0].continues[0].head must have no bits but those that are known',
    ],
    ['if an owner is not listed', rows, `00 01 02 ${FOUR} 07 00`, '[0].owner must be one of the 0 listed'],
    [
      'if an owner has no name',
      rows,
      '01 01 61 00 01 63 00 00',
      'owners[0].name must be a text of 1 to 256 characters',
    ],
    ['if an owner is not UTF-8', rows, '01 01 61 01 ff 01 63 00', 'owners[0].name must be UTF-8'],
    [
      'if an owner has a name without end',
      rows,
      '01 01 61 ff ff ff 7f 62 62',
      'owners[0].name must have at most 6144 bytes',
    ],
    ['if it has fewer owners than it says', rows, '02 01 61 01 62 01 63 00', 'owners[0] ends too early'],
    ['if it is lost at no position', rows, `00 01 00 ${FOUR} 07 ff 80`, '[0].lostAt ends too early'],
  ])('%s', (_, read, value, expected) => {
    expect(refusal(read, value)).toBe(expected);
  });

  it('if it says that it has more items than there can be, before any is read', () => {
    const countOf = (count: number): Uint8Array => {
      const writer = new ByteWriter();
      writer.varint(count);
      return writer.take();
    };
    for (const read of [held, letGo, granted]) {
      expect(refusal(read, countOf(MOST_SPANS + 1))).toBe('must have at most 100000 items');
      expect(refusal(read, countOf(MOST_SPANS))).toBe('ends too early');
      expect(refusal(read, countOf(2 ** 53 - 1))).toBe('must have at most 100000 items');
    }
    const noOwners = (count: number) => Buffer.concat([Uint8Array.of(0), countOf(count)]);
    expect(refusal(rows, noOwners(MOST_ROWS + 1))).toBe('must have at most 1000000 items');
    expect(refusal(rows, noOwners(MOST_ROWS))).toBe('ends too early');
    expect(refusal(rows, countOf(2 ** 53 - 1))).toBe('owners[0] must have at most 1000000 items');
  });

  it('exactly when its spans are not what they should be', () => {
    const edges = fc.bigInt({ min: 0n, max: 8n }).map((n) => n * (RING_SIZE / 8n));
    fc.assert(
      fc.property(fc.array(fc.tuple(edges, edges), { maxLength: 3 }), (spans) => {
        const good = spans.every(
          ([start, end], index) => start < end && start >= (spans[index - 1]?.[1] ?? 0n),
        );
        // An end of 0 and a start of 2^64 cannot be written.
        fc.pre(spans.every(([start, end]) => end > 0n && start < RING_SIZE));
        const writer = new ByteWriter();
        lists.held.write(
          writer,
          spans.map(([start, end]) => ({ start, end, number: 1 })),
        );
        expect(refusal(held, writer.take()) === undefined).toBe(good);
      }),
      { numRuns: 300 },
    );
  });
});
