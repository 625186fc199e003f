/**
 * Processes that nobody has let in: sockets of a test, which speak as `docs/protocol.md` says, and ask no code of ours whether they may. One dials, and one listens
 * where a process of ours was.
 */

import {
  connect as connectPlain,
  createServer as createPlainServer,
  type Server,
  type Socket,
} from 'node:net';
import { connect, createServer, type ConnectionOptions, type TlsOptions } from 'node:tls';
import { pack, unpack } from 'msgpackr';
import { until } from './time.ts';

/** Any protocol of the toolkit, with the version that is spoken. */
export interface Spoken {
  readonly name: string;
  readonly version: number;
}

export function framed(payload: Uint8Array): Buffer {
  const length = Buffer.alloc(4);
  length.writeUInt32BE(payload.length);
  return Buffer.concat([length, payload]);
}

/** Calls for each frame that comes; heartbeats are empty, and are left out. */
function eachFrame(socket: Socket, hear: (frame: Buffer) => void): void {
  let rest = Buffer.alloc(0);
  socket.on('data', (bytes) => {
    rest = Buffer.concat([rest, bytes]);
    while (rest.length >= 4 && rest.length >= 4 + rest.readUInt32BE()) {
      const end = 4 + rest.readUInt32BE();
      if (end > 4) hear(rest.subarray(4, end));
      rest = rest.subarray(end);
    }
  });
}

const OURS = { minVersion: 'TLSv1.3', ALPNProtocols: ['leasehold/1'] } as const;

type Heard = Readonly<Record<string, unknown>> & { readonly error?: { readonly code: string } };

/** A peer that dials. */
export class Stranger {
  readonly frames: Buffer[] = [];
  isOver = false;
  readonly #socket: Socket;

  constructor(address: string, tls?: ConnectionOptions) {
    const [host = '', port] = address.split(':');
    const place = { host, port: Number(port) };
    const anybody = { rejectUnauthorized: false, checkServerIdentity: () => undefined };
    this.#socket =
      tls === undefined ? connectPlain(place) : connect({ ...place, ...OURS, ...anybody, ...tls });
    eachFrame(this.#socket, (frame) => this.frames.push(frame));
    this.#socket.on('error', () => {}).on('close', () => (this.isOver = true));
  }

  /** What it was told, where that is msgpack: the answer to the hello always is. */
  get heard(): readonly Heard[] {
    return this.frames.map((frame) => unpack(frame) as Heard);
  }

  say(payload: Uint8Array): void {
    this.#socket.write(framed(payload));
  }

  hello({ name, version }: Spoken, role: string, introduction?: Readonly<Record<string, string>>): void {
    const hello = { protocol: name, version, oldest: version, role };
    this.say(pack(introduction === undefined ? hello : { ...hello, introduction }));
  }

  /** The answer to the hello. */
  welcome(): Promise<Heard> {
    return until('an answer', () => {
      const [first] = this.frames;
      if (first !== undefined) return unpack(first) as Heard;
      return this.isOver ? { error: { code: 'closed' } } : undefined;
    });
  }

  /** The code of the refusal in the handshake, or `welcome`. */
  async answer(): Promise<string> {
    return (await this.welcome()).error?.code ?? 'welcome';
  }

  [Symbol.dispose](): void {
    this.#socket.destroy();
  }
}

/** What a false listener answers to a hello, and to each further frame. */
export interface FalseWords {
  hello(hello: Readonly<Record<string, unknown>>): Readonly<Record<string, unknown>>;
  frame?(frame: Buffer): Uint8Array | undefined;
}

/** A peer that listens at the address of a process that has ended. */
export class FalseListener {
  /** Of what was said to it, behind TLS if it speaks TLS. */
  bytes = 0;
  connections = 0;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(words: FalseWords, tls: TlsOptions | undefined) {
    const serve = (socket: Socket): void => {
      this.#sockets.add(socket);
      let isIntroduced = false;
      socket.on('data', (data) => (this.bytes += data.length)).on('error', () => {});
      eachFrame(socket, (frame) => {
        const answer = isIntroduced ? words.frame?.(frame) : pack(words.hello(unpack(frame) as never));
        isIntroduced = true;
        if (answer !== undefined) socket.write(framed(answer));
      });
    };
    const asks = { requestCert: true, rejectUnauthorized: false };
    this.#server =
      tls === undefined ? createPlainServer(serve) : createServer({ ...OURS, ...asks, ...tls }, serve);
    this.#server.on('connection', () => (this.connections += 1)).on('tlsClientError', () => {});
  }

  static async open(address: string, words: FalseWords, tls?: TlsOptions): Promise<FalseListener> {
    const opened = new FalseListener(words, tls);
    const port = Number(address.split(':')[1]);
    await new Promise<void>((resolve) => opened.#server.listen(port, '127.0.0.1', resolve));
    return opened;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
