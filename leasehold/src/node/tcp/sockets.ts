/**
 * Where sockets come from. These are plain; encrypted ones are made by the same two functions on
 * `node:tls`, and nothing else here would know the difference.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';

export interface ListenSockets {
  /**
   * @param accept called with each socket when bytes may be sent
   * @param arrive if there is something to agree on before that: called with the socket underneath, and false if it is
   *   not wanted
   */
  createServer(accept: (socket: Socket) => void, arrive: (socket: Socket) => boolean): Server;
}

export interface DialSockets {
  /** `ready` is called once, when bytes may be sent. */
  connect(host: string, port: number, ready: () => void): Socket;
}

export const plainListenSockets: ListenSockets = {
  createServer: (accept) => createServer({ noDelay: true }, accept),
};

export const plainDialSockets: DialSockets = {
  connect: (host, port, ready) => connect({ host, port, noDelay: true }, ready),
};
