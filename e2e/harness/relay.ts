/**
 * A path to a Manager that can be cut without anybody closing anything: connections stay, and what is
 * said on them does not arrive.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';

export class Relay {
  /** Whether what is said is lost, in both directions. */
  isCut = false;
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(target: string) {
    const [host = '', port = ''] = target.split(':');
    this.#server = createServer((near) => {
      const far = connect(Number(port), host);
      this.#pass(near, far);
      this.#pass(far, near);
    });
  }

  static async open(target: string): Promise<Relay> {
    const relay = new Relay(target);
    await new Promise<void>((resolve) => relay.#server.listen(0, '127.0.0.1', resolve));
    return relay;
  }

  get address(): string {
    const address = this.#server.address();
    if (address === null || typeof address === 'string') throw new Error('the relay does not listen');
    return `127.0.0.1:${address.port}`;
  }

  async close(): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #pass(from: Socket, to: Socket): void {
    this.#sockets.add(from);
    from.on('data', (bytes) => {
      if (!this.isCut) to.write(bytes);
    });
    from.on('error', () => from.destroy());
    from.on('close', () => {
      this.#sockets.delete(from);
      to.destroy();
    });
  }
}
