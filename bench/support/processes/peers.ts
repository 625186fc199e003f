/**
 * The servers that others keep their leases in, started for a measurement where they are installed. One
 * that is not is left out, and the reader is told so: a peer that silently is not there flatters us.
 */

import { accessSync, constants } from 'node:fs';
import { delimiter, join } from 'node:path';
import process from 'node:process';
import { Redis } from 'ioredis';
import { nowMs, pause } from './conversation.ts';
import { freePort, type Workshop } from './workshop.ts';

const UP_WITHIN_MS = 20_000;

/** Where a program is; undefined if it is nowhere. */
export function installed(program: string): string | undefined {
  const places = (process.env['PATH'] ?? '').split(delimiter).map((place) => join(place, program));
  return places.find((path) => {
    try {
      accessSync(path, constants.X_OK);
      return true;
    } catch {
      return false; // Not here.
    }
  });
}

export const leftOut = (program: 'redis-server' | 'etcd' | 'java' | 'zookeeper'): string =>
  `LEFT OUT: ${program} is not installed. As root, node scripts/setup-tools.mjs installs what is missing.`;

/** A Redis that keeps everything in memory and a client of it; undefined where it is not installed. */
export async function openRedis(workshop: Workshop): Promise<Redis | undefined> {
  const program = installed('redis-server');
  if (program === undefined) return undefined;
  const port = await freePort();
  const directory = workshop.folder('redis');
  workshop.serve(program, [
    ...['--port', String(port), '--bind', '127.0.0.1', '--dir', directory],
    ...['--save', '', '--appendonly', 'no'],
  ]);
  const redis = new Redis({ host: '127.0.0.1', port, lazyConnect: true, retryStrategy: () => null });
  // Every attempt fails by itself, with the same error.
  redis.on('error', () => {});
  await up('redis-server', async () => {
    await redis.connect();
  });
  return redis;
}

/** The address of one etcd, durable as it always is; undefined where it is not installed. */
export async function openEtcd(workshop: Workshop): Promise<string | undefined> {
  const program = installed('etcd');
  if (program === undefined) return undefined;
  const url = `http://127.0.0.1:${await freePort()}`;
  const peerUrl = `http://127.0.0.1:${await freePort()}`;
  workshop.serve(program, [
    ...['--name', 'one', '--data-dir', workshop.folder('etcd'), '--log-level', 'error'],
    ...['--listen-client-urls', url, '--advertise-client-urls', url],
    ...['--listen-peer-urls', peerUrl, '--initial-advertise-peer-urls', peerUrl],
    ...['--initial-cluster', `one=${peerUrl}`, '--initial-cluster-state', 'new'],
  ]);
  await up('etcd', async () => {
    const { health } = (await (await fetch(`${url}/health`)).json()) as { health: string };
    if (health !== 'true') throw new Error(`its health is ${health}`);
  });
  return url;
}

/** Tries until it is there. */
export async function up(program: string, tryIt: () => Promise<void>): Promise<void> {
  const until = nowMs() + UP_WITHIN_MS;
  for (;;) {
    try {
      return await tryIt();
    } catch (cause) {
      if (nowMs() > until) throw new Error(`${program} does not come up`, { cause });
    }
    await pause(50);
  }
}
