/**
 * The cases of the paper for a group that is registered in etcd, as its table 1 has them for a majority: a part of the group that is cut off has no view, and the rest goes on
 * in one view. Where the paper parts the servers of the membership service, the members of etcd are parted here: the first two servers reach only an etcd
 * member without a leader.
 *
 * And faults of etcd with names.
 */

import { describe, expect, it, vi } from 'vitest';
import type { SimulatedEtcd } from '../../../etcd/simulation/simulated-etcd.ts';
import { assert } from '../../../runtime/assert.ts';
import { resolveDurations } from '../../core/durations.ts';
import type { GroupWorld } from '../group-world.ts';
import { REGISTRY_PREFIX } from '../server.ts';
import {
  allAct,
  msUntil,
  quietGroup,
  run,
  serverAt,
  standingsOf,
  viewOf,
  viewsDelivered,
  viewsOf,
} from './quiet-group.ts';

const ALL = 's1 s2 s3 s4 s5 s6';
const PARTS = [
  ['s1', 's2'],
  ['s3', 's4', 's5', 's6'],
];

const registered = (size: number): GroupWorld =>
  quietGroup(size, {
    registry: { hasLastingAddress: true },
    durations: resolveDurations({ doubtMs: 4_600 }),
  });

function etcdOf({ etcd }: GroupWorld): SimulatedEtcd {
  assert(etcd !== undefined, 'the group is registered');
  return etcd;
}

const views = (group: GroupWorld): string => group.servers.map(viewOf).join(', ');
const MINORITY_WITHOUT_VIEW = 'none, none, s3 s4 s5 s6, s3 s4 s5 s6, s3 s4 s5 s6, s3 s4 s5 s6';

function cutFromEtcd(group: GroupWorld, how: 'isCut' | 'hasNoLeader', isSo: boolean): void {
  for (const server of group.servers.slice(0, 2)) server.etcdFaults[how] = isSo;
}

describe('the cases of the paper, registered in etcd', () => {
  it('figure-5-case-1: a part is cut off from all others and from etcd; that part has no view, and the rest acts', () => {
    const group = registered(6);
    group.network.partition(PARTS);
    cutFromEtcd(group, 'isCut', true);
    run(group, 9_000);
    expect(views(group)).toBe(MINORITY_WITHOUT_VIEW);
    expect(standingsOf(group)).toEqual(['none', 'none', 'acts', 'acts', 'acts', 'acts']);
  });

  it('figure-5-case-2: two servers are cut from each other; one view, unchanged, and messages go around', () => {
    const group = registered(6);
    const before = viewsDelivered(group);
    group.network.cutBoth('s2', 's4');
    run(group, 9_000);
    expect(viewsOf(group)).toEqual([ALL]);
    expect([viewsDelivered(group), allAct(group)]).toEqual([before, true]);
    expect(serverAt(group, 1).member?.reach('s4')).toBe('overlay');
  });

  it('figure-5-case-3: the members of etcd are parted; the part at the smaller side has no view, and the rest acts', () => {
    const group = registered(6);
    cutFromEtcd(group, 'isCut', true);
    run(group, 9_000);
    expect(views(group)).toBe(MINORITY_WITHOUT_VIEW);
    expect(standingsOf(group).filter((standing) => standing === 'acts')).toHaveLength(4);
  });

  it('figure-5-case-4: an etcd member is cut from the leader; the servers that ask only this member have no view', () => {
    const group = registered(6);
    cutFromEtcd(group, 'hasNoLeader', true);
    run(group, 9_000);
    expect(views(group)).toBe(MINORITY_WITHOUT_VIEW);
  });

  it('figure-7: the minority has no view within 4 s of a cut, and one view with all is back within 6 s of its end', () => {
    const group = registered(6);
    group.network.partition(PARTS);
    cutFromEtcd(group, 'isCut', true);
    expect(msUntil(group, () => views(group).startsWith('none, none'))).toBeLessThan(4_000);
    expect(msUntil(group, () => standingsOf(group).at(-1) === 'acts')).toBeLessThan(4_000);
    run(group, 20_000);
    group.network.heal();
    cutFromEtcd(group, 'isCut', false);
    expect(msUntil(group, () => viewsOf(group).join() === ALL && allAct(group))).toBeLessThan(6_000);
  });

  it('a part that is cut off from the others, and reaches etcd, is the smaller one: it gives up, and the rest acts', () => {
    const group = registered(6);
    group.network.partition(PARTS);
    run(group, 9_000);
    expect(views(group)).toBe(MINORITY_WITHOUT_VIEW);
    expect(standingsOf(group).at(-1)).toBe('acts');
    group.network.heal();
    expect(msUntil(group, () => viewsOf(group).join() === ALL && allAct(group))).toBeLessThan(15_000);
  });
});

