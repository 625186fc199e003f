/**
 * A server with state in memory that moves: it counts the visits of each key in a leased map, and is stopped as in production, by a signal.
 */

import { stopOnSignals } from 'leasehold';
import { type JoinPoolOptions, joinPool } from 'leasehold/pool';
import { errorFacts, fail, logger, obey, say, told } from './conversation.ts';

interface Config {
  readonly join: JoinPoolOptions;
}

interface Request {
  readonly key: string;
}

const { join } = told<Config>();

try {
  const owner = await joinPool({ ...join, moves: true, logger });
  const visits = owner.leasedMap<number>('visits');
  stopOnSignals(owner, () => say('stopped'));
  obey({
    visit: async ({ key }: Request) => {
      try {
        const count = await owner.guard(key, (held) => visits.set(held, (visits.get(held) ?? 0) + 1));
        return { count };
      } catch (error) {
        return { failed: errorFacts(error) };
      }
    },
    ranges: () => ({ ranges: owner.ranges().length }),
  });
  say('ready', { pid: process.pid });
} catch (error) {
  fail(error);
  process.exit();
}
