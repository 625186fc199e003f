/**
 * From payloads to as few writes as possible.
 *
 * Messages to one peer of one turn of the event loop leave in one write: small payloads are
 * copied behind their lengths into one buffer, because to hand each to the socket costs more than
 * the copy. A large payload, or the tail that many have in common, is never copied: it is a push that
 * goes to thousands of peers, or a table that they all ask for, and all their sockets share its bytes.
 *
 *     payloads   a  b  CCCCCCCC  d  eTTTTTTTT
 *     writes     [4 a 4 b 4]  [CCCCCCCC]  [4 d 4 e]  [TTTTTTTT]
 */

import { type Payload, payloadBytes } from '../../runtime/codec.ts';

const HEADER_BYTES = 4;
/** From this size on, two more writes are cheaper than a copy. */
const LARGE_BYTES = 4 * 1024;

/** A frame of no bytes: "I am still here." */
export const HEARTBEAT: Uint8Array = new Uint8Array(HEADER_BYTES);

/** How many bytes the payload takes on the way. */
export const framedBytes = (payload: Payload): number => HEADER_BYTES + payloadBytes(payload);

/** The bytes of one frame. */
export function framed(payload: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(framedBytes(payload));
  bytes.set(payload, bytes.writeUInt32BE(payload.length));
  return bytes;
}

/** Calls `write` with the bytes of all the frames, in their order. */
export function writeFrames(payloads: readonly Payload[], write: (bytes: Uint8Array) => void): void {
  let first = 0;
  while (first < payloads.length) {
    let end = first;
    let bytes = 0;
    let apart: Uint8Array | undefined;
    while (end < payloads.length && apart === undefined) {
      const payload = payloads[end] as Payload;
      bytes += HEADER_BYTES + copiedOf(payload).length;
      apart = apartOf(payload);
      end += 1;
    }
    write(together(payloads, first, end, bytes));
    if (apart !== undefined) write(apart);
    first = end;
  }
}

/** The frames from `first` to `end`, without the large payloads, which are written apart. */
function together(payloads: readonly Payload[], first: number, end: number, bytes: number): Uint8Array {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (let index = first; index < end; index += 1) {
    const payload = payloads[index] as Payload;
    at = buffer.writeUInt32BE(payloadBytes(payload), at);
    const copied = copiedOf(payload);
    buffer.set(copied, at);
    at += copied.length;
  }
  return buffer;
}

const NONE: Uint8Array = new Uint8Array(0);

function copiedOf(payload: Payload): Uint8Array {
  if (!(payload instanceof Uint8Array)) return payload.head;
  return payload.length < LARGE_BYTES ? payload : NONE;
}

function apartOf(payload: Payload): Uint8Array | undefined {
  if (!(payload instanceof Uint8Array)) return payload.tail;
  return payload.length < LARGE_BYTES ? undefined : payload;
}
