/** Servers that crash, leave and come back. */

import { describe, expect, it } from 'vitest';
import { assert } from '../../../runtime/assert.ts';
import { allAct, msUntil, quietGroup, run, serverAt, standingsOf, viewOf, viewsOf } from './quiet-group.ts';

describe('restarts in a group', () => {
  it('one-crash: the others are confirmed and continue at most 50 ms after the view without the crashed server', () => {
    const group = quietGroup(5);
    serverAt(group, 4).crash();
    msUntil(group, () => viewsOf(group).join() === 's1 s2 s3 s4');
    const ms = msUntil(group, () => standingsOf(group).every((standing) => standing === 'continues'));
    expect(ms).toBeLessThanOrEqual(50);
    run(group, 3_000);
    expect(allAct(group)).toBe(true);
  });

  it.each([3, 10])(
    'silent-crash: %i servers have a view at most 1.5 s after a silent crash, and act at most 3 s after it',
    (size) => {
      const group = quietGroup(size);
      serverAt(group, size - 1).crash();
      const names = group.drawn.names.slice(0, -1).sort().join(' ');
      const viewMs = msUntil(group, () => viewsOf(group).join() === names);
      const actsMs = viewMs + msUntil(group, () => allAct(group));
      expect(viewMs).toBeLessThanOrEqual(1_500);
      expect(actsMs).toBeLessThanOrEqual(3_000);
    },
  );

  it('leaving: nobody waits for a server that has left', () => {
    const group = quietGroup(3);
    serverAt(group, 2).leave();
    const ms = msUntil(group, () => ['s1', 's2'].every((_, i) => viewOf(serverAt(group, i)) === 's1 s2'));
    expect(ms).toBeLessThan(100);
    run(group, 50);
    expect(standingsOf(group).slice(0, 2)).toEqual(['acts', 'acts']);
  });

  it.each([5, 20])(
    'rolling-restart: each of %i restarts brings every other server at most two views',
    (size) => {
      const group = quietGroup(size);
      const all = [...group.drawn.names].sort().join(' ');
      for (const server of group.servers) {
        const others = group.drawn.names.filter((name) => name !== server.name);
        const before = others.map((name) => group.checker.viewsAt(name));
        server.leave();
        run(group, 400);
        server.crash();
        run(group, 1_000);
        group.startServer(server);
        msUntil(group, () => viewsOf(group).join() === all && allAct(group));
        expect(viewsOf(group)).toEqual([all]);
        const views = others.map((name, index) => group.checker.viewsAt(name) - (before[index] ?? 0));
        expect(Math.max(...views)).toBeLessThanOrEqual(2);
      }
    },
  );

  it('clock-went-back: a member that promised a restarted server something holds, though it hears of a greater incarnation', () => {
    const group = quietGroup(3);
    const [first, second] = [serverAt(group, 0), serverAt(group, 1)];
    // s3 knows the first process of s1. The two others restart apart from s3, s1 with a clock that went back, and act in a view of two.
    group.network.partition([['s1', 's2'], ['s3']]);
    for (const server of [first, second]) server.crash();
    first.process.stepWall(-60_000);
    run(group, 3_000);
    for (const server of [first, second]) group.startServer(server);
    msUntil(group, () => viewsOf(group).join() === 's1 s2,s3' && allAct(group));
    // s2 hears of the greater incarnation from s3, and from then on has s1 in no view. s1 acts for up to a lease; the checker looks.
    group.network.heal();
    group.network.cutBoth('s1', 's3');
    expect(msUntil(group, () => viewOf(second) !== 's1 s2')).toBeLessThan(3_000);
    expect([viewOf(first), first.standing(), second.standing()]).not.toEqual(['s1 s2', 'acts', 'acts']);
    run(group, 10_000);
    expect(viewsOf(group)).toEqual(['s1 s2 s3']);
    expect(allAct(group)).toBe(true);
  });

  it('unknown-predecessor: a restarted server whose clock went back is taken back, though no live server heard its former process', () => {
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

  it('restart-and-leave: a server that restarts and leaves does not let the others act while a client of its crashed process acts', () => {
    for (let afterMs = 5; afterMs <= 505; afterMs += 50) {
      const group = quietGroup(2, { clients: [{ name: 'c', rate: 1 }] });
      const [client] = group.clients;
      assert(client !== undefined, 'the group has a client');
      msUntil(group, () => client.standing() === 'acts' && allAct(group));
      run(group, 2_000 + afterMs);
      const server = group.servers.find(({ name }) => name === client.core?.server);
      assert(server !== undefined, 'the client has a server');
      group.network.cutBoth('c', server.name);
      server.crash();
      run(group, 5);
      group.startServer(server);
      msUntil(group, () => viewsOf(group).join() === 's1 s2' && viewOf(server) === 's1 s2', 1_400);
      run(group, 30);
      server.leave();
      // The checker looks at every instant whether anybody acts beside the client.
      run(group, 3_000);
      const others = group.servers.filter((each) => each !== server);
      expect(others.map((other) => other.standing())).toEqual(['acts']);
    }
  });
});
