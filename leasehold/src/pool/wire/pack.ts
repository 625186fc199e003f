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
 * The rows of a snapshot lie end to end, so none has a start, and with numbers below two million a row takes
 * 14 to 16 bytes. The papers count 32.
 */

import type { GrantedSpan, LetGo, NumberedSpan, OwnerAddress, TableRow } from '../messages.ts';
import type { ByteWriter } from '../../runtime/msgpack/bytes.ts';

export function packHeld(writer: ByteWriter, spans: readonly NumberedSpan[]): void {
  writer.varint(spans.length);
  packNumbered(writer, spans);
}

export function packLetGo(writer: ByteWriter, spans: readonly LetGo[]): void {
  writer.varint(spans.length);
  let at = 0n;
  for (const span of spans) at = packSpan(writer, span, span.how === 'lapsed' ? 1 : 0, at);
}

export function packGranted(writer: ByteWriter, spans: readonly GrantedSpan[]): void {
  writer.varint(spans.length);
  let at = 0n;
  for (const span of spans) {
    at = packSpan(writer, span, (span.recalled ? 1 : 0) + 2 * span.continues.length, at);
    packNumbered(writer, span.continues);
  }
}

export function packRows(writer: ByteWriter, rows: readonly TableRow[]): void {
  // The table has one object for each owner; were there two, it would be listed twice, and do no harm.
  const owners = new Map<OwnerAddress, number>();
  for (const { owner } of rows)
    if (owner !== undefined && !owners.has(owner)) owners.set(owner, owners.size + 1);
  writer.varint(owners.size);
  for (const { incarnation, name, url } of owners.keys()) {
    packText(writer, incarnation);
    packText(writer, name);
    packText(writer, url);
  }
  writer.varint(rows.length);
  let at = 0n;
  for (const row of rows) {
    const owner = row.owner === undefined ? 0 : (owners.get(row.owner) ?? 0);
    at = packSpan(writer, row, owner, at);
    writer.varint(row.lostAt);
  }
}

function packNumbered(writer: ByteWriter, spans: readonly NumberedSpan[]): void {
  let at = 0n;
  for (const span of spans) at = packSpan(writer, span, 0, at);
}

/** Returns where it ends. */
function packSpan(writer: ByteWriter, span: NumberedSpan, bits: number, at: bigint): bigint {
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

function packText(writer: ByteWriter, text: string): void {
  writer.text(text, (length) => writer.varint(length));
}
