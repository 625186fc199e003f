/**
 * How long a lease is without a holder when its holder is killed: from `kill -9` until another member, which has been asking all
 * along, holds it. Nobody is told of a death here; a lease has to run out, by every clock of the group.
 *
 *     holder    ├─ renewed ──────✕ killed
 *     others    ├───────── t_max ─────────┤── ε ──┤ taken
 *
 * The holder has many leases, which it took over the time of one, so that at the kill some have just been renewed and some
 * were about to be.
 */

import { nowMs, pause } from '../processes/conversation.ts';
import type { Workshop } from '../processes/workshop.ts';
import { FleaseGroup, type FleaseTimes } from './flease.ts';

export const TIMES: FleaseTimes = { leaseMs: 5_000, clockSkewMs: 200 };
export const LEASES = 100;
export const KILLS = 5;

/** From the kill to each lease in other hands, of all kills. */
export async function failovers(
  workshop: Workshop,
  kills: number,
  report: (line: string) => void,
): Promise<readonly number[]> {
  const group = await FleaseGroup.open(workshop, TIMES);
  const tookMs: number[] = [];
  for (let kill = 0; kill < kills; kill += 1) {
    const resources = { prefix: `failover-${kill}`, count: LEASES };
    const [holder, next] = [group.member(kill), group.member(kill + 1)];
    await holder.ask('hold', { ...resources, overMs: TIMES.leaseMs });
    await next.ask('want', resources);
    await pause(TIMES.leaseMs * Math.random());
    const killedMs = nowMs();
    holder.kill();
    const { atMs } = await next.ask<{ readonly atMs: readonly number[] }>('taken');
    const took = atMs.map((each) => each - killedMs);
    tookMs.push(...took);
    report(
      `a holder of ${LEASES} leases killed: others had the first after ${Math.min(...took).toFixed(0)} ms, the last after ${Math.max(...took).toFixed(0)} ms`,
    );
    await next.ask('release');
    await group.restart(kill);
  }
  await group.close();
  return tookMs;
}
