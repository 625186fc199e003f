/**
 * Packed lists of spans, back to objects, and checked on the way: no span is empty, they ascend, and
 * they do not overlap. The form is described in `pack.ts`.
 *
 * A list begins with the number of items. That is believed only if as many can be in the bytes that are there.
 */

import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import type { GrantedSpan, LetGo, NumberedSpan, OwnerAddress, TableRow } from '../messages.ts';
import { ByteReader } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside } from '../../runtime/msgpack/flaw.ts';
import { MOST_ROWS, MOST_SPANS, name, type Read, url } from './rules.ts';

/** Head, end, number. */
const LEAST_SPAN_BYTES = 10;
/** And `lostAt`. */
const LEAST_ROW_BYTES = 11;
/** Three texts of one character. */
const LEAST_OWNER_BYTES = 6;
/** No UTF-16 unit takes more bytes of UTF-8, so a longer text need not be read to be refused. */
const MOST_BYTES_A_UNIT = 3;
const LONGEST_TEXT_BYTES: number = MOST_BYTES_A_UNIT * 2_048;

export const held: Read<readonly NumberedSpan[]> = packed((reader) =>
  items(reader, listed(reader, MOST_SPANS, LEAST_SPAN_BYTES), (start, end, bits) =>
    numbered(reader, start, end, bits),
  ),
);

export const letGo: Read<readonly LetGo[]> = packed((reader) =>
  items(reader, listed(reader, MOST_SPANS, LEAST_SPAN_BYTES), (start, end, bits) => {
    if (bits > 1) throw unknownBits();
    return { start, end, number: number(reader), how: bits === 1 ? 'lapsed' : 'released' };
  }),
);

export const granted: Read<readonly GrantedSpan[]> = packed((reader) =>
  items(reader, listed(reader, MOST_SPANS, LEAST_SPAN_BYTES), (start, end, bits) => {
    const recalled = bits % 2 === 1;
    return {
      start,
      end,
      number: number(reader),
      recalled,
      continues: continued(reader, (bits - (recalled ? 1 : 0)) / 2),
    };
  }),
);

export const rows: Read<readonly TableRow[]> = packed((reader) => {
  const owners = listOwners(reader);
  return items(reader, listed(reader, MOST_ROWS, LEAST_ROW_BYTES), (start, end, bits) => {
    if (bits > owners.length) throw new Flaw(`must be one of the ${owners.length} listed`, 'owner');
    return { start, end, owner: owners[bits - 1], number: number(reader), lostAt: lostAt(reader) };
  });
});

/** Reads packed bytes to their end. */
function packed<T>(read: (reader: ByteReader) => T): Read<T> {
  return (value) => {
    if (!(value instanceof Uint8Array)) throw new Flaw('must be packed bytes');
    const reader = new ByteReader(value);
    const list = read(reader);
    reader.finish();
    return list;
  };
}

const listed = (reader: ByteReader, most: number, leastBytes: number): number =>
  believed(reader, reader.varint(), most, leastBytes);

/** A count, if allowed and if there are bytes for so many. */
function believed(reader: ByteReader, count: number, most: number, leastBytes: number): number {
  if (count > most) throw new Flaw(`must have at most ${most} items`);
  if (count * leastBytes > reader.left) throw new Flaw('ends too early');
  return count;
}

/** Reads so many items; `read` gets each item's span and the bits of the item's head, and reads the rest. */
function items<T extends Span>(
  reader: ByteReader,
  count: number,
  read: (start: bigint, end: bigint, bits: number) => T,
): readonly T[] {
  const list: T[] = [];
  let at = 0n;
  try {
    while (list.length < count) {
      const head = reader.varint();
      const startsApart = head % 2;
      const start = startsApart === 1 ? reader.place() : at;
      if (start < at) throw new Flaw('must not be below the end of the one before', 'start');
      const end = reader.place() || RING_SIZE;
      if (end <= start) throw new Flaw('must be above start', 'end');
      at = end;
      list.push(read(start, end, (head - startsApart) / 2));
    }
  } catch (error) {
    throw inside(`[${list.length}]`, error);
  }
  return list;
}

function numbered(reader: ByteReader, start: bigint, end: bigint, bits: number): NumberedSpan {
  if (bits > 0) throw unknownBits();
  return { start, end, number: number(reader) };
}

const NOTHING: readonly NumberedSpan[] = [];

function continued(reader: ByteReader, count: number): readonly NumberedSpan[] {
  if (count === 0) return NOTHING;
  try {
    return items(reader, believed(reader, count, MOST_SPANS, LEAST_SPAN_BYTES), (start, end, bits) =>
      numbered(reader, start, end, bits),
    );
  } catch (error) {
    throw inside('continues', error);
  }
}

const number = (reader: ByteReader): number => field('number', () => reader.varint());
const lostAt = (reader: ByteReader): number => field('lostAt', () => reader.varint());
const unknownBits = (): Flaw => new Flaw('must have no bits but those that are known', 'head');

function listOwners(reader: ByteReader): readonly OwnerAddress[] {
  const owners: OwnerAddress[] = [];
  try {
    const count = listed(reader, MOST_ROWS, LEAST_OWNER_BYTES);
    while (owners.length < count) {
      owners.push({
        incarnation: field('incarnation', () => name(text(reader))),
        name: field('name', () => name(text(reader))),
        url: field('url', () => url(text(reader))),
      });
    }
  } catch (error) {
    throw inside(`owners[${owners.length}]`, error);
  }
  return owners;
}

function text(reader: ByteReader): string {
  const length = reader.varint();
  if (length > LONGEST_TEXT_BYTES) throw new Flaw(`must have at most ${LONGEST_TEXT_BYTES} bytes`);
  return reader.text(length);
}

function field<T>(place: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw inside(place, error);
  }
}
