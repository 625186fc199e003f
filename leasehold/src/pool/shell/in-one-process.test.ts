import { describe, expect, it, vi } from 'vitest';
import { joinPool } from './owner/join-pool.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import type { Loss } from './lookup/pool-lookup.ts';
import { startManager } from './manager/start-manager.ts';

describe('everything in one process', () => {
  it('takes ten lines', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool: 'presence', name: 'a', url: 'http://a' });
    await using lookup = await connectLookup({ managers, pool: 'presence' });

    const number = await owner.whenOwned('alice');
    expect((await lookup.whenFound('alice')).number).toBe(number);
    expect(lookup.find('alice')).toMatchObject({
      url: 'http://a',
      name: 'a',
      incarnation: owner.incarnation,
    });
    expect(owner.isHeld('alice', number)).toBe(true);
    expect(await owner.guard('alice', (held) => held.number)).toBe(number);
  });

  it('lies beside another, on free ports', async () => {
    await using one = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    await using other = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    expect(one.address).not.toBe(other.address);
  });

  it('shares keys out between two owners, and gives them back when one leaves', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true });
    const managers = [manager.address];
    await using one = await joinPool({ managers, pool: 'presence', name: 'a', url: 'http://a' });
    const number = await one.whenOwned('alice');
    const two = await joinPool({ managers, pool: 'presence', name: 'b', url: 'http://b' });
    await using lookup = await connectLookup({ managers, pool: 'presence' });
    const key = await firstKeyOf('http://b', (name) => lookup.find(name)?.url);
    await two.whenOwned(key);
    expect(one.check(key)).toBeUndefined();
    await two.close();
    expect(await one.whenOwned(key)).toBeGreaterThan(number);
  });

  it('tells look-ups when an owner could not be heard for a hold', async () => {
    await using manager = await startManager({
      listen: '127.0.0.1:0',
      firstStart: true,
      defaults: { leaseMs: 600 },
    });
    const managers = [manager.address];
    await using owner = await joinPool({ managers, pool: 'presence', name: 'a', url: 'http://a' });
    await owner.whenOwned('alice');
    const losses: Loss[] = [];
    await using lookup = await connectLookup({
      managers,
      pool: 'presence',
      onLoss: (loss) => losses.push(loss),
    });
    expect(lookup.find('alice')?.name).toBe('a');
    await owner.close();
    await vi.waitUntil(() => losses.length > 0, { timeout: 10_000, interval: 5 });
    expect(losses[0]?.has('alice')).toBe(true);
    expect(lookup.find('alice')).toBeUndefined();
  });
});

/** Waits until a look-up has a key at that url. */
async function firstKeyOf(url: string, find: (key: string) => string | undefined): Promise<string> {
  const keys = [...Array(200).keys()].map((index) => `key-${index}`);
  return vi.waitUntil(() => keys.find((key) => find(key) === url), { timeout: 10_000, interval: 10 });
}
