/**
 * Encrypted sockets, on which both sides show a certificate that the same authority has vouched for. Whoever dials also
 * compares the certificate with the address it dialled.
 */

import { connect, createServer } from 'node:tls';
import type { SecureTexts } from '../http-client/secure-context.ts';
import type { DialSockets, ListenSockets } from './sockets.ts';

const HANDSHAKE_MS = 5_000;

export function mutualTls(texts: SecureTexts): ListenSockets & DialSockets {
  const common = { ...texts, minVersion: 'TLSv1.3' } as const;
  return {
    createServer: (accept) =>
      createServer(
        {
          ...common,
          requestCert: true,
          rejectUnauthorized: true,
          handshakeTimeout: HANDSHAKE_MS,
          noDelay: true,
        },
        accept,
      ),
    connect: (host, port, ready) => connect({ ...common, host, port }, ready).setNoDelay(true),
  };
}
