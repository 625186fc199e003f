/**
 * The gate: what a process may be, compared with what it says that it is, or was dialled for.
 *
 * The *own* group counts, never the group in a hello, which a stranger chooses: a token for another group would open this one. And the name *dialled for*
 * counts, never the name in a welcome: a member at a dead member's address would otherwise speak in the name that it says.
 *
 *     listener   hello says: member b           b's certificate: server of the own group under b?
 *                hello says: client x           x's certificate: client of the own group under x?
 *     dialler    b is dialled at this address   the listener's certificate: server of the own group under b?
 *
 * Each question is asked before a word of the peer counts, of refusals too: a refusal can end a group, and any process may listen at a dead member's address.
 */

import { RefusedError } from '../../runtime/errors.ts';
import type { ANY, Claim, GrantModule, Role } from './grants.ts';
import { type Identity, mayPeerBe, printIdentity } from './peer-identity.ts';

/** Of one group (or cell, or pool) of one module; of any, where what a process says is none of one pool alone. */
export interface Gate {
  readonly module: GrantModule;
  readonly group: string | typeof ANY;
}

const claimOf = (role: Role, { module, group }: Gate, name: Claim['name']): Claim => ({
  role,
  module,
  instance: group,
  name,
});

/** `owner web-1 of pool presence`, `a reader of any pool`. */
function wordsFor(role: Role, { module, group }: Gate, name: Claim['name']): string {
  const article = /^[aeiou]/.test(role) ? 'an' : 'a';
  const who = typeof name === 'string' ? `${role} ${name}` : `${article} ${role}`;
  return `${who} of ${typeof group === 'string' ? `${module} ${group}` : `any ${module}`}`;
}

/** Why a process may not be admitted under this name; undefined if it may. */
export function refusalOfPeer(
  gate: Gate,
  role: Role,
  name: Claim['name'],
  identity: Identity,
): RefusedError | undefined {
  if (mayPeerBe(identity, claimOf(role, gate, name))) return undefined;
  return new RefusedError(
    'NOT_ALLOWED',
    `${printIdentity(identity)} may not be ${wordsFor(role, gate, name)}: make a token that grants it`,
  );
}

/** Why a listener is not what was dialled for, a server if nothing else is said; undefined if it may be. */
export function refusalOfServer(
  gate: Gate,
  name: Claim['name'],
  address: string,
  identity: Identity,
  role: Role = 'server',
): RefusedError | undefined {
  if (mayPeerBe(identity, claimOf(role, gate, name))) return undefined;
  const as = wordsFor(role, gate, name);
  const advice = 'check the address, and the token of the process there';
  return new RefusedError(
    'NOT_A_SERVER',
    `${address} shows ${printIdentity(identity)}, which may not be ${as}: ${advice}`,
  );
}

/**
 * A process finds out at its start what every peer would tell it later.
 *
 * @throws {RefusedError} NOT_ALLOWED
 */
export function checkOwnRole(gate: Gate, role: Role, name: Claim['name'], own: Identity): void {
  const refusal = refusalOfPeer(gate, role, name, own);
  if (refusal !== undefined) throw refusal;
}
