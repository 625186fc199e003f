/** What both ends of the measurement of TLS speak: bytes as they are, over the transport of all modules. */

import { dialTcp, type TcpDialer } from '../../../leasehold/src/node/tcp/dial.ts';
import type { SecureSockets } from '../../../leasehold/src/node/tcp/secure-sockets.ts';
import { nodeRuntime } from '../../../leasehold/src/node/runtime.ts';
import type { Codec } from '../../../leasehold/src/runtime/codec.ts';
import { silent } from '../../../leasehold/src/runtime/logger.ts';

export const ECHO_PROTOCOL = { name: 'echo', version: 1, oldest: 1 } as const;

export const frames: Codec<Uint8Array, Uint8Array> = { encode: (frame) => frame, decode: (frame) => frame };

const runtime = nodeRuntime();

/** One connection to a server that echoes. */
export class EchoClient implements AsyncDisposable {
  readonly #address: string;
  readonly #dialer: TcpDialer<Uint8Array, Uint8Array>;
  #awaited = 0;
  #allCame: () => void = () => {};

  private constructor(address: string, secure: SecureSockets | undefined, connected: () => void) {
    this.#address = address;
    this.#dialer = dialTcp<Uint8Array, Uint8Array>({
      ...{ codec: frames, protocol: ECHO_PROTOCOL, role: 'client', runtime, logger: silent, secure },
      stays: () => true,
      onState: (_, state) => {
        if (state === 'connected') connected();
      },
    });
    this.#dialer.listen(() => {
      this.#awaited -= 1;
      if (this.#awaited === 0) this.#allCame();
    });
    this.#dialer.connect(address);
  }

  static async connect(address: string, secure: SecureSockets | undefined): Promise<EchoClient> {
    let connected: () => void = () => {};
    const isConnected = new Promise<void>((resolve) => (connected = resolve));
    const client = new EchoClient(address, secure, connected);
    await isConnected;
    return client;
  }

  /** So many messages in one turn; resolves when all have come back. */
  echo(message: Uint8Array, times: number): Promise<void> {
    this.#awaited = times;
    const all = new Promise<void>((resolve) => (this.#allCame = resolve));
    for (let sent = 0; sent < times; sent += 1) this.#dialer.send(this.#address, message);
    return all;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#dialer[Symbol.asyncDispose]();
  }
}
