/**
 * Where sockets come from. These are plain; encrypted ones are made by the same functions in `secure-sockets.ts`, and nothing else here
 * would know the difference.
 *
 * Each socket comes with the identity of the peer: what its certificate allows it to be. Without certificates every peer may be everything; then the network
 * has to keep strangers away.
 */

import { connect, createServer, type Server, type Socket } from 'node:net';
import type { LeaseholdError } from '../../runtime/errors.ts';
import { type Identity, UNRESTRICTED } from '../identity/peer-identity.ts';

export interface ListenSockets {
  /** The same text means the same settings, certificates among them. Listeners with others cannot share a port. */
  readonly settings: string;
  /**
   * @param accept called with each socket when bytes may be sent, and with the peer's identity, or why the peer is to be refused
   * @param arrive if there is something to agree on before that: called with the socket underneath, and false if it is
   *   not wanted
   * @param inPlaintext the bytes that tell a peer in plaintext why it is refused
   */
  createServer(
    accept: (socket: Socket, peer: Identity | LeaseholdError) => void,
    arrive: (socket: Socket) => boolean,
    inPlaintext: (why: LeaseholdError) => Uint8Array,
  ): Server;
}

export interface DialSockets {
  /** `ready` is called once, when bytes may be sent, and with the identity of the listener. */
  connect(host: string, port: number, ready: (peer: Identity) => void): Socket;

  /** Why an attempt failed, if the cause is one of encryption or certificates. */
  whyNotDialled(cause: unknown, address: string): LeaseholdError | undefined;
}

export const plainListenSockets: ListenSockets = {
  settings: 'plain',
  createServer: (accept) => createServer({ noDelay: true }, (socket) => accept(socket, UNRESTRICTED)),
};

export const plainDialSockets: DialSockets = {
  connect: (host, port, ready) => connect({ host, port, noDelay: true }, () => ready(UNRESTRICTED)),
  whyNotDialled: () => undefined,
};
