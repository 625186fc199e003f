/** Links that work one way, in part, or not at all: situations for which other membership libraries are known. */

import { describe, expect, it } from 'vitest';
import { resolveDurations } from '../../core/durations.ts';
import { allAct, msUntil, quietGroup, run, serverAt, viewsDelivered, viewsOf } from './quiet-group.ts';

describe('links of a group', () => {
  it('one-peer-sees-it: nobody is removed because one peer alone loses a server (serf#185)', () => {
    const group = quietGroup(4);
    const before = viewsDelivered(group);
    group.network.cut('s1', 's4');
    run(group, 10_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3 s4']);
    expect([viewsDelivered(group), allAct(group)]).toEqual([before, true]);
  });

  it('ten-minutes-apart: a group heals unaided, though the sides have forgotten each other (serf#605)', () => {
    const group = quietGroup(3, { durations: resolveDurations({ forgetMs: 60_000 }) });
    group.network.partition([['s1'], ['s2', 's3']]);
    run(group, 600_000);
    expect(serverAt(group, 0).member?.records.size).toBe(1);
    group.network.heal();
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3']);
    expect(allAct(group)).toBe(true);
  });

  it('one-way: a link that works one way counts as cut, and each of two servers goes on alone', () => {
    const group = quietGroup(2);
    group.network.cut('s1', 's2');
    run(group, 8_000);
    expect(viewsOf(group)).toEqual(['s1', 's2']);
    expect(allAct(group)).toBe(true);
  });

  it('chain-of-five: servers of which each reaches only its neighbours are one view, and the ends talk', () => {
    const group = quietGroup(5);
    const { names } = group.drawn;
    names.forEach((one, i) => {
      for (const other of names.slice(i + 2)) group.network.cutBoth(one, other);
    });
    run(group, 10_000);
    expect(viewsOf(group)).toEqual([names.join(' ')]);
    expect([allAct(group), serverAt(group, 0).member?.reach('s5')]).toEqual([true, 'overlay']);
    const delivered = () => group.world.counts.get('messages settled, delivered') ?? 0;
    const before = delivered();
    serverAt(group, 0).send('s5', new TextEncoder().encode('from end to end'));
    run(group, 200);
    expect(delivered()).toBeGreaterThan(before);
  });

  it('deaf-middle: servers that reach each other only through one that forwards nothing are parted', () => {
    const group = quietGroup(3);
    serverAt(group, 0).isDeaf = true;
    group.network.cutBoth('s2', 's3');
    const isParted = (): boolean => viewsOf(group).length === 2 && allAct(group);
    expect(msUntil(group, isParted)).toBeLessThan(12_000);
  });

  it('asymmetric-under-load: under load, links that fail in one direction change no view; messages are routed (corosync#760)', () => {
    const group = quietGroup(6);
    const { network, world, servers } = group;
    let sent = 0;
    world.every([5, 15], () => {
      sent += 1;
      const body = new TextEncoder().encode(`load ${sent}`);
      serverAt(group, sent % 6).send(`s${1 + ((sent * 5 + 1) % 6)}`, body);
    });
    run(group, 1_000);
    const before = viewsDelivered(group);
    network.cut('s1', 's2');
    network.cut('s3', 's2');
    network.setFaults({ lossChance: 0.5, slowChance: 0.3, slowMs: [100, 600] }, 's5', 's6');
    run(group, 30_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3 s4 s5 s6']);
    expect([viewsDelivered(group), allAct(group)]).toEqual([before, true]);
    expect(servers[0]?.member?.reach('s2')).toBe('overlay');
    const settled = (how: string) => world.counts.get(`messages settled, ${how}`) ?? 0;
    expect([settled('new-view'), settled('no-view')]).toEqual([0, 0]);
    expect(settled('delivered')).toBeGreaterThan(2_500);
  });
});
