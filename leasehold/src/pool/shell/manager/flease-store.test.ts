import { afterAll, beforeAll, describe, expect, it, vi } from 'vitest';
import { freePeers } from '../../../flease/shell/testing/groups.ts';
import { nodeRuntime } from '../../../node/runtime.ts';
import { listeningLogger } from '../../../node/tcp/socket-script.ts';
import { type Logger, silent } from '../../../runtime/logger.ts';
import type { ManagerConfiguration } from './configuration.ts';
import {
  DEFAULT_TAKEOVER_MS,
  fleasePlace,
  type FleaseStore,
  groupDurations,
  openFleaseStore,
} from './flease-store.ts';
import { resolveDurations, takeoverHoldMs } from '../../core/options.ts';
import type { PoolManager } from './pool-manager.ts';
import { planRecovery } from './recover.ts';
import { startManager } from './start-manager.ts';
import { planStore, type Store } from './store.ts';

const PLAIN = { tls: false, logger: silent } as const;

const PEERS = { a: '127.0.0.1:7601', b: '127.0.0.1:7602', c: '127.0.0.1:7603' };
const LONG_MS = 30_000;

describe('Managers that are told to elect each other', () => {
  it('need a name in the group and all of its members', () => {
    const store = { flease: { name: 'a', peers: PEERS, clockSkewMs: 20 }, cluster: 'c' };
    expect(planStore(store, PLAIN)).toEqual({ kind: 'flease', options: store });
    const members = ['a=127.0.0.1:7601', 'b=127.0.0.1:7602', 'c=127.0.0.1:7603'];
    expect(fleasePlace(store)).toEqual({ members, cluster: 'c' });
    expect(fleasePlace({ flease: { name: 'a', peers: PEERS } }).cluster).toBe('leasehold');
  });

  it.each<[unknown, string]>([
    [
      { flease: { name: 'd', peers: PEERS } },
      'option store.flease.name is d, but it must be one of the peers',
    ],
    [{ flease: { name: 'a', peers: {} } }, 'option store.flease.peers is'],
    [{ flease: { name: 'a', peers: PEERS, leaseMs: 5 } }, 'option store.flease.leaseMs'],
    [
      { flease: { name: 'a', peers: PEERS, takeoverMs: 0 } },
      'option store.flease.takeoverMs is 0, but it must be',
    ],
    [
      { flease: { name: 'a', peers: PEERS, takeoverMs: '9s' } },
      'option store.flease.takeoverMs is 9s, but it',
    ],
    [{ flease: { name: 'a', peers: PEERS }, etcd: 'etcd://h' }, 'option store.etcd'],
    [{ flease: { name: 'a', peers: PEERS }, cluster: '' }, 'option cluster is'],
    [{ flease: 'a' }, 'option store.flease is string, but it must be an object with name and peers'],
  ])('are not started with %j', (store, complaint) => {
    expect(() => planStore(store as FleaseStore, PLAIN)).toThrow(complaint);
  });

  it('keep nothing in a directory, and have nothing to recover', async () => {
    const store = { flease: { name: 'a', peers: PEERS } };
    const both = { ...store, directory: 'data' } as FleaseStore;
    expect(() => planStore(both, PLAIN)).toThrow('option store.flease');
    await expect(planRecovery({ store })).rejects.toThrow('keep nothing, so there is nothing to put back');
  });
});

describe('the durations of their group', () => {
  it('follow from the leader lease: clocks may differ by a tenth of it', () => {
    expect(groupDurations(2_000)).toMatchObject({ leaseMs: 2_000, clockSkewMs: 200 });
    expect(groupDurations(2_000, 50)).toMatchObject({ leaseMs: 2_000, clockSkewMs: 50 });
  });

  it('leave time to renew a lease in which a leader believes for twice the skew less', () => {
    expect(groupDurations(2_000, 500).clockSkewMs).toBe(500);
    for (const clockSkewMs of [501, 1_000, 3_000]) {
      expect(() => groupDurations(2_000, clockSkewMs)).toThrow(
        `option store.flease.clockSkewMs is ${clockSkewMs}, but it must be at most a quarter of leaderLeaseMs, which is 2000: a leader`,
      );
    }
    for (const leaderLeaseMs of [20, 2_000, 10_000, 60_000]) {
      const { renewAfterMs, answerTimeoutMs, clockSkewMs } = groupDurations(leaderLeaseMs, leaderLeaseMs / 4);
      expect(renewAfterMs + answerTimeoutMs).toBeLessThanOrEqual(leaderLeaseMs - 2 * clockSkewMs);
    }
  });

  it('are complained of by the names under which they were given', () => {
    expect(() => groupDurations(10)).toThrow('option leaderLeaseMs is 10');
    expect(() => groupDurations(2_000, 1)).toThrow('option store.flease.clockSkewMs is 1,');
  });
});

