/** Groups registered in a real etcd, in one process, over real sockets on loopback. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { LONG_MS, type Scene, sharedEtcd } from '../../etcd/testing/on-etcd.ts';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { silent } from '../../runtime/logger.ts';
import type { GroupMember } from './group-member.ts';
import { connectGroup } from './connect-group.ts';
import { joinGroup, type JoinGroupOptions } from './join-group.ts';

const onEtcd = sharedEtcd();
const open: GroupMember[] = [];
/** Short enough for a test, and long enough that views last on a busy machine. */
const TTL_MS = 3_000;

afterEach(async () => {
  await Promise.all(open.splice(0).map((group) => group.close()));
});

const until = (isSo: () => boolean): Promise<boolean> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 5 });

const addressOf = ({ cluster, prefix }: Scene): string =>
  `etcd://${cluster.endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/${prefix}`;

async function join(
  scene: Scene,
  name: string,
  options: Partial<JoinGroupOptions> = {},
): Promise<GroupMember> {
  const { [name]: listen = '' } = await lastingAddresses(name);
  const etcd = { url: addressOf(scene), ttlMs: TTL_MS };
  const group = await joinGroup({ name, listen, etcd, logger: silent, ...options });
  open.push(group);
  return group;
}

const sees = (group: GroupMember, ...members: string[]): boolean =>
  group.status().state === 'in-view' && group.view?.members.join() === members.join();

const put = ({ cluster, prefix }: Scene, name: string, value: string): Promise<unknown> => {
  const [key, text] = [`${prefix}groups/default/${name}`, value].map((each) =>
    Buffer.from(each).toString('base64'),
  );
  return cluster.ask(cluster.member('m0'), '/v3/kv/put', { key, value: text });
};

describe('servers registered in etcd', { timeout: LONG_MS }, () => {
  it(
    'find each other there and act in one view; a server that leaves is gone at once',
    onEtcd(async (scene) => {
      const groups = await Promise.all(['a', 'b', 'c'].map((name) => join(scene, name)));
      const [a, b, c] = groups as [GroupMember, GroupMember, GroupMember];
      for (const group of groups) await until(() => sees(group, 'a', 'b', 'c'));
      const views = await Promise.all(groups.map((group) => group.acting()));
      expect(new Set(views.map(({ id }) => id)).size).toBe(1);
      await a.send('b', new Uint8Array([1]));
      const { registry } = a.status();
      expect(registry).toMatchObject({ isRegistered: true, registered: ['a', 'b', 'c'], ttlMs: TTL_MS });
      await c.close();
      await until(() => sees(a, 'a', 'b') && sees(b, 'a', 'b'));
      expect((await a.acting()).lost).toEqual(['c']);
    }),
  );

  it(
    'serve clients, which are given addresses of servers',
    onEtcd(async (scene) => {
      const { a: listen } = await lastingAddresses('a');
      await join(scene, 'a', { listen });
      await using client = await connectGroup({ name: 'x', servers: [listen], logger: silent });
      expect((await client.acting()).clients).toEqual(['x']);
    }),
  );

  it(
    'are not stopped by a compaction, nor by a member of etcd that is killed',
    onEtcd(async (scene) => {
      const { cluster } = scene;
      const a = await join(scene, 'a');
      await a.acting();
      const { counters } = a.status();
      const leader = await cluster.whenLed();
      await cluster.ask(leader, '/v3/kv/compaction', { revision: '2' });
      const [other] = cluster.members.filter((member) => member !== leader);
      await other?.kill();
      const b = await join(scene, 'b');
      await until(() => sees(a, 'a', 'b') && sees(b, 'a', 'b'));
      expect(a.status().counters.noViews).toBe(counters.noViews);
    }),
  );

  it(
    'have no view when etcd does not answer for longer than a registration, and act again when it is back',
    onEtcd(async (scene) => {
      const { cluster } = scene;
      const onNoView = vi.fn();
      const a = await join(scene, 'a', { onNoView });
      const view = await a.acting();
      for (const member of cluster.members) member.pause();
      await until(() => onNoView.mock.calls.length > 0);
      expect([a.standing(view), a.view, a.status().registry?.isRegistered]).toEqual([
        'none',
        undefined,
        false,
      ]);
      for (const member of cluster.members) member.resume();
      expect((await a.acting()).members).toEqual(['a']);
    }),
  );

  it(
    'refuse a prefix in use, settings that differ from those of registered servers, and a name that is taken',
    onEtcd(async (scene) => {
      await put(scene, 'z', 'not ours');
      await expect(join(scene, 'a')).rejects.toMatchObject({ code: 'PREFIX_IN_USE', retryable: false });
      const group = 'other';
      const a = await join(scene, 'a', { group });
      await until(() => sees(a, 'a'));
      await expect(join(scene, 'b', { group, leaseMs: 2_000 })).rejects.toMatchObject({
        ...{ code: 'CONFIG_MISMATCH', details: { setting: 'leaseMs' } },
      });
      const etcd = { url: addressOf(scene), ttlMs: 5_000 };
      await expect(join(scene, 'b', { group, etcd })).rejects.toMatchObject({
        details: { setting: 'ttlMs' },
      });
      const second = await join(scene, 'a', { group });
      expect(await second.closed).toMatchObject({ code: 'NAME_IN_USE' });
      expect(a.standing()).toBe('acts');
    }),
  );
});

