/**
 * A front end of the demo: knows the connected users, sends each user's status to the owner of that user, and again
 * when a look-up says that the status was lost. The front end keeps nothing about other users and asks their owners
 * instead.
 */

import { type FoundOwner, type Loss, connectLookup, type PoolLookup } from 'leasehold/pool';
import type { Context } from '../context.ts';
import { pause } from '../event-stream.ts';
import { createLogger } from '../logger.ts';
import { POOL, type Presence } from './messages.ts';
import type { OwnerPlayer } from './owner.ts';
import { play } from './player.ts';
import { type Answer, ask, serve } from './web.ts';

type Status = Pick<Presence, 'status' | 'version'>;

/** A person waits this long, and no longer. */
export const ANSWER_WITHIN_MS = 2_000;

/** Sends requests to owners, and again when the owner was the wrong one or is gone: each may be made twice. */
class Router {
  lookup: PoolLookup | undefined;
  retried = 0;

  /** Undefined: not in time. */
  async send(method: string, user: string, body: unknown, withinMs: number): Promise<Answer | undefined> {
    let calls = 0;
    const send = async ({ url }: FoundOwner): Promise<Answer> => {
      if (calls > 0) this.retried += 1;
      calls += 1;
      const answer = await ask(method, `${url}/presence/${encodeURIComponent(user)}`, body);
      if (answer === undefined || answer.status === 500) throw new Error(`${url} did not answer`);
      return answer;
    };
    if (this.lookup === undefined) return pause(withinMs).then(() => undefined);
    return this.lookup.call(user, send, { timeoutMs: withinMs, idempotent: true }).catch(() => undefined);
  }
}

export class FrontEnd {
  readonly router: Router = new Router();
  readonly #connected = new Map<string, Status>();
  /** How often each user's status is still to be sent; a running send looks here when done. */
  readonly #wanted = new Map<string, number>();
  readonly #sending = new Map<string, Promise<void>>();
  published = 0;
  lost = 0;
  republished = 0;

  get connected(): number {
    return this.#connected.size;
  }

  /** Everything that was kept about these users may be gone; we have the statuses. */
  onLoss(loss: Loss): void {
    for (const user of this.#connected.keys()) {
      if (!loss.has(user)) continue;
      this.lost += 1;
      void this.#publish(user).then(() => (this.republished += 1));
    }
  }

  async answer(method: string, user: string, body: unknown): Promise<Answer> {
    if (method !== 'PUT')
      return (await this.router.send('GET', user, undefined, ANSWER_WITHIN_MS)) ?? { status: 503 };
    this.#connected.set(user, body as Status);
    const late = new AbortController();
    const sent = this.#publish(user).then(() => 204);
    const status = await Promise.race([sent, pause(ANSWER_WITHIN_MS, late.signal).then(() => 503)]);
    late.abort();
    return { status };
  }

  #publish(user: string): Promise<void> {
    this.#wanted.set(user, (this.#wanted.get(user) ?? 0) + 1);
    const sending = this.#sending.get(user) ?? this.#send(user);
    this.#sending.set(user, sending);
    return sending;
  }

  /** One at a time for each user, and again for as long as there is something newer. The loop never gives up. */
  async #send(user: string): Promise<void> {
    for (let sent: number | undefined; sent !== this.#wanted.get(user); ) {
      const wanted = this.#wanted.get(user);
      const answer = await this.router.send('PUT', user, this.#connected.get(user), ANSWER_WITHIN_MS);
      if (answer === undefined) continue;
      sent = wanted;
      this.published += 1;
    }
    this.#wanted.delete(user);
    this.#sending.delete(user);
  }
}

export async function runFrontEnd(
  context: Context,
  { managers, untilInputEnds }: OwnerPlayer,
): Promise<void> {
  const frontEnd = new FrontEnd();
  await using lookup = await connectLookup({
    tls: false,
    ...{ managers, pool: POOL },
    onLoss: (loss) => frontEnd.onLoss(loss),
    logger: createLogger(context, { level: 'warn' }),
  });
  frontEnd.router.lookup = lookup;
  const server = await serve((method, user, body) => frontEnd.answer(method, user, body));
  await play(server.url, {
    untilInputEnds,
    counts: () => {
      const { connected, published, lost, republished } = frontEnd;
      return { kind: 'front-end', connected, published, lost, republished, retried: frontEnd.router.retried };
    },
    end: async () => {
      await server.close();
      frontEnd.router.lookup = undefined; // The look-up is about to be closed, and running sends go on asking.
    },
  });
}
