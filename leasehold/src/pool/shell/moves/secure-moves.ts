/**
 * Who may bring state to an owner, and to whom an owner brings state, where processes show tokens: owners of this pool alone, each under its own name.
 *
 * **Asked twice of whoever dials.** At its transport's hello, whether it is an owner of this pool at all: another process gets no welcome, holds none of the 64 connections,
 * and learns nothing from the words about tickets. And at its hello for a ticket, whether it is the owner that the Manager named.
 *
 * The names are those that the Manager told with the ticket, and never those of the peer. The proofs of the channel come after that (`core/moves/proof.ts`): the certificate says
 * which owner a process may be, and the proof that it is the very incarnation.
 */

import { refusalOfPeer, refusalOfServer } from '../../../node/identity/gate.ts';
import { ANY } from '../../../node/identity/grants.ts';
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
    refusesStranger: (identity) => refusalOfPeer(gate, 'owner', ANY, identity),
    refusesSource: (identity, fromName) => refusalOfPeer(gate, 'owner', fromName, identity),
  };
}
