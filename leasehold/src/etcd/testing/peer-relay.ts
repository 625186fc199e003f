/**
 * The traffic between members goes through here, so that a member can be cut off from the others while clients still
 * reach the member. A cut closes nothing: bytes stop, as on a network that drops them.
 *
 * Each member has one address that the others know, so the address does not identify the caller. The caller's first
 * request does: every request between members has the sender's number in a header.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';

interface Line {
  readonly from: Socket;
  readonly to: Socket;
  /** In hexadecimal, as members write numbers; undefined until known. */
  caller: string | undefined;
}

const HEAD_BYTES_MAX = 16_384;

export class PeerRelay implements AsyncDisposable {
  readonly #server: Server;
  readonly #target: number;
  readonly #lines = new Set<Line>();
  readonly #cutOff = new Set<string>();
  #isCutOff = false;

  private constructor(target: number) {
    this.#target = target;
    this.#server = createServer({ pauseOnConnect: true, noDelay: true }, (socket) => this.#accept(socket));
  }

  static async open(port: number, target: number): Promise<PeerRelay> {
    const relay = new PeerRelay(target);
    await new Promise<void>((resolve, reject) => {
      relay.#server.once('error', reject);
      relay.#server.listen(port, '127.0.0.1', () => resolve());
    });
    return relay;
  }

  /** While true, nothing gets through to or from the member behind this relay. */
  set isCutOff(isCutOff: boolean) {
    this.#isCutOff = isCutOff;
    this.#changed();
  }

  /** No request of this member, and no answer to this member, gets through here. */
  cut(caller: string, isCut: boolean): void {
    if (isCut) this.#cutOff.add(caller);
    else this.#cutOff.delete(caller);
    this.#changed();
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const { from, to } of this.#lines) {
      from.destroy();
      to.destroy();
    }
    await new Promise((resolve) => this.#server.close(resolve));
  }

  #accept(from: Socket): void {
    const to = connect({ host: '127.0.0.1', port: this.#target, noDelay: true });
    const line: Line = { from, to, caller: undefined };
    this.#lines.add(line);
    const end = (): void => {
      from.destroy();
      to.destroy();
      this.#lines.delete(line);
    };
    for (const socket of [from, to]) socket.on('error', end).on('close', end);
    let head = '';
    from.on('data', (bytes: Buffer) => {
      if (line.caller === undefined && head.length < HEAD_BYTES_MAX) {
        head += bytes.toString('latin1');
        line.caller = /\r\nX-Server-From: ([\da-f]+)\r\n/i.exec(head)?.[1];
        if (this.#isStopped(line)) {
          from.pause();
          from.unshift(bytes);
          return;
        }
      }
      if (!to.write(bytes)) from.pause();
    });
    to.on('data', (bytes: Buffer) => {
      if (!from.write(bytes)) to.pause();
    });
    from.on('drain', () => this.#flow(line));
    to.on('drain', () => this.#flow(line));
    this.#flow(line);
  }

  #changed(): void {
    for (const line of this.#lines) this.#flow(line);
  }

  #flow(line: Line): void {
    for (const socket of [line.from, line.to]) {
      if (this.#isStopped(line)) socket.pause();
      else socket.resume();
    }
  }

  #isStopped({ caller }: Line): boolean {
    return this.#isCutOff || (caller !== undefined && this.#cutOff.has(caller));
  }
}
