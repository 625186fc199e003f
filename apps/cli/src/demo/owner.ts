/**
 * An owner of the demo: keeps the presence of users, in memory, for the keys that the owner has leases on.
 *
 * A status is kept together with the lease number of the write (`leasedMap`). A status counts for as long as no other
 * owner can have had the key since; an older status may have been changed elsewhere meanwhile, and is forgotten.
 *
 * The map has a name, so statuses move with their keys: an owner that is told to end hands them over first.
 */

import {
  type HeldKey,
  httpAnswer,
  joinPool,
  type LeasedMap,
  NotOwnerError,
  type PoolOwner,
} from 'leasehold/pool';
import type { Context } from '../context.ts';
import { createLogger } from '../logger.ts';
import { POOL, type Presence } from './messages.ts';
import { play } from './player.ts';
import { type Answer, serve } from './web.ts';

export class PresenceKeeper {
  #owner: PoolOwner | undefined;
  #kept: LeasedMap<Presence> | undefined;
  requests = 0;
  misdirected = 0;

  get users(): number {
    return this.#kept?.size ?? 0;
  }

  serveFor(owner: PoolOwner): void {
    this.#owner = owner;
    this.#kept = owner.leasedMap('presence');
  }

  async answer(method: string, user: string, body: unknown): Promise<Answer> {
    this.requests += 1;
    const [owner, kept] = [this.#owner, this.#kept];
    try {
      if (owner === undefined || kept === undefined)
        throw new NotOwnerError('NOT_OWNER', 'this server has not joined the pool yet');
      return await owner.guard(user, (held) =>
        method === 'PUT' ? write(kept, held, user, body as Presence) : read(kept, held, owner.name),
      );
    } catch (error) {
      const refusal = httpAnswer(error);
      if (refusal === undefined) throw error;
      this.misdirected += 1;
      return { ...refusal, body: JSON.parse(refusal.body) };
    }
  }
}

function read(kept: LeasedMap<Presence>, held: HeldKey, owner: string): Answer {
  const presence = kept.get(held);
  return presence === undefined
    ? { status: 404 }
    : { status: 200, body: { ...presence, owner, number: held.number } };
}

/** A word that was long under way does not undo a newer one. */
function write(
  kept: LeasedMap<Presence>,
  held: HeldKey,
  user: string,
  { status, version }: Presence,
): Answer {
  const before = kept.get(held);
  if (before === undefined || before.version <= version) {
    const sinceMs = before?.status === status ? before.sinceMs : Date.now();
    kept.set(held, { user, status, version, sinceMs });
  }
  return { status: 204 };
}

/** Less than the demo gives an owner to end. */
const DRAIN_MS = 10_000;

export interface OwnerPlayer {
  readonly name: string;
  readonly managers?: readonly string[] | undefined;
  readonly untilInputEnds?: true | undefined;
}

export async function runOwner(
  context: Context,
  { name, managers, untilInputEnds }: OwnerPlayer,
): Promise<void> {
  const keeper = new PresenceKeeper();
  const server = await serve((method, user, body) => keeper.answer(method, user, body));
  let [requestsBefore, askedAt] = [0, performance.now()];
  const requestsPerSecond = (): number => {
    const [requests, now] = [keeper.requests - requestsBefore, performance.now()];
    const perSecond = now > askedAt ? (1_000 * requests) / (now - askedAt) : 0;
    [requestsBefore, askedAt] = [keeper.requests, now];
    return perSecond;
  };
  try {
    const owner = await joinPool({
      tls: false,
      ...{ managers, pool: POOL, name, url: server.url, load: requestsPerSecond },
      moves: { drainTimeoutMs: DRAIN_MS },
      logger: createLogger(context, { level: 'warn' }),
    });
    keeper.serveFor(owner);
    await play(server.url, {
      untilInputEnds,
      counts: () => ({
        kind: 'owner',
        requests: keeper.requests,
        misdirected: keeper.misdirected,
        users: keeper.users,
      }),
      end: () => owner[Symbol.asyncDispose](),
    });
  } finally {
    await server.close();
  }
}
