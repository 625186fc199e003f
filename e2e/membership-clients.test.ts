/**
 * Clients of a group as real processes: their server is killed, and a client joins a thousand others. How long a join takes is measured by a
 * bench; here the bound only tells a group that works from one that does not, because other tests run beside this one.
 */

import { describe, expect, it } from 'vitest';
import { lastingPort } from '../leasehold/src/node/testing/lasting-port.ts';
import type { Program, Reply } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { until } from './harness/time.ts';
import { Stopwatch } from '../leasehold/src/node/testing/undisturbed-time.ts';

const SERVERS = ['a', 'b', 'c'];
const LEASE_MS = 1_500;
/** So that seven busy processes on two cores are not taken for dead. */
const LONG_LEASE_MS = 6_000;
const REACHES_ALL_WITHIN_MS = 5_000;

interface Cast {
  readonly servers: readonly Program[];
  readonly crowds: readonly Program[];
}

/** Three servers, and so many processes with so many clients each, all of which act in one view. */
async function acting(scene: Scene, processes: number, each: number, leaseMs = LEASE_MS): Promise<Cast> {
  const peers: Record<string, string> = {};
  for (const name of SERVERS) peers[name] = `127.0.0.1:${await lastingPort()}`;
  const servers = SERVERS.map((name) => {
    const config = { name, listen: peers[name], peers, leaseMs };
    return scene.start({ name, program: 'group-server', config });
  });
  const crowds = Array.from({ length: processes }, (_, index) => {
    const names = Array.from({ length: each }, (__, number) => `client-${index}-${number}`);
    const config = { names, servers: Object.values(peers), leaseMs };
    return scene.start({ name: `clients-${index}`, program: 'group-clients', config });
  });
  await allAct(crowds, SERVERS.join(), processes * each);
  return { servers, crowds };
}

const isOneView = (states: readonly Reply[], members: string, clients: number): boolean =>
  new Set(states.flatMap(({ ids }) => ids as string[])).size === 1 &&
  states.every((state) => state['members'] === members && state['clients'] === clients) &&
  states.reduce((sum, state) => sum + Number(state['acting']), 0) === clients;

const allAct = (crowds: readonly Program[], members: string, clients: number): Promise<Reply[]> =>
  until(`${clients} clients act in one view of ${members}`, async () => {
    const states = await Promise.all(crowds.map((crowd) => crowd.ask('state')));
    return isOneView(states, members, clients) ? states : undefined;
  });

describe('clients of a group', () => {
  it(
    'are all in one view again after their server was killed',
    onScene(async (scene) => {
      const { servers, crowds } = await acting(scene, 6, 10);
      servers[2]?.signal('SIGKILL');
      const states = await allAct(crowds, 'a,b', 60);
      expect(states.flatMap((state) => state['servers'])).not.toContain('c');
    }),
  );

  it(
    'send to each other while their servers are killed: each acknowledged message was handed over, and none twice',
    onScene(async (scene) => {
      const { servers, crowds } = await acting(scene, 2, 2);
      const [one, two] = crowds;
      const acknowledged: string[] = [];
      const refused = new Set<unknown>();
      const send = async (text: string): Promise<void> => {
        const answer = await one?.ask('send', { from: 'client-0-0', to: 'client-1-0', text });
        if (answer?.['isAcknowledged'] === true) acknowledged.push(text);
        else refused.add(answer?.['code']);
      };
      for (let index = 0; index < 50; index += 1) await send(`before ${index}`);
      servers[2]?.signal('SIGKILL');
      for (let index = 0; index < 50; index += 1) await send(`while ${index}`);
      await allAct(crowds, 'a,b', 4);
      await until('a message arrives in the next view', async () => {
        await send(`after ${acknowledged.length}.${refused.size}`);
        return acknowledged.some((text) => text.startsWith('after')) || undefined;
      });
      await two?.ask('state'); // Everything that was handed over before was said before.
      const handedOver = (two?.events ?? [])
        .filter(({ event, to }) => event === 'message' && to === 'client-1-0')
        .map(({ text }) => String(text));
      expect(acknowledged.filter((text) => text.startsWith('before')).length).toBeGreaterThan(0);
      expect(handedOver).toEqual(expect.arrayContaining(acknowledged));
      expect(new Set(handedOver).size).toBe(handedOver.length);
      for (const code of refused) expect(code).toMatch(/VIEW_CHANGED|NO_VIEW|NOT_A_MEMBER|OUTCOME_UNKNOWN/);
    }),
  );

  it(
    'hear of one that joins a thousand others',
    onScene(async (scene) => {
      const { crowds } = await acting(scene, 4, 250, LONG_LEASE_MS);
      await Promise.all(crowds.map((crowd) => crowd.ask('expect', { name: 'newcomer' })));
      const sinceJoin = new Stopwatch();
      const joined = await crowds[0]?.ask('join', { name: 'newcomer' });
      const seen = await until('all clients see the newcomer', async () => {
        const answers = await Promise.all(crowds.map((crowd) => crowd.ask('seen', { name: 'newcomer' })));
        const count = answers.reduce((sum, answer) => sum + Number(answer['count']), 0);
        return count >= 1_001 ? answers : undefined;
      });
      const lastMs = Math.max(...seen.map((answer) => Number(answer['lastMs'])));
      const ms = lastMs - Number(joined?.['atMs']) - sinceJoin.disturbedMs;
      await allAct(crowds, SERVERS.join(), 1_001);
      expect(ms).toBeLessThan(REACHES_ALL_WITHIN_MS);
    }),
  );
});
