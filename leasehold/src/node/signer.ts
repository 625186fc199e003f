/**
 * Ed25519 keys of incarnations, and the check of their signatures. The purpose: `pool/core/incarnation.ts`.
 */

import { createHash, createPublicKey, generateKeyPairSync, sign, verify } from 'node:crypto';
import type { Signer, Verifier } from '../runtime/signing.ts';

const INCARNATION_BYTES = 16;
const KEY_BYTES = 32;
/** The bytes before the 32 bytes of an Ed25519 key in the SPKI form (RFC 8410). */
const SPKI_HEAD = Buffer.from('302a300506032b6570032100', 'hex');

/** @param key the raw public key, in hexadecimal */
const incarnationOf = (key: string): string =>
  createHash('sha256')
    .update(Buffer.from(key, 'hex'))
    .digest()
    .subarray(0, INCARNATION_BYTES)
    .toString('hex');

/** A new key that nobody else has. */
export function newSigner(): Signer {
  const { publicKey, privateKey } = generateKeyPairSync('ed25519');
  const key = publicKey.export({ format: 'der', type: 'spki' }).subarray(SPKI_HEAD.length).toString('hex');
  return {
    key,
    incarnation: incarnationOf(key),
    sign: (bytes: Uint8Array): string => sign(null, bytes, privateKey).toString('hex'),
  };
}

export const nodeVerifier: Verifier = {
  incarnationOf,
  isSigned(key: string, bytes: Uint8Array, signature: string): boolean {
    const raw = Buffer.from(key, 'hex');
    if (raw.length !== KEY_BYTES) return false;
    const publicKey = createPublicKey({
      key: Buffer.concat([SPKI_HEAD, raw]),
      ...({ format: 'der', type: 'spki' } as const),
    });
    return verify(null, bytes, publicKey, Buffer.from(signature, 'hex'));
  },
};
