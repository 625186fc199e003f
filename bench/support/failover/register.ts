/**
 * What owners write to: for each key the highest number it was written under, and by whom. It refuses whoever comes
 * with a lower one. Where no lease is lost nobody ever does, so every refusal is one that a test of this kind is
 * looking for; and where one number was used by two lives of owners, both had the key.
 */

import { createServer, type Server, type Socket } from 'node:net';
import { lines } from '../processes/conversation.ts';

export interface Write {
  readonly key: string;
  readonly number: number;
  readonly incarnation: string;
}

export class Register implements AsyncDisposable {
  readonly path: string;
  writes = 0;
  /** Writes under a lower number than one before, and numbers that two had. */
  readonly faults: string[] = [];
  readonly #latest = new Map<string, Write>();
  readonly #sockets = new Set<Socket>();
  readonly #server: Server = createServer((socket) => this.#serve(socket));

  private constructor(path: string) {
    this.path = path;
  }

  static async open(path: string): Promise<Register> {
    const register = new Register(path);
    await new Promise<void>((resolve) => register.#server.listen(path, resolve));
    return register;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('close', () => this.#sockets.delete(socket));
    socket.on('error', () => socket.destroy());
    socket.setEncoding('utf8').on(
      'data',
      lines((line) => socket.write(`${JSON.stringify(this.#write(JSON.parse(line) as Write))}\n`)),
    );
  }

  #write(write: Write): boolean {
    this.writes += 1;
    const before = this.#latest.get(write.key);
    const isStale = before !== undefined && before.number > write.number;
    const isDouble = before?.number === write.number && before.incarnation !== write.incarnation;
    if (isStale) this.faults.push(`stale write: ${shown(write)} after ${shown(before)}`);
    if (isDouble) this.faults.push(`one number, two owners: ${shown(write)}, ${shown(before)}`);
    if (!isStale) this.#latest.set(write.key, write);
    return !isStale;
  }
}

const shown = ({ key, number, incarnation }: Write): string =>
  `${key} #${number} by ${incarnation.slice(0, 6)}`;
