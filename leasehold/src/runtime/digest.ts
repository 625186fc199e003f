import { createHash, createHmac, timingSafeEqual } from 'node:crypto';

/** The SHA-256 of a secret, in hexadecimal: may be told to others, which recognise the secret by the digest later. */
export const digest = (secret: string): string => createHash('sha256').update(secret).digest('hex');

/** The HMAC-SHA-256 of these parts, one after the other: only a process that knows the key can compute it. */
export function keyedDigest(key: Uint8Array, ...parts: readonly (string | Uint8Array)[]): Uint8Array {
  const mac = createHmac('sha256', key);
  for (const part of parts) mac.update(part);
  return mac.digest();
}

/** Compares in a time that tells nothing of where two digests differ. */
export const sameDigest = (one: Uint8Array, other: Uint8Array): boolean =>
  one.length === other.length && timingSafeEqual(one, other);