describe('how long a new leader waits', () => {
  const NEEDED = 'leaseMs is 60000, but with such leases the next leader would have to wait';

  it('is enough for default durations, unless something else is said', () => {
    expect(takeoverHoldMs(resolveDurations())).toBeLessThanOrEqual(DEFAULT_TAKEOVER_MS);
    expect(groupDurations(2_000).takeoverMs).toBe(DEFAULT_TAKEOVER_MS);
  });

  it.each<[string, ManagerConfiguration]>([
    ['defaults.', { defaults: { leaseMs: 60_000 } }],
    ['pools.long.', { pools: { long: { leaseMs: 60_000, leaderLeaseMs: 2_000 } } }],
  ])('must be enough for every pool, or the Manager does not start: %s', async (place, configuration) => {
    const store = { flease: { name: 'a', peers: PEERS } };
    await expect(startManager({ listen: '127.0.0.1:0', store, ...configuration })).rejects.toThrow(
      `option ${place}${NEEDED}`,
    );
  });

  it('stays enough for every pool while the Manager runs: longer leases are refused, and nothing changes', async () => {
    const peers = await freePeers('a');
    const store = { flease: { name: 'a', peers } };
    await using manager = await startManager({ listen: '127.0.0.1:0', logger: silent, store });
    expect(() => manager.configure({ pools: { long: { leaseMs: 60_000 } } })).toThrow(
      `option pools.long.${NEEDED}`,
    );
    expect(manager.source.settings('long').durations.leaseMs).toBe(9_000);
    manager.configure({ pools: { short: { leaseMs: 5_000, leaderLeaseMs: 2_000 } } });
    expect(manager.source.settings('short').durations.leaseMs).toBe(5_000);
  }, 30_000);
});

describe('one that does not do as the others', { timeout: LONG_MS }, () => {
  it('is complained of in words, and when it has gone that it cannot be reached', async () => {
    const peers = await freePeers('a', 'b');
    const open = (name: string, leaderLeaseMs: number): Promise<Store> =>
      openFleaseStore(
        { flease: { name, peers } },
        {
          ...{ runtime: nodeRuntime(), logger: silent, leaderLeaseMs, leaderChangeMs: 10_000, about: {} },
          onChange: () => {},
          onFatal: (error) => expect.unreachable(error.message),
        },
      );
    await using a = await open('a', 1_000);
    const complaint = (): string => a.observe().members[1]?.complaint ?? '';
    const b = await open('b', 2_000);
    const words =
      'it was started with a lease of 2000 ms, a skew of 200 ms and a takeover of 15000 ms; all three ';
    await vi.waitUntil(() => complaint().startsWith(words), { timeout: LONG_MS });
    await b[Symbol.asyncDispose]();
    await vi.waitUntil(() => complaint().includes('no process listens there'), { timeout: LONG_MS });
  });
});

describe('one that the others do not answer', { timeout: LONG_MS }, () => {
  it('logs that no Manager can lead, and why, and when that is over', async () => {
    const peers = await freePeers('a', 'b', 'c');
    const logger = listeningLogger();
    const leaderLeaseMs = 300;
    const open = (name: string, its: Logger): Promise<Store> =>
      openFleaseStore(
        { flease: { name, peers } },
        {
          ...{ runtime: nodeRuntime(), logger: its, leaderLeaseMs, leaderChangeMs: 10_000, about: {} },
          onChange: () => {},
          onFatal: (error) => expect.unreachable(error.message),
        },
      );
    const hasSaid = (words: string): boolean => logger.lines.some(({ message }) => message.startsWith(words));
    await using a = await open('a', logger);
    expect(a.observe().group).toMatchObject({ view: 1, isSettled: true });
    expect(a.observe().group?.recovery).toMatch(/^recovers for /);
    await vi.waitUntil(() => hasSaid('no majority of the electing members answers'), { timeout: LONG_MS });
    expect(logger.lines.find(({ message }) => message.startsWith('no majority'))?.['why']).toMatch(
      /^b \(not connected: .*\), c \(not connected: .*\)$/,
    );
    expect(a.observe().group?.recovery).toBeUndefined();
    await using _ = await open('b', silent);
    await vi.waitUntil(() => hasSaid('a majority of the electing members answers again'), {
      timeout: LONG_MS,
    });
  });
});

