/**
 * Plain data as bytes: arguments, results, errors and states of objects.
 *
 * Plain data is what can be written without knowing a class: null, undefined, booleans, numbers, bigints, strings, `Date`,
 * `Uint8Array`, arrays, plain objects, `Map` and `Set`. Everything else would arrive as something else, so the writer refuses it
 * and names the path: `args[0].user.avatar is a function`. What is written is read as the same value, on any version of Node:
 * that is why `node:v8` does not do it, whose format an older Node cannot read.
 *
 * The format is MessagePack, with three extensions for what MessagePack lacks:
 *
 *     d4 01 00                undefined
 *     d4 02 00, then an array: of the members of a Set
 *     d4 03 00, then an array: key, value, key, value, … of a Map
 *     d7 04, float64          a Date: milliseconds since 1970; NaN is an invalid Date
 *     c8 n 05, sign, bytes    a bigint: 0 or 1 (negative), then the magnitude, big end first
 *
 * **Why hostile bytes cost no more than their length.** The reader reserves nothing on the word of a head: an array of n items needs
 * n more bytes, or is refused at once. The costliest byte is that of an empty container, so one container is allowed for each 16 bytes of the
 * bound. Depth is bounded, so the stack is. Nothing names a class or a prototype: `__proto__` is refused as a key.
 * The writer obeys the same bounds, so what it writes can be read.
 *
 * **Why a cyclic or endlessly shared value ends.** The writer keeps the containers on its way down: a container within itself is a cycle. A value
 * that is reached by many ways is written as often, and the bound of bytes ends that.
 */

import { InvalidArgumentError, MalformedMessageError } from '../../runtime/errors.ts';
import { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside, refusing } from '../../runtime/msgpack/flaw.ts';
import { writeBytesHead, writeFlag, writeNumber, writeText } from '../../runtime/msgpack/msgpack.ts';
import { numberWords } from '../../runtime/option-table.ts';
import { isWellFormed } from '../../runtime/text-option.ts';

/** Of arguments together, of a result, of an error. */
export const CALL_BYTES_MAX: number = 1_048_576;
/** Of the state of one object: a larger one could not move. */
export const STATE_BYTES_MAX: number = 16 * 1_048_576;

/** Deeper than any data that people write, and far less than the stack holds. */
const DEPTH_MAX = 100;
/** 1,024 bytes are 8,192 bits. */
const BIGINT_BYTES_MAX = 1_024;
/** An empty `Map` takes some 200 bytes of memory; this many for each byte of the bound are borne. */
const BYTES_PER_CONTAINER = 16;

const UNDEFINED = 1;
const SET = 2;
const MAP = 3;
const DATE = 4;
const BIGINT = 5;

/** Writers that are free. A getter of the application may write other data while its object is written. */
const free: ByteWriter[] = [];

/**
 * @param root what the value is, as the path begins: `args`, `state`
 * @throws {InvalidArgumentError} `INVALID_DATA` for what is not plain data, `TOO_LARGE` beyond `bytesMax`; `details` has `path`, `rule`
 */
export function encodePlain(root: string, value: unknown, bytesMax: number = CALL_BYTES_MAX): Uint8Array {
  const writer = free.pop() ?? new ByteWriter();
  try {
    new PlainWriter(writer, bytesMax).write(value);
    return writer.take();
  } catch (error) {
    writer.clear();
    const flaw = inside(root, error);
    if (!(flaw instanceof Flaw)) throw error;
    throw refusal(flaw.path, flaw.rule, bytesMax);
  } finally {
    free.push(writer);
  }
}

const TOO_LARGE = 'is too large';

function refusal(path: string, rule: string, bytesMax: number): InvalidArgumentError {
  const details = { path, rule };
  const facts = { module: 'objects', details } as const;
  if (rule !== TOO_LARGE)
    return new InvalidArgumentError('INVALID_DATA', `${path} ${rule}; ${WHAT_PLAIN_DATA_IS}`, facts);
  const root = /^\w+/.exec(path)?.[0] ?? path;
  const bound = `at most ${numberWords(bytesMax)} bytes`;
  return new InvalidArgumentError('TOO_LARGE', `${root} is too large: ${bound}, reached at ${path}`, facts);
}

