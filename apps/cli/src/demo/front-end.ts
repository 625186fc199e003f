/**
 * A front end of the demo: knows the users who are connected to it, sends each one's status to whoever
 * owns that user, and again when a look-up says that it was lost. It keeps nothing about other users;
 * it asks their owners.
 */

import { type Loss, openLookup, type PoolLookup } from 'leasehold/pool';
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
const FIRST_WAIT_MS = 20;
const LONGEST_WAIT_MS = 250;

/** Sends requests to owners, and again when the owner was the wrong one or is gone. */
class Router {
  lookup: PoolLookup | undefined;
  retried = 0;
  #onChange: (() => void)[] = [];

  changed(): void {
    for (const tell of this.#onChange.splice(0)) tell();
  }

  /** Undefined: not in time. */
  async send(method: string, user: string, body: unknown, until: number): Promise<Answer | undefined> {
    let waitMs = FIRST_WAIT_MS;
    for (;;) {
      const owner = this.lookup?.find(user);
      if (owner !== undefined) {
        const answer = await ask(method, `${owner.url}/presence/${encodeURIComponent(user)}`, body);
        if (answer !== undefined && answer.status < 400) return answer;
        if (answer?.status === 404) return answer;
      }
      if (performance.now() >= until) return undefined;
      this.retried += 1;
      await this.#changeOr(waitMs * (0.5 + Math.random()));
      waitMs = Math.min(2 * waitMs, LONGEST_WAIT_MS);
    }
  }

  /** Who was refused knows something that the table does not say yet; but it may say so any moment. */
  async #changeOr(longestMs: number): Promise<void> {
    const change = new AbortController();
    this.#onChange.push(() => change.abort());
    await pause(longestMs, change.signal);
  }
}

export class FrontEnd {
  readonly router: Router = new Router();
  readonly #connected = new Map<string, Status>();
  /** How often each user's status is still to be sent; whoever sends it now looks here when it is done. */
  readonly #wanted = new Map<string, number>();
  readonly #sending = new Map<string, Promise<void>>();
  published = 0;
  lost = 0;
  republished = 0;

  get connected(): number {
    return this.#connected.size;
  }

  /** Everything that was kept about these users may be gone; we know it. */
  onLoss(loss: Loss): void {
    for (const user of this.#connected.keys()) {
      if (!loss.has(user)) continue;
      this.lost += 1;
      void this.#publish(user).then(() => (this.republished += 1));
    }
  }

  async answer(method: string, user: string, body: unknown): Promise<Answer> {
    const until = performance.now() + ANSWER_WITHIN_MS;
    if (method !== 'PUT') return (await this.router.send('GET', user, undefined, until)) ?? { status: 503 };
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

  /** One at a time for each user, and again for as long as there is something newer. It never gives up. */
  async #send(user: string): Promise<void> {
    for (let sent: number | undefined; sent !== this.#wanted.get(user); ) {
      const wanted = this.#wanted.get(user);
      const answer = await this.router.send(
        'PUT',
        user,
        this.#connected.get(user),
        performance.now() + ANSWER_WITHIN_MS,
      );
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
  await using lookup = await openLookup({
    ...{ managers, pool: POOL },
    onLoss: (loss) => frontEnd.onLoss(loss),
    onChange: () => frontEnd.router.changed(),
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
      frontEnd.router.lookup = undefined; // It is about to be closed, and what is still being sent goes on asking.
    },
  });
}
