/** One of the owners of millions of items. It joins and leaves as it is told, and says what it holds. */

import { writeFileSync } from 'node:fs';
import { joinPool, type PoolOwner } from 'leasehold/pool';
import { nowMs, obey, say, told } from '../processes/conversation.ts';
import type { Sample } from './sample.ts';

export interface OwnerConfig {
  readonly name: string;
  readonly managers: readonly string[];
}

export interface Holding {
  /** How much of the ring it holds, in places out of 2^64. */
  readonly places: string;
  readonly ranges: number;
  /** When that last changed. */
  readonly changedMs: number;
}

/** How many keys are checked in one turn of the event loop: renewals come in between. */
const KEYS_A_TURN = 20_000;

const { name, managers } = told<OwnerConfig>();
let owner: PoolOwner | undefined;
let changedMs = 0;
const changed = (): void => {
  changedMs = nowMs();
};

function joined(): PoolOwner {
  if (owner === undefined) throw new Error('it has not joined');
  return owner;
}

obey({
  join: async ({ pool }: { readonly pool: string }) => {
    const url = `http://${name}.invalid`;
    owner = await joinPool({
      ...{ pool, name, url, managers },
      ...{ onGrant: changed, onRevoke: changed, onLost: changed },
    });
    changed();
    return {};
  },
  holding: () => {
    const spans = joined().ranges();
    const places = spans.reduce((sum, { start, end }) => sum + (end - start), 0n);
    return { places: String(places), ranges: spans.length, changedMs };
  },
  /** Asks for the lease of every key of the sample, and writes down a bit for each. */
  check: async ({ sample, file }: { readonly sample: Sample; readonly file: string }) => {
    const { count, step } = sample;
    const bits = new Uint8Array(Math.ceil(count / 8));
    let held = 0;
    for (let from = 0; from < count; from += KEYS_A_TURN) {
      const to = Math.min(count, from + KEYS_A_TURN);
      for (let index = from; index < to; index += 1) {
        if (joined().check(`item-${index * step}`) === undefined) continue;
        bits[index >> 3] = (bits[index >> 3] as number) | (1 << (index & 7));
        held += 1;
      }
      await new Promise((resolve) => setImmediate(resolve));
    }
    writeFileSync(file, bits);
    return { held };
  },
  leave: async () => {
    await owner?.close();
    owner = undefined;
    return {};
  },
});
say('ready');
