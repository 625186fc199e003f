/**
 * redlock (the fork that is maintained) on three Redis that are independent of each other, as the algorithm wants them. They keep everything in memory:
 * one that forgot its locks in a crash would have to stay away for as long as a lock lasts, which is not measured here.
 *
 * Set up as its documentation says, each command is a packet. The Redis client can be told to gather the commands of a
 * moment into one, which few who use redlock know of; both are measured.
 */

import { lastingPort } from '../../../leasehold/src/node/testing/lasting-port.ts';
import { installed, leftOut, up } from '../processes/peers.ts';
import type { Workshop } from '../processes/workshop.ts';
import type { LeasePeer, PeerKind } from './peer.ts';
import type { RedlockConfig } from './redlock-process.ts';
import { answerTo, end, serve } from './servers.ts';

const SERVERS = 3;

const missing = (): string | undefined =>
  installed('redis-server') === undefined ? leftOut('redis-server') : undefined;

export const redlock: PeerKind = {
  name: 'redlock',
  missing,
  start: (workshop) => start(workshop, 'redlock', false),
};

export const redlockPipelined: PeerKind = {
  name: 'redlock, pipelined',
  missing,
  start: (workshop) => start(workshop, 'redlock, pipelined', true),
};

async function start(workshop: Workshop, name: string, isPipelined: boolean): Promise<LeasePeer> {
  const program = installed('redis-server');
  if (program === undefined) throw new Error(leftOut('redis-server'));
  const ports: number[] = [];
  const servers: number[] = [];
  for (let index = 0; index < SERVERS; index += 1) {
    const port = await lastingPort();
    ports.push(port);
    const directory = workshop.folder(`redis-${port}`);
    servers.push(
      serve(workshop, program, [
        ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
        ...['--save', '', '--appendonly', 'no'],
      ]),
    );
  }
  let version = '';
  for (const port of ports) {
    await up('redis-server', async () => {
      const answer = await answerTo(port, 'INFO server\r\n', /redis_version:(\S+)\r\n/);
      version = /redis_version:(\S+)/.exec(answer)?.[1] ?? '';
    });
  }
  const config: RedlockConfig = { ports, isPipelined };
  const client = workshop.start(
    `the client of ${name}`,
    await workshop.bundle('leases/redlock-process'),
    config,
  );
  const { version: ownVersion } = await client.heard('ready');
  return {
    name,
    setting: `redlock ${String(ownVersion)} over ioredis${isPipelined ? ' with enableAutoPipelining' : ''}, Redis ${version} ×${SERVERS}, nothing on disk`,
    client,
    servers,
    close: async () => end(client, servers),
  };
}
