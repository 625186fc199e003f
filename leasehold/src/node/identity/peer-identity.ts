/**
 * What a peer may be, by the certificate that it showed.
 *
 * Of a peer's certificate **one** thing is read, the issuer's name, and only after OpenSSL has built a chain from the certificate to the own root and
 * authorized it. The issuer's name is then the text that the root signed; everything else in the certificate is the peer's own writing. Before the
 * chain stands nothing is read, not for a log line or a label either.
 *
 * The name is matched whole, in the one form that {@link parseGrants} takes. OpenSSL takes names for equal that differ in capitals, spaces or string types,
 * so a process certificate may carry its issuer's name in another writing; such a certificate is refused.
 */

import { type Claim, type Grant, grantsText, mayBe, parseGrants } from './grants.ts';

export interface PeerIdentity {
  /** Of the token, in hexadecimal. */
  readonly id: string;
  readonly cluster: string;
  readonly grants: readonly Grant[];
  /** When the token ends, in seconds since 1970; undefined for a token without an end. */
  readonly endS: number | undefined;
}

/** A peer of which no certificate is asked, or any certificate of an own authority suffices: it may be everything. */
export const UNRESTRICTED = 'unrestricted';

export type Identity = PeerIdentity | typeof UNRESTRICTED;

/** Whether a peer may be what it says that it is, or what it was dialled for. */
export const mayPeerBe = (identity: Identity, claim: Claim): boolean =>
  identity === UNRESTRICTED || mayBe(identity.grants, claim);

/** A peer in a sentence: the id of its token, never the token. */
export const printIdentity = (identity: Identity): string =>
  identity === UNRESTRICTED
    ? 'a peer without a token'
    : `token ${identity.id} (${grantsText(identity.grants)})`;

/** As `X509Certificate.issuer` writes a name: a line for each part, in the order of the certificate. */
const ISSUER =
  /^O=([a-z0-9._-]{1,64})\nserialNumber=([0-9a-f]{16})\.(0|[1-9a-f][0-9a-f]{0,7})\nCN=leasehold-grant:([^\n]+)$/;

/**
 * Undefined if the issuer is no grant of this cluster.
 *
 * @param issuer of a certificate that OpenSSL has authorized
 */
export function identityOf(issuer: string, cluster: string): PeerIdentity | undefined {
  const [, named, id, end, text] = ISSUER.exec(issuer) ?? [];
  if (named !== cluster || id === undefined || end === undefined || text === undefined) return undefined;
  const grants = parseGrants(text);
  if (grants === undefined) return undefined;
  const endS = Number.parseInt(end, 16);
  return { id, cluster, grants, endS: endS === 0 ? undefined : endS };
}
