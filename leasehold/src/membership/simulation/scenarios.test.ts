/** Situations with names: the paper's cases, and faults that other libraries are known for. Clients come later; these are servers. */

import { describe, expect, it } from 'vitest';
import { resolveDurations } from '../core/durations.ts';
import type { DrawnWorld } from './drawn-world.ts';
import { GroupWorld } from './group-world.ts';
import type { Server } from './server.ts';

function quietGroup(size: number, changes: Partial<DrawnWorld> = {}): GroupWorld {
  const names = Array.from({ length: size }, (_, index) => `s${index + 1}`);
  const group = new GroupWorld(1, false, {
    kind: 'mixed',
    names,
    durations: resolveDurations(),
    links: { delayMs: [1, 10] },
    rates: names.map(() => 1),
    lateMs: 0,
    faults: 0,
    chaosMs: 0,
    ...changes,
  });
  group.start();
  run(group, 5_000);
  expect(viewsOf(group)).toEqual([names.join(' ')]);
  return group;
}

const run = ({ world }: GroupWorld, ms: number): void => world.run({ untilMs: world.trueMs + ms });

const viewOf = ({ member }: Server): string =>
  member?.view?.members.map(({ name }) => name).join(' ') ?? 'none';

/** The different views that live servers are in. */
const viewsOf = ({ servers }: GroupWorld): string[] =>
  [...new Set(servers.filter(({ process }) => process.alive).map(viewOf))].sort();

const standingsOf = ({ servers }: GroupWorld): string[] =>
  servers.filter(({ process }) => process.alive).map((server) => server.standing());

const serverAt = ({ servers }: GroupWorld, index: number): Server => {
  const server = servers[index];
  if (server === undefined) throw new Error(`there is no server ${index}`);
  return server;
};

const viewsDelivered = ({ world }: GroupWorld): number => world.counts.get('views') ?? 0;

/** Runs until a condition holds, and says how long that took. */
function msUntil(group: GroupWorld, holds: () => boolean, limitMs = 20_000): number {
  const { world } = group;
  const startMs = world.trueMs;
  while (!holds() && world.trueMs - startMs < limitMs) run(group, 5);
  return world.trueMs - startMs;
}

