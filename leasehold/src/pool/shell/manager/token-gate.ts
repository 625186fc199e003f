/**
 * The gate of a Manager for processes with tokens: which role a process needs for each thing that it says.
 *
 *     hello       owner, supervisor: an owner of any pool, because one connection serves several pools, and a certificate names none
 *                 look-up, or another role: a reader of any pool
 *     prove       an owner of the pool, under any name: the message has none
 *     report      the owner of the pool **under the name in the report**
 *     sync        a reader of the pool
 *     probe       a reader of any pool: the answer names no pool
 *     certificate an owner of any pool: it shows the secret of one process, and frees nothing else
 *
 * Each message is compared by itself with the certificate of its connection. The hello proves nothing about a pool, so a process that may own one pool and reads another
 * is refused at its first sync. A report is compared each time, and not once at the proof, because the name stands in the report alone: an incarnation that was
 * proved by one owner could otherwise report as another, take over its url, and be admitted as its successor.
 *
 * The switch has no default: a message of a new kind does not compile before it has a row here.
 */

import { type Gate, refusalOfPeer } from '../../../node/identity/gate.ts';
import { ANY } from '../../../node/identity/grants.ts';
import type { Identity } from '../../../node/identity/peer-identity.ts';
import type { RefusedError } from '../../../runtime/errors.ts';
import type { ToGate } from '../../core/messages.ts';

const SOME_POOL: Gate = { module: 'pool', group: ANY };

const OWNERS: ReadonlySet<string> = new Set(['owner', 'supervisor']);

/** Why a process of this role is not welcome; undefined if it is. */
export const refusalOfHello = (role: string, identity: Identity): RefusedError | undefined =>
  refusalOfPeer(SOME_POOL, OWNERS.has(role) ? 'owner' : 'reader', ANY, identity);

/** Why a process may not say this to a Manager; undefined if it may. */
export function refusalOfMessage(message: ToGate, identity: Identity): RefusedError | undefined {
  switch (message.kind) {
    case 'prove':
      return refusalOfPeer({ module: 'pool', group: message.pool }, 'owner', ANY, identity);
    case 'report':
      return refusalOfPeer({ module: 'pool', group: message.pool }, 'owner', message.name, identity);
    case 'sync':
      return refusalOfPeer({ module: 'pool', group: message.pool }, 'reader', ANY, identity);
    case 'probe':
      return refusalOfPeer(SOME_POOL, 'reader', ANY, identity);
    case 'certificate':
      return refusalOfPeer(SOME_POOL, 'owner', ANY, identity);
  }
}
