/**
 * Lists of spans as packed bytes: what a large pool's messages consist of almost entirely.
 *
 *     list      count: varint, then so many items
 *     item      head: varint       bit 0: a start follows; the other bits: see below
 *               start: 64 bits     only if bit 0 is set; else it starts where the item before ended (the first, at 0)
 *               end: 64 bits       2^64 is written as 0
 *               number: varint
 *               and what the kind of list adds
 *
 *     held      head: nothing else
 *     let go    head: bit 1, lapsed and not released
 *     granted   head: bit 1, recalled; from bit 2, how many numbers it continues; these follow behind the number, as items of `held`
 *     rows      head: from bit 1, which owner, counted from 1; 0 is none. Behind the number: lostAt, a varint
 *
 * Rows have their owners in front, because an owner has many rows:
 *
 *     table     owners: varint, then so many times incarnation, name, url; then the list of rows
 *     text      bytes: varint, then so many bytes of UTF-8
 *
 * A reader checks on the way that no span is empty, that spans ascend, and that they do not overlap. The number of items is believed only if as
 * many can be in the bytes that are there.
 *
 * The rows of a snapshot lie end to end, so none has a start, and with numbers below two million a row takes
 * 14 to 16 bytes. The papers count 32.
 */

import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import type { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside } from '../../runtime/msgpack/flaw.ts';
import { field, type Form, whole } from '../../runtime/wire/form.ts';
import type { GrantedSpan, LetGo, NumberedSpan, OwnerAddress, TableRow } from '../core/messages.ts';
import { MOST_ROWS, MOST_SPANS, name, url } from './rules.ts';

/** Head, end, number. */
const LEAST_SPAN_BYTES = 10;
/** And `lostAt`. */
const LEAST_ROW_BYTES = 11;
/** Three texts of one character. */
const LEAST_OWNER_BYTES = 6;
/** No UTF-16 unit takes more bytes of UTF-8, so a longer text need not be read to be refused. */
const MOST_BYTES_A_UNIT = 3;
const LONGEST_TEXT_BYTES: number = MOST_BYTES_A_UNIT * 2_048;

const QUARTER: bigint = RING_SIZE / 4n;
/** Two that lie end to end, and one apart. */
const NUMBERED: readonly NumberedSpan[] = [
  { start: 0n, end: QUARTER, number: 7 },
  { start: QUARTER, end: QUARTER + 1n, number: 0 },
  { start: 3n * QUARTER, end: RING_SIZE, number: 2 ** 53 - 1 },
];

export const held: Form<readonly NumberedSpan[]> = {
  write: (writer, spans) => {
    writer.varint(spans.length);
    writeNumbered(writer, spans);
  },
  read: (reader) => readNumbered(reader, listed(reader, MOST_SPANS, LEAST_SPAN_BYTES)),
  samples: () => [NUMBERED, []],
};

export const letGo: Form<readonly LetGo[]> = {
  write: (writer, spans) => {
    writer.varint(spans.length);
    let at = 0n;
    for (const span of spans) at = writeSpan(writer, span, span.how === 'lapsed' ? 1 : 0, at);
  },
  read: (reader) =>
    items(reader, listed(reader, MOST_SPANS, LEAST_SPAN_BYTES), (start, end, bits) => {
      if (bits > 1) throw unknownBits();
      return { start, end, number: number(reader), how: bits === 1 ? 'lapsed' : 'released' };
    }),
  samples: () => [
    NUMBERED.map((span, place) => ({ ...span, how: place % 2 === 0 ? 'released' : 'lapsed' })),
    [],
  ],
};

export const granted: Form<readonly GrantedSpan[]> = {
  write: (writer, spans) => {
    writer.varint(spans.length);
    let at = 0n;
    for (const span of spans) {
      at = writeSpan(writer, span, (span.recalled ? 1 : 0) + 2 * span.continues.length, at);
      writeNumbered(writer, span.continues);
    }
  },
  read: (reader) =>
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
  samples: () => [
    NUMBERED.map((span, place) => ({
      ...span,
      recalled: place % 2 === 0,
      continues: NUMBERED.slice(0, place),
    })),
    [],
  ],
};

