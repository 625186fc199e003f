/** An etcd of three members. A lease is a grant and then a transaction that puts a key under it if nobody has the key. */

import { EtcdCluster } from '../../../leasehold/src/etcd/testing/etcd-cluster.ts';
import { installed, leftOut } from '../processes/peers.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { EtcdConfig } from './etcd-process.ts';
import type { LeasePeer, PeerKind } from './peer.ts';

const NAME = 'etcd';

export const etcd: PeerKind = {
  name: NAME,
  missing: () => (installed('etcd') === undefined ? leftOut('etcd') : undefined),
  start,
};

async function start(workshop: Workshop): Promise<LeasePeer> {
  const cluster = await EtcdCluster.start();
  const leader = await cluster.whenLed();
  const config: EtcdConfig = { endpoint: leader.endpoint };
  const client = workshop.start(
    `the client of ${NAME}`,
    await workshop.bundle('leases/etcd-process'),
    config,
  );
  await client.heard('ready');
  const { text } = await cluster.ask(leader, '/v3/maintenance/status', {});
  const { version } = JSON.parse(text) as { readonly version: string };
  return {
    name: NAME,
    setting: `etcd ${version} ×${cluster.members.length}, by its JSON gateway over node:http at the one that leads; a lease is a grant and a transaction`,
    client,
    servers: cluster.members.map(({ pid }) => pid),
    close: async () => {
      client.kill();
      await cluster[Symbol.asyncDispose]();
    },
  };
}
