/**
 * For tests only: bytes that a peer may send, pushed through everything that looks at bytes before a
 * protocol does. Nothing but the errors that are meant for it may come out, nothing may be kept
 * beyond the limit, and a good handshake afterwards must still be understood, because a decoder that
 * a bad message leaves in disorder would be worse than one that fails.
 */

import { pack } from 'msgpackr';
import { assert } from '../../runtime/assert.ts';
import { LeaseholdError } from '../../runtime/errors.ts';
import { agreeOn, decodeHello, decodeWelcome, encodeHello, encodeWelcome } from './handshake.ts';
import { FrameTooLargeError } from './errors.ts';
import { wrongProtocol } from './wrong-protocol.ts';
import { FrameReader } from './frame-reader.ts';
import { framed } from './frame-writer.ts';
import { PROTOCOL } from './socket-script.ts';

export interface FuzzCounts {
  inputs: number;
  frames: number;
  handshakes: number;
  refused: number;
  tooLarge: number;
  foreigners: number;
}

const LIMIT_BYTES = 4_096;

/** A small generator of numbers; good enough to draw bytes, and the same from the same seed. */
export function dice(seed: number): (below: number) => number {
  let state = seed >>> 0 || 1;
  return (below) => {
    state ^= state << 13;
    state ^= state >>> 17;
    state ^= state << 5;
    return (state >>> 0) % below;
  };
}

const GOOD: readonly Uint8Array[] = [
  encodeHello(PROTOCOL, 'owner'),
  encodeHello(PROTOCOL, 'b', { member: 'b', group: 'g', agreed: 'leaseMs 1500' }),
  encodeWelcome(PROTOCOL, { version: 3, greeting: { http: 'http://127.0.0.1:7401' }, channel: 'c' }),
  pack({ protocol: 'parley', error: { code: 'VERSION_MISMATCH', message: 'upgrade' } }),
  pack({ protocol: 'parley', version: 2, oldest: 1, role: 'x', more: [1, [2, { deep: new Map([[1, 2]]) }]] }),
  Buffer.from('GET / HTTP/1.1\r\nhost: a\r\n\r\n'),
  Buffer.from([0x16, 0x03, 0x01, 0x02, 0x00, 0x01, 0x00]),
];

/** Bytes that mean much in msgpack or in a length. */
const WEIGHTY = [
  0x00, 0x01, 0x7f, 0x80, 0x8f, 0x90, 0x9f, 0xa0, 0xbf, 0xc0, 0xc1, 0xc4, 0xc6, 0xc7, 0xc9, 0xca,
];
const WEIGHTIER = [
  0xcb, 0xcf, 0xd3, 0xd4, 0xd6, 0xd8, 0xd9, 0xdb, 0xdc, 0xdd, 0xde, 0xdf, 0x40, 0x62, 0x72, 0xff,
];
const BYTES = [...WEIGHTY, ...WEIGHTIER];

function mutated(good: Uint8Array, draw: (below: number) => number): Uint8Array {
  const bytes = Buffer.from(good);
  for (let changes = draw(6); changes > 0; changes -= 1) {
    bytes[draw(bytes.length)] = draw(2) === 0 ? draw(256) : (BYTES[draw(BYTES.length)] as number);
  }
  return draw(4) === 0 ? bytes.subarray(0, draw(bytes.length + 1)) : bytes;
}

function randomBytes(draw: (below: number) => number): Uint8Array {
  const bytes = Buffer.allocUnsafe(draw(64));
  for (let at = 0; at < bytes.length; at += 1) {
    bytes[at] = draw(3) === 0 ? (BYTES[draw(BYTES.length)] as number) : draw(256);
  }
  return bytes;
}

/** One input: frames as they should be, spoilt ones, or no frames at all. */
function input(draw: (below: number) => number): Uint8Array {
  const inside = (): Uint8Array =>
    draw(3) === 0 ? randomBytes(draw) : mutated(GOOD[draw(GOOD.length)] as Uint8Array, draw);
  switch (draw(5)) {
    case 0:
      return randomBytes(draw);
    case 1:
      return mutated(framed(inside()), draw);
    case 2:
      return Buffer.concat([framed(inside()), framed(inside()), randomBytes(draw)]);
    default:
      return framed(inside());
  }
}

/** @throws an error that should not have been thrown, with the seed and the number of the input */
export function fuzz(inputs: number, seed: number): FuzzCounts {
  const counts: FuzzCounts = { inputs, frames: 0, handshakes: 0, refused: 0, tooLarge: 0, foreigners: 0 };
  const draw = dice(seed);
  const { stackTraceLimit } = Error;
  Error.stackTraceLimit = 0; // A stack for each of a million errors would be most of the work.
  try {
    return fuzzed(counts, draw, seed);
  } finally {
    Error.stackTraceLimit = stackTraceLimit;
  }
}

function fuzzed(counts: FuzzCounts, draw: (below: number) => number, seed: number): FuzzCounts {
  for (let number = 0; number < counts.inputs; number += 1) {
    const bytes = input(draw);
    try {
      feed(bytes, draw, counts);
    } catch (cause) {
      const hex = Buffer.from(bytes).toString('hex');
      throw new Error(`seed ${seed}, input ${number}, bytes ${hex}`, { cause });
    }
  }
  return counts;
}

function feed(bytes: Uint8Array, draw: (below: number) => number, counts: FuzzCounts): void {
  const reader = new FrameReader(LIMIT_BYTES);
  try {
    for (let at = 0; at < bytes.length; ) {
      const end = at + 1 + draw(bytes.length);
      reader.push(bytes.subarray(at, end), (frame) => {
        counts.frames += 1;
        shake(frame, counts);
      });
      assert(reader.bufferedBytes <= LIMIT_BYTES, `${reader.bufferedBytes} bytes are kept`);
      at = end;
    }
  } catch (error) {
    if (!(error instanceof FrameTooLargeError)) throw error;
    counts.tooLarge += 1;
    if (wrongProtocol(error.bytes) !== undefined) counts.foreigners += 1;
  }
}

const isOrdinary: (hello: Uint8Array) => boolean = (hello) => decodeHello(hello).role === 'owner';

function shake(frame: Uint8Array, counts: FuzzCounts): void {
  const answers = [() => agreeOn(PROTOCOL, decodeHello(frame)), () => decodeWelcome(PROTOCOL, frame)];
  for (const answer of answers) {
    try {
      answer();
      counts.handshakes += 1;
    } catch (error) {
      if (!(error instanceof LeaseholdError)) throw error;
      counts.refused += 1;
    }
  }
  assert(isOrdinary(GOOD[0] as Uint8Array), 'a good handshake is no longer understood');
}