const keyOf = (name: string): string => `${REGISTRY_PREFIX}${name}`;

/** A key that an operator puts, under no lease. */
function putByHand({ etcd }: GroupWorld, key: string, value: Uint8Array): void {
  const put = { do: 'put', key, value } as const;
  etcd?.transact({ compare: [], success: [put], failure: [] }, 'an operator');
}

function deleteByHand({ etcd }: GroupWorld, key: string): void {
  etcd?.transact({ compare: [], success: [{ do: 'delete', key }], failure: [] }, 'an operator');
}

const entryOf = (group: GroupWorld, name: string): Uint8Array =>
  etcdOf(group).store.at(keyOf(name))?.value ?? new Uint8Array();

describe('a group whose keys in etcd are written by hand', () => {
  it('goes on beside a copy of a registration under no lease, which would never end', () => {
    const group = registered(3);
    putByHand(group, keyOf('z'), entryOf(group, 's1'));
    run(group, 6_000);
    expect([viewsOf(group), allAct(group)]).toEqual([['s1 s2 s3'], true]);
  });

  it.each([
    ['a copy of it under no lease', entryOf],
    ['something else', () => new Uint8Array([1])],
  ])('goes on without a server whose key was replaced by %s, until the key is deleted', (_, value) => {
    const group = registered(3);
    const range = vi.spyOn(etcdOf(group), 'range');
    putByHand(group, keyOf('s1'), value(group, 's1'));
    run(group, 10_000);
    expect([group.servers.map(viewOf), standingsOf(group)]).toEqual([
      ['none', 's2 s3', 's2 s3'],
      ['none', 'acts', 'acts'],
    ]);
    // Each server reads four times in a registration, and at changes.
    expect(range.mock.calls.length).toBeLessThan(60);
    deleteByHand(group, keyOf('s1'));
    expect(msUntil(group, () => viewsOf(group).join() === 's1 s2 s3' && allAct(group))).toBeLessThan(5_000);
  });
});

describe('a group registered in etcd', () => {
  it('goes on through an outage of etcd that is shorter than a registration, in the same view', () => {
    const group = registered(3);
    const before = viewsDelivered(group);
    etcdOf(group).isDown = true;
    run(group, 1_500);
    expect(allAct(group)).toBe(true);
    etcdOf(group).isDown = false;
    run(group, 5_000);
    expect([viewsDelivered(group), allAct(group)]).toEqual([before, true]);
  });

  it('stops and has no view when etcd is away for longer, and acts again within 8 s of its return', () => {
    const group = registered(3);
    etcdOf(group).isDown = true;
    expect(msUntil(group, () => views(group) === 'none, none, none')).toBeLessThan(3_600);
    run(group, 10_000);
    etcdOf(group).isDown = false;
    expect(msUntil(group, () => allAct(group) && viewsOf(group).join() === 's1 s2 s3')).toBeLessThan(8_000);
  });

  it('acts without a crashed server within 5 s of the crash', () => {
    const group = registered(3);
    serverAt(group, 0).crash();
    expect(msUntil(group, () => viewsOf(group).join() === 's2 s3' && allAct(group))).toBeLessThan(5_000);
  });

  it('hears of a server that leaves at once, by the watch', () => {
    const group = registered(3);
    serverAt(group, 2).leave();
    expect(msUntil(group, () => viewOf(serverAt(group, 0)) === 's1 s2')).toBeLessThan(100);
  });

  it('needs no watch: changes are read within a quarter of a registration, and the watch is replaced', () => {
    const group = registered(3);
    const etcd = etcdOf(group);
    etcd.store.compact(etcd.store.revision);
    etcd.breakWatches(1, 'deafen');
    serverAt(group, 2).leave();
    expect(msUntil(group, () => viewOf(serverAt(group, 0)) === 's1 s2')).toBeLessThan(800);
    run(group, 3_000);
    serverAt(group, 1).leave();
    expect(msUntil(group, () => viewOf(serverAt(group, 0)) === 's1')).toBeLessThan(100);
  });

  it('has no view where etcd ends leases early, and is in one view again within 8 s', () => {
    const group = registered(3);
    etcdOf(group).changeLeader(1);
    expect(msUntil(group, () => group.world.counts.get('times without a view') === 3)).toBeLessThan(1_000);
    expect(msUntil(group, () => allAct(group) && viewsOf(group).join() === 's1 s2 s3')).toBeLessThan(8_000);
  });
});
