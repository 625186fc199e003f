/**
 * Bytes written one after the other, and read back by a reader that trusts none of them.
 *
 * Integers of a fixed width have their big end first. A *varint* is an integer from 0 below 2^53,
 * seven bits a byte, the low ones first, the top bit of a byte set if another follows:
 *
 *     0 → 00     127 → 7f     128 → 80 01     300 → ac 02     2^53 - 1 → ff ff ff ff ff ff ff 0f
 *
 * A varint must take the fewest possible bytes, or is refused: one number has one form.
 *
 * A reader checks whether there are enough bytes before reading or reserving anything, so whatever lengths a peer
 * writes, they cost no more than the received bytes.
 */

import { Buffer } from 'node:buffer';
import { Flaw } from './flaw.ts';

const HIGH_WORD = 2 ** 32;
/** Seven bytes hold 49 bits; the eighth may add the last four. */
const LONGEST_VARINT = 8;

// A byte-order mark is a character like any other here, and bytes that are no UTF-8 are refused.
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const encoder = new TextEncoder();

export class ByteReader {
  readonly #bytes: Buffer;
  readonly #view: DataView;
  #at = 0;

  constructor(bytes: Uint8Array) {
    this.#bytes = Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);
    this.#view = new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);
  }

  /** How many bytes are still to be read. */
  get left(): number {
    return this.#bytes.length - this.#at;
  }

  uint8(): number {
    return this.#view.getUint8(this.#skip(1));
  }

  uint16(): number {
    return this.#view.getUint16(this.#skip(2));
  }

  uint32(): number {
    return this.#view.getUint32(this.#skip(4));
  }

  /** Above 2^53 only roughly. */
  uint64(): number {
    return this.uint32() * HIGH_WORD + this.uint32();
  }

  int8(): number {
    return this.#view.getInt8(this.#skip(1));
  }

  int16(): number {
    return this.#view.getInt16(this.#skip(2));
  }

  int32(): number {
    return this.#view.getInt32(this.#skip(4));
  }

  /** Below -2^53 and above 2^53 only roughly. */
  int64(): number {
    return this.int32() * HIGH_WORD + this.uint32();
  }

  float32(): number {
    return this.#view.getFloat32(this.#skip(4));
  }

  float64(): number {
    return this.#view.getFloat64(this.#skip(8));
  }

  /** All 64 bits. */
  place(): bigint {
    return this.#view.getBigUint64(this.#skip(8));
  }

  varint(): number {
    const bytes = this.#bytes;
    let at = this.#at;
    let byte = bytes[at++];
    if (byte !== undefined && byte < 0x80) {
      this.#at = at;
      return byte;
    }
    let value = 0;
    let scale = 1;
    for (let length = 1; byte !== undefined && length <= LONGEST_VARINT; length += 1) {
      value += (byte & 0x7f) * scale;
      if (byte < 0x80) {
        if (byte === 0) throw new Flaw('must not be longer than it need be');
        if (value > Number.MAX_SAFE_INTEGER) break;
        this.#at = at;
        return value;
      }
      scale *= 0x80;
      byte = bytes[at++];
    }
    throw byte === undefined ? new Flaw('ends too early') : new Flaw('must be below 2^53');
  }

  /** So many bytes, without copying them. */
  bytes(length: number): Uint8Array {
    const at = this.#skip(length);
    return this.#bytes.subarray(at, at + length);
  }

  /** A copy of the bytes that were read since so many were left. */
  since(left: number): Uint8Array {
    return new Uint8Array(this.#bytes.subarray(this.#bytes.length - left, this.#at));
  }

  /** So many bytes of UTF-8. */
  text(length: number): string {
    const at = this.#skip(length);
    const bytes = this.#bytes;
    for (let index = at; index < at + length; index += 1) {
      if ((bytes[index] as number) >= 0x80) return this.#wide(at, length);
    }
    // Keys are this short, and to be called out of JavaScript costs more than they do.
    const [first, second] = [bytes[at] as number, bytes[at + 1] as number];
    if (length === 1) return String.fromCharCode(first);
    if (length === 2) return String.fromCharCode(first, second);
    return bytes.toString('latin1', at, at + length);
  }

  /** @throws {Flaw} if anything is left */
  finish(): void {
    if (this.left > 0) throw new Flaw(`has ${this.left} bytes too many`);
  }

  #skip(length: number): number {
    const at = this.#at;
    if (length > this.#bytes.length - at) throw new Flaw('ends too early');
    this.#at = at + length;
    return at;
  }

  #wide(at: number, length: number): string {
    try {
      return utf8.decode(this.#bytes.subarray(at, at + length));
    } catch {
      throw new Flaw('must be UTF-8');
    }
  }
}

const FIRST_ROOM = 16_384;
/** A writer that had to grow beyond this gives the memory back. */
const MOST_KEPT = 4_194_304;

/** Reusable: {@link ByteWriter.take} copies the written bytes and begins anew. */
export class ByteWriter {
  #bytes: Buffer = Buffer.allocUnsafeSlow(FIRST_ROOM);
  #view: DataView = new DataView(this.#bytes.buffer);
  #at = 0;

