/** Hundreds of owners in one process, which all begin to join at the same moment, with the default options. */

import { joinPool, type PoolOwner, silent } from 'leasehold/pool';
import { cpu, nowMs, obey, say, told } from '../processes/conversation.ts';

export interface JoinersConfig {
  readonly managers: readonly string[];
  readonly pool: string;
  readonly names: readonly string[];
}

export interface JoinersAnswer {
  /** When each owner was admitted, by the clock of the machine. */
  readonly admittedAtMs: readonly number[];
  /** The codes of the joins that failed. */
  readonly failures: readonly string[];
}

const RING = 2 ** 64;

const { managers, pool, names } = told<JoinersConfig>();
let owners: readonly PoolOwner[] = [];

async function join(): Promise<JoinersAnswer> {
  const admittedAtMs: number[] = [];
  const failures: string[] = [];
  const joins = names.map(async (name) => {
    const url = `tcp://127.0.0.1:1/${name}`;
    const owner = await joinPool({ managers, pool, name, url, logger: silent });
    admittedAtMs.push(nowMs());
    return owner;
  });
  const settled = await Promise.allSettled(joins);
  owners = settled.flatMap((join) => (join.status === 'fulfilled' ? [join.value] : []));
  for (const each of settled) if (each.status === 'rejected') failures.push(String(each.reason?.code));
  return { admittedAtMs, failures };
}

obey({
  cpu,
  join: async () => ({ ...(await join()) }),
  /** Which part of the ring is served here. */
  share: () => {
    let positions = 0;
    for (const owner of owners) for (const { start, end } of owner.ranges()) positions += Number(end - start);
    return { share: positions / RING };
  },
});
say('ready');
