/** Servers of a group as real processes: killed, stopped, and restarted one after the other. */

import { describe, expect, inject, it } from 'vitest';
import { GroupServers } from './harness/group-servers.ts';
import { onScene } from './harness/scene.ts';

const NAMES = ['a', 'b', 'c'] as const;
const LEASE_MS = 1_500;
const ALL = NAMES.join();

/**
 * Eight hold the same promise: no more than two views for each restart, and never two groups that act. With twenty, each
 * restart is seen by more servers that may disagree about its order.
 */
const SIZE = inject('long') ? 20 : 8;

describe('servers of a group', () => {
  it(
    'agree on a view without a server that was killed, and act in it',
    onScene(async (scene) => {
      const group = await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS });
      group.at('c').signal('SIGKILL');
      await group.act(['a', 'b']);
      const [one, other] = [await group.state('a'), await group.state('b')];
      expect(one['id']).toBe(other['id']);
      expect(group.at('a').events.some(({ event, lost }) => event === 'view' && lost === 'c')).toBe(true);
      expect(await group.overlaps()).toEqual([]);
    }),
  );

  it(
    'go on without one that is stopped, which may not act in the old view when it goes on, and comes back',
    onScene(async (scene) => {
      const group = await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS });
      const c = group.at('c');
      const { id } = await group.state('c');
      c.signal('SIGSTOP');
      await group.act(['a', 'b']);
      // The question waits in the pipe, so c answers in the first turn. c may be alone in a view of its own by then, and act in that.
      const first = c.ask('standingIn', { id });
      c.signal('SIGCONT');
      const { isKnown, standing, members } = await first;
      expect({ isKnown, standing }).toEqual({ isKnown: true, standing: 'none' });
      expect(['c', ALL]).toContain(members);
      await group.act(NAMES);
      expect(await group.overlaps()).toEqual([]);
    }),
  );

  it(
    `are restarted one after the other in a group of ${SIZE}, with at most two views for each restart`,
    onScene(async (scene) => {
      const names = Array.from({ length: SIZE }, (_, index) => `s${index + 10}`);
      const group = await GroupServers.open(scene, names, { leaseMs: LEASE_MS });
      const [watched = '', ...rest] = names;
      const restart = async (name: string): Promise<void> => {
        const others = names.filter((other) => other !== name);
        await group.at(name).ask('close');
        await group.at(name).kill();
        await group.see(others);
        group.start(name);
        await group.see(names, others);
      };
      const [before, stallsBefore] = [group.viewsOf(watched), group.stalls];
      for (const name of rest) await restart(name);
      // A server that stands still may be taken for dead: a view without it, and one with it again.
      const stalls = group.stalls - stallsBefore;
      expect(group.viewsOf(watched) - before).toBeLessThanOrEqual(2 * (rest.length + stalls));
      await restart(watched);
      await group.act(names);
      const ids = new Set(await Promise.all(names.map(async (name) => (await group.state(name))['id'])));
      expect(ids.size).toBe(1);
      expect(await group.overlaps()).toEqual([]);
    }),
  );
});
