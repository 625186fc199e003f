/**
 * A connection to a Manager for one of thousands of clients in one process: the real frames, without
 * what a library does for a single one (no reconnecting, no queue, no timer of its own).
 */

import { connect, type Socket } from 'node:net';
import { FrameReader } from '../../../leasehold/src/node/tcp/frame-reader.ts';
import { framed, HEARTBEAT } from '../../../leasehold/src/node/tcp/frame-writer.ts';
import { decodeWelcome, encodeHello } from '../../../leasehold/src/node/tcp/handshake.ts';
import type { ToGate } from '../../../leasehold/src/pool/core/messages.ts';
import { POOL_PROTOCOL } from '../../../leasehold/src/pool/wire/codec.ts';
import { encodeMessage } from '../../../leasehold/src/pool/wire/messages.ts';

const FRAME_BYTES_MAX = 64 * 1024 * 1024;

export class Line {
  readonly #socket: Socket;
  readonly #reader = new FrameReader(FRAME_BYTES_MAX);
  #open = false;
  bytesIn = 0;
  bytesOut = 0;

  /** @param opened is told the channel of the connection */
  constructor(
    port: number,
    role: string,
    opened: (channel: string) => void,
    hear: (frame: Uint8Array) => void,
  ) {
    this.#socket = connect({ host: '127.0.0.1', port, noDelay: true });
    this.#socket.on('error', (error) => {
      if (this.#open) throw error;
    });
    this.#socket.on('data', (chunk) => {
      this.bytesIn += chunk.length;
      this.#reader.push(chunk, (frame) => {
        if (frame.length === 0) return;
        if (this.#open) return hear(frame);
        const { channel } = decodeWelcome(POOL_PROTOCOL, frame);
        this.#open = true;
        opened(channel);
      });
    });
    this.#socket.write(framed(encodeHello(POOL_PROTOCOL, role)));
  }

  send(message: ToGate): void {
    if (!this.#open) return;
    const bytes = framed(encodeMessage(message));
    this.bytesOut += bytes.length;
    this.#socket.write(bytes);
  }

  heartbeat(): void {
    if (this.#open) this.#socket.write(HEARTBEAT);
  }

  /** At once, as when the process dies. */
  cut(): void {
    this.#open = false;
    this.#socket.destroy();
  }
}
