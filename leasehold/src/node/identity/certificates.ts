/**
 * The three certificates: root, grant, process.
 *
 *     root  ── signs ──►  grant  ── signs ──►  process
 *     the operator's       a token              made in memory by each process when it starts
 *
 * A grant is a certificate authority that may vouch for little. What the holder of a token may not do is stated in the *grant*, which the holder cannot
 * change, and OpenSSL checks all of it while it builds the chain:
 *
 *  - path length 0: no further authority below a grant;
 *  - purposes: only a grant with the role `server` or `owner` may vouch for a TLS server;
 *  - name constraints: no host name and no address but the grant's hosts, so a token is of no use against clients that compare host names;
 *  - key usage: a grant signs certificates, a process signs handshakes.
 *
 * What the process may *be* is the grant's name, `leasehold-grant:<grants>`, and so is the token's end: a holder may write any end into its own
 * certificate, but none into the name of the issuer, which OpenSSL has compared with the name that the root signed.
 *
 * **The form of root and grant is frozen** with version 1 of tokens: a token has only the fields and the root's signature, so that both certificates are
 * built again by each later version. Only process certificates may change.
 */

import { createHash, randomBytes } from 'node:crypto';
import { isIPv4, isIPv6 } from 'node:net';
import {
  bits,
  explicit,
  identifier,
  implicit,
  octets,
  printableText,
  sequence,
  setOf,
  time,
  unsigned,
  utf8,
  yes,
} from './der.ts';
import { type KeyPair, SIGNATURE_BYTES, signRaw, uncompressed } from './keys.ts';

export interface GrantFields {
  readonly cluster: string;
  /** The compressed point of the root's key. */
  readonly rootPoint: Uint8Array;
  /** The compressed point of the grant's key. */
  readonly point: Uint8Array;
  /** 8 bytes. */
  readonly id: Uint8Array;
  /** In seconds since 1970; 0 for a token without an end. */
  readonly endS: number;
  /** In their one form (`grants.ts`). */
  readonly grants: string;
  readonly hosts: readonly string[];
  /** Whether processes with this grant listen, so that diallers must accept them as servers. */
  readonly listens: boolean;
}

const ECDSA_WITH_SHA256 = sequence(identifier('1.2.840.10045.4.3.2'));
const PUBLIC_KEY_ON_P256 = sequence(identifier('1.2.840.10045.2.1'), identifier('1.2.840.10045.3.1.7'));

const ORGANIZATION = '2.5.4.10';
const SERIAL_NUMBER = '2.5.4.5';
const COMMON_NAME = '2.5.4.3';

const KEY_CERT_SIGN = bits(Uint8Array.of(0b0000_0100), 2);
const DIGITAL_SIGNATURE = bits(Uint8Array.of(0b1000_0000), 7);
const FOR_SERVERS = identifier('1.3.6.1.5.5.7.3.1');
const FOR_CLIENTS = identifier('1.3.6.1.5.5.7.3.2');

const DNS_NAME = 2;
const IP_ADDRESS = 7;
const EVERY_IPV4 = new Uint8Array(8);
const EVERY_IPV6 = new Uint8Array(32);

const BEGINNING = time(0);
/** The last second of 9999: RFC 5280's word for no end. */
const NO_END = time(253_402_300_799);
const ID_BYTES = 8;
const KEY_ID_BYTES = 20;
const SERIAL_BYTES = 8;
const GROUP_BITS = 8;
const IPV6_GROUPS = 8;

const sha256 = (bytes: Uint8Array): Buffer => createHash('sha256').update(bytes).digest();

/** The name of a root's key: 8 bytes, in hexadecimal. */
export const rootIdOf = (rootPoint: Uint8Array): string =>
  sha256(rootPoint).subarray(0, ID_BYTES).toString('hex');

/** The serial number in a grant's name: `<id>.<end>`, both hexadecimal. */
const serialOf = (id: Uint8Array, endS: number): string =>
  `${Buffer.from(id).toString('hex')}.${endS.toString(16)}`;

type NamePart = readonly [type: string, value: Buffer];
const nameOf = (...parts: readonly NamePart[]): Buffer =>
  sequence(...parts.map(([type, value]) => setOf(sequence(identifier(type), value))));

