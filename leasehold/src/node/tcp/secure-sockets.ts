/**
 * Encrypted sockets, on which each side shows a certificate to the other. The one place that makes them.
 *
 * What a side may be is read from the peer's certificate as soon as OpenSSL has authorized it, and before any frame: {@link Identity}. The protocol above compares
 * the identity with the hello, or with what was dialled for.
 *
 *  - **TLS 1.3 only, one application protocol, no sessions that are resumed.** A resumed session comes back as authorized without the private key; so no
 *    tickets are sent, and a resumed session is closed. A client without the application protocol passes in TLS; here it does not.
 *  - **Each context is whole.** `tls.createSecureContext` given a certificate alone allows TLS 1.2 and tickets, also when it replaces the context of a running server. So
 *    {@link contextOf} is the only function that makes options for a context.
 *  - **A listener lets a peer with a wrong certificate finish the handshake**, and then refuses it in a sentence. A peer in plaintext gets the sentence in plaintext.
 *  - **A dialler decides before it sends a byte.** OpenSSL verifies the listener's chain, with `rejectUnauthorized` said: the environment variable
 *    `NODE_TLS_REJECT_UNAUTHORIZED` changes only what is not said.
 *  - Host names are compared for certificates from own files alone. A token's certificate is compared with what was dialled for, by name.
 *
 * How long both sides may take to agree is for the listener to say (`pending-handshakes.ts`).
 */

import { constants, createHash, type X509Certificate } from 'node:crypto';
import { createServer as createPlainServer, isIP, type Socket } from 'node:net';
import { connect, createServer, type SecureContextOptions, type TLSSocket } from 'node:tls';
import { type LeaseholdError, RefusedError } from '../../runtime/errors.ts';
import type { SecureTexts } from '../http-client/secure-context.ts';
import { type Identity, identityOf, UNRESTRICTED } from '../identity/peer-identity.ts';
import type { Token } from '../identity/token.ts';
import { endsOf } from './pending-handshakes.ts';
import type { DialSockets, ListenSockets } from './sockets.ts';

export interface SecureSockets extends ListenSockets, DialSockets {
  /** What the own certificate allows this process to be. */
  readonly own: Identity;
}

const ALPN = 'leasehold/1';

/** What a process shows, and whom it believes. */
interface Credentials {
  /** The same text means the same certificates, or the same tokens. */
  readonly settings: string;
  readonly own: Identity;
  readonly texts: SecureTexts;
  /** Undefined for a certificate that is none of ours. */
  identify(certificate: X509Certificate): Identity | undefined;
  readonly comparesHostNames: boolean;
  /** In refusals: which root is trusted. */
  readonly trusted: string;
}

/** Certificates of an own authority: whoever has one may be everything. */
export const socketsOfFiles = (texts: SecureTexts): SecureSockets =>
  secureSockets({
    settings: digestOf([texts.ca, texts.cert, texts.key].map(String)),
    own: UNRESTRICTED,
    texts,
    identify: () => UNRESTRICTED,
    comparesHostNames: true,
    trusted: 'the authority in tls.ca',
  });

/** Of several texts, so that no two lists have one digest. */
const digestOf = (texts: readonly string[]): string =>
  createHash('sha256').update(JSON.stringify(texts)).digest('hex');

/** @param tokens all of one cluster; the first is shown, the roots of all are trusted */
export function socketsOfTokens(tokens: readonly [Token, ...Token[]]): SecureSockets {
  const [{ id, cluster, grants, endS, rootId, vouch }] = tokens;
  return secureSockets({
    settings: digestOf(tokens.map(({ id, rootId: root }) => `${root} ${id}`)),
    own: { id, cluster, grants, endS },
    texts: { ...vouch(), ca: tokens.map(({ anchor }) => anchor) },
    identify: ({ issuer }) => identityOf(issuer, cluster),
    comparesHostNames: false,
    trusted: `root ${rootId}`,
  });
}

const contextOf = (texts: SecureTexts): SecureContextOptions => ({
  ...texts,
  minVersion: 'TLSv1.3',
  maxVersion: 'TLSv1.3',
  secureOptions: constants.SSL_OP_NO_TICKET,
});

/** Undefined if the peer's end of the connection is as ours. The certificate is not read before the chain stands. */
function judge(
  socket: TLSSocket,
  isAuthorized: boolean,
  { identify }: Credentials,
): Identity | { readonly why: string } {
  const certificate = socket.getPeerX509Certificate();
  if (certificate === undefined) return { why: 'it showed no certificate' };
  if (!isAuthorized) return { why: `its certificate was not accepted (${reasonOf(socket)})` };
  if (socket.isSessionReused()) return { why: 'it resumed a session' };
  if (socket.getProtocol() !== 'TLSv1.3') return { why: 'it does not speak TLS 1.3' };
  if (socket.alpnProtocol !== ALPN) return { why: `it did not ask for ${ALPN}` };
  return identify(certificate) ?? { why: 'its certificate was not issued by a token of this cluster' };
}

const reasonOf = ({ authorizationError }: TLSSocket): string => String(authorizationError);

const isRefused = (verdict: Identity | { readonly why: string }): verdict is { readonly why: string } =>
  typeof verdict === 'object' && 'why' in verdict;

