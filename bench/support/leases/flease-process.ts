/** A member of a group, which asks for leases when it is told to. */

import { type Lease, joinFlease } from 'leasehold/flease';
import { nowMs, obey, pause, say, told } from '../processes/conversation.ts';
import { askForLeases, type Batch } from './asking.ts';

export interface MemberConfig {
  readonly name: string;
  readonly peers: Readonly<Record<string, string>>;
  readonly leaseMs: number;
  readonly clockSkewMs: number;
}

/** Some resources, by what their names begin with. */
export interface Resources {
  readonly prefix: string;
  readonly count: number;
}

const group = await joinFlease(told<MemberConfig>());
let held: Lease[] = [];
let taking: Promise<readonly number[]> = Promise.resolve([]);

const acquire = async (resource: string): Promise<void> => {
  held.push(await group.acquire(resource));
};

const namesOf = ({ prefix, count }: Resources): readonly string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}-${index}`);

obey({
  batch: async (batch: Batch) => ({ ...(await askForLeases(acquire, batch)) }),
  /** Ours would be renewed until they are given back. */
  release: async () => {
    const leases = held;
    held = [];
    await Promise.all(leases.map((lease) => lease.release()));
    return {};
  },
  /** Takes them one after the other over about so long a time, at random instants: so they are renewed at any, too. */
  hold: async ({ overMs, ...resources }: Resources & { readonly overMs: number }) => {
    for (const resource of namesOf(resources)) {
      await acquire(resource);
      await pause((Math.random() * 2 * overMs) / resources.count);
    }
    return {};
  },
  /** Begins to ask for what others hold. */
  want: (resources: Resources) => {
    const taken = async (resource: string): Promise<number> => {
      await acquire(resource);
      return nowMs();
    };
    taking = Promise.all(namesOf(resources).map(taken));
    // Whoever asks for the times is told what went wrong.
    taking.catch(() => {});
    return {};
  },
  /** When it had each of them, once it has them all. */
  taken: async () => ({ atMs: await taking }),
});
// A member first recovers, because it may have forgotten promises of an earlier incarnation.
await group.ready();
say('ready');
