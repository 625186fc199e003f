/** Servers of a group on machines of their own, in network namespaces: links are cut, one way and both ways, and heal. */

import { describe, expect, it } from 'vitest';
import { GroupServers } from './harness/group-servers.ts';
import { Network } from './harness/network.ts';
import { onScene } from './harness/scene.ts';
import { until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';

const THREE = ['a', 'b', 'c'] as const;
const SIX = ['s1', 's2', 's3', 's4', 's5', 's6'] as const;
const LEASE_MS = 1_500;
/** The simulator has the strict bound, 3 s. Here a busy machine may take its time. */
const SOON_MS = 6_000;
const NEEDS = { needs: ['network namespaces'] } as const;

describe('servers of a group on a network that is cut', () => {
  it(
    'figure 7: two servers are parted from four others; two views act, which share nobody, and one again after the cut',
    onScene(async (scene) => {
      const network = await Network.open(scene, ...SIX);
      const group = await GroupServers.open(scene, SIX, { leaseMs: LEASE_MS, network });
      const [few, many] = [SIX.slice(0, 2), SIX.slice(2)];
      await Promise.all(few.flatMap((one) => many.map((other) => network.part(one, other))));
      const sinceCut = new Stopwatch();
      await Promise.all([group.see(few), group.see(many)]);
      expect(sinceCut.ms).toBeLessThan(SOON_MS);
      await Promise.all([group.act(few), group.act(many)]);
      await Promise.all(SIX.map((name) => network.heal(name)));
      const sinceHealed = new Stopwatch();
      await group.see(SIX);
      expect(sinceHealed.ms).toBeLessThan(2 * SOON_MS);
      await group.act(SIX);
      expect(await group.overlaps()).toEqual([]);
    }, NEEDS),
  );

  it(
    'stay in their view when the link between two of six is cut, and these two talk over the others',
    onScene(async (scene) => {
      const network = await Network.open(scene, ...SIX);
      const group = await GroupServers.open(scene, SIX, { leaseMs: 2 * LEASE_MS, network });
      const [one, other] = [group.at('s2'), group.at('s4')];
      const before = await group.state('s2', 's4');
      expect(before).toMatchObject({ reach: 'direct', members: SIX.join() });
      await network.part('s2', 's4');
      await until('s2 reaches s4 over others', async () =>
        (await group.state('s2', 's4'))['reach'] === 'overlay' ? true : undefined,
      );
      const sent = await one.ask('send', { to: 's4', text: 'over the overlay' });
      expect(sent.error).toBeUndefined();
      await other.event(({ event, text }) => event === 'message' && text === 'over the overlay');
      // Each confirmation between the two goes over the overlay now. Once s2 has acted for a whole lease since, none of them is from before the cut.
      await until('s2 acts by confirmations over the overlay', async () => {
        const { id, fromMs, toMs } = await one.ask('acting');
        expect(id).toBe(before['id']);
        return Number(toMs) - Math.max(Number(fromMs), Number(sent['atMs'])) > 2.2 * LEASE_MS
          ? true
          : undefined;
      });
      for (const name of SIX)
        expect(await group.state(name)).toMatchObject({ id: before['id'], standing: 'acts' });
      await Promise.all([network.heal('s2'), network.heal('s4')]);
      await until('s2 reaches s4 directly', async () =>
        (await group.state('s2', 's4'))['reach'] === 'direct' ? true : undefined,
      );
      expect((await group.state('s2'))['id']).toBe(before['id']);
    }, NEEDS),
  );

  it(
    'take a link that works one way for none: the server behind it goes on alone, and joins when the network heals',
    onScene(async (scene) => {
      const network = await Network.open(scene, ...THREE);
      const group = await GroupServers.open(scene, THREE, { leaseMs: LEASE_MS, network });
      // b sends to c and hears nothing from c; c sends to a and hears nothing from a.
      await Promise.all([network.deafen('b', 'c'), network.deafen('c', 'a')]);
      await Promise.all([group.act(['a', 'b']), group.act(['c'])]);
      await Promise.all([network.heal('b'), network.heal('c')]);
      await group.act(THREE);
      expect(await group.overlaps()).toEqual([]);
    }, NEEDS),
  );
});