export const rows: Form<readonly TableRow[]> = {
  write: (writer, table) => {
    // The table has one object for each owner; were there two, it would be listed twice, and do no harm.
    const owners = new Map<OwnerAddress, number>();
    for (const { owner } of table)
      if (owner !== undefined && !owners.has(owner)) owners.set(owner, owners.size + 1);
    writer.varint(owners.size);
    for (const { incarnation, name, url } of owners.keys()) {
      writeText(writer, incarnation);
      writeText(writer, name);
      writeText(writer, url);
    }
    writer.varint(table.length);
    let at = 0n;
    for (const row of table) {
      const owner = row.owner === undefined ? 0 : (owners.get(row.owner) ?? 0);
      at = writeSpan(writer, row, owner, at);
      writer.varint(row.lostAt);
    }
  },
  read: (reader) => {
    const owners = readOwners(reader);
    return items(reader, listed(reader, MOST_ROWS, LEAST_ROW_BYTES), (start, end, bits) => {
      if (bits > owners.length) throw new Flaw(`must be one of the ${owners.length} listed`, 'owner');
      return { start, end, owner: owners[bits - 1], number: number(reader), lostAt: lostAt(reader) };
    });
  },
  samples: () => [
    NUMBERED.map((span, place) => ({ ...span, owner: OWNERS[place], lostAt: 300 * place })),
    [],
    [{ start: 0n, end: RING_SIZE, owner: OWNERS[0], number: 7, lostAt: 5 }],
  ],
};

const OWNERS: readonly OwnerAddress[] = [
  { incarnation: 'a.1', name: 'a', url: 'http://a' },
  { incarnation: 'é😀', name: '__proto__', url: 'http://b' },
];

/** A count, if allowed and if there are bytes for so many. */
const listed = (reader: ByteReader, most: number, leastBytes: number): number =>
  believed(reader, reader.varint(), most, leastBytes);

function believed(reader: ByteReader, count: number, most: number, leastBytes: number): number {
  if (count > most) throw new Flaw(`must have at most ${most} items`);
  if (count * leastBytes > reader.left) throw new Flaw('ends too early');
  return count;
}

/** Returns where it ends. */
function writeSpan(writer: ByteWriter, span: NumberedSpan, bits: number, at: bigint): bigint {
  const { start, end, number } = span;
  if (start === at) {
    writer.varint(2 * bits);
  } else {
    writer.varint(2 * bits + 1);
    writer.place(start);
  }
  writer.place(end);
  writer.varint(number);
  return end;
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

function writeNumbered(writer: ByteWriter, spans: readonly NumberedSpan[]): void {
  let at = 0n;
  for (const span of spans) at = writeSpan(writer, span, 0, at);
}

const readNumbered = (reader: ByteReader, count: number): readonly NumberedSpan[] =>
  items(reader, count, (start, end, bits) => {
    if (bits > 0) throw unknownBits();
    return { start, end, number: number(reader) };
  });

const NOTHING: readonly NumberedSpan[] = [];

function continued(reader: ByteReader, count: number): readonly NumberedSpan[] {
  if (count === 0) return NOTHING;
  try {
    return readNumbered(reader, believed(reader, count, MOST_SPANS, LEAST_SPAN_BYTES));
  } catch (error) {
    throw inside('continues', error);
  }
}

const number = (reader: ByteReader): number => field('number', whole, reader);
const lostAt = (reader: ByteReader): number => field('lostAt', whole, reader);
const unknownBits = (): Flaw => new Flaw('must have no bits but those that are known', 'head');

function readOwners(reader: ByteReader): readonly OwnerAddress[] {
  const owners: OwnerAddress[] = [];
  try {
    const count = listed(reader, MOST_ROWS, LEAST_OWNER_BYTES);
    while (owners.length < count) {
      owners.push({
        incarnation: field('incarnation', packedName, reader),
        name: field('name', packedName, reader),
        url: field('url', packedUrl, reader),
      });
    }
  } catch (error) {
    throw inside(`owners[${owners.length}]`, error);
  }
  return owners;
}

const packedName = { read: (reader: ByteReader): string => name.read(readText(reader)) };
const packedUrl = { read: (reader: ByteReader): string => url.read(readText(reader)) };

function writeText(writer: ByteWriter, text: string): void {
  writer.text(text, (length) => writer.varint(length));
}

function readText(reader: ByteReader): string {
  const length = reader.varint();
  if (length > LONGEST_TEXT_BYTES) throw new Flaw(`must have at most ${LONGEST_TEXT_BYTES} bytes`);
  return reader.text(length);
}