describe('the cases of the paper (figure 5, table 1), for its three servers', () => {
  it('case 1 and 3: a server that is cut off from the others makes two views', () => {
    const group = quietGroup(3);
    group.network.partition([['s1'], ['s2', 's3']]);
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1', 's2 s3']);
    expect(standingsOf(group)).toEqual(['acts', 'acts', 'acts']);
  });

  it('case 2: one cut inside a group of six changes no view, and messages go around it', () => {
    const group = quietGroup(6);
    run(group, 2_000);
    group.network.cutBoth('s2', 's4');
    run(group, 8_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3 s4 s5 s6']);
    expect(standingsOf(group)).toEqual(Array(6).fill('acts'));
    expect(serverAt(group, 1).member?.reach('s4')).toBe('overlay');
    expect(serverAt(group, 1).member?.reach('s3')).toBe('direct');
    expect(group.world.counts.get('messages settled, new-view')).toBeUndefined();
  });

  it('case 4: two servers that are cut from each other stay in one view through the third', () => {
    const group = quietGroup(3);
    group.network.cutBoth('s1', 's3');
    run(group, 8_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3']);
    expect(standingsOf(group)).toEqual(['acts', 'acts', 'acts']);
  });

  it('figure 7: two views within 3 s of a cut, and one view within 3 s of its end', () => {
    const group = quietGroup(6);
    const parts = [
      ['s1', 's2'],
      ['s3', 's4', 's5', 's6'],
    ];
    group.network.partition(parts);
    expect(msUntil(group, () => viewsOf(group).join() === 's1 s2,s3 s4 s5 s6')).toBeLessThan(3_000);
    run(group, 20_000);
    group.network.heal();
    expect(msUntil(group, () => viewsOf(group).join() === 's1 s2 s3 s4 s5 s6')).toBeLessThan(3_000);
  });
});

describe('a group of servers', () => {
  it('is confirmed and continues at most 50 ms after the view without a crashed server', () => {
    const group = quietGroup(5);
    serverAt(group, 4).crash();
    msUntil(group, () => viewsOf(group).join() === 's1 s2 s3 s4');
    const ms = msUntil(group, () => standingsOf(group).every((standing) => standing === 'continues'));
    expect(ms).toBeLessThanOrEqual(50);
    run(group, 3_000);
    expect(standingsOf(group)).toEqual(Array(4).fill('acts'));
  });

  it.each([3, 9])(
    'of %i delivers a view at most 1.5 s after a silent crash, and acts at most 3 s after it',
    (size) => {
      const group = quietGroup(size);
      const names = group.drawn.names.slice(0, -1).join(' ');
      serverAt(group, size - 1).crash();
      const viewMs = msUntil(group, () => viewsOf(group).join() === names);
      const actsMs =
        viewMs + msUntil(group, () => standingsOf(group).every((standing) => standing === 'acts'));
      expect(viewMs).toBeLessThanOrEqual(1_500);
      expect(actsMs).toBeLessThanOrEqual(3_000);
    },
  );

  it('does not wait for a server that has left', () => {
    const group = quietGroup(3);
    serverAt(group, 2).leave();
    const ms = msUntil(group, () => ['s1', 's2'].every((_, i) => viewOf(serverAt(group, i)) === 's1 s2'));
    expect(ms).toBeLessThan(100);
    run(group, 50);
    expect(standingsOf(group).slice(0, 2)).toEqual(['acts', 'acts']);
  });

  it('is one view over a chain of five servers', () => {
    const group = quietGroup(5);
    const names = group.drawn.names;
    names.forEach((one, i) => {
      for (const other of names.slice(i + 2)) group.network.cutBoth(one, other);
    });
    run(group, 10_000);
    expect(viewsOf(group)).toEqual([names.join(' ')]);
    expect(standingsOf(group)).toEqual(Array(5).fill('acts'));
  });

  it('takes a link that works one way for a cut link', () => {
    const group = quietGroup(2);
    group.network.cut('s1', 's2');
    run(group, 8_000);
    expect(viewsOf(group)).toEqual(['s1', 's2']);
  });

  it('removes nobody because one peer alone loses a server (serf#185)', () => {
    const group = quietGroup(4);
    const before = viewsDelivered(group);
    group.network.cut('s1', 's4');
    run(group, 10_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3 s4']);
    expect(viewsDelivered(group)).toBe(before);
  });

  it('heals unaided after ten minutes apart (serf#605)', () => {
    const group = quietGroup(3, { durations: resolveDurations({ forgetMs: 60_000 }) });
    group.network.partition([['s1'], ['s2', 's3']]);
    run(group, 600_000);
    expect(serverAt(group, 0).member?.records.size).toBe(1);
    group.network.heal();
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3']);
    expect(standingsOf(group)).toEqual(['acts', 'acts', 'acts']);
  });

  it('parts two servers that reach each other only through one that forwards nothing', () => {
    const group = quietGroup(3);
    serverAt(group, 0).isDeaf = true;
    group.network.cutBoth('s2', 's3');
    const isParted = (): boolean =>
      viewsOf(group).length === 2 && standingsOf(group).every((each) => each === 'acts');
    expect(msUntil(group, isParted)).toBeLessThan(12_000);
  });

  it('delivers at most two views to each server for each restart of a rolling restart', () => {
    const group = quietGroup(5);
    for (const server of group.servers) {
      const before = viewsDelivered(group);
      server.leave();
      run(group, 400);
      server.crash();
      run(group, 1_000);
      group.startServer(server);
      run(group, 6_000);
      expect(viewsOf(group)).toEqual(['s1 s2 s3 s4 s5']);
      // One view without the server and one with it at each of the four others; alone, then with all, at the restarted one.
      expect(viewsDelivered(group) - before).toBeLessThanOrEqual(4 * 2 + 2);
    }
  });

  it('takes back a restarted server whose clock went back, though no live server heard its former process', () => {
    const group = quietGroup(3);
    const [first, middle, last] = [serverAt(group, 0), serverAt(group, 1), serverAt(group, 2)];
    group.network.cutBoth('s1', 's3');
    first.crash();
    group.startServer(first); // From here on it knows the last server by its record alone.
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3']);
    last.crash();
    middle.crash();
    last.process.stepWall(-60_000);
    group.network.heal();
    run(group, 3_000);
    group.startServer(last);
    run(group, 6_000);
    expect(viewsOf(group)).toEqual(['s1 s3']);
  });
});
