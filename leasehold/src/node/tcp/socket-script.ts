/** For tests only: time moved by hand, texts as messages, and a peer that sends given bytes. */

import { connect, type Socket } from 'node:net';
import type { Codec } from '../../runtime/codec.ts';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { LogFacts, Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { type Instant, instant, later } from '../../runtime/time.ts';
import { framed } from './frame-writer.ts';
import { encodeHello, type ProtocolId } from './handshake.ts';

export const PROTOCOL: ProtocolId = { name: 'parley', version: 3, oldest: 2 };

/** Texts; `nonsense` cannot be decoded. */
export const texts: Codec<string, string> = {
  encode: (text) => Buffer.from(text),
  decode: (frame) => {
    const text = Buffer.from(frame).toString();
    if (text === 'nonsense') throw new MalformedMessageError('text', 'must make sense');
    return text;
  },
};

/** Bytes as they are, the same for the same message. */
export const bytes: Codec<Uint8Array, Uint8Array> = {
  encode: (message) => message,
  decode: (frame) => frame,
};

/** A clock that is moved by hand. Sockets stay real, so between two moves they need {@link until}. */
export class HandMovedRuntime implements Runtime {
  #now = instant(1_000);
  readonly #wakes = new Set<{ readonly at: Instant; readonly callback: () => void }>();

  now(): Instant {
    return this.#now;
  }

  wallMs(): number {
    return this.#now;
  }

  uptimeMs(): number {
    return this.#now;
  }

  random(): number {
    return 0.5;
  }

  wakeAt(at: Instant, callback: () => void): Disposable {
    const wake = { at, callback };
    this.#wakes.add(wake);
    return { [Symbol.dispose]: () => void this.#wakes.delete(wake) };
  }

  get timers(): number {
    return this.#wakes.size;
  }

  /** Lets time pass, in steps as small as somebody wants to be woken. */
  pass(ms: number): void {
    const end = later(this.#now, ms);
    for (;;) {
      const next = [...this.#wakes].sort((a, b) => a.at - b.at)[0];
      if (next === undefined || next.at > end) break;
      this.#wakes.delete(next);
      if (next.at > this.#now) this.#now = next.at;
      next.callback();
    }
    this.#now = end;
  }

  /** Lets time pass in one leap, as for a process that was stopped. */
  leap(ms: number): void {
    this.#now = later(this.#now, ms);
    this.pass(0);
  }
}

/** Turns of the event loop until it is so. */
export async function until(isSo: () => boolean): Promise<void> {
  while (!isSo()) await new Promise((resolve) => setImmediate(resolve));
}

export interface Line extends LogFacts {
  readonly level: string;
  readonly message: string;
}

export function listeningLogger(): Logger & { readonly lines: Line[] } {
  const lines: Line[] = [];
  const at = (level: string) => (message: string, facts?: LogFacts) =>
    void lines.push({ level, message, ...facts });
  return { lines, debug: at('debug'), info: at('info'), warn: at('warn'), error: at('error') };
}

/** A peer that knows no manners unless it is told to. */
export class RawPeer implements Disposable {
  readonly socket: Socket;
  #heard: Buffer[] = [];
  isClosed = false;

  constructor(port: number, localAddress = '127.0.0.1') {
    this.socket = connect({ host: '127.0.0.1', port, localAddress, noDelay: true });
    this.socket.on('data', (chunk) => this.#heard.push(chunk));
    this.socket.on('error', () => this.socket.destroy());
    this.socket.on('close', () => {
      this.isClosed = true;
    });
  }

  /** All bytes that it was sent. */
  get heard(): Buffer {
    return Buffer.concat(this.#heard);
  }

  say(what: Uint8Array | string): this {
    this.socket.write(what);
    return this;
  }

  introduce(role = 'raw', protocol: ProtocolId = PROTOCOL): this {
    return this.say(framed(encodeHello(protocol, role)));
  }

  [Symbol.dispose](): void {
    this.socket.destroy();
  }
}
