/**
 * Messages of spread limits and group totals as bytes.
 *
 *     word             1  view  from  size  tokensPerSecond  burst  isRepeated
 *     show             2  view  demand  credits  parts  count name…
 *     transfer         3  line  lo  cur  count number…
 *     acknowledgement  4  line  seen
 *     settle           5  line  cur
 *     settled          6  line  cur  seen
 *     probe            7  isAnswer
 *
 * Counts and numbers of items are varints, amounts and settings doubles. Every list and text has a bound.
 */

import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, refusing } from '../../runtime/msgpack/flaw.ts';
import type { SpreadMessage } from './messages.ts';

const KIND = {
  ...{ word: 1, show: 2, transfer: 3, acknowledgement: 4, settle: 5, settled: 6, probe: 7 },
} as const;

/** An id of a view, or the key of a process with its name. */
const TEXT_BYTES_MAX = 1_024;
const NAMES_MAX = 256;
const NUMBERS_MAX = 2;

/** One for all messages: encoding one ends before the next begins. */
const writer = new ByteWriter();

const text = (value: string): void => writer.text(value, (length) => writer.varint(length));

export function encodeSpread(message: SpreadMessage): Uint8Array {
  writer.clear();
  writer.uint8(KIND[message.kind]);
  switch (message.kind) {
    case 'word':
      text(message.view);
      text(message.from);
      writer.varint(message.size);
      writer.float64(message.tokensPerSecond);
      writer.float64(message.burst);
      writer.uint8(message.isRepeated ? 1 : 0);
      break;
    case 'show':
      text(message.view);
      writer.float64(message.demand);
      writer.float64(message.credits);
      writer.float64(message.parts);
      writer.varint(message.blacklist.length);
      for (const name of message.blacklist) text(name);
      break;
    case 'transfer':
      text(message.line);
      writer.varint(message.lo);
      writer.varint(message.cur);
      writer.varint(message.amount.length);
      for (const number of message.amount) writer.float64(number);
      break;
    case 'acknowledgement':
      text(message.line);
      writer.varint(message.seen);
      break;
    case 'settle':
      text(message.line);
      writer.varint(message.cur);
      break;
    case 'settled':
      text(message.line);
      writer.varint(message.cur);
      writer.varint(message.seen);
      break;
    case 'probe':
      writer.uint8(message.isAnswer ? 1 : 0);
      break;
  }
  return writer.take();
}

/** @throws {MalformedMessageError} and nothing else */
export function decodeSpread(bytes: Uint8Array): SpreadMessage {
  return refusing(() => {
    const reader = new ByteReader(bytes);
    const message = read(reader);
    reader.finish();
    return message;
  });
}

function read(reader: ByteReader): SpreadMessage {
  const kind = reader.uint8();
  switch (kind) {
    case KIND.word: {
      const [view, from, size] = [readText(reader), readText(reader), reader.varint()];
      const [tokensPerSecond, burst] = [notNegative(reader), notNegative(reader)];
      if (size < 1 || size > NAMES_MAX) throw new Flaw(`must be from 1 to ${NAMES_MAX}`, 'size');
      return { kind: 'word', view, from, size, tokensPerSecond, burst, isRepeated: flag(reader) };
    }
    case KIND.show: {
      const view = readText(reader);
      const [demand, credits, parts] = [notNegative(reader), notNegative(reader), notNegative(reader)];
      const blacklist = list(reader, NAMES_MAX, () => readText(reader));
      return { kind: 'show', view, demand, credits, parts, blacklist };
    }
    case KIND.transfer: {
      const [line, lo, cur] = [readText(reader), reader.varint(), reader.varint()];
      if (lo >= cur) throw new Flaw('must be above lo', 'cur');
      return { kind: 'transfer', line, lo, cur, amount: list(reader, NUMBERS_MAX, () => finite(reader)) };
    }
    case KIND.acknowledgement:
      return { kind: 'acknowledgement', line: readText(reader), seen: reader.varint() };
    case KIND.settle:
      return { kind: 'settle', line: readText(reader), cur: reader.varint() };
    case KIND.settled:
      return { kind: 'settled', line: readText(reader), cur: reader.varint(), seen: reader.varint() };
    case KIND.probe:
      return { kind: 'probe', isAnswer: flag(reader) };
    default:
      throw new Flaw(`is of kind ${kind}, which there is not`);
  }
}

function readText(reader: ByteReader): string {
  const length = reader.varint();
  if (length > 0 && length <= TEXT_BYTES_MAX) return reader.text(length);
  throw new Flaw(`must be a text of 1 to ${TEXT_BYTES_MAX} bytes`);
}

function finite(reader: ByteReader): number {
  const value = reader.float64();
  if (Number.isFinite(value)) return value;
  throw new Flaw('must be a finite number');
}

/** Sums of such numbers stay finite. */
function notNegative(reader: ByteReader): number {
  const value = finite(reader);
  if (value >= 0 && value <= Number.MAX_SAFE_INTEGER) return value;
  throw new Flaw(`must be from 0 to ${Number.MAX_SAFE_INTEGER}`);
}

function flag(reader: ByteReader): boolean {
  const value = reader.uint8();
  if (value > 1) throw new Flaw('must be 0 or 1');
  return value === 1;
}

function list<T>(reader: ByteReader, most: number, item: () => T): T[] {
  const count = reader.varint();
  if (count > most) throw new Flaw(`must have at most ${most} items`);
  return Array.from({ length: count }, item);
}
