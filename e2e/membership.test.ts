/** Servers of a group as real processes: killed, stopped, and with a link cut between two of them. */

import { describe, expect, it } from 'vitest';
import { Network } from './harness/network.ts';
import { lastingPort } from './harness/ports.ts';
import type { Program, Reply } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { pause, until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'] as const;
const LEASE_MS = 1_500;
const PORT = 7_700;
const ALL = NAMES.join();

type Servers = Record<(typeof NAMES)[number], Program>;

/** Three servers that act in one view; with a network, each on a machine of its own. */
async function acting(scene: Scene, network?: Network): Promise<Servers> {
  const addresses = new Map<string, string>();
  for (const name of NAMES)
    addresses.set(name, network ? `${network.address(name)}:${PORT}` : `127.0.0.1:${await lastingPort()}`);
  const programs = NAMES.map((name) => {
    const peers = Object.fromEntries([...addresses].filter(([peer]) => peer !== name));
    const config = {
      name,
      listen: addresses.get(name),
      peers,
      leaseMs: LEASE_MS,
      insecure: network !== undefined,
    };
    return [name, scene.start({ name, program: 'group-server', config, under: network?.on(name) })] as const;
  });
  const servers = Object.fromEntries(programs) as Servers;
  for (const name of NAMES) await acts(servers[name], ALL);
  return servers;
}

const state = (server: Program, peer = ''): Promise<Reply> => server.ask('state', { peer });

const acts = (server: Program, members: string): Promise<Reply> =>
  until(`${server.name} acts with ${members}`, async () => {
    const now = await state(server);
    return now['members'] === members && now['standing'] === 'acts' ? now : undefined;
  });

describe('servers of a group', () => {
  it(
    'agree on a view without a server that was killed, and act in it',
    onScene(async (scene) => {
      const { a, b, c } = await acting(scene);
      c.signal('SIGKILL');
      const [one, other] = await Promise.all([acts(a, 'a,b'), acts(b, 'a,b')]);
      expect(one['id']).toBe(other['id']);
      expect(a.events.some(({ event, lost }) => event === 'view' && lost === 'c')).toBe(true);
    }),
  );

  it(
    'go on without one that is stopped, which may not act in the old view when it goes on, and comes back',
    onScene(async (scene) => {
      const { a, b, c } = await acting(scene);
      const { id } = await state(c);
      c.signal('SIGSTOP');
      await Promise.all([acts(a, 'a,b'), acts(b, 'a,b')]);
      // The question waits in the pipe, so c answers in the first turn. c may be alone in a view of its own by then, and act in that.
      const first = c.ask('standingIn', { id });
      c.signal('SIGCONT');
      const { isKnown, standing, members } = await first;
      expect({ isKnown, standing }).toEqual({ isKnown: true, standing: 'none' });
      expect(['c', ALL]).toContain(members);
      for (const server of [a, b, c]) await acts(server, ALL);
    }),
  );

  it(
    'stay in their view when the link between two of them is cut, and talk over the third',
    onScene(
      async (scene) => {
        const network = await Network.open(scene, ...NAMES);
        const { a, b, c } = await acting(scene, network);
        const before = await state(a, 'b');
        expect(before).toMatchObject({ reach: 'direct', members: ALL });
        await network.part('a', 'b');
        await until('a reaches b over c', async () =>
          (await state(a, 'b'))['reach'] === 'overlay' ? true : undefined,
        );
        const sent = await a.ask('send', { to: 'b', text: 'over the overlay' });
        expect(sent.error).toBeUndefined();
        await b.event(({ event, text }) => event === 'message' && text === 'over the overlay');
        // Longer than a lease and a doubt: a view that had to end would have ended.
        await pause(4 * LEASE_MS);
        for (const server of [a, b, c])
          expect(await state(server)).toMatchObject({ id: before['id'], members: ALL, standing: 'acts' });
        await network.heal('a');
        await network.heal('b');
        await until('a reaches b directly', async () =>
          (await state(a, 'b'))['reach'] === 'direct' ? true : undefined,
        );
      },
      { needs: ['network namespaces'] },
    ),
  );

  it(
    'part in two views that share no server when one of them is cut off, and join when the network heals',
    onScene(
      async (scene) => {
        const network = await Network.open(scene, ...NAMES);
        const { a, b, c } = await acting(scene, network);
        await Promise.all([network.part('a', 'c'), network.deafen('b', 'c')]);
        // b sends to c and hears nothing from c: a link in one direction is none.
        await Promise.all([acts(a, 'a,b'), acts(b, 'a,b'), acts(c, 'c')]);
        for (const name of NAMES) if (name !== 'c') await network.heal(name);
        await network.heal('c');
        for (const server of [a, b, c]) await acts(server, ALL);
      },
      { needs: ['network namespaces'] },
    ),
  );
});
