/** Groups registered in a real etcd, in one process, over real sockets on loopback. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { LONG_MS, type Scene, sharedEtcd } from '../../etcd/testing/on-etcd.ts';
import { freeAddresses } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import type { Group } from './group.ts';
import { joinGroup, type JoinGroupOptions } from './join-group.ts';

const onEtcd = sharedEtcd();
const open: Group[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((group) => group.close()));
});

const until = (isSo: () => boolean): Promise<boolean> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 5 });

const addressOf = ({ cluster, prefix }: Scene): string =>
  `etcd://${cluster.endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/${prefix}`;

async function join(scene: Scene, name: string, options: Partial<JoinGroupOptions> = {}): Promise<Group> {
  const { [name]: listen = '' } = await freeAddresses(name);
  const group = await joinGroup({ name, listen, etcd: addressOf(scene), logger: silent, ...options });
  open.push(group);
  return group;
}

const sees = (group: Group, ...members: string[]): boolean =>
  group.status().state === 'in-view' && group.view?.members.join() === members.join();

describe('servers registered in etcd', { timeout: LONG_MS }, () => {
  it(
    'find each other there, agree on one view, and act in it; one that leaves is gone at once',
    onEtcd(async (scene) => {
      const groups = await Promise.all(['a', 'b', 'c'].map((name) => join(scene, name)));
      const [a, b, c] = groups as [Group, Group, Group];
      for (const group of groups) await until(() => sees(group, 'a', 'b', 'c'));
      const views = await Promise.all(groups.map((group) => group.acting()));
      expect(new Set(views.map(({ id }) => id)).size).toBe(1);
      await a.send('b', new Uint8Array([1]));
      expect(a.status().registry).toMatchObject({
        isRegistered: true,
        registered: ['a', 'b', 'c'],
        ttlMs: 3_000,
      });
      await c.close();
      await until(() => sees(a, 'a', 'b') && sees(b, 'a', 'b'));
      expect((await a.acting()).lost).toEqual(['c']);
    }),
  );
});
