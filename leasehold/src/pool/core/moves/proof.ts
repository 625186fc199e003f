/**
 * The proofs of both ends of a connection over which state moves: the source proves that it is the incarnation that the Manager named to the
 * target, and the target that it is the incarnation that the Manager named to the source.
 *
 *     target    welcome { channel }                                16 random bytes, new for each connection
 *     source    hello { ticket, from, to, nonce }                  16 random bytes, new for each connection
 *     target    proof { key, signature }                           role `target`
 *     source    proof { key, signature }                           role `source`, if the target's is good
 *
 *     signature = Ed25519 over "leasehold-transfer-1\0" ‖ role ‖ nonce ‖ channel ‖ pool ‖ ticket ‖ from ‖ to, each after its length
 *
 * **Why neither proof is worth anything elsewhere.** The target draws the channel and the source the nonce, so each end signs bytes of the peer's
 * drawing and of its own: a signature from another connection has another channel or another nonce. A process in the middle has a connection of
 * its own to each end, hence two channels, and a proof that it passes on names the wrong one. The role keeps an end from being answered
 * with its own signature.
 *
 * **Why this is not the statement of `../incarnation.ts`.** An owner proves its incarnation to a Manager over a channel that the Manager draws.
 * If it signed the same statement here, a target could ask a Manager for a channel, draw that one, and then speak to the Manager as
 * the source. So the statement has a label of its own.
 */

import type { Signer, Verifier } from '../../../runtime/signing.ts';
import { signedStatement } from '../signed-statement.ts';

/** What both ends know of their connection, and sign. */
export interface TransferFacts {
  readonly nonce: string;
  readonly channel: string;
  readonly pool: string;
  readonly ticket: string;
  /** Incarnations. */
  readonly from: string;
  readonly to: string;
}

export interface TransferProof {
  /** The public key of which the incarnation is the hash. */
  readonly key: string;
  readonly signature: string;
}

export type TransferRole = 'source' | 'target';

export const proveTransfer = (signer: Signer, role: TransferRole, facts: TransferFacts): TransferProof => ({
  key: signer.key,
  signature: signer.sign(statement(role, facts)),
});

/** Whether the end in this role is the incarnation that the facts name for it. */
export function isTransferProof(
  { key, signature }: TransferProof,
  role: TransferRole,
  facts: TransferFacts,
  verifier: Verifier,
): boolean {
  const incarnation = role === 'source' ? facts.from : facts.to;
  return (
    verifier.incarnationOf(key) === incarnation && verifier.isSigned(key, statement(role, facts), signature)
  );
}

const statement = (
  role: TransferRole,
  { nonce, channel, pool, ticket, from, to }: TransferFacts,
): Uint8Array => signedStatement('leasehold-transfer-1', [role, nonce, channel, pool, ticket, from, to]);