const rootName = (cluster: string, rootPoint: Uint8Array): Buffer =>
  nameOf([ORGANIZATION, utf8(cluster)], [COMMON_NAME, utf8(`leasehold root ${rootIdOf(rootPoint)}`)]);

const grantName = ({ cluster, id, endS, grants }: GrantFields): Buffer =>
  nameOf(
    [ORGANIZATION, utf8(cluster)],
    [SERIAL_NUMBER, printableText(serialOf(id, endS))],
    [COMMON_NAME, utf8(`leasehold-grant:${grants}`)],
  );

const PROCESS_NAME = nameOf([ORGANIZATION, utf8('leasehold process')]);

const publicKey = (point: Uint8Array): Buffer => sequence(PUBLIC_KEY_ON_P256, bits(uncompressed(point)));
const keyIdOf = (point: Uint8Array): Buffer => sha256(uncompressed(point)).subarray(0, KEY_ID_BYTES);
const validity = (endS: number): Buffer => sequence(BEGINNING, endS === 0 ? NO_END : time(endS));

const critical = (oid: string, value: Buffer): Buffer => sequence(identifier(oid), yes(), octets(value));
const extension = (oid: string, value: Buffer): Buffer => sequence(identifier(oid), octets(value));

const authority = (pathLength: number): Buffer =>
  critical('2.5.29.19', sequence(yes(), unsigned(Uint8Array.of(pathLength))));
const NO_AUTHORITY = critical('2.5.29.19', sequence());
const keyUsage = (usage: Buffer): Buffer => critical('2.5.29.15', usage);
const purposes = (...oids: readonly Buffer[]): Buffer => extension('2.5.29.37', sequence(...oids));
const ownKeyId = (point: Uint8Array): Buffer => extension('2.5.29.14', octets(keyIdOf(point)));
const issuerKeyId = (point: Uint8Array): Buffer =>
  extension('2.5.29.35', sequence(implicit(0, keyIdOf(point))));

/** The bytes of an IP address. */
function addressBytes(host: string): Buffer {
  if (isIPv4(host)) return Buffer.from(host.split('.').map(Number));
  const written = new URL(`http://[${host}]`).hostname.slice(1, -1);
  const [before = '', after] = written.split('::');
  const groups = (text: string): string[] => (text === '' ? [] : text.split(':'));
  const [left, right] = [groups(before), groups(after ?? '')];
  const middle = after === undefined ? 0 : IPV6_GROUPS - left.length - right.length;
  const all = [...left, ...Array.from({ length: middle }, () => '0'), ...right];
  return Buffer.from(
    all.flatMap((group) => {
      const value = Number.parseInt(group, 16);
      return [value >>> GROUP_BITS, value & 0xff];
    }),
  );
}

/** Exactly these hosts: a kind of name without a host is excluded as a whole, as a constraint on one kind says nothing about the others. */
function onlyHosts(hosts: readonly string[]): Buffer {
  const permitted: Buffer[] = [];
  for (const host of hosts) {
    if (isIPv4(host) || isIPv6(host)) {
      const address = addressBytes(host);
      const mask = Buffer.alloc(address.length, 0xff);
      permitted.push(sequence(implicit(IP_ADDRESS, Buffer.concat([address, mask]))));
    } else permitted.push(sequence(implicit(DNS_NAME, Buffer.from(host, 'latin1'))));
  }
  const excluded: Buffer[] = [];
  if (!hosts.some((host) => !isIPv4(host) && !isIPv6(host))) {
    excluded.push(sequence(implicit(DNS_NAME, Buffer.alloc(0))));
  }
  if (!hosts.some((host) => isIPv4(host))) excluded.push(sequence(implicit(IP_ADDRESS, EVERY_IPV4)));
  if (!hosts.some((host) => isIPv6(host))) excluded.push(sequence(implicit(IP_ADDRESS, EVERY_IPV6)));
  return critical(
    '2.5.29.30',
    sequence(
      ...(permitted.length > 0 ? [explicit(0, Buffer.concat(permitted))] : []),
      ...(excluded.length > 0 ? [explicit(1, Buffer.concat(excluded))] : []),
    ),
  );
}

