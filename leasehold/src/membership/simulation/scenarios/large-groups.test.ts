/** Groups in which records go over relays and heartbeats ask few of the peers: the worlds that are drawn from seeds are too small for that. */

import { describe, expect, it } from 'vitest';
import { allAct, msUntil, quietGroup, run, standingsOf, viewsOf } from './quiet-group.ts';

const SIZE = 30;

const isWhole = (group: ReturnType<typeof quietGroup>): boolean =>
  viewsOf(group).length === 1 && allAct(group) && viewsOf(group)[0]?.split(' ').length === SIZE;

describe('a group of 30 servers', () => {
  it('acts in one view although every tenth message is lost, and comes together again after a partition', () => {
    const group = quietGroup(SIZE, { links: { delayMs: [1, 10], lossChance: 0.1 } });
    const { names } = group.drawn;
    group.network.partition([names.slice(0, 10), names.slice(10)]);
    expect(msUntil(group, () => viewsOf(group).length === 2 && allAct(group))).toBeLessThan(6_000);
    expect(viewsOf(group).map((view) => view.split(' ').length)).toEqual([10, 20]);
    group.network.heal();
    expect(msUntil(group, () => isWhole(group))).toBeLessThan(8_000);
  });

  it('acts in one view, over relays, although two thirds of its links are cut', () => {
    const group = quietGroup(SIZE);
    const { names } = group.drawn;
    // Each is left with the links to its five neighbours on either side, in a ring.
    for (const [first, one] of names.entries())
      for (const [second, other] of names.entries())
        if (second - first > 5 && second - first < SIZE - 5) group.network.cut(one, other);
    run(group, 10_000);
    expect(viewsOf(group)).toHaveLength(1);
    expect(new Set(standingsOf(group))).toEqual(new Set(['acts']));
    const server = group.servers[4];
    server?.crash();
    expect(
      msUntil(group, () => viewsOf(group)[0]?.split(' ').length === SIZE - 1 && allAct(group)),
    ).toBeLessThan(4_000);
    expect(viewsOf(group)).toHaveLength(1);
  });
});
