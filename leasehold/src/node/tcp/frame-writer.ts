/**
 * From payloads to as few writes as possible.
 *
 * What is said to one peer in one turn of the event loop leaves in one write: small payloads are
 * copied behind their lengths into one buffer, because to hand each to the socket costs more than
 * the copy. A large payload is never copied: it is one push that goes to thousands of peers, and all
 * their sockets share its bytes.
 *
 *     payloads   a  b  CCCCCCCC  d
 *     writes     [4 a 4 b 4]  [CCCCCCCC]  [4 d]
 */

const HEADER_BYTES = 4;
/** From this size on, two more writes are cheaper than a copy. */
const LARGE_BYTES = 4 * 1024;

/** A frame of no bytes: "I am still here." */
export const HEARTBEAT: Uint8Array = new Uint8Array(HEADER_BYTES);

/** How many bytes the payload takes on the way. */
export const framedBytes = (payload: Uint8Array): number => HEADER_BYTES + payload.length;

/** The bytes of one frame. */
export function framed(payload: Uint8Array): Uint8Array {
  const bytes = Buffer.allocUnsafe(framedBytes(payload));
  bytes.set(payload, bytes.writeUInt32BE(payload.length));
  return bytes;
}

/** Calls `write` with the bytes of all the frames, in their order. */
export function writeFrames(payloads: readonly Uint8Array[], write: (bytes: Uint8Array) => void): void {
  let first = 0;
  while (first < payloads.length) {
    let end = first;
    let bytes = 0;
    let large: Uint8Array | undefined;
    while (end < payloads.length && large === undefined) {
      const payload = payloads[end] as Uint8Array;
      bytes += HEADER_BYTES;
      if (payload.length < LARGE_BYTES) bytes += payload.length;
      else large = payload;
      end += 1;
    }
    write(together(payloads, first, end, bytes));
    if (large !== undefined) write(large);
    first = end;
  }
}

/** The frames from `first` to `end`; of the last only the length, if it is a large one. */
function together(payloads: readonly Uint8Array[], first: number, end: number, bytes: number): Uint8Array {
  const buffer = Buffer.allocUnsafe(bytes);
  let at = 0;
  for (let index = first; index < end; index += 1) {
    const payload = payloads[index] as Uint8Array;
    at = buffer.writeUInt32BE(payload.length, at);
    if (payload.length >= LARGE_BYTES) break;
    buffer.set(payload, at);
    at += payload.length;
  }
  return buffer;
}
