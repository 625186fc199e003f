/**
 * When a Manager says no.
 *
 * A request that cannot be granted could be left unanswered like a lost one, and the client would ask
 * for ever. So a cause that only people can mend is said, with a sentence that tells them how: it ends up in the
 * error that their program stops with. So a message says how things are and how a person can mend them. It does not say that
 * the program asks again, because the program may give up and throw the message. Saying it promises nothing and takes nothing back.
 */

import type { FromManager, Report, Sync } from '../messages.ts';
import type { PoolTable } from '../table.ts';
import type { CandidateLimits } from './candidates.ts';
import type { NoPlace, PoolLimit } from './pool-places.ts';

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
  const message = `the url ${url} is that of the owner "${by}" in pool "${pool}": give every owner a url of its own. If "${by}" is gone, its url is free when its lease has expired`;
  return refusing(from, { pool, asker: incarnation, code: 'URL_IN_USE', message, retryable: true });
}

/** The candidate has done all it has to. It waits for the Manager, which has much to do. */
export function inLine(from: string, { pool, incarnation }: Report, waiting: number): Refusing {
  const message = `this owner is in line to join pool "${pool}": ${waiting} wait to be admitted, each in its turn. If joins give up before, raise timeoutMs`;
  return refusing(from, { pool, asker: incarnation, code: 'BUSY', message, retryable: true });
}

const FULL: Readonly<Record<keyof CandidateLimits, string>> = {
  candidates: 'more owners than it has room for want to join',
  candidatesPerAddress: 'more owners than it has room for want to join from one address',
  candidatesPerConnection: 'more owners than it has room for want to join over one connection',
};

/** A candidate that has not confirmed anything had to make room, or there was none for it. */
export function noRoom(from: string, { pool, incarnation }: Report, limit: keyof CandidateLimits): Refusing {
  const message = `the Manager is full: ${FULL[limit]}. If so many owners are not meant to be, find out which machine starts them; if they are, raise limits.${limit}`;
  return refusing(from, { pool, asker: incarnation, code: 'FULL', message, retryable: true });
}

const POOLS: Readonly<Record<PoolLimit, string>> = {
  pools: 'as many pools as may begin by themselves',
  poolsPerAddress: 'as many pools as may begin by themselves from one address',
};

/** There are as many pools as may come into being by somebody asking for them. */
export function tooManyPools(
  from: string,
  { pool, incarnation }: Report,
  { limit, most }: NoPlace,
): Refusing {
  const message = `there is no pool "${pool}", and ${POOLS[limit]}, ${most}: mend the name, declare the pool in the Manager's configuration, remove pools that nobody needs, or raise limits.${limit}`;
  return refusing(from, { pool, asker: incarnation, code: 'TOO_MANY_POOLS', message, retryable: true });
}

/** A member that lives has this name. It keeps the name until it leaves, its death is proved, or its hold is over. */
export function nameInUse(
  from: string,
  { pool, incarnation, name }: Report,
  holder: { readonly url: string; readonly heardAgoMs: number | undefined; readonly freeInMs: number },
): Refusing {
  const { url, heardAgoMs, freeInMs } = holder;
  const heard =
    heardAgoMs === undefined ? 'not heard by this leader yet' : `heard ${seconds(heardAgoMs)} s ago`;
  const message = `the owner "${name}" of pool "${pool}" is a member at ${url}, ${heard}. If that process has ended, its name is free in at most ${seconds(freeInMs)} s; if both are to run, give one of them a name of its own`;
  return refusing(from, { pool, asker: incarnation, code: 'NAME_IN_USE', message, retryable: true });
}

const seconds = (ms: number): string => (ms / 1_000).toFixed(1);

/** The leader, as far as the log says; if it has died meanwhile, it will not answer, and all are asked. */
export const notLeader = (
  from: string,
  { pool, incarnation }: Report,
  term: number,
  leader: string,
): Refusing => ({ do: 'send', to: from, message: { kind: 'notLeader', pool, incarnation, term, leader } });

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