const WHAT_PLAIN_DATA_IS =
  'plain data is null, undefined, booleans, numbers, bigints, strings, Date, Uint8Array, arrays, plain objects, Map and Set';

/** @throws {MalformedMessageError} for bytes that {@link encodePlain} with this bound does not write */
export function decodePlain(bytes: Uint8Array, bytesMax: number = CALL_BYTES_MAX): unknown {
  if (bytes.length > bytesMax)
    throw new MalformedMessageError('the data', `must have at most ${bytesMax} bytes`);
  return refusing(() => {
    const reader = new ByteReader(bytes);
    const value = new PlainReader(reader, bytesMax).read(0);
    reader.finish();
    return value;
  });
}

class PlainWriter {
  readonly #writer: ByteWriter;
  readonly #bytesMax: number;
  readonly #above = new Set<object>();
  #containers: number;

  constructor(writer: ByteWriter, bytesMax: number) {
    this.#writer = writer;
    this.#bytesMax = bytesMax;
    this.#containers = Math.floor(bytesMax / BYTES_PER_CONTAINER);
  }

  write(value: unknown): void {
    this.#value(value);
    if (this.#writer.length > this.#bytesMax) throw new Flaw(TOO_LARGE);
  }

  #value(value: unknown): void {
    const writer = this.#writer;
    switch (typeof value) {
      case 'string':
        this.#text(value);
        break;
      case 'number':
        if (Object.is(value, -0)) this.#float(value);
        else writeNumber(writer, value);
        break;
      case 'boolean':
        writeFlag(writer, value);
        break;
      case 'undefined':
        this.#mark(UNDEFINED);
        break;
      case 'bigint':
        this.#bigint(value);
        break;
      case 'object':
        if (value === null) writer.uint8(0xc0);
        else this.#object(value);
        break;
      default:
        throw new Flaw(`is a ${typeof value}`);
    }
  }

  #text(text: string): void {
    if (text.length > this.#bytesMax) throw new Flaw(TOO_LARGE);
    if (!isWellFormed(text)) throw new Flaw('has half of a surrogate pair');
    writeText(this.#writer, text);
  }

  #float(value: number): void {
    this.#writer.uint8(0xcb);
    this.#writer.float64(value);
  }