describe('a server on etcd', { timeout: LONG_MS }, () => {
  const problem = (group: GroupMember, peer: string) =>
    group.status().peers.find(({ name }) => name === peer)?.problem;

  it(
    'and one with peers refuse each other, and both say what differs',
    onEtcd(async (scene) => {
      const { a: listen } = await lastingAddresses('a');
      const a = await join(scene, 'a', { listen });
      const b = await join(scene, 'b', { etcd: undefined, peers: { a: listen } });
      await until(() => problem(b, 'a')?.includes('CONFIG_MISMATCH') === true);
      expect(problem(b, 'a')).toContain(
        `viewsFrom is etcd, ${scene.prefix}groups/default/ at a and peers at b, and must be equal`,
      );
      expect(a.status().peers).toEqual([]);
    }),
  );

  it(
    'and one that has moved to other keys refuse each other, and both say what differs',
    onEtcd(async (scene) => {
      const { b: listen } = await lastingAddresses('b');
      const a = await join(scene, 'a');
      const before = await join(scene, 'b', { listen });
      await until(() => sees(a, 'a', 'b'));
      await before.close();
      await join(scene, 'b', { listen, etcd: `${addressOf(scene)}elsewhere` });
      await until(() => problem(a, 'b')?.includes('CONFIG_MISMATCH') === true);
      expect(problem(a, 'b')).toContain(`viewsFrom is etcd, ${scene.prefix}elsewhere/groups/default/ at b`);
    }),
  );
});

describe('joinGroup with etcd', () => {
  const listen = '127.0.0.1:1';
  const joining = (options: object) =>
    joinGroup({ name: 'a', listen, logger: silent, ...options } as JoinGroupOptions);

  it('rejects an etcd that does not answer, in the time that was given', async () => {
    const etcd = 'etcd://127.0.0.1:1/x';
    await expect(joining({ etcd, timeoutMs: 300 })).rejects.toMatchObject({
      code: 'ETCD_UNAVAILABLE',
      retryable: true,
    });
  });

  it.each([
    [{}, 'peers'],
    [{ etcd: 'etcd://h/x', peers: {} }, 'peers'],
    [{ etcd: 'http://h' }, 'etcd'],
    [{ etcd: 7 }, 'etcd'],
    [{ etcd: { url: 'etcd://h', ttl: 3 } }, 'etcd.ttl'],
    [{ etcd: { url: 'etcd://h', ttlMs: 2_500 } }, 'etcd.ttlMs'],
    [{ etcd: { url: 'etcd://h', ttlMs: 3_000 }, leaseMs: 4_000 }, 'etcd.ttlMs'],
    [{ etcd: 'etcd://h/x', timeoutMs: 0 }, 'timeoutMs'],
    [{ etcd: 'etcd://h/x', listen: undefined }, 'listen'],
  ])('refuses %j and names %s', async (options, option) => {
    await expect(joining(options)).rejects.toMatchObject({
      code: 'INVALID_OPTION',
      details: expect.objectContaining({ option }),
    });
  });
});
