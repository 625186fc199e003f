import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import type { Simulation } from '../../leasehold/src/sim/simulation.ts';
import { protocols } from './protocols.mjs';
import { readSeeds, seedsFileOf } from './recorded-seeds.mjs';

const ROOT = new URL('../../', import.meta.url);

describe.each(Object.entries(protocols))('the mutants of %s', (_protocol, entry) => {
  it('each change a text that is there, once', async () => {
    const { simulation } = (await import(new URL(entry, ROOT).href)) as { simulation: Simulation };
    expect(simulation.mutants.length).toBeGreaterThan(0);
    for (const { name, file, from } of simulation.mutants) {
      const text = readFileSync(new URL(`leasehold/src/${file}`, ROOT), 'utf8');
      expect([name, text.split(from).length - 1]).toEqual([name, 1]);
    }
  });

  it('are the only ones with a recorded seed', async () => {
    const { simulation } = (await import(new URL(entry, ROOT).href)) as { simulation: Simulation };
    const names = simulation.mutants.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(Object.keys(readSeeds(seedsFileOf(entry)))));
  });
});

describe('the README of a module', () => {
  /** Of a table of promises: the last column, by convention what holds the promise. */
  const named = (module: string): string[] => {
    const text = readFileSync(new URL(`leasehold/src/${module}/README.md`, ROOT), 'utf8');
    const rows = text.split('\n').filter((line) => line.startsWith('| ') && line.split(' | ').length >= 3);
    const last = rows.map((line) => line.split(' | ').at(-1) ?? '');
    return [...last.join().matchAll(/`([a-z]+(?:-[a-z]+)+)`/g)].map(([, name = '']) => name);
  };

  it.each(['pool', 'membership', 'quorum', 'ratelimit'])(
    'of %s names only mutants that there are',
    async (module) => {
      const names = new Set<string>();
      for (const entry of Object.values(protocols)) {
        const { simulation } = (await import(new URL(entry, ROOT).href)) as { simulation: Simulation };
        for (const { name } of simulation.mutants) names.add(name);
      }
      expect(named(module).length).toBeGreaterThan(10);
      expect(named(module).filter((name) => !names.has(name))).toEqual([]);
    },
  );
});
