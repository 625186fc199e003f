import { readFileSync } from 'node:fs';
import { describe, expect, it } from 'vitest';
import * as flease from '../leasehold/src/flease/index.ts';
import * as all from '../leasehold/src/index.ts';
import * as pool from '../leasehold/src/pool/index.ts';
import * as manager from '../leasehold/src/pool/manager.ts';

describe("import 'leasehold'", () => {
  it('has the names of leasehold/pool, but for those about keys, and the same classes as the other doors', () => {
    const { keyHash: _hash, RangeSet: _set, keyedState: _state, ...shared } = pool;
    expect(Object.keys(all)).toEqual(expect.arrayContaining(Object.keys(shared)));
    const doors: Record<string, unknown>[] = [pool, manager, flease];
    for (const door of doors) {
      for (const [name, value] of Object.entries(all).filter(([name]) => /Error$/.test(name)))
        if (name in door) expect(door[name], name).toBe(value);
    }
  });

  it('starts a Manager, joins a pool and looks a key up', async () => {
    await using started = await all.startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [started.address];
    await using owner = await all.joinPool({ managers, pool: 'p', name: 'a', url: 'http://a' });
    await using lookup = await all.connectLookup({ managers, pool: 'p' });
    await owner.whenOwned('alice');
    expect((await lookup.whenFound('alice')).url).toBe('http://a');
  });

  it('loads the Manager and flease only when they are used', () => {
    const text = readFileSync(new URL('../leasehold/src/index.ts', import.meta.url), 'utf8');
    const statements = text.matchAll(/^(?:import|export)(?! type| const)[^;]*? from '([^']+)';$/gm);
    const loaded = [...statements].map(([, module]) => module);
    expect(loaded).not.toContain('./pool/manager.ts');
    expect(loaded).not.toContain('./flease/index.ts');
    expect(loaded.length).toBeGreaterThan(1);
  });
});