const alternativeNames = (hosts: readonly string[]): Buffer[] =>
  hosts.length === 0
    ? []
    : [
        extension(
          '2.5.29.17',
          sequence(
            ...hosts.map((host) =>
              isIPv4(host) || isIPv6(host)
                ? implicit(IP_ADDRESS, addressBytes(host))
                : implicit(DNS_NAME, Buffer.from(host, 'latin1')),
            ),
          ),
        ),
      ];

interface Body {
  readonly serial: Uint8Array;
  readonly issuer: Buffer;
  readonly subject: Buffer;
  readonly endS: number;
  readonly point: Uint8Array;
  readonly extensions: readonly Buffer[];
}

const VERSION_3 = explicit(0, unsigned(Uint8Array.of(2)));

/** The part of a certificate that is signed. */
const bodyOf = ({ serial, issuer, subject, endS, point, extensions }: Body): Buffer =>
  sequence(
    VERSION_3,
    unsigned(serial),
    ECDSA_WITH_SHA256,
    issuer,
    validity(endS),
    subject,
    publicKey(point),
    explicit(3, sequence(...extensions)),
  );

/** A signed certificate, as PEM. */
function certificate(body: Buffer, signature: Uint8Array): string {
  const half = SIGNATURE_BYTES / 2;
  const numbers = sequence(unsigned(signature.subarray(0, half)), unsigned(signature.subarray(half)));
  const text = sequence(body, ECDSA_WITH_SHA256, bits(numbers)).toString('base64');
  return `-----BEGIN CERTIFICATE-----\n${text.replace(/.{1,64}/g, '$&\n')}-----END CERTIFICATE-----\n`;
}

const rootBody = (cluster: string, rootPoint: Uint8Array): Buffer =>
  bodyOf({
    serial: Buffer.from(rootIdOf(rootPoint), 'hex'),
    issuer: rootName(cluster, rootPoint),
    subject: rootName(cluster, rootPoint),
    endS: 0,
    point: rootPoint,
    extensions: [authority(1), keyUsage(KEY_CERT_SIGN), ownKeyId(rootPoint)],
  });

/** The root's certificate, truly signed: for `ca.pem`. */
export function rootCertificate(cluster: string, root: KeyPair): string {
  const body = rootBody(cluster, root.point);
  return certificate(body, signRaw(body, root.privateKey));
}

/**
 * The root's certificate as a trust anchor, built from the public key alone. Its signature is filler: no TLS library checks the signature of an anchor,
 * which is trusted because it is *here*, in the token, and a token has no root key to sign with.
 */
export function anchorCertificate(cluster: string, rootPoint: Uint8Array): string {
  const filler = Buffer.alloc(SIGNATURE_BYTES);
  filler[SIGNATURE_BYTES / 2 - 1] = 1;
  filler[SIGNATURE_BYTES - 1] = 1;
  return certificate(rootBody(cluster, rootPoint), filler);
}

/** The bytes of a grant that the root signs. */
export const grantBody = (fields: GrantFields): Buffer =>
  bodyOf({
    serial: fields.id,
    issuer: rootName(fields.cluster, fields.rootPoint),
    subject: grantName(fields),
    endS: fields.endS,
    point: fields.point,
    extensions: [
      authority(0),
      keyUsage(KEY_CERT_SIGN),
      fields.listens ? purposes(FOR_SERVERS, FOR_CLIENTS) : purposes(FOR_CLIENTS),
      onlyHosts(fields.hosts),
      ownKeyId(fields.point),
      issuerKeyId(fields.rootPoint),
    ],
  });

/** @param signature the root's, of {@link grantBody} */
export const grantCertificate = (fields: GrantFields, signature: Uint8Array): string =>
  certificate(grantBody(fields), signature);

/** A certificate for this process, signed with the grant's key. The subject says nothing: what a process may be is its issuer's name. */
export function processCertificate(fields: GrantFields, grant: KeyPair, process: KeyPair): string {
  const body = bodyOf({
    serial: randomBytes(SERIAL_BYTES),
    issuer: grantName(fields),
    subject: PROCESS_NAME,
    endS: fields.endS,
    point: process.point,
    extensions: [
      NO_AUTHORITY,
      keyUsage(DIGITAL_SIGNATURE),
      purposes(FOR_SERVERS, FOR_CLIENTS),
      ...alternativeNames(fields.hosts),
      ownKeyId(process.point),
      issuerKeyId(fields.point),
    ],
  });
  return certificate(body, signRaw(body, grant.privateKey));
}
