/**
 * The same crash with one lease per key in Redis: nobody can prove a death, so a key is free when its
 * time has run out, counted from the last renewal. To Redis a holder that was killed and one that does
 * not renew any more are the same, so it is not a process that dies here but a renewal that is left out.
 */

import type { Redis } from 'ioredis';
import { nowMs, pause } from '../processes/conversation.ts';

const TRY_EVERY_MS = 5;

/** From each kill to the instant when another gets the key; `phases` of a renewal have passed at the kill. */
export async function redisExpiry(
  redis: Redis,
  { leaseMs, phases }: { readonly leaseMs: number; readonly phases: readonly number[] },
): Promise<readonly number[]> {
  const renewEveryMs = leaseMs / 3;
  return Promise.all(
    phases.map(async (phase, index) => {
      const key = `crash-${index}`;
      await redis.set(key, 'the dead one', 'PX', leaseMs, 'NX');
      const killedMs = nowMs() + phase * renewEveryMs;
      while ((await redis.set(key, 'the next one', 'PX', leaseMs, 'NX')) === null) await pause(TRY_EVERY_MS);
      return nowMs() - killedMs;
    }),
  );
}
