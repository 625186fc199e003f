/**
 * Refusals that time does not end: another root, a token that does not grant it, plaintext where TLS is spoken. Settings and rights alone mend these, so a
 * caller that waits for any server is told at once, and need not wait for its time limit.
 *
 * **Only when every address refuses so.** One stale address in a list must not stop a process that another server would serve. A server that is away, or full,
 * may serve later, and is waited for.
 *
 * What a server says in its refusal counts, because it showed beforehand that it is the server which was dialled for (`identity/gate.ts`). In plaintext nothing is shown,
 * and nothing is promised: there whoever listens at all addresses is the server.
 */

import { type LeaseholdError, RefusedError } from '../../runtime/errors.ts';
import { HandshakeRefusedError, VersionMismatchError, WrongProtocolError } from './errors.ts';

/** Reasons that a server gives in the handshake. */
const LASTING: ReadonlySet<string> = new Set([
  'NOT_ALLOWED',
  'TLS_REQUIRED',
  'TLS_NOT_SPOKEN',
  'WRONG_CLUSTER',
  'TOKEN_EXPIRED',
]);

function lastingRefusal(problem: LeaseholdError | undefined): LeaseholdError | undefined {
  if (problem instanceof HandshakeRefusedError)
    return LASTING.has(problem.reason) ? new RefusedError(problem.reason, problem.message) : undefined;
  const isLasting =
    problem instanceof RefusedError ||
    problem instanceof VersionMismatchError ||
    problem instanceof WrongProtocolError;
  return isLasting ? problem : undefined;
}

/** The refusal of the first address, if every address refuses and time mends none of the refusals. */
export function refusalOfAll(
  addresses: readonly string[],
  problems: ReadonlyMap<string, LeaseholdError>,
): LeaseholdError | undefined {
  const refusals = addresses.map((address) => lastingRefusal(problems.get(address)));
  return refusals.includes(undefined) ? undefined : refusals[0];
}
