/**
 * Keys on the curve P-256, in the short forms that fit into a token: 32 bytes of the private key, 33 of the public key, 64 of a signature.
 */

import {
  createECDH,
  createPrivateKey,
  createPublicKey,
  ECDH,
  generateKeyPairSync,
  type KeyObject,
  sign,
  verify,
} from 'node:crypto';

export const PRIVATE_BYTES = 32;
export const PUBLIC_BYTES = 33;
export const SIGNATURE_BYTES = 64;

const CURVE = 'prime256v1';
const COORDINATE_BYTES = 32;
/** ECDSA with SHA-256. The signature is two whole numbers of 32 bytes each, and not the form in DER, whose length differs. */
const SIGNATURE = { hash: 'sha256', encoding: 'ieee-p1363' } as const;

export interface KeyPair {
  readonly privateKey: KeyObject;
  /** 32 bytes. */
  readonly secret: Buffer;
  /** 33 bytes: the compressed point. */
  readonly point: Buffer;
}

const base64url = (bytes: Uint8Array): string => Buffer.from(bytes).toString('base64url');

/** The point with both coordinates, as certificates have it. @throws if no point of the curve has these bytes */
export const uncompressed = (point: Uint8Array): Buffer =>
  ECDH.convertKey(point, CURVE, undefined, undefined, 'uncompressed') as Buffer;

function coordinates(point: Uint8Array): { kty: 'EC'; crv: 'P-256'; x: string; y: string } {
  const whole = uncompressed(point);
  const x = base64url(whole.subarray(1, 1 + COORDINATE_BYTES));
  const y = base64url(whole.subarray(1 + COORDINATE_BYTES));
  return { kty: 'EC', crv: 'P-256', x, y };
}

/** @throws if the bytes are no private key of the curve */
export function keyPairOf(secret: Uint8Array): KeyPair {
  const pair = createECDH(CURVE);
  pair.setPrivateKey(secret);
  const point = pair.getPublicKey(null, 'compressed');
  const key = { ...coordinates(point), d: base64url(secret) };
  return { privateKey: createPrivateKey({ key, format: 'jwk' }), secret: Buffer.from(secret), point };
}

export function newKeyPair(): KeyPair {
  const { d } = generateKeyPairSync('ec', { namedCurve: CURVE }).privateKey.export({ format: 'jwk' });
  return keyPairOf(Buffer.from(d as string, 'base64url'));
}

export const signRaw = (content: Uint8Array, key: KeyObject): Buffer =>
  sign(SIGNATURE.hash, content, { key, dsaEncoding: SIGNATURE.encoding });

export const isSignedBy = (content: Uint8Array, signature: Uint8Array, point: Uint8Array): boolean =>
  verify(
    SIGNATURE.hash,
    content,
    { key: createPublicKey({ key: coordinates(point), format: 'jwk' }), dsaEncoding: SIGNATURE.encoding },
    signature,
  );
