/**
 * An incarnation is the hash of a public key, and only the process that made the key can speak for it.
 *
 * Incarnations are public: look-ups are told them with every row. A report decides about keys: "released all,
 * leaving", sent in the incarnation of another owner, would free keys that the other owner still serves. So before its
 * first report on a connection an owner proves its incarnation, once:
 *
 *     listener   welcome { channel }           16 random bytes, new for each connection
 *     owner      prove { pool, incarnation, key, signature }, report, report, …
 *
 *     incarnation = the first 16 bytes of SHA-256(key), in hexadecimal
 *     signature   = Ed25519 over "leasehold-incarnation-1\0" ‖ channel ‖ pool ‖ incarnation, each after its length
 *
 * The channel makes a proof worthless on any other connection. The pool and the lengths make it a proof of one
 * statement. Without TLS nothing proves which process answers: a process that an owner dials can relay its proof. With TLS the
 * channel will be the exporter of the session.
 */

import type { Signer, Verifier } from '../../runtime/signing.ts';
import type { Prove } from './messages.ts';
import { signedStatement } from './signed-statement.ts';

export function prove(signer: Signer, pool: string, channel: string): Prove {
  const { incarnation, key } = signer;
  const signature = signer.sign(statement(channel, pool, incarnation));
  return { kind: 'prove', pool, incarnation, key, signature };
}

export function isProof(
  { pool, incarnation, key, signature }: Prove,
  channel: string,
  verifier: Verifier,
): boolean {
  if (verifier.incarnationOf(key) !== incarnation) return false;
  return verifier.isSigned(key, statement(channel, pool, incarnation), signature);
}

const statement = (channel: string, pool: string, incarnation: string): Uint8Array =>
  signedStatement('leasehold-incarnation-1', [channel, pool, incarnation]);
