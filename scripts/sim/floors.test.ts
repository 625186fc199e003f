import { describe, expect, it } from 'vitest';
import type { Simulation } from '../../leasehold/src/sim/simulation.ts';
import { steps } from '../test/steps.mjs';
import { leastCount, shortfalls } from './floors.mjs';
import { protocols } from './protocols.mjs';

const ROOT = new URL('../../', import.meta.url);

describe('a floor on the count of an event', () => {
  it('is judged from 50 seeds on', () => {
    expect(shortfalls({ crashes: 1 }, { crashes: 0 }, 49)).toEqual([]);
    expect(shortfalls({ crashes: 1 }, { crashes: 0 }, 50)).toEqual([
      'only 0 crashes in 50 seeds, expected at least 36',
    ]);
  });

  it('leaves the room that chance needs, in many seeds as in few', () => {
    expect(shortfalls({ crashes: 1 }, { crashes: 80 }, 100)).toEqual([]);
    expect(shortfalls({ crashes: 1 }, { crashes: 79 }, 100)).toHaveLength(1);
    expect(shortfalls({ crashes: 1 }, { crashes: 937 }, 1_000)).toEqual([]);
    expect(shortfalls({ crashes: 1 }, { crashes: 936 }, 1_000)).toHaveLength(1);
  });

  it('cannot fail where four events or fewer are expected', () => {
    expect(leastCount(0.04, 100)).toBe(0);
    expect(leastCount(0.05, 100)).toBe(1);
  });
});

/** The number of seeds that `npm test` plays of a protocol. */
function seedsOf(protocol: string): number {
  for (const [, name, ...words] of steps.flatMap(({ commands }) => commands)) {
    const at = words.indexOf('--seeds');
    if (name === protocol && at >= 0) return Number(words[at + 1]);
  }
  throw new Error(`npm test does not play ${protocol}`);
}

describe.each(Object.entries(protocols))('the floors of %s', (protocol, entry) => {
  it('can each fail in the seeds that npm test plays', async () => {
    const { simulation } = (await import(new URL(entry, ROOT).href)) as { simulation: Simulation };
    const seeds = seedsOf(protocol);
    const idle = Object.entries(simulation.floors).filter(([, mean]) => leastCount(mean, seeds) === 0);
    expect(idle).toEqual([]);
  });
});