describe('three of them in one process', { timeout: LONG_MS }, () => {
  let managers: readonly PoolManager[];
  const loggers = { a: listeningLogger(), b: listeningLogger(), c: listeningLogger() };
  const leading = (): PoolManager | undefined =>
    managers.find((manager) => manager.observe().role === 'leading');

  beforeAll(async () => {
    const peers = await freePeers('a', 'b', 'c');
    managers = await Promise.all(
      (['a', 'b', 'c'] as const).map((name) =>
        startManager({
          ...{ listen: '127.0.0.1:0', logger: loggers[name], store: { flease: { name, peers } } },
          defaults: { leaseMs: 3_600, leaderLeaseMs: 1_000 },
        }),
      ),
    );
  }, LONG_MS);
  afterAll(() => Promise.all(managers.map((manager) => manager.close())));

  it('are started when one leads and the others know which', () => {
    const leader = leading();
    expect(managers.filter((manager) => manager.observe().role === 'standby')).toHaveLength(2);
    expect(managers.map((manager) => manager.status().leader?.name)).toEqual(
      managers.map(() => leader?.name),
    );
    expect(leader?.status().leader).toEqual({ name: leader?.name, address: leader?.address });
  });

  it('say in their logs whom they follow', () => {
    const leader = leading();
    const said = Object.entries(loggers).filter(([id]) => id !== leader?.name);
    for (const [, { lines }] of said) {
      expect(lines).toContainEqual(
        expect.objectContaining({ message: 'follows another Manager', leader: leader?.name }),
      );
    }
  });

  it('tell those who watch whom they follow, and in which term', () => {
    const leader = leading();
    for (const { name, source } of managers.filter((manager) => manager !== leader)) {
      const follows = {
        kind: 'manager.follows',
        manager: name,
        leader: leader?.name,
        term: leader?.observe().term,
      };
      expect(source.events.recent(10)).toContainEqual(expect.objectContaining(follows));
    }
  });

  it('are called as in the group unless they are given a name', () => {
    expect(managers.map(({ name }) => name)).toEqual(['a', 'b', 'c']);
  });

  it('say who elects, and who leads', async () => {
    for (const { source } of managers) {
      await vi.waitUntil(() => source.store().members.some(({ isLeader }) => isLeader), { timeout: LONG_MS });
      const { kind, where, members } = source.store();
      expect({ kind, where }).toEqual({ kind: 'flease', where: 'default, manager/leasehold' });
      const [leader, ...others] = members.filter(({ isLeader }) => isLeader);
      expect(leader?.endpoint).toMatch(`${leading()?.name}=127.0.0.1:`);
      expect(others).toEqual([]);
      expect(members.filter(({ isSelf }) => isSelf).map(({ endpoint }) => endpoint.slice(0, 2))).toEqual([
        `${source.observe().id}=`,
      ]);
      await vi.waitUntil(() => source.whyNotReady() === undefined, { timeout: LONG_MS });
    }
  });

  it('wait before they give anything, for they cannot know what was given before', () => {
    expect(leading()?.observe().waitsUntil).toBeDefined();
  });

  it('let another lead when they are told to', async () => {
    const leader = leading();
    const { term = 0 } = leader?.observe() ?? {};
    expect(await leader?.stepDown()).toBe(true);
    expect(leader?.observe().role).toBe('standby');
    expect(leader?.status().leader?.name).not.toBe(leader?.name);
    const next = managers.find(({ name }) => name === leader?.status().leader?.name);
    expect(next?.observe().term).toBeGreaterThan(term);
  });

  it('are not ready if there are too few of them to elect anybody', async () => {
    const standby = managers.find((manager) => manager.observe().role === 'standby');
    await Promise.all(managers.filter((manager) => manager !== standby).map((manager) => manager.close()));
    // Perhaps this Manager was elected while there were two; then the lease has to expire first.
    const why =
      'this Manager reaches 1 of the 3 members that elect, which is no majority: no Manager could be elected';
    await vi.waitUntil(() => standby?.source.whyNotReady()?.startsWith(why), { timeout: LONG_MS });
  });
});
