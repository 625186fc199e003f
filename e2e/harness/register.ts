/**
 * The resource that looks after itself: a value for each key and the highest number it was written
 * under. Whoever writes under a lower one is refused. It stands on a socket in the file system, which no
 * network namespace hides and no fault of the network cuts, and keeps the time of the test process.
 */

import { createServer, type Server, type Socket } from 'node:net';
import type { Write } from '../programs/register-client.ts';
import { nowMs } from './time.ts';

export interface LoggedWrite extends Write {
  readonly atMs: number;
  readonly isAccepted: boolean;
}

export class Register implements AsyncDisposable {
  readonly path: string;
  readonly log: LoggedWrite[] = [];
  readonly #highest = new Map<string, number>();
  readonly #server: Server;
  readonly #sockets = new Set<Socket>();

  private constructor(path: string) {
    this.path = path;
    this.#server = createServer((socket) => this.#serve(socket));
  }

  static async open(path: string): Promise<Register> {
    const register = new Register(path);
    await new Promise<void>((resolve) => register.#server.listen(path, resolve));
    return register;
  }

  get refused(): readonly LoggedWrite[] {
    return this.log.filter(({ isAccepted }) => !isAccepted);
  }

  /** The last write of a key that was accepted. */
  value(key: string): LoggedWrite | undefined {
    return this.log.findLast((write) => write.isAccepted && write.key === key);
  }

  /**
   * What must never be: a stale write that got through. An owner whose number is lower than one that was
   * accepted before, or a number that two lives of owners used.
   */
  violations(): string[] {
    const found: string[] = [];
    const latest = new Map<string, LoggedWrite>();
    for (const write of this.log) {
      if (!write.isAccepted) continue;
      const before = latest.get(write.key);
      latest.set(write.key, write);
      if (before === undefined || before.number < write.number) continue;
      if (before.number > write.number) found.push(`stale write: ${shown(write)} after ${shown(before)}`);
      else if (before.incarnation !== write.incarnation) {
        found.push(`one number, two owners: ${shown(before)}, ${shown(write)}`);
      }
    }
    return found;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.#sockets) socket.destroy();
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #serve(socket: Socket): void {
    this.#sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => this.#sockets.delete(socket));
    let rest = '';
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const accepted = (JSON.parse(line) as Write[]).map((write) => this.#write(write));
        socket.write(`${JSON.stringify(accepted)}\n`);
      }
    });
  }

  #write(write: Write): boolean {
    const isAccepted = write.number >= (this.#highest.get(write.key) ?? 0);
    if (isAccepted) this.#highest.set(write.key, write.number);
    this.log.push({ ...write, atMs: nowMs(), isAccepted });
    return isAccepted;
  }
}

const shown = ({ key, number, incarnation, atMs }: LoggedWrite): string =>
  `${key} #${number} by ${incarnation.slice(0, 6)} at ${atMs.toFixed(0)}`;
