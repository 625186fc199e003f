/**
 * What a look-up is told of a pool that nobody has joined.
 *
 * A look-up may be opened before the first owner of its pool, because servers are often started after their callers. So a Manager
 * answers it with an empty table, and tells it of the first owner. But the name may be misspelt, and then no owner ever comes. So
 * the answer is followed by a refusal with the code `UNKNOWN_POOL`, which names the pools that exist. The refusal is `retryable`,
 * because the first owner ends it; without that word it is the one for pools that must be declared (`../manager/refusal.ts`).
 *
 * Nothing is kept of such a pool but the address of the look-up, and no list has it. Nothing here changes a promise: whether a pool
 * exists is read from the committed state, and the answer itself is the core's.
 */

import type { Transport } from '../../../runtime/runtime.ts';
import type { FromManager, Refused, ToManager } from '../../core/messages.ts';

export interface KnownPools {
  has(pool: string): boolean;
  names(): readonly string[];
}

const MOST_NAMES = 20;

/** The same connections; an answer to a look-up of an unknown pool is followed by the refusal. */
export const namingPools = (
  lines: Transport<FromManager, ToManager>,
  known: KnownPools,
): Transport<FromManager, ToManager> => ({
  listen: (callback) => lines.listen(callback),
  send: (to, message) => {
    lines.send(to, message);
    if (message.kind !== 'changes' || message.answers === undefined || known.has(message.pool)) return;
    lines.send(to, notJoined(message.pool, message.answers.lookup, known.names()));
  },
});

function notJoined(pool: string, asker: string, names: readonly string[]): Refused {
  const rest = names.length > MOST_NAMES ? ` and ${names.length - MOST_NAMES} more` : '';
  const others =
    names.length === 0 ? 'no pool exists yet' : `there are ${names.slice(0, MOST_NAMES).join(', ')}${rest}`;
  const message = `no owner has joined a pool "${pool}": ${others}. Mend the name, or start a server that joins it`;
  return { kind: 'refused', pool, asker, code: 'UNKNOWN_POOL', message, retryable: true };
}
