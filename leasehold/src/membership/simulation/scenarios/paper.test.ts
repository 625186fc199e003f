/**
 * The cases of the paper: figure 5 and table 1, and figure 7. The paper has three servers with two nodes each. Where a case is about
 * nodes, the six nodes are servers here. `etcd.test.ts` has the table's column for a majority: a minority has no view.
 */

import { describe, expect, it } from 'vitest';
import { allAct, msUntil, quietGroup, run, serverAt, viewsDelivered, viewsOf } from './quiet-group.ts';

const PARTS = [
  ['s1', 's2'],
  ['s3', 's4', 's5', 's6'],
];

describe('the cases of the paper', () => {
  it('figure-5-case-1: a server and its nodes are cut off from all others; two views, and both act', () => {
    const group = quietGroup(6);
    group.network.partition(PARTS);
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1 s2', 's3 s4 s5 s6']);
    expect(allAct(group)).toBe(true);
  });

  it('figure-5-case-2: two nodes are cut from each other; one view, unchanged, and messages go around', () => {
    const group = quietGroup(6);
    const before = viewsDelivered(group);
    group.network.cutBoth('s2', 's4');
    run(group, 8_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3 s4 s5 s6']);
    expect([viewsDelivered(group), allAct(group)]).toEqual([before, true]);
    expect(serverAt(group, 1).member?.reach('s4')).toBe('overlay');
    expect(serverAt(group, 1).member?.reach('s3')).toBe('direct');
    expect(group.world.counts.get('messages settled, new-view')).toBeUndefined();
  });

  it('figure-5-case-3: the servers are parted; two views, and both act', () => {
    const group = quietGroup(3);
    group.network.partition([['s1'], ['s2', 's3']]);
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1', 's2 s3']);
    expect(allAct(group)).toBe(true);
  });

  it('figure-5-case-4: two of three servers are cut from each other; one view, unchanged, through the third', () => {
    const group = quietGroup(3);
    const before = viewsDelivered(group);
    group.network.cutBoth('s1', 's3');
    run(group, 8_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3']);
    expect([viewsDelivered(group), allAct(group)]).toEqual([before, true]);
    expect(serverAt(group, 0).member?.reach('s3')).toBe('overlay');
  });

  it('figure-7: two views within 3 s of a cut, and one view within 3 s of its end', () => {
    const group = quietGroup(6);
    group.network.partition(PARTS);
    expect(msUntil(group, () => viewsOf(group).join() === 's1 s2,s3 s4 s5 s6')).toBeLessThan(3_000);
    expect(msUntil(group, () => allAct(group))).toBeLessThan(3_000);
    run(group, 20_000);
    group.network.heal();
    expect(msUntil(group, () => viewsOf(group).join() === 's1 s2 s3 s4 s5 s6')).toBeLessThan(3_000);
    expect(msUntil(group, () => allAct(group))).toBeLessThan(3_000);
  });
});
