/**
 * Keys that belong to one incarnation of one process, and the check of what they sign. On Node they are Ed25519
 * (`node/signer.ts`); a simulated world has its own, cheap and readable.
 */

export interface Signer {
  /** The hash of the public key. */
  readonly incarnation: string;
  /** The public key, 32 bytes in hexadecimal. */
  readonly key: string;
  /** The signature of these bytes, 64 bytes in hexadecimal. */
  sign(bytes: Uint8Array): string;
}

export interface Verifier {
  /** The one incarnation that this public key can prove. */
  incarnationOf(key: string): string;
  isSigned(key: string, bytes: Uint8Array, signature: string): boolean;
}
