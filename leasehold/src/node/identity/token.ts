/**
 * A token: a grant, the grant's key and the root's public key, on one line of some 250 characters.
 *
 *     lh1.<base64url of>
 *          version 1   root key   grant's private key   root's signature   id   end   cluster ⏎ grants ⏎ hosts   checksum
 *          1           33         32                    64                 8    4     UTF-8                      4        bytes
 *
 * The root signed the bytes of the grant's certificate (`certificates.ts`). A token holds only the fields of that certificate; the certificate is built again
 * from the fields, and the root's signature must fit the rebuilt bytes. So a token whose fields were changed is refused here, and not by the first peer.
 *
 * The checksum finds a token that was copied in part, and tells this from a false token: the advice differs.
 *
 * A token is a secret. It appears in no message, log line, metric or status; what does appear is the token's id.
 */

import { createHash, randomBytes } from 'node:crypto';
import { RefusedError } from '../../runtime/errors.ts';
import {
  anchorCertificate,
  grantBody,
  grantCertificate,
  type GrantFields,
  processCertificate,
  rootIdOf,
} from './certificates.ts';
import { type Grant, grantsText, parseGrants } from './grants.ts';
import {
  isSignedBy,
  type KeyPair,
  keyPairOf,
  newKeyPair,
  PRIVATE_BYTES,
  PUBLIC_BYTES,
  SIGNATURE_BYTES,
  signRaw,
} from './keys.ts';

export interface Token {
  /** 16 hexadecimal digits. Names the token wherever people look. */
  readonly id: string;
  readonly cluster: string;
  /** 16 hexadecimal digits: which root signed the token. */
  readonly rootId: string;
  readonly grants: readonly Grant[];
  readonly grantsText: string;
  readonly hosts: readonly string[];
  /** In seconds since 1970; undefined for a token without an end. */
  readonly endS: number | undefined;
  /** The trust anchor, as PEM. */
  readonly anchor: string;
  /** A certificate for this process, made now, with the grant that signed it and the key, as PEM. */
  vouch(): { readonly cert: string; readonly key: string };
}

const PREFIX = 'lh1.';
const VERSION = 1;
const ID_BYTES = 8;
const END_BYTES = 4;
const CHECKSUM_BYTES = 4;
const END_S_MAX = 0xffff_ffff;
const TEXT_MAX = 16_384;
const CLUSTER = /^[a-z0-9](?:[a-z0-9._-]{0,62}[a-z0-9])?$/;
const FIXED_BYTES = 1 + PUBLIC_BYTES + PRIVATE_BYTES + SIGNATURE_BYTES + ID_BYTES + END_BYTES;

const strictUtf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });
const checksumOf = (bytes: Uint8Array): Buffer =>
  createHash('sha256').update(bytes).digest().subarray(0, CHECKSUM_BYTES);

const malformed = (advice?: string): RefusedError =>
  new RefusedError(
    'TOKEN_MALFORMED',
    ['the token is not whole: copy it again, from lh1. to its end', advice].filter(Boolean).join('; '),
  );

/** Only these may be asked to accept connections. */
const listens = (grants: readonly Grant[]): boolean =>
  grants.some(({ role }) => role === 'server' || role === 'owner');

export const isClusterName = (text: string): boolean => CLUSTER.test(text);

/** How long a token is good for: at most the greatest end that fits into its four bytes. */
export const isTokenEnd = (endS: number): boolean => Number.isInteger(endS) && endS > 0 && endS <= END_S_MAX;

export interface TokenRequest {
  readonly cluster: string;
  readonly root: KeyPair;
  readonly grants: readonly Grant[];
  readonly hosts: readonly string[];
  readonly endS: number | undefined;
}

/** A new token below this root. */
export function makeToken({ cluster, root, grants, hosts, endS = 0 }: TokenRequest): string {
  const pair = newKeyPair();
  const id = randomBytes(ID_BYTES);
  const text = grantsText(grants);
  const fields: GrantFields = {
    cluster,
    rootPoint: root.point,
    point: pair.point,
    id,
    endS,
    grants: text,
    hosts,
    listens: listens(grants),
  };
  const signature = signRaw(grantBody(fields), root.privateKey);
  const end = Buffer.alloc(END_BYTES);
  end.writeUInt32BE(endS);
  const lines = Buffer.from(`${cluster}\n${text}\n${hosts.join(',')}`, 'utf8');
  const content = Buffer.concat([Buffer.of(VERSION), root.point, pair.secret, signature, id, end, lines]);
  return PREFIX + Buffer.concat([content, checksumOf(content)]).toString('base64url');
}

/**
 * What a token says. White space at either end and line breaks within, as a terminal makes them, are passed over.
 *
 * @param advice for a text that does not begin as a token does
 * @throws {RefusedError} TOKEN_MALFORMED. Whether the token has ended is for the caller to ask, who has a clock.
 */
export function readToken(written: string, advice?: string): Token {
  const text = written.trim().replace(/\r?\n/g, '');
  if (!text.startsWith(PREFIX)) throw malformed(advice);
  if (text.length > TEXT_MAX) throw malformed();
  const encoded = text.slice(PREFIX.length);
  const bytes = Buffer.from(encoded, 'base64url');
  if (bytes.toString('base64url') !== encoded || bytes.length < FIXED_BYTES + CHECKSUM_BYTES)
    throw malformed();
  const content = bytes.subarray(0, -CHECKSUM_BYTES);
  if (!checksumOf(content).equals(bytes.subarray(-CHECKSUM_BYTES))) throw malformed();
  try {
    return contentOf(content);
  } catch {
    throw malformed(); // The cause may contain bytes of the key.
  }
}

function contentOf(content: Buffer): Token {
  let at = 0;
  const next = (length: number): Buffer => {
    at += length;
    return content.subarray(at - length, at);
  };
  const version = next(1)[0];
  const rootPoint = next(PUBLIC_BYTES);
  const pair = keyPairOf(next(PRIVATE_BYTES));
  const signature = next(SIGNATURE_BYTES);
  const id = next(ID_BYTES);
  const endS = next(END_BYTES).readUInt32BE();
  const [cluster = '', written = '', hostList = '', ...more] = strictUtf8
    .decode(content.subarray(at))
    .split('\n');
  const grants = parseGrants(written);
  if (version !== VERSION || more.length > 0 || grants === undefined || !CLUSTER.test(cluster))
    throw malformed();
  const hosts = hostList === '' ? [] : hostList.split(',');
  const fields: GrantFields = {
    cluster,
    rootPoint,
    point: pair.point,
    id,
    endS,
    grants: written,
    hosts,
    listens: listens(grants),
  };
  if (!isSignedBy(grantBody(fields), signature, rootPoint)) throw malformed();
  return {
    id: id.toString('hex'),
    cluster,
    rootId: rootIdOf(rootPoint),
    grants,
    grantsText: written,
    hosts,
    endS: endS === 0 ? undefined : endS,
    anchor: anchorCertificate(cluster, rootPoint),
    vouch() {
      const process = newKeyPair();
      return {
        cert: processCertificate(fields, pair, process) + grantCertificate(fields, signature),
        key: process.privateKey.export({ format: 'pem', type: 'pkcs8' }) as string,
      };
    },
  };
}