  /** An extension whose only byte says nothing. */
  #mark(type: number): void {
    this.#writer.uint8(0xd4);
    this.#writer.uint8(type);
    this.#writer.uint8(0);
  }

  #bigint(value: bigint): void {
    const isNegative = value < 0n;
    const digits = (isNegative ? -value : value).toString(16);
    const length = Math.ceil(digits.length / 2);
    if (length > BIGINT_BYTES_MAX) throw new Flaw(`is a bigint of more than ${BIGINT_BYTES_MAX} bytes`);
    const writer = this.#writer;
    writer.uint8(0xc8);
    writer.uint16(length + 1);
    writer.uint8(BIGINT);
    writer.uint8(isNegative ? 1 : 0);
    const even = digits.padStart(2 * length, '0');
    for (let at = 0; at < even.length; at += 2) writer.uint8(Number.parseInt(even.slice(at, at + 2), 16));
  }

  #object(value: object): void {
    const prototype: unknown = Object.getPrototypeOf(value);
    if (value instanceof Uint8Array) this.#bytes(value);
    else if (prototype === Date.prototype) this.#date(value as Date);
    else this.#container(value, prototype);
  }

  #date(value: Date): void {
    this.#writer.uint8(0xd7);
    this.#writer.uint8(DATE);
    this.#writer.float64(value.getTime());
  }

  #container(value: object, prototype: unknown): void {
    if (this.#above.has(value)) throw new Flaw('is a cycle: it contains itself');
    if (this.#above.size >= DEPTH_MAX) throw new Flaw(`is more than ${DEPTH_MAX} levels deep`);
    if (this.#containers <= 0) throw new Flaw(TOO_LARGE);
    this.#containers -= 1;
    this.#above.add(value);
    if (prototype === Array.prototype) this.#array(value as readonly unknown[]);
    else if (prototype === Map.prototype) this.#map(value as ReadonlyMap<unknown, unknown>);
    else if (prototype === Set.prototype) this.#set(value as ReadonlySet<unknown>);
    else if (prototype === Object.prototype || prototype === null) this.#fields(value);
    else throw new Flaw(`is an instance of ${classOf(value)}`);
    this.#above.delete(value);
  }

  #bytes(value: Uint8Array): void {
    if (value.length > this.#bytesMax) throw new Flaw(TOO_LARGE);
    writeBytesHead(this.#writer, value.length);
    this.#writer.bytes(value);
  }

  #array(items: readonly unknown[]): void {
    if (items.length > this.#bytesMax) throw new Flaw(TOO_LARGE);
    if (Object.keys(items).length !== items.length)
      throw new Flaw('is an array with holes or with named fields');
    this.#arrayHead(items.length);
    for (let index = 0; index < items.length; index += 1) this.#within(`[${index}]`, items[index]);
  }

  #set(items: ReadonlySet<unknown>): void {
    this.#mark(SET);
    this.#arrayHead(items.size);
    let index = 0;
    for (const item of items) this.#within(`values()[${index++}]`, item);
  }

  #map(items: ReadonlyMap<unknown, unknown>): void {
    this.#mark(MAP);
    this.#arrayHead(2 * items.size);
    let index = 0;
    for (const [key, item] of items) {
      this.#within(`keys()[${index++}]`, key);
      this.#within(typeof key === 'string' ? `get(${JSON.stringify(key)})` : `values()[${index - 1}]`, item);
    }
  }

  #fields(value: object): void {
    const names = Object.keys(value);
    if (Object.getOwnPropertySymbols(value).length > 0) throw new Flaw('has a field whose name is a symbol');
    const writer = this.#writer;
    if (names.length < 0x10) writer.uint8(0x80 | names.length);
    else this.#longHead(0xde, names.length);
    for (const name of names) {
      if (name === '__proto__') throw new Flaw('has a field of the name __proto__');
      this.#text(name);
      const field = (value as Readonly<Record<string, unknown>>)[name];
      this.#within(/^[A-Za-z_$][\w$]*$/.test(name) ? name : `[${JSON.stringify(name)}]`, field);
    }
  }

  #within(place: string, value: unknown): void {
    try {
      this.write(value);
    } catch (error) {
      throw inside(place, error);
    }
  }

  #arrayHead(length: number): void {
    if (length < 0x10) this.#writer.uint8(0x90 | length);
    else this.#longHead(0xdc, length);
  }

  #longHead(head: number, length: number): void {
    this.#writer.uint8(length <= 0xffff ? head : head + 1);
    if (length <= 0xffff) this.#writer.uint16(length);
    else this.#writer.uint32(length);
  }
}

function classOf(value: object): string {
  const maker: unknown = value.constructor;
  const name = typeof maker === 'function' ? maker.name : '';
  return name === '' ? 'a class without a name' : name;
}

class PlainReader {
  readonly #reader: ByteReader;
  #containers: number;

  constructor(reader: ByteReader, bytesMax: number) {
    this.#reader = reader;
    this.#containers = Math.floor(bytesMax / BYTES_PER_CONTAINER);
  }

  read(depth: number): unknown {
    const reader = this.#reader;
    const type = reader.uint8();
    if (type < 0x80) return type;
    if (type < 0x90) return this.#fields(type & 0x0f, depth);
    if (type < 0xa0) return this.#array(type & 0x0f, depth);
    if (type < 0xc0) return reader.text(type & 0x1f);
    switch (type) {
      case 0xc0:
        return null;
      case 0xc2:
        return false;
      case 0xc3:
        return true;
      case 0xc4:
        return new Uint8Array(reader.bytes(reader.uint8()));
      case 0xc5:
        return new Uint8Array(reader.bytes(reader.uint16()));
      case 0xc6:
        return new Uint8Array(reader.bytes(reader.uint32()));
      case 0xc8:
        return this.#bigint(reader.uint16());
      case 0xcb:
        return reader.float64();
      case 0xcc:
        return reader.uint8();
      case 0xcd:
        return reader.uint16();
      case 0xce:
        return reader.uint32();
      case 0xcf:
        return this.#long();
      case 0xd4:
        return this.#marked(depth);
      case 0xd7:
        return this.#date();
      case 0xd9:
        return reader.text(reader.uint8());
      case 0xda:
        return reader.text(reader.uint16());
      case 0xdb:
        return reader.text(reader.uint32());
      case 0xdc:
        return this.#array(reader.uint16(), depth);
      case 0xdd:
        return this.#array(reader.uint32(), depth);
      case 0xde:
        return this.#fields(reader.uint16(), depth);
      case 0xdf:
        return this.#fields(reader.uint32(), depth);
      default:
        throw new Flaw(`must not have a value of type 0x${type.toString(16)}`);
    }
  }

