/**
 * Two stores that get the same writes. The fenced one keeps the highest number of each key and refuses a write under a
 * lower one. Its unfenced twin takes everything: it shows what a lease alone is worth, and so it is the twin that is judged.
 *
 * An owner checks its lease, writes, and checks again only after the write was answered. So the check of a write
 * lies between the answer to the same owner's last write of the key and the arrival of this one, by the clock of the test:
 *
 *     number 7                      ├─ checked ─┤ arrived
 *     number 5   answered                             answered ├─ checked ─┤ arrived    5 passed after 7 did: two owners
 *     number 5   answered ├──── checked, then stopped ─────────────────────┤ arrived    fencing is for this one
 *
 * The stores stand on a socket in the file system, which no network namespace hides and no fault of the network cuts.
 */

import { createServer, type Server, type Socket } from 'node:net';
import type { Write } from '../programs/register-client.ts';
import { nowMs } from './time.ts';

export interface LoggedWrite extends Write {
  readonly atMs: number;
  /** By the fenced store. */
  readonly isAccepted: boolean;
  /** The check before it was made after this; undefined if that is not known. */
  readonly checkedAfterMs: number | undefined;
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

  /** Numbers that two incarnations used. This must never be, whatever clocks do. */
  sharedNumbers(): string[] {
    const found: string[] = [];
    const users = new Map<string, LoggedWrite>();
    for (const write of this.log) {
      const id = `${write.key} ${write.number}`;
      const before = users.get(id) ?? write;
      users.set(id, before);
      if (before.incarnation !== write.incarnation)
        found.push(`one number, two owners: ${shown(before)}, ${shown(write)}`);
    }
    return found;
  }

  /** What the twin got from two owners at once: writes whose check passed after a write under a higher number was there. */
  staleChecks(): string[] {
    const found: string[] = [];
    const highest = new Map<string, LoggedWrite>();
    for (const write of this.log) {
      const before = highest.get(write.key);
      if (before === undefined || before.number < write.number) highest.set(write.key, write);
      else if (before.number > write.number && (write.checkedAfterMs ?? 0) > before.atMs)
        found.push(`stale write: ${shown(write)} was checked after ${shown(before)} was written`);
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
    const answeredMs = new Map<string, number>();
    socket.setEncoding('utf8').on('data', (text: string) => {
      const lines = (rest + text).split('\n');
      rest = lines.pop() ?? '';
      for (const line of lines) {
        const writes = JSON.parse(line) as Write[];
        const accepted = writes.map((write) => this.#write(write, answeredMs.get(write.key)));
        // The program does not wait with its next check for the answer to an unchecked write.
        for (const { key, isUnchecked } of writes) if (!isUnchecked) answeredMs.set(key, nowMs());
        socket.write(`${JSON.stringify(accepted)}\n`);
      }
    });
  }

  #write(write: Write, checkedAfterMs: number | undefined): boolean {
    const isAccepted = write.number >= (this.#highest.get(write.key) ?? 0);
    if (isAccepted) this.#highest.set(write.key, write.number);
    const known = write.isUnchecked ? undefined : checkedAfterMs;
    this.log.push({ ...write, atMs: nowMs(), isAccepted, checkedAfterMs: known });
    return isAccepted;
  }
}

const shown = ({ key, number, incarnation, atMs }: LoggedWrite): string =>
  `${key} #${number} by ${incarnation.slice(0, 6)} at ${atMs.toFixed(0)}`;
