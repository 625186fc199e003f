/**
 * As much of MessagePack as an envelope needs, and no more.
 *
 * An envelope is one map, with texts for keys; the values are texts, numbers, true, false, nil, packed bytes, and maps
 * of the same kind that hold no further map. Any MessagePack library can write and read such maps. The other way
 * round, a library reads far more than that, and a peer could exploit all of that: arrays and maps that announce four
 * thousand million items, maps inside maps without end, extensions, keys that name a prototype, the same key twice so
 * that two readers see two messages. Here all of these are refused where their first byte is seen.
 *
 * Time and memory are bounded by the length of the frame: nothing is reserved on the word of a header.
 */

import type { ByteReader, ByteWriter } from './bytes.ts';
import { Flaw } from './flaw.ts';

/** A nil is nothing. */
export type Value = string | number | boolean | undefined | Uint8Array | ValueMap;
export type ValueMap = ReadonlyMap<string, Value>;

/** Far more than any message has. */
export const MOST_ENTRIES = 32;
export const LONGEST_KEY = 16;

/** Reads one map, which may have maps inside, `depth` levels deep. */
export function readMap(reader: ByteReader, depth = 1): ValueMap {
  const count = mapCount(reader.uint8(), reader);
  if (count === undefined) throw new Flaw('must be a map');
  return entries(reader, count, depth);
}

function entries(reader: ByteReader, count: number, depth: number): ValueMap {
  if (count > MOST_ENTRIES) throw new Flaw(`must have at most ${MOST_ENTRIES} entries`);
  const map = new Map<string, Value>();
  for (let index = 0; index < count; index += 1) {
    const length = textLength(reader.uint8(), reader);
    if (length === undefined || length > LONGEST_KEY) {
      throw new Flaw(`must have keys that are texts of at most ${LONGEST_KEY} bytes`);
    }
    const key = reader.text(length);
    if (map.has(key)) throw new Flaw('must not have a key twice');
    map.set(key, value(reader, depth));
  }
  return map;
}

function value(reader: ByteReader, depth: number): Value {
  const type = reader.uint8();
  if (type < 0x80) return type;
  if (type >= 0xe0) return type - 0x100;
  const length = textLength(type, reader);
  if (length !== undefined) return reader.text(length);
  const count = mapCount(type, reader);
  if (count !== undefined) {
    if (depth === 0) throw new Flaw('must not have maps so deep');
    return entries(reader, count, depth - 1);
  }
  switch (type) {
    case 0xc0:
      return undefined;
    case 0xc2:
      return false;
    case 0xc3:
      return true;
    case 0xc4:
      return reader.bytes(reader.uint8());
    case 0xc5:
      return reader.bytes(reader.uint16());
    case 0xc6:
      return reader.bytes(reader.uint32());
    case 0xca:
      return reader.float32();
    case 0xcb:
      return reader.float64();
    case 0xcc:
      return reader.uint8();
    case 0xcd:
      return reader.uint16();
    case 0xce:
      return reader.uint32();
    case 0xcf:
      return reader.uint64();
    case 0xd0:
      return reader.int8();
    case 0xd1:
      return reader.int16();
    case 0xd2:
      return reader.int32();
    case 0xd3:
      return reader.int64();
    default:
      throw new Flaw(`must not have a value of type 0x${type.toString(16)}`);
  }
}

function textLength(type: number, reader: ByteReader): number | undefined {
  if (type >= 0xa0 && type < 0xc0) return type & 0x1f;
  if (type === 0xd9) return reader.uint8();
  if (type === 0xda) return reader.uint16();
  if (type === 0xdb) return reader.uint32();
  return undefined;
}

function mapCount(type: number, reader: ByteReader): number | undefined {
  if (type >= 0x80 && type < 0x90) return type & 0x0f;
  if (type === 0xde) return reader.uint16();
  if (type === 0xdf) return reader.uint32();
  return undefined;
}

// Written values have their shortest form.

export function writeText(writer: ByteWriter, text: string): void {
  writer.text(text, (length) => {
    if (length < 0x20) writer.uint8(0xa0 | length);
    else if (length <= 0xff) writer.uint16(0xd900 | length);
    else {
      writer.uint8(length <= 0xffff ? 0xda : 0xdb);
      if (length <= 0xffff) writer.uint16(length);
      else writer.uint32(length);
    }
  });
}

/** Whole numbers from 0 as integers, everything else as a float of 64 bits. */
export function writeNumber(writer: ByteWriter, value: number): void {
  if (!Number.isSafeInteger(value) || value < 0) {
    writer.uint8(0xcb);
    writer.float64(value);
  } else if (value < 0x80) {
    writer.uint8(value);
  } else if (value <= 0xff) {
    writer.uint16(0xcc00 | value);
  } else if (value <= 0xffff) {
    writer.uint8(0xcd);
    writer.uint16(value);
  } else if (value <= 0xffff_ffff) {
    writer.uint8(0xce);
    writer.uint32(value);
  } else {
    writer.uint8(0xcf);
    writer.uint64(value);
  }
}

export function writeFlag(writer: ByteWriter, value: boolean): void {
  writer.uint8(value ? 0xc3 : 0xc2);
}

/** The head of packed bytes, which are to follow. */
export function writeBytesHead(writer: ByteWriter, length: number): void {
  if (length <= 0xff) {
    writer.uint16(0xc400 | length);
  } else if (length <= 0xffff) {
    writer.uint8(0xc5);
    writer.uint16(length);
  } else {
    writer.uint8(0xc6);
    writer.uint32(length);
  }
}

/** A map of at most 15 entries, written while they are counted. */
export class MapWriter {
  readonly #writer: ByteWriter;
  readonly #head: number;
  #count = 0;

  constructor(writer: ByteWriter) {
    this.#writer = writer;
    this.#head = writer.length;
    writer.uint8(0x80);
  }

  /** The value must be written next. */
  key(key: string): ByteWriter {
    this.#count += 1;
    this.#writer.patch(this.#head, 0x80 | this.#count);
    writeText(this.#writer, key);
    return this.#writer;
  }
}
