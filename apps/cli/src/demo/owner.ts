/**
 * An owner of the demo: keeps who is present, in memory, for the keys it has a lease on.
 *
 * A status is kept together with the lease number it was written under. It counts for as long as
 * nobody else can have had the key since; what is older than that may have been changed elsewhere
 * meanwhile, and is forgotten.
 */

import { ClosedError, joinPool, LeaseLostError, NotOwnerError, type PoolOwner } from 'leasehold/pool';
import type { Context } from '../context.ts';
import { createLogger } from '../logger.ts';
import { POOL, type Presence } from './messages.ts';
import { play } from './player.ts';
import { type Answer, serve } from './web.ts';

interface Kept extends Presence {
  readonly number: number;
}

/** The request is for another owner: HTTP has a status for that. */
const MISDIRECTED: Answer = { status: 421, body: { error: { code: 'NOT_OWNER' } } };

/** Not ours, not any more, or we have left. */
const ANOTHER_HAS_IT = [NotOwnerError, LeaseLostError, ClosedError] as const;

export class PresenceKeeper {
  readonly #kept = new Map<string, Kept>();
  #owner: PoolOwner | undefined;
  requests = 0;
  misdirected = 0;

  get users(): number {
    return this.#kept.size;
  }

  serveFor(owner: PoolOwner): void {
    this.#owner = owner;
  }

  forget(isLost: (user: string) => boolean): void {
    for (const user of this.#kept.keys()) if (isLost(user)) this.#kept.delete(user);
  }

  async answer(method: string, user: string, body: unknown): Promise<Answer> {
    this.requests += 1;
    const owner = this.#owner;
    try {
      if (owner === undefined) throw new NotOwnerError(user);
      return await owner.guard(user, ({ number }) =>
        method === 'PUT'
          ? this.#write(owner, user, number, body as Presence)
          : this.#read(owner, user, number),
      );
    } catch (error) {
      if (!ANOTHER_HAS_IT.some((kind) => error instanceof kind)) throw error;
      this.misdirected += 1;
      return MISDIRECTED;
    }
  }

  #current(owner: PoolOwner, user: string): Kept | undefined {
    const kept = this.#kept.get(user);
    return kept !== undefined && owner.checkLeaseContinuous(user, kept.number) ? kept : undefined;
  }

  #read(owner: PoolOwner, user: string, number: number): Answer {
    const kept = this.#current(owner, user);
    return kept === undefined
      ? { status: 404 }
      : { status: 200, body: { ...kept, owner: owner.name, number } };
  }

  /** A word that was long under way does not undo a newer one. */
  #write(owner: PoolOwner, user: string, number: number, { status, version }: Presence): Answer {
    const before = this.#current(owner, user);
    if (before === undefined || before.version <= version) {
      const sinceMs = before?.status === status ? before.sinceMs : Date.now();
      this.#kept.set(user, { user, status, version, sinceMs, number });
    }
    return { status: 204 };
  }
}

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
      ...{ managers, pool: POOL, name, url: server.url, load: requestsPerSecond },
      onLost: (ranges) => keeper.forget((user) => ranges.has(user)),
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
      end: () => owner.leave(),
    });
  } finally {
    await server.close();
  }
}
