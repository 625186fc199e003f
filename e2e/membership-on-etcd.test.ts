/** Servers of a group registered in a real etcd, as real processes: killed and started again, and cut off from etcd, each on a machine of its own. */

import { describe, expect, it } from 'vitest';
import { EtcdCluster } from '../leasehold/src/etcd/testing/etcd-cluster.ts';
import { GroupServers } from './harness/group-servers.ts';
import { Network } from './harness/network.ts';
import { onScene, type Scene } from './harness/scene.ts';
import { until } from './harness/time.ts';

const NAMES = ['a', 'b', 'c'] as const;
const ETCD = 'etcd';
const LEASE_MS = 1_500;

const addressOf = ({ endpoints }: EtcdCluster): string =>
  `etcd://${endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/e2e`;

async function etcdIn(
  scene: Scene,
  place: { host?: string; under?: readonly string[] } = {},
): Promise<EtcdCluster> {
  const cluster = await EtcdCluster.start(place);
  scene.defer(() => cluster[Symbol.asyncDispose]());
  return cluster;
}

describe('servers registered in etcd', () => {
  it(
    'act without a server that was killed once its lease is over, with it again, and through the death of a member of etcd',
    onScene(
      async (scene) => {
        const cluster = await etcdIn(scene);
        const group = await GroupServers.open(scene, NAMES, { leaseMs: LEASE_MS, etcd: addressOf(cluster) });
        group.at('c').signal('SIGKILL');
        await group.act(['a', 'b']);
        group.start('c');
        await group.act(NAMES);
        const before = group.viewsOf('a');
        await cluster.members[0]?.kill();
        await cluster.members[0]?.start();
        await group.act(NAMES);
        expect(group.viewsOf('a')).toBe(before);
        expect(group.at('a').events.filter(({ event }) => event === 'no-view')).toEqual([]);
        expect(await group.overlaps()).toEqual([]);
      },
      { needs: ['etcd'] },
    ),
  );

  it(
    'have no view where etcd is cut off, though they reach all others, which go on; one view again when the cut ends',
    onScene(
      async (scene) => {
        const network = await Network.openReachable(scene, ...NAMES, ETCD);
        const cluster = await etcdIn(scene, { host: network.address(ETCD), under: network.on(ETCD) });
        const group = await GroupServers.open(scene, NAMES, {
          leaseMs: LEASE_MS,
          network,
          etcd: addressOf(cluster),
        });
        await network.part('c', ETCD);
        await until(
          'c has no view',
          async () => group.at('c').events.some(({ event }) => event === 'no-view') || undefined,
        );
        await group.act(['a', 'b']);
        expect(await group.state('c')).toMatchObject({ standing: 'none' });
        await Promise.all([network.heal('c'), network.heal(ETCD)]);
        await group.act(NAMES);
        expect(await group.overlaps()).toEqual([]);
      },
      { needs: ['etcd', 'network namespaces'] },
    ),
  );
});
