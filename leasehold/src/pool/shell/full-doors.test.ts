import { serveStatus } from '../../node/service/serve-status.ts';
import { describe, expect, it, vi } from 'vitest';
import { listeningLogger, RawPeer, until } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { POOL_PROTOCOL } from '../wire/codec.ts';
import { joinPool } from './owner/join-pool.ts';
import { resolveStrangerLimits, withinOpenFiles } from './manager/limits.ts';
import type { PoolOwner } from './owner/pool-owner.ts';
import { type StartManagerOptions, startManager } from './manager/start-manager.ts';

const portOf = (address: string): number => Number(address.split(':')[1]);

async function opened(options: StartManagerOptions) {
  const logger = listeningLogger();
  const manager = await startManager({
    ...{
      listen: '127.0.0.1:0',
      firstStart: true,
      logger,
      defaults: { leaseMs: 60_000, renewEveryMs: 1_500 },
    },
    ...options,
  });
  const join = (pool: string, name: string, timeoutMs = 60_000): Promise<PoolOwner> =>
    joinPool({
      managers: [manager.address],
      pool,
      name,
      url: `http://${name}`,
      logger: silent,
      timeoutMs,
    });
  const warned = (words: string): number =>
    logger.lines.filter(({ message }) => message.includes(words)).length;
  return { manager, logger, join, warned, [Symbol.asyncDispose]: () => manager.close() };
}

describe('a stranger that holds every connection of a Manager', () => {
  const CONNECTIONS = 20;

  it('keeps no newcomer out, costs the owner that is there no connection, and is one line in the log', async () => {
    await using scene = await opened({ limits: { connections: CONNECTIONS } });
    const { manager, join } = scene;
    const honest = await join('presence', 'honest');
    const peers = Array.from({ length: 5 * CONNECTIONS }, () => new RawPeer(portOf(manager.address)));
    for (const peer of peers) peer.introduce('lookup', POOL_PROTOCOL);
    await until(() => peers.every((peer) => peer.isClosed || peer.heard.length > 0));
    expect(manager.source.traffic().connections).toBeLessThanOrEqual(CONNECTIONS);
    const before = manager.source.traffic().connectionsAccepted;
    const newcomer = await join('presence', 'newcomer');
    // The newcomer has connected once, and the honest owner has not had to connect again.
    expect(manager.source.traffic().connectionsAccepted).toBe(before + 1);
    await vi.waitUntil(() => honest.ranges().length > 0 && newcomer.ranges().length > 0, { timeout: 60_000 });
    expect(manager.source.traffic().limited['connections']).toBeGreaterThan(CONNECTIONS);
    expect(scene.warned('no room for more connections')).toBe(1);
    for (const peer of peers) peer[Symbol.dispose]();
    await newcomer.close();
    await honest.close();
  }, 120_000);
});

describe('a stranger that begins as many pools as there may be', () => {
  it('and leaves them, keeps no newcomer out', async () => {
    await using scene = await opened({ limits: { pools: 3 } });
    const honest = await scene.join('presence', 'honest');
    for (const pool of ['x', 'y', 'z']) {
      const stranger = await scene.join(pool, 'stranger');
      await stranger.close();
    }
    const newcomer = await scene.join('documents', 'newcomer');
    expect(scene.manager.source.traffic().limited['pools']).toBeGreaterThan(0);
    const pools = [...scene.manager.observe().state.pools.keys()];
    expect(pools).toHaveLength(3);
    expect(pools).toEqual(expect.arrayContaining(['presence', 'documents']));
    await newcomer.close();
    await honest.close();
  }, 120_000);

  it('and stays in them, gets no more than one address may, and reads which limit it met', async () => {
    await using scene = await opened({ limits: { poolsPerAddress: 2 } });
    const owners = [await scene.join('x', 'stranger'), await scene.join('y', 'stranger')];
    await expect(scene.join('z', 'stranger', 1_500)).rejects.toMatchObject({
      ...{ code: 'TOO_MANY_POOLS', retryable: true },
      message: expect.stringContaining('limits.poolsPerAddress'),
    });
    await owners[0]?.close();
    const third = await scene.join('z', 'stranger');
    await third.close();
    await owners[1]?.close();
  }, 120_000);
});

describe('a stranger that holds every HTTP connection of a Manager', () => {
  it('keeps no health check out, and is shown', async () => {
    await using scene = await opened({ limits: { httpConnections: 10 } });
    await using server = await serveStatus(scene.manager, { listen: '127.0.0.1:0', logger: scene.logger });
    const { url } = server;
    const peers = Array.from({ length: 100 }, () => new RawPeer(Number(new URL(url).port)));
    await until(() => peers.filter(({ isClosed }) => isClosed).length >= 90);
    expect((await fetch(`${url}/healthz`)).status).toBe(200);
    const { handles } = (await (await fetch(`${url}/v1/status`)).json()) as {
      handles: { limited: { limit: string }[] }[];
    };
    expect(handles[0]?.limited.map(({ limit }) => limit)).toContain('httpConnections');
    expect(scene.warned('no room for more http connections')).toBe(1);
    for (const peer of peers) peer[Symbol.dispose]();
  }, 120_000);
});

describe('limits on connections', () => {
  it('leave descriptors for the files of a process that may open few', () => {
    const limits = resolveStrangerLimits();
    expect(withinOpenFiles(limits, Number.POSITIVE_INFINITY)).toEqual(limits);
    expect(withinOpenFiles(limits, 1_048_576)).toEqual(limits);
    const { connections, httpConnections } = withinOpenFiles(limits, 1_024);
    expect([connections, httpConnections]).toEqual([1_024 - 128 - 128, 128]);
    expect(connections + httpConnections).toBeLessThan(1_024 - 100);
  });
});