  /** How many bytes have been written. */
  get length(): number {
    return this.#at;
  }

  uint8(value: number): void {
    this.#reserve(1);
    this.#bytes[this.#at++] = value;
  }

  uint16(value: number): void {
    this.#reserve(2);
    this.#view.setUint16(this.#at, value);
    this.#at += 2;
  }

  uint32(value: number): void {
    this.#reserve(4);
    this.#view.setUint32(this.#at, value);
    this.#at += 4;
  }

  /** Below 2^53. */
  uint64(value: number): void {
    this.uint32(Math.floor(value / HIGH_WORD));
    this.uint32(value % HIGH_WORD);
  }

  float64(value: number): void {
    this.#reserve(8);
    this.#view.setFloat64(this.#at, value);
    this.#at += 8;
  }

  /** The lowest 64 bits: 2^64 is written as 0. */
  place(value: bigint): void {
    this.#reserve(8);
    this.#view.setBigUint64(this.#at, value);
    this.#at += 8;
  }

  varint(value: number): void {
    this.#reserve(LONGEST_VARINT);
    const bytes = this.#bytes;
    let rest = value;
    while (rest > 0x7fff_ffff) {
      bytes[this.#at++] = 0x80 | (rest % 0x80);
      rest = Math.floor(rest / 0x80);
    }
    while (rest > 0x7f) {
      bytes[this.#at++] = 0x80 | (rest & 0x7f);
      rest >>>= 7;
    }
    bytes[this.#at++] = rest;
  }

  bytes(value: Uint8Array): void {
    this.#reserve(value.length);
    this.#bytes.set(value, this.#at);
    this.#at += value.length;
  }

  /** A text as UTF-8, behind the length, which `writeLength` writes. */
  text(value: string, writeLength: (length: number) => void): void {
    if (isAscii(value)) {
      writeLength(value.length);
      this.#reserve(value.length);
      for (let index = 0; index < value.length; index += 1) this.#bytes[this.#at++] = value.charCodeAt(index);
    } else {
      const wide = encoder.encode(value);
      writeLength(wide.length);
      this.bytes(wide);
    }
  }

  /** Changes a byte that was written before. */
  patch(at: number, value: number): void {
    this.#bytes[at] = value;
  }

  /** Hands on the written bytes; then the writer is empty. */
  drainInto(other: ByteWriter): void {
    other.bytes(this.#bytes.subarray(0, this.#at));
    this.clear();
  }

  /** The written bytes; then the writer is empty. */
  take(): Uint8Array {
    const taken = Buffer.allocUnsafe(this.#at);
    this.#bytes.copy(taken, 0, 0, this.#at);
    this.clear();
    return taken;
  }

  clear(): void {
    this.#at = 0;
    if (this.#bytes.length > MOST_KEPT) this.#replace(FIRST_ROOM);
  }

  #reserve(length: number): void {
    const needed = this.#at + length;
    if (needed <= this.#bytes.length) return;
    const old = this.#bytes;
    this.#replace(2 * needed);
    old.copy(this.#bytes, 0, 0, this.#at);
  }

  #replace(room: number): void {
    this.#bytes = Buffer.allocUnsafeSlow(room);
    this.#view = new DataView(this.#bytes.buffer);
  }
}

function isAscii(value: string): boolean {
  for (let index = 0; index < value.length; index += 1) if (value.charCodeAt(index) >= 0x80) return false;
  return true;
}