  #long(): number {
    const value = this.#reader.uint64();
    if (!Number.isSafeInteger(value)) throw new Flaw('must be below 2^53');
    return value;
  }

  #bigint(length: number): bigint {
    const reader = this.#reader;
    if (reader.uint8() !== BIGINT) throw new Flaw('must be an extension of plain data');
    if (length < 2 || length > BIGINT_BYTES_MAX + 1)
      throw new Flaw(`must have at most ${BIGINT_BYTES_MAX} bytes`);
    const sign = reader.uint8();
    let digits = '';
    for (const byte of reader.bytes(length - 1)) digits += byte.toString(16).padStart(2, '0');
    const magnitude = BigInt(`0x${digits}`);
    return sign === 0 ? magnitude : -magnitude;
  }

  #date(): Date {
    if (this.#reader.uint8() !== DATE) throw new Flaw('must be an extension of plain data');
    return dateAt(this.#reader.float64());
  }

  #marked(depth: number): unknown {
    const type = this.#reader.uint8();
    this.#reader.uint8();
    if (type === UNDEFINED) return undefined;
    if (type !== SET && type !== MAP) throw new Flaw('must be an extension of plain data');
    const items = this.#items(depth);
    if (type === SET) {
      const set = new Set(items);
      if (set.size !== items.length) throw new Flaw('must not have a member twice');
      return set;
    }
    if (items.length % 2 !== 0) throw new Flaw('must have a value for each key');
    const map = new Map<unknown, unknown>();
    for (let index = 0; index < items.length; index += 2) map.set(items[index], items[index + 1]);
    if (2 * map.size !== items.length) throw new Flaw('must not have a key twice');
    return map;
  }

  /** The array that follows the mark of a `Set` or `Map`. */
  #items(depth: number): readonly unknown[] {
    const type = this.#reader.uint8();
    if (type >= 0x90 && type < 0xa0) return this.#array(type & 0x0f, depth);
    if (type === 0xdc) return this.#array(this.#reader.uint16(), depth);
    if (type === 0xdd) return this.#array(this.#reader.uint32(), depth);
    throw new Flaw('must be an array');
  }

  #array(length: number, depth: number): unknown[] {
    this.#enter(length, depth);
    const items: unknown[] = [];
    for (let index = 0; index < length; index += 1) items.push(this.read(depth + 1));
    return items;
  }

  #fields(count: number, depth: number): Record<string, unknown> {
    this.#enter(2 * count, depth);
    const fields: Record<string, unknown> = {};
    for (let index = 0; index < count; index += 1) {
      const name = this.read(depth + 1);
      if (typeof name !== 'string') throw new Flaw('must have texts for keys');
      if (name === '__proto__') throw new Flaw('must not have a key __proto__');
      if (Object.hasOwn(fields, name)) throw new Flaw('must not have a key twice');
      fields[name] = this.read(depth + 1);
    }
    return fields;
  }

  #enter(items: number, depth: number): void {
    if (items > this.#reader.left) throw new Flaw('ends too early');
    if (depth >= DEPTH_MAX) throw new Flaw(`must be at most ${DEPTH_MAX} levels deep`);
    if (this.#containers <= 0) throw new Flaw('must have fewer arrays and maps');
    this.#containers -= 1;
  }
}

/** A `Date` of a given instant reads no clock. */
const dateAt = (ms: number): Date => Reflect.construct(Date, [ms]) as Date;
