/**
 * Sockets in their TLS handshake, before any frame. A peer that connects and sends nothing is one of them, so they
 * have a deadline, count as connections, and end with the listener.
 *
 *     arrives ──► agreed ──► a Connection
 *        └── no agreement, too late, or the listener ends ──► destroyed, without an answer
 */

import type { Socket } from 'node:net';
import { PeerTimeoutError } from './errors.ts';
import type { ConnectionSet } from './connection-set.ts';
import type { Swept } from './sweep.ts';

export class PendingHandshakes {
  readonly #connectionSet: ConnectionSet;
  readonly #tooLate: (address: string, remote: string, why: PeerTimeoutError) => void;
  readonly #gone: (address: string) => void;
  /** By both ends: the socket of the later Connection has the same. */
  readonly #pendingHandshakes = new Map<string, PendingHandshake>();

  /**
   * @param tooLate called for a socket after a handshake that took too long
   * @param gone called for each socket at the end of its handshake
   */
  constructor(
    connectionSet: ConnectionSet,
    tooLate: (address: string, remote: string, why: PeerTimeoutError) => void,
    gone: (address: string) => void,
  ) {
    this.#connectionSet = connectionSet;
    this.#tooLate = tooLate;
    this.#gone = gone;
  }

  get size(): number {
    return this.#pendingHandshakes.size;
  }

  add(socket: Socket, address: string): void {
    const [remote, ends] = [remoteOf(socket, address), endsOf(socket)];
    const { sweep, limits } = this.#connectionSet;
    const since = sweep.time;
    const arrival: PendingHandshake = {
      ...{ socket, since },
      leave: () => {
        if (this.#pendingHandshakes.get(ends) !== arrival) return;
        this.#pendingHandshakes.delete(ends);
        sweep.delete(arrival);
        this.#gone(address);
      },
      sweep: () => {
        if (!sweep.isPast(since, limits.handshakeMs)) return;
        arrival.leave();
        socket.destroy();
        this.#tooLate(address, remote, new PeerTimeoutError('handshake', limits.handshakeMs));
      },
    };
    this.#pendingHandshakes.get(ends)?.leave(); // Its port is another's by now; only the news of its end is to come.
    this.#pendingHandshakes.set(ends, arrival);
    sweep.add(arrival);
    socket.on('error', () => socket.destroy());
    socket.on('close', arrival.leave);
  }

  /** The one that has become this socket is no arrival any more. Since when it was, by the sweep; undefined if it was none. */
  agreed(socket: Socket): number | undefined {
    const arrival = this.#pendingHandshakes.get(endsOf(socket));
    arrival?.leave();
    return arrival?.since;
  }

  end(): void {
    for (const { socket, leave } of [...this.#pendingHandshakes.values()]) {
      leave();
      socket.destroy();
    }
  }
}

interface PendingHandshake extends Swept {
  readonly socket: Socket;
  readonly since: number;
  readonly leave: () => void;
}

export const remoteOf = ({ remotePort }: Socket, address: string): string => `${address}:${remotePort}`;

/** Of a connection: one remote port may be connected to several addresses of this machine. */
export const endsOf = ({ remoteAddress, remotePort, localAddress, localPort }: Socket): string =>
  `${remoteAddress}:${remotePort} ${localAddress}:${localPort}`;
