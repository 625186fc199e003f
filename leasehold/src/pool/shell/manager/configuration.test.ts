import { describe, expect, it } from 'vitest';
import { resolveConfiguration, settingsOf } from './configuration.ts';

describe('the configuration of a Manager', () => {
  it('has defaults for everything', () => {
    const { createPools, defaults, pools } = resolveConfiguration({});
    expect([createPools, defaults.durations.leaseMs, defaults.virtualNodes, pools.size]).toEqual([
      'on-first-use',
      9_000,
      64,
      0,
    ]);
  });

  it('lets a pool differ in what it names, and be like all others in the rest', () => {
    const { pools } = resolveConfiguration({
      defaults: { leaseMs: 6_000 },
      pools: { presence: { virtualNodes: 8, quietAfterMs: 0 }, sessions: { leaseMs: 3_000 } },
    });
    expect(pools.get('presence')).toMatchObject({
      ...{ virtualNodes: 8, quietAfterMs: 0, durations: { leaseMs: 6_000 } },
    });
    expect(pools.get('sessions')).toMatchObject({ virtualNodes: 64, durations: { leaseMs: 3_000 } });
  });

  it('tells the core which pools were declared', () => {
    const resolved = resolveConfiguration({ pools: { presence: {} }, createPools: 'declared' });
    const { declaredOnly, pools, maxBatchBytes } = settingsOf('m1', resolved, {
      ...{ maxBatchBytes: 100, address: '127.0.0.1:7400' },
    });
    expect([declaredOnly, [...(pools?.keys() ?? [])], maxBatchBytes]).toEqual([true, ['presence'], 100]);
  });

  it.each([
    [
      { leaseMs: 5 },
      'option leaseMs is 5, but there is no such option; there are defaults, pools, createPools',
    ],
    [{ defaults: { lease: 5 } }, 'option defaults.lease is 5, but there is no such option'],
    [{ pools: { p: { leaseMS: 5 } } }, 'option pools.p.leaseMS is 5, but there is no such option'],
    [{ pools: { p: { leaseMs: -1 } } }, 'option pools.p.leaseMs is -1, but it must be a positive number'],
    [{ pools: { p: { leaseMs: 9_000, holdMs: 9_000 } } }, 'option pools.p.holdMs is 9000'],
    [{ defaults: { virtualNodes: 0 } }, 'option defaults.virtualNodes is 0'],
    [{ defaults: { quietAfterMs: -1 } }, 'option defaults.quietAfterMs is -1'],
    [{ createPools: 'never' }, "option createPools is never, but it must be 'on-first-use' or 'declared'"],
    [{ pools: { '': {} } }, 'option the name of a pool is empty, but it must be a text'],
    [{ pools: { p: 5 } }, 'option pools.p is 5, but it must be an object'],
    [[], 'option options is empty, but it must be an object'],
  ])('refuses %j', (configuration, message) => {
    expect(() => resolveConfiguration(configuration as object)).toThrow(message);
  });
});
