/**
 * A ZooKeeper of three servers, with and without `forceSync`: without it a server answers before what it promises is on
 * its disk. A lease is a node that goes when the session of its creator does.
 *
 * The client is connected to the server that leads, which is where its requests would go from any other.
 */

import { existsSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { lastingPort } from '../../../leasehold/src/node/testing/lasting-port.ts';
import { installed, leftOut, up } from '../processes/peers.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { LeasePeer, PeerKind } from './peer.ts';
import { answerTo, end, serve } from './servers.ts';
import type { ZooKeeperConfig } from './zookeeper-process.ts';

const SERVERS = 3;
/** Where Debian has it. */
const LIBRARY = '/usr/share/java/zookeeper.jar';
const SETTINGS = '/etc/zookeeper/conf';

export const zooKeeper: PeerKind = {
  name: 'ZooKeeper',
  missing,
  start: (workshop) => start(workshop, 'ZooKeeper', true),
};

export const zooKeeperWithoutSync: PeerKind = {
  name: 'ZooKeeper without sync',
  missing,
  start: (workshop) => start(workshop, 'ZooKeeper without sync', false),
};

function missing(): string | undefined {
  if (installed('java') === undefined) return leftOut('java');
  return existsSync(LIBRARY) ? undefined : leftOut('zookeeper');
}

interface Place {
  readonly id: number;
  readonly clientPort: number;
  readonly quorumPort: number;
  readonly electionPort: number;
}

async function start(workshop: Workshop, name: string, forceSync: boolean): Promise<LeasePeer> {
  const java = installed('java');
  if (java === undefined) throw new Error(leftOut('java'));
  const places: Place[] = [];
  for (let id = 1; id <= SERVERS; id += 1) {
    places.push({
      id,
      clientPort: await lastingPort(),
      quorumPort: await lastingPort(),
      electionPort: await lastingPort(),
    });
  }
  const servers = places.map((place) => {
    const directory = workshop.folder(`${forceSync ? 'zookeeper' : 'zookeeper-without-sync'}-${place.id}`);
    writeFileSync(join(directory, 'myid'), String(place.id));
    const settings = join(directory, 'zoo.cfg');
    writeFileSync(settings, settingsOf(place, places, directory, forceSync));
    const classes = `${SETTINGS}:${LIBRARY}`;
    return serve(workshop, java, [
      ...['-Xmx1g', '-cp', classes, 'org.apache.zookeeper.server.quorum.QuorumPeerMain', settings],
    ]);
  });
  const statuses: Status[] = [];
  for (const { clientPort } of places)
    await up('ZooKeeper', async () => void statuses.push(await status(clientPort)));
  const leading = statuses.findIndex(({ mode }) => mode === 'leader');
  const leader = places[leading];
  if (leader === undefined) throw new Error('none of the three ZooKeeper servers leads');
  const config: ZooKeeperConfig = { port: leader.clientPort };
  const bundle = await workshop.bundle('leases/zookeeper-process');
  const client = workshop.start(`the client of ${name}`, bundle, config);
  const { version } = await client.heard('ready');
  return {
    name,
    setting: `ZooKeeper ${statuses[leading]?.version} ×${SERVERS}, forceSync=${forceSync ? 'yes' : 'no'}, by node-zookeeper-client ${String(version)} at the one that leads; a lease is an ephemeral node`,
    client,
    servers,
    close: async () => end(client, servers),
  };
}

const settingsOf = (own: Place, all: readonly Place[], directory: string, forceSync: boolean): string =>
  [
    ...['tickTime=2000', 'initLimit=10', 'syncLimit=5', 'maxClientCnxns=0'],
    ...['admin.enableServer=false', '4lw.commands.whitelist=srvr'],
    `forceSync=${forceSync ? 'yes' : 'no'}`,
    `dataDir=${directory}`,
    'clientPortAddress=127.0.0.1',
    `clientPort=${own.clientPort}`,
    ...all.map(({ id, quorumPort, electionPort }) => `server.${id}=127.0.0.1:${quorumPort}:${electionPort}`),
    '',
  ].join('\n');

interface Status {
  readonly mode: string;
  readonly version: string;
}

/** Throws while it is of no use. */
async function status(port: number): Promise<Status> {
  const answer = await answerTo(port, 'srvr', /Node count: \d+/);
  const mode = /^Mode: (\w+)/m.exec(answer)?.[1] ?? '';
  if (mode !== 'leader' && mode !== 'follower') throw new Error(`its mode is “${mode}”`);
  return { mode, version: /version: ([\d.]+)/.exec(answer)?.[1] ?? '' };
}
