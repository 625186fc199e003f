/**
 * What moving costs at least: two processes, a bare socket, the same items through the same codec, and a plain `Map` at the end. Nobody is served meanwhile,
 * nothing changes, and nothing is promised.
 */

import { Buffer } from 'node:buffer';
import { once } from 'node:events';
import { connect, createServer, type Socket } from 'node:net';
import type { AddressInfo } from 'node:net';
import { structuredCodec } from '../../../leasehold/src/pool/shell/state/structured-codec.ts';
import { nowMs, obey, say } from '../processes/conversation.ts';

/** Items in one piece, as a move sends them. */
const PIECE_BYTES = 256 * 1_024;
const PIECE_ITEMS = 512;
const ACKNOWLEDGED = Buffer.from('+');

type Item = readonly [key: string, value: number | Uint8Array];

const map = new Map<string, number | Uint8Array>();
const bare = { bytes: 0 };

/** Frames of a length and that many bytes. */
function hear(socket: Socket, frame: (bytes: Buffer) => void): void {
  let pieces: Buffer[] = [];
  let have = 0;
  socket.on('data', (bytes: Buffer) => {
    pieces.push(bytes);
    have += bytes.length;
    for (;;) {
      if (have < 4) return;
      if ((pieces[0] as Buffer).length < 4) pieces = [Buffer.concat(pieces)];
      const length = (pieces[0] as Buffer).readUInt32BE(0);
      if (have < 4 + length) return;
      const all = pieces.length === 1 ? (pieces[0] as Buffer) : Buffer.concat(pieces);
      frame(all.subarray(4, 4 + length));
      pieces = [all.subarray(4 + length)];
      have -= 4 + length;
    }
  });
}

const framed = (bytes: Uint8Array): Buffer => {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(bytes.length);
  return Buffer.concat([length, bytes]);
};

const server = createServer((socket) => {
  hear(socket, (frame) => {
    if (frame.length === 0) socket.write(ACKNOWLEDGED);
    else if (frame[0] === 0) bare.bytes += frame.length;
    else
      for (let at = 1; at < frame.length; ) {
        const length = frame.readUInt32BE(at);
        const [key, value] = structuredCodec.decode(frame.subarray(at + 4, at + 4 + length)) as Item;
        map.set(key, value);
        at += 4 + length;
      }
  });
});
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));

async function send(port: number, frames: () => Iterable<Buffer>): Promise<{ readonly ms: number }> {
  const socket = connect(port, '127.0.0.1');
  await once(socket, 'connect');
  const begunMs = nowMs();
  for (const frame of frames()) if (!socket.write(frame)) await once(socket, 'drain');
  socket.write(framed(new Uint8Array(0)));
  await once(socket, 'data');
  const ms = nowMs() - begunMs;
  socket.destroy();
  return { ms };
}

function* itemFrames(items: Iterable<Item>): Generator<Buffer> {
  let [piece, bytes]: [Buffer[], number] = [[Buffer.from([1])], 0];
  for (const item of items) {
    const encoded = framed(structuredCodec.encode(item));
    piece.push(encoded);
    bytes += encoded.length;
    if (bytes < PIECE_BYTES && piece.length <= PIECE_ITEMS) continue;
    yield framed(Buffer.concat(piece));
    [piece, bytes] = [[Buffer.from([1])], 0];
  }
  yield framed(Buffer.concat(piece));
}

function* bareFrames(count: number, bytes: number): Generator<Buffer> {
  const frame = framed(new Uint8Array(bytes));
  for (let index = 0; index < count; index += 1) yield frame;
}

obey({
  sendItems: ({ port, count }: { port: number; count: number }) => {
    const state = new Map(Array.from({ length: count }, (_, index) => [`item-${index}`, 1] as const));
    return send(port, () => itemFrames(state));
  },
  sendBytes: ({ port, count, bytes }: { port: number; count: number; bytes: number }) =>
    send(port, () => bareFrames(count, bytes)),
  size: () => ({ size: map.size, bytes: bare.bytes }),
});
say('ready', { port: (server.address() as AddressInfo).port });
