/**
 * From a stream of bytes, cut anywhere, back to frames: four bytes of length, the highest first, and
 * then that many bytes.
 *
 *     00 00 00 03 │ a b c │ 00 00 00 00 │ 00 00 00 01 │ d
 *     length        frame   heartbeat     length        frame
 *
 * The length is checked when its fourth byte is there and before anything of the frame is kept. A
 * frame that lies whole in one chunk is handed out as a view of it, so in the usual case nothing is
 * copied. Of a frame that does not, the bytes are collected in a buffer that starts at the bytes that are there
 * and doubles: a peer that announces much and sends little costs the bytes it sent, twice over at most, and
 * a frame that comes byte by byte costs no more than a constant per byte.
 */

import { FrameTooLargeError } from './errors.ts';

const HEADER_BYTES = 4;
const FIRST_BUFFER_BYTES = 512;

export class FrameReader {
  /** The largest frame from here on. May be changed between two frames, also from `use`. */
  limitBytes: number;
  /** Set from `use` to hear no more of this chunk or any other. */
  stopped = false;
  /** How many bytes of the length are here, and its value so far. */
  #headerBytes = 0;
  #length = 0;
  /** A frame of which only a part is here. */
  #buffer: Uint8Array | undefined;
  #filled = 0;

  constructor(limitBytes: number) {
    this.limitBytes = limitBytes;
  }

  /** Whether a frame, or its length, has begun and not ended. */
  get isMidFrame(): boolean {
    return this.#headerBytes > 0;
  }

  /** The bytes kept of a frame that has not ended. */
  get bufferedBytes(): number {
    return this.#buffer?.length ?? 0;
  }

  /** Keeps nothing any more. */
  drop(): void {
    this.stopped = true;
    this.#buffer = undefined;
  }

  /**
   * Calls `use` with each frame that the chunk completes; a heartbeat is an empty one. The bytes may
   * be a view of the chunk: a caller that keeps a part for long copies it.
   *
   * @throws {FrameTooLargeError} and is of no more use
   */
  push(chunk: Uint8Array, use: (frame: Uint8Array) => void): void {
    let at = 0;
    while (at < chunk.length && !this.stopped) {
      if (this.#headerBytes < HEADER_BYTES) {
        at = this.#readLength(chunk, at);
        if (this.#headerBytes < HEADER_BYTES) return;
        if (this.#length > this.limitBytes) throw new FrameTooLargeError(this.#length, this.limitBytes);
      }
      const end = at + this.#length - this.#filled;
      if (end > chunk.length) {
        this.#keep(chunk.subarray(at));
        return;
      }
      const frame = this.#complete(chunk.subarray(at, end));
      at = end;
      use(frame);
    }
  }

  /** Where the length ends. Whole in nearly every chunk, and then read at once. */
  #readLength(chunk: Uint8Array, from: number): number {
    let at = from;
    while (this.#headerBytes < HEADER_BYTES && at < chunk.length) {
      this.#length = ((this.#length << 8) | (chunk[at] as number)) >>> 0;
      this.#headerBytes += 1;
      at += 1;
    }
    return at;
  }

  #complete(rest: Uint8Array): Uint8Array {
    let frame = rest;
    if (this.#buffer !== undefined) {
      this.#keep(rest);
      frame = this.#buffer.subarray(0, this.#filled);
    }
    this.#buffer = undefined;
    this.#filled = 0;
    this.#headerBytes = 0;
    this.#length = 0;
    return frame;
  }

  #keep(part: Uint8Array): void {
    const filled = this.#filled + part.length;
    const buffer = this.#buffer;
    if (buffer === undefined || filled > buffer.length) {
      const wanted = Math.max(filled, 2 * (buffer?.length ?? 0), FIRST_BUFFER_BYTES);
      const larger = new Uint8Array(Math.min(wanted, this.#length));
      if (buffer !== undefined) larger.set(buffer.subarray(0, this.#filled));
      this.#buffer = larger;
    }
    this.#buffer?.set(part, this.#filled);
    this.#filled = filled;
  }
}