const EXPIRED = 'CERT_HAS_EXPIRED';
/** OpenSSL's words for bytes that are no TLS. */
const NO_TLS: ReadonlySet<string> = new Set([
  'ERR_SSL_WRONG_VERSION_NUMBER',
  'ERR_SSL_PACKET_LENGTH_TOO_LONG',
  'ERR_SSL_HTTP_REQUEST',
  'ERR_SSL_HTTPS_PROXY_REQUEST',
  'ERR_SSL_UNEXPECTED_MESSAGE',
  'ERR_SSL_BAD_RECORD_TYPE',
  // The answer of our own listeners in plaintext to a TLS client.
  'ERR_SSL_TLSV1_ALERT_PROTOCOL_VERSION',
]);
/** The same where Node gives no code of its own, but OpenSSL's sentence. Other faults of a handshake, an alert for one, have that code too. */
const NO_TLS_WORDS =
  /wrong version number|packet length too long|http request|https proxy request|unexpected message|bad record type|alert protocol version/i;
/** OpenSSL's words for a chain that does not end at a trusted root. */
const OTHER_ROOT: ReadonlySet<string> = new Set([
  'SELF_SIGNED_CERT_IN_CHAIN',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'UNABLE_TO_GET_ISSUER_CERT',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  'CERT_SIGNATURE_FAILURE',
]);

/** What a listener answers to a peer in plaintext. */
export const tlsRequired = (): RefusedError =>
  new RefusedError(
    'TLS_REQUIRED',
    'this port speaks TLS alone: set LEASEHOLD_TOKEN_FILE, or give tls, or --token-file',
  );

function refusalOf(socket: TLSSocket, why: string, { trusted }: Credentials): RefusedError {
  const reason = reasonOf(socket);
  // OpenSSL has the same word for no certificate.
  if (OTHER_ROOT.has(reason) && socket.getPeerX509Certificate() !== undefined) {
    const advice = 'check the address, and the token or certificate of the process that dials';
    return new RefusedError(
      'WRONG_CLUSTER',
      `this process trusts ${trusted}, and the certificate is of another: ${advice}`,
    );
  }
  if (reason === EXPIRED)
    return new RefusedError('TOKEN_EXPIRED', 'the token or certificate has ended: make a new one');
  return new RefusedError('NOT_ALLOWED', `the connection was refused: ${why}`);
}

/** Why there is no connection to an address, as far as TLS is the cause. */
function whyNotDialled(cause: unknown, address: string, { trusted }: Credentials): RefusedError | undefined {
  const code = cause instanceof Error && 'code' in cause ? String(cause.code) : '';
  const refuse = (as: string, message: string): RefusedError => new RefusedError(as, message, { cause });
  if (OTHER_ROOT.has(code)) {
    const advice = 'check the address, or another process is in between';
    return refuse('WRONG_CLUSTER', `this process trusts ${trusted}, and ${address} is of another: ${advice}`);
  }
  if (code === EXPIRED) return refuse('TOKEN_EXPIRED', `the token or certificate of ${address} has ended`);
  const words = code === 'EPROTO' && cause instanceof Error ? cause.message : '';
  if (NO_TLS.has(code) || NO_TLS_WORDS.test(words)) {
    return refuse(
      'TLS_NOT_SPOKEN',
      `a token or tls is set here, but ${address} speaks plaintext, or another protocol: give the process there a token, or tls: false here`,
    );
  }
  if (code === 'ERR_TLS_CERT_ALTNAME_INVALID') {
    return refuse('WRONG_PEER', `the certificate of ${address} is for other host names`);
  }
  if (code === 'INVALID_PURPOSE') {
    return refuse('NOT_A_SERVER', `the token of ${address} is not for processes that listen`);
  }
  return undefined;
}

function secureSockets(credentials: Credentials): SecureSockets {
  const context = { ...contextOf(credentials.texts), ALPNProtocols: [ALPN] };
  return {
    settings: credentials.settings,
    own: credentials.own,

    createServer(accept, arrive, inPlaintext) {
      /** The sockets underneath, by both ends, for as long as both sides agree on encryption. */
      const underneath = new Map<string, Socket>();
      const secure = createServer({ ...context, requestCert: true, rejectUnauthorized: false }, (socket) => {
        underneath.delete(endsOf(socket));
        const verdict = judge(socket, socket.authorized, credentials);
        accept(socket, isRefused(verdict) ? refusalOf(socket, verdict.why, credentials) : verdict);
      });
      secure.on('tlsClientError', (error: NodeJS.ErrnoException, socket) => {
        const raw = underneath.get(endsOf(socket));
        underneath.delete(endsOf(socket));
        if (raw !== undefined && NO_TLS.has(error.code ?? '') && raw.writable) {
          raw.end(inPlaintext(tlsRequired()), () => raw.destroy());
        } else socket.destroy();
      });
      return createPlainServer({ noDelay: true }, (socket) => {
        if (!arrive(socket)) return;
        const key = endsOf(socket);
        underneath.set(key, socket);
        socket.once('close', () => {
          if (underneath.get(key) === socket) underneath.delete(key);
        });
        secure.emit('connection', socket);
      });
    },

    connect(host, port, ready) {
      const { comparesHostNames } = credentials;
      const socket = connect({
        ...context,
        host,
        port,
        rejectUnauthorized: true,
        ...(isIP(host) === 0 ? { servername: host } : {}),
        ...(comparesHostNames ? {} : { checkServerIdentity: () => undefined }),
      });
      socket.once('secureConnect', () => {
        const verdict = judge(socket, socket.authorized, credentials);
        if (isRefused(verdict)) {
          socket.destroy(
            new RefusedError('NOT_A_SERVER', `${host}:${port} was not accepted: ${verdict.why}`),
          );
        } else ready(verdict);
      });
      return socket.setNoDelay(true);
    },

    whyNotDialled: (cause, address): LeaseholdError | undefined =>
      cause instanceof RefusedError ? cause : whyNotDialled(cause, address, credentials),
  };
}
