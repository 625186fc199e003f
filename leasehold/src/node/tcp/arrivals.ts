/**
 * Sockets on which nothing can be said yet: both sides have still to agree on how to encrypt it. Whoever connects and then
 * says nothing is one of them, so they have a deadline, count as connections, and end with the listener.
 *
 *     arrives ──► agreed ──► a Connection
 *        └── no agreement, too late, or the listener ends ──► destroyed, without a word
 */

import type { Socket } from 'node:net';
import { PeerTimeoutError } from './errors.ts';
import type { Hub } from './hub.ts';
import type { Swept } from './sweep.ts';

export class Arrivals {
  readonly #hub: Hub;
  readonly #tooLate: (address: string, remote: string, why: PeerTimeoutError) => void;
  readonly #gone: (address: string) => void;
  /** By where they come from, with the port: the socket that it becomes says the same of itself. */
  readonly #arrivals = new Map<string, Arrival>();

  /**
   * @param tooLate told of one that has not agreed in time
   * @param gone told of each that is no arrival any more
   */
  constructor(
    hub: Hub,
    tooLate: (address: string, remote: string, why: PeerTimeoutError) => void,
    gone: (address: string) => void,
  ) {
    this.#hub = hub;
    this.#tooLate = tooLate;
    this.#gone = gone;
  }

  get size(): number {
    return this.#arrivals.size;
  }

  add(socket: Socket, address: string): void {
    const remote = remoteOf(socket, address);
    const { sweep, limits } = this.#hub;
    const since = sweep.time;
    const arrival: Arrival = {
      ...{ socket, since },
      leave: () => {
        if (this.#arrivals.get(remote) !== arrival) return;
        this.#arrivals.delete(remote);
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
    this.#arrivals.get(remote)?.leave(); // Its port is another's by now; only the news of its end is to come.
    this.#arrivals.set(remote, arrival);
    sweep.add(arrival);
    socket.on('error', () => socket.destroy());
    socket.on('close', arrival.leave);
  }

  /** The one that has become this socket is no arrival any more. Since when it was, by the sweep; undefined if it was none. */
  agreed(socket: Socket, address: string): number | undefined {
    const arrival = this.#arrivals.get(remoteOf(socket, address));
    arrival?.leave();
    return arrival?.since;
  }

  end(): void {
    for (const { socket, leave } of [...this.#arrivals.values()]) {
      leave();
      socket.destroy();
    }
  }
}

interface Arrival extends Swept {
  readonly socket: Socket;
  readonly since: number;
  readonly leave: () => void;
}

export const remoteOf = ({ remotePort }: Socket, address: string): string => `${address}:${remotePort}`;
