/**
 * Encrypted sockets, on which both sides show a certificate that the same authority has vouched for. The dialler also
 * compares the certificate with the address it dialled.
 *
 * How long they may take to agree is for the listener to say: a server of `node:tls` would only tell of one that takes
 * too long, and keep it.
 */

import { createServer as createPlainServer } from 'node:net';
import { connect, createServer } from 'node:tls';
import type { SecureTexts } from '../http-client/secure-context.ts';
import type { DialSockets, ListenSockets } from './sockets.ts';

export function mutualTls(texts: SecureTexts): ListenSockets & DialSockets {
  const common = { ...texts, minVersion: 'TLSv1.3' } as const;
  return {
    createServer: (accept, arrive) => {
      const secure = createServer({ ...common, requestCert: true, rejectUnauthorized: true }, accept);
      secure.on('tlsClientError', (_, socket) => socket.destroy());
      return createPlainServer({ noDelay: true }, (socket) => {
        if (arrive(socket)) secure.emit('connection', socket);
      });
    },
    connect: (host, port, ready) => connect({ ...common, host, port }, ready).setNoDelay(true),
  };
}
