/**
 * The gate of a replica: which role a process needs for each frame that it sends.
 *
 * A replica speaks in the name of its storage id. So each hello, also a later one over the same connection, is compared with the certificate of the
 * connection; what a replica says afterwards counts as said by that storage id alone (`peer-links.ts`). A caller needs a role for each call.
 * `change` and `step-down` change who decides, and are an operator's.
 */

import { refusalOfPeer } from '../../node/identity/gate.ts';
import type { Role } from '../../node/identity/grants.ts';
import { ANY } from '../../node/identity/grants.ts';
import type { Identity } from '../../node/identity/peer-identity.ts';
import type { RefusedError } from '../../runtime/errors.ts';
import { nameOf } from '../core/founding.ts';
import type { Call } from '../wire/calls.ts';
import type { Inbound } from '../wire/codec.ts';

const ROLE_OF_CALL: Readonly<Record<Call['kind'], Role>> = {
  read: 'reader',
  'read-each': 'reader',
  watch: 'reader',
  unwatch: 'reader',
  status: 'reader',
  resolve: 'reader',
  submit: 'client',
  change: 'operator',
  'step-down': 'operator',
};

/**
 * Why a process is not welcome: the welcome names the replica, its storage id and the cluster, which are nothing to a process that may do
 * nothing here. A client may read at least; a process that speaks as a replica must be a server of the cell.
 */
export const refusalOfHello = (cell: string, role: string, identity: Identity): RefusedError | undefined =>
  refusalOfPeer({ module: 'quorum', group: cell }, role === 'replica' ? 'server' : 'reader', ANY, identity);

/** Why a process may not say this to a replica of the cell; undefined if it may. */
export function refusalOfFrame(cell: string, inbound: Inbound, identity: Identity): RefusedError | undefined {
  const gate = { module: 'quorum', group: cell } as const;
  if (inbound.from === 'replica') {
    const { message } = inbound;
    return message.kind === 'hello'
      ? refusalOfPeer(gate, 'server', nameOf(message.storage), identity)
      : undefined;
  }
  for (const role of new Set(inbound.calls.map(({ kind }) => ROLE_OF_CALL[kind]))) {
    const refusal = refusalOfPeer(gate, role, ANY, identity);
    if (refusal !== undefined) return refusal;
  }
  return undefined;
}
