/**
 * When a Manager says no.
 *
 * A request that cannot be granted could be left unanswered like a lost one, and whoever asked would ask
 * for ever. So what only people can mend is said, with a sentence that tells them how: it ends up in the
 * error that their program stops with. Saying it promises nothing and takes nothing back.
 */

import type { FromManager, Report, Sync } from '../messages.ts';
import type { PoolTable } from '../table.ts';

interface Refusing {
  readonly do: 'send';
  readonly to: string;
  readonly message: FromManager;
}

/** Pools must be declared, and this one is not. */
export function unknownPool(from: string, asked: Report | Sync, declared: readonly string[]): Refusing {
  const { pool } = asked;
  const known = declared.length === 0 ? 'none is' : `there are ${declared.slice(0, 20).join(', ')}`;
  const message = `there is no pool "${pool}": pools must be declared here, and ${known}. Mend the name, or declare the pool in the Manager's configuration`;
  const asker = asked.kind === 'report' ? asked.incarnation : asked.lookup;
  return refusing(from, { pool, asker, code: 'UNKNOWN_POOL', message, retryable: false });
}

/** Callers sent to that url would reach somebody else; once the other is gone it is free. */
export function urlInUse(from: string, { pool, incarnation, url }: Report, by: string): Refusing {
  const message = `the url ${url} is that of the owner "${by}" in pool "${pool}": give every owner a url of its own. If "${by}" is gone, its url is free when its lease has run out`;
  return refusing(from, { pool, asker: incarnation, code: 'URL_IN_USE', message, retryable: true });
}

/** Whoever leads, as far as the log says; if it has died meanwhile, it will not answer, and all are asked. */
export const elsewhere = (
  from: string,
  { pool, incarnation }: Report,
  term: number,
  leader: string,
): Refusing => ({ do: 'send', to: from, message: { kind: 'elsewhere', pool, incarnation, term, leader } });

/** The name of the member that has this url under another name; undefined if none has. */
export function ownerOfUrl(table: PoolTable, url: string, name: string): string | undefined {
  for (const member of table.members.values()) {
    if (member.url === url && member.name !== name) return member.name;
  }
  return undefined;
}

function refusing(
  to: string,
  refused: {
    readonly pool: string;
    readonly asker: string;
    readonly code: string;
    readonly message: string;
    readonly retryable: boolean;
  },
): Refusing {
  return { do: 'send', to, message: { kind: 'refused', ...refused } };
}
