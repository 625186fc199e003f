/**
 * Owners that come and go without rest, many in one process, so that a Manager always has something to
 * commit. The program says which keys were granted (`granted`), and how each owner ended:
 *
 *     left       a Manager confirmed that the owner is no member any more
 *     unheard    no Manager answered until the owner's lease had run out: the Manager removes the owner when the hold is over
 *     gave-up    the owner was not admitted in time: if the join was being written, the same
 */

import { joinPool, LeaseholdError, type PoolOwner } from 'leasehold/pool';
import { fail, obey, say, told } from './conversation.ts';

interface Config {
  readonly managers: readonly string[];
  readonly pool: string;
  readonly owners: number;
  readonly keys: readonly string[];
  /** How long to make their addresses. */
  readonly padding?: number;
}

interface Request {
  readonly keys: readonly string[];
}

const { managers, pool, owners: count, keys, padding = 0 } = told<Config>();
const present = new Set<PoolOwner>();
let isOver = false;

const pause = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

async function liveOnce(name: string): Promise<void> {
  const url = `http://${name}/${'x'.repeat(padding)}`;
  const owner = await joinPool({ managers, pool, name, url, timeoutMs: 120_000 });
  say('joined', { name, incarnation: owner.incarnation });
  present.add(owner);
  await pause(30 + Math.random() * 200);
  for (const key of keys) {
    const number = owner.check(key);
    if (number !== undefined) say('granted', { key, number, incarnation: owner.incarnation });
  }
  await owner.close();
  present.delete(owner);
  // An owner that was told nothing since still counts as admitted.
  say(owner.status().isAdmitted ? 'unheard' : 'left', { name, incarnation: owner.incarnation });
}

async function live(name: string): Promise<void> {
  while (!isOver) {
    try {
      await liveOnce(name);
    } catch (error) {
      if (!(error instanceof LeaseholdError) || !error.retryable) throw error;
      say('gave-up', { name, why: error.message });
    }
  }
}

const lives = Promise.all(Array.from({ length: count }, (_, index) => live(`churn-${index}`)));
lives.catch((error: unknown) => {
  fail(error);
  process.exit();
});

obey({
  check: ({ keys: asked }: Request) => ({
    held: [...present].map((owner) => ({
      incarnation: owner.incarnation,
      numbers: asked.map((key) => owner.check(key) ?? null),
    })),
  }),
  stop: async () => {
    isOver = true;
    await lives;
    return {};
  },
});
say('ready', { pid: process.pid });
