/** One owner that joins when it is told to, watches its keys come, and leaves again. */

import { joinPool, type PoolOwner, silent } from 'leasehold/pool';
import { nowMs, obey, pause, say, told } from '../processes/conversation.ts';

export interface JoinerConfig {
  readonly managers: readonly string[];
  readonly pool: string;
}

export interface Joining {
  readonly admittedMs: number;
  readonly firstMs: number;
  readonly lastMs: number;
  readonly spans: number;
}

/** No more keys come when none has come for so long; several times what an owner may take to give them back. */
const QUIET_MS = 2_500;
const LOOK_EVERY_MS = 1;

const { managers, pool } = told<JoinerConfig>();
let owner: PoolOwner | undefined;

async function join(): Promise<Joining> {
  const atMs = nowMs();
  const joined = await joinPool({
    managers,
    pool,
    name: 'joiner',
    url: 'tcp://127.0.0.1:1/joiner',
    logger: silent,
  });
  owner = joined;
  const admittedMs = nowMs() - atMs;
  let [firstMs, lastMs, held] = [0, 0, ''];
  while (firstMs === 0 || nowMs() - atMs - lastMs < QUIET_MS) {
    const spans = joined.ranges();
    const what = spans.map(({ start, number }) => `${start}#${number}`).join();
    if (what !== held) {
      [lastMs, held] = [nowMs() - atMs, what];
      if (firstMs === 0) firstMs = lastMs;
    }
    await pause(LOOK_EVERY_MS);
  }
  return { admittedMs, firstMs, lastMs, spans: joined.ranges().length };
}

obey({
  join: async () => ({ ...(await join()) }),
  leave: async () => {
    await owner?.close();
    return {};
  },
});
say('ready');
