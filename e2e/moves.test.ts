/** Servers with state in memory are replaced: by a signal, as every deploy does, and by a death. */

import { describe, expect, it } from 'vitest';
import { lostKeys, toldOf } from './harness/losses.ts';
import type { Program } from './harness/program.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { until } from './harness/time.ts';

interface Rooms {
  readonly lookup: Program;
  readonly servers: ReadonlyMap<string, Program>;
  /** The name of the server that a look-up finds for a key. */
  find(key: string): Promise<string | undefined>;
  /** Visits a key as a client does that asks again where it is told to, and answers the count. */
  visit(key: string): Promise<number>;
}

/** Three servers that share the ring. */
async function rooms(scene: Scene): Promise<Rooms> {
  const { managers } = await scene.manager();
  const servers = new Map<string, Program>();
  for (const name of ['a', 'b', 'c']) {
    const join = { managers, pool: 'presence', name, url: `local://${name}` };
    const server = scene.start({ name, program: 'room-server', config: { join } });
    await server.event('ready');
    servers.set(name, server);
  }
  const lookup = await scene.lookup({ managers });
  const find = async (key: string): Promise<string | undefined> => {
    const { owners } = await lookup.ask('find', { keys: [key] });
    return (owners as readonly ({ name: string } | null)[])[0]?.name;
  };
  await until('all three servers have keys, and all keys have a server', async () => {
    const found = await Promise.all(scene.keys.map(find));
    return found.every((name) => name !== undefined) && new Set(found).size === 3 ? true : undefined;
  });
  const visit = (key: string): Promise<number> =>
    until(`${key} is served`, async () => {
      const server = servers.get((await find(key)) ?? '');
      if (server === undefined || server.ending !== undefined) return undefined;
      const { count, failed } = await server.ask('visit', { key });
      if (failed === undefined) return count as number;
      const { code } = failed as { code: string };
      // Nothing was done, and the client asks again. Anything else would be an error that a user sees.
      if (code !== 'NOT_OWNER' && code !== 'CLOSED') throw new Error(`a visit of ${key} failed: ${code}`);
      return undefined;
    });
  return { lookup, servers, find, visit };
}

describe('a server that is told to end', () => {
  it(
    'hands its memory over first: no visit is lost, none fails, and no look-up is told of a loss',
    onScene(async (scene) => {
      const { lookup, servers, find, visit } = await rooms(scene);
      const a = servers.get('a') as Program;
      for (const key of scene.keys) expect([key, await visit(key)]).toEqual([key, 1]);
      const before = await Promise.all(scene.keys.map(find));
      const lostBefore = lostKeys(lookup).size;
      a.signal('SIGTERM');
      let visits = 1;
      while (a.ending === undefined) {
        visits += 1;
        for (const key of scene.keys) expect([key, await visit(key)]).toEqual([key, visits]);
      }
      expect(await a.ended).toEqual({ code: 0, signal: null });
      for (const key of scene.keys) expect([key, await visit(key)]).toEqual([key, visits + 1]);
      const after = await Promise.all(scene.keys.map(find));
      expect(before).toContain('a');
      expect(after).not.toContain('a');
      // Others keep what they had: placement is sticky.
      for (const [at, name] of before.entries()) if (name !== 'a') expect(after[at]).toBe(name);
      expect(lostKeys(lookup).size).toBe(lostBefore);
    }),
  );
});

describe('a server that is killed', () => {
  it(
    'takes its memory along, and look-ups are told which keys that is',
    onScene(async (scene) => {
      const { lookup, servers, find, visit } = await rooms(scene);
      for (const key of scene.keys) expect([key, await visit(key)]).toEqual([key, 1]);
      const before = await Promise.all(scene.keys.map(find));
      const ofA = scene.keys.filter((_, at) => before[at] === 'a');
      await (servers.get('a') as Program).kill();
      await toldOf(lookup, ofA);
      for (const key of scene.keys) expect([key, await visit(key)]).toEqual([key, ofA.includes(key) ? 1 : 2]);
    }),
  );
});
