/**
 * Who may bring state to an owner, and to whom an owner brings state, where processes show tokens: owners of this pool alone, each under its own name.
 *
 * The names are those that the Manager told with the ticket, and never those of the peer. The proofs of the channel come after that (`core/moves/proof.ts`): the certificate says
 * which owner a process may be, and the proof that it is the very incarnation.
 */

import { refusalOfPeer, refusalOfServer } from '../../../node/identity/gate.ts';
import type { SecureSockets } from '../../../node/tcp/secure-sockets.ts';
import type { SecureMoves } from './open-move-carrier.ts';

/** @internal */
export function secureMoves(pool: string, secure: SecureSockets | undefined): SecureMoves | undefined {
  if (secure === undefined) return undefined;
  const gate = { module: 'pool', group: pool } as const;
  return {
    listen: secure,
    dial: secure,
    refusesTarget: (address, identity, toName) => refusalOfServer(gate, toName, address, identity, 'owner'),
    refusesSource: (identity, fromName) => refusalOfPeer(gate, 'owner', fromName, identity),
  };
}
