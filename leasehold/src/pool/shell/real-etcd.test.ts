/** Managers in one process, on a real etcd: an operator's view of them in good and in bad times. */

import { serveStatus } from '../../node/service/serve-status.ts';
import { describe, expect, it, vi } from 'vitest';
import { PromiseClient, done, put } from '../../etcd/testing/promise-client.ts';
import type { EtcdCluster } from '../../etcd/testing/etcd-cluster.ts';
import { LONG_MS, type Scene, sharedEtcd } from '../../etcd/testing/on-etcd.ts';
import { realClient } from '../../etcd/testing/real-client.ts';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import type { StatusAnswer } from './service/answers.ts';
import { AsyncDisposableStack } from '../../runtime/async-disposable-stack.ts';
import { joinPool } from './owner/join-pool.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import type { Loss } from './lookup/pool-lookup.ts';
import type { PoolManager } from './manager/pool-manager.ts';
import { LEAP, planRecovery } from './manager/recover.ts';
import { type StartManagerOptions, startManager } from './manager/start-manager.ts';

const SOMEBODY = { user: 'some:body', password: 'p@ss/w%rd' };
const pool = 'presence';

const onEtcd = sharedEtcd();
const onLocked = sharedEtcd({ members: 1 }, (cluster) =>
  cluster.enableAuth(SOMEBODY.user, SOMEBODY.password, 'test-'),
);

const onSmall = sharedEtcd({ members: 1, quotaBytes: 4_000_000 });

const storeOn = ({ endpoints }: Pick<EtcdCluster, 'endpoints'>, prefix: string, user = ''): string =>
  `etcd://${user}${endpoints.map((endpoint) => new URL(endpoint).host).join(',')}/${prefix}`;

/** Of each Manager. */
const statusUrls = new WeakMap<PoolManager, string>();

async function start(
  { cluster, prefix }: Scene,
  id: string,
  options: Partial<StartManagerOptions> = {},
): Promise<PoolManager> {
  const store = storeOn(cluster, prefix);
  const manager = await startManager({ store, name: id, listen: '127.0.0.1:0', logger: silent, ...options });
  const server = await serveStatus(manager, { listen: '127.0.0.1:0', logger: silent });
  statusUrls.set(manager, server.url);
  const close = manager.close.bind(manager);
  manager.close = async () => {
    await server.close();
    await close();
  };
  return manager;
}

async function startThree(
  scene: Scene,
  all: AsyncDisposableStack,
): Promise<readonly [PoolManager, PoolManager, PoolManager]> {
  const first = all.use(await start(scene, 'm1'));
  await first.whenLeading();
  return [first, all.use(await start(scene, 'm2')), all.use(await start(scene, 'm3'))];
}

async function statusOf(manager: PoolManager): Promise<StatusAnswer> {
  const answer = await fetch(`${statusUrls.get(manager)}/v1/status`);
  const { handles } = (await answer.json()) as { readonly handles: readonly [StatusAnswer] };
  return handles[0];
}

const eventually = (isSo: () => boolean | Promise<boolean>): Promise<unknown> =>
  vi.waitUntil(isSo, { timeout: 30_000, interval: 20 });

describe('Managers that share an etcd', { timeout: LONG_MS }, () => {
  it(
    'have one leader, and all know of all',
    onEtcd(async (scene) => {
      await using all = new AsyncDisposableStack();
      const managers = await startThree(scene, all);
      for (const manager of managers) {
        await eventually(async () => (await statusOf(manager)).managers.length === 3);
        await eventually(async () => (await statusOf(manager)).store.members.length === 3);
        // The log names the leader after the wait for leases of an earlier log.
        await eventually(async () => (await statusOf(manager)).leader !== null);
        const status = await statusOf(manager);
        expect(status.leader).toEqual({ id: 'm1', address: managers[0].address });
        expect(status.managers[0]).toMatchObject({ id: manager.name, isSelf: true });
        for (const { id, address, http, isLeader, isSelf } of status.managers) {
          const other = managers.find((each) => each.name === id);
          expect([address, http]).toEqual([other?.address, other && statusUrls.get(other)]);
          expect([isLeader, isSelf]).toEqual([id === 'm1', id === manager.name]);
        }
        expect(status.store.members.every(({ isReachable }) => isReachable)).toBe(true);
        expect([status.isReady, status.role]).toEqual([true, manager.name === 'm1' ? 'leading' : 'standby']);
      }
      await managers[1].close();
      await eventually(async () => (await statusOf(managers[2])).managers.length === 2);
    }),
  );

  it(
    'hand over at once when the leader steps down, and no owner notices',
    onEtcd(async (scene) => {
      await using all = new AsyncDisposableStack();
      const managers = await startThree(scene, all);
      const addresses = managers.map(({ address }) => address);
      await using owner = await joinPool({ managers: addresses, pool, name: 'a', url: 'http://a' });
      const number = await owner.whenOwned('alice');
      const answer = await fetch(`${statusUrls.get(managers[0])}/v1/manager/step-down`, {
        ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      });
      const { hasSteppedDown, leader } = (await answer.json()) as {
        hasSteppedDown: boolean;
        leader: { id: string };
      };
      expect([answer.status, hasSteppedDown, leader.id === 'm1']).toEqual([200, true, false]);
      expect(managers[0].observe().role).toBe('standby');
      expect(await managers[0].stepDown()).toBe(false);
      expect(owner.isHeld('alice', number)).toBe(true);
    }),
  );

  it(
    'are not left by the only one of them',
    onEtcd(async (scene) => {
      await using alone = await start(scene, 'm1');
      await alone.whenLeading();
      const [one, other] = [alone.stepDown(), alone.stepDown()];
      await expect(one).rejects.toMatchObject({ code: 'ALONE', retryable: true });
      await expect(other).rejects.toMatchObject({ code: 'ALONE' });
      expect(alone.source.counters.depositions).toBe(0);
    }),
  );

  it(
    'are not left by one while etcd is full, and so nobody could be elected',
    onSmall(async (scene) => {
      await using all = new AsyncDisposableStack();
      const leader = all.use(await start(scene, 'm1'));
      await leader.whenLeading();
      all.use(await start(scene, 'm2'));
      const asking = new PromiseClient(realClient(scene.cluster));
      const fill = async (): Promise<boolean> =>
        (await asking.put(`${scene.prefix}rubbish`, Buffer.alloc(1_000_000))).kind !== 'done';
      await eventually(fill);
      await eventually(async () =>
        /NOSPACE/.test((await statusOf(leader)).store.members[0]?.complaint ?? ''),
      );
      await expect(leader.stepDown()).rejects.toThrow(/NOSPACE.*Make room/);
      expect(leader.source.counters.depositions).toBe(0);
    }),
  );

  it(
    'can be closed while one steps down',
    onEtcd(async (scene) => {
      const alone = await start(scene, 'm1');
      await alone.whenLeading();
      const steppingDown = alone.stepDown();
      const refused = expect(steppingDown).rejects.toMatchObject({ code: 'CLOSED' });
      await alone.close();
      await refused;
      await expect(alone.whenLeading()).rejects.toMatchObject({ code: 'CLOSED' });
    }),
  );

  it(
    'say that they can do nothing while etcd has no majority, and nothing once they are closed',
    onEtcd(async (scene) => {
      await using all = new AsyncDisposableStack();
      const logger = listeningLogger();
      const leader = all.use(await start(scene, 'm1', { logger }));
      await leader.whenLeading();
      const standby = all.use(await start(scene, 'm2', { logger }));
      for (const member of scene.cluster.members.slice(1)) await member.kill();
      await eventually(async () => /leader lease/.test((await statusOf(leader)).whyNotReady ?? ''));
      await eventually(async () => /store/.test((await statusOf(standby)).whyNotReady ?? ''));
      await eventually(
        async () =>
          (await statusOf(leader)).store.members.filter(({ isReachable }) => isReachable).length === 1,
      );
      expect((await fetch(`${statusUrls.get(leader)}/readyz`)).status).toBe(503);
      await all[Symbol.asyncDispose]();
      const said = logger.lines.length;
      for (const member of scene.cluster.members) await member.kill();
      await scene.cluster.heal();
      expect(logger.lines.slice(said)).toEqual([]);
    }),
  );
});

describe('a Manager that starts', { timeout: LONG_MS }, () => {
  it(
    'waits for an etcd that starts later, and says so',
    onEtcd(async (scene) => {
      const { members } = scene.cluster;
      await Promise.all(members.map((member) => member.kill()));
      const logger = listeningLogger();
      const starting = start(scene, 'm1', { logger });
      const isSaid = (message: string): boolean => logger.lines.some((line) => line.message === message);
      await eventually(() => isSaid('waits for etcd'));
      await Promise.all(members.map((member) => member.start()));
      await using manager = await starting;
      await manager.whenLeading();
      expect(isSaid('etcd answers')).toBe(true);
    }),
  );

  it('gives up when its time is over, with the reason, or when it is told to', async () => {
    const store = 'etcd://127.0.0.1:1';
    const options = { listen: '127.0.0.1:0', logger: silent } as const;
    await expect(startManager({ ...options, store, timeoutMs: 300 })).rejects.toMatchObject({
      ...{ code: 'ETCD_UNAVAILABLE', retryable: true },
      message: expect.stringContaining('ECONNREFUSED'),
    });
    const giveUp = new AbortController();
    const why = new Error('no time');
    const starting = startManager({ ...options, store, signal: giveUp.signal });
    giveUp.abort(why);
    await expect(starting).rejects.toBe(why);
  });

  it(
    'does not begin where another cluster is, or something else',
    onEtcd(async (scene) => {
      const { cluster, prefix } = scene;
      const etcd = storeOn(cluster, prefix);
      await using _ = await start(scene, 'm1', { store: { etcd, cluster: 'blue' } });
      const other = start(scene, 'm2', { store: { etcd, cluster: 'green' } });
      await expect(other).rejects.toMatchObject({
        ...{ code: 'PREFIX_IN_USE', retryable: false },
        message: expect.stringContaining('"blue"'),
      });
      done(await new PromiseClient(realClient(cluster)).put(`${prefix}more/x`, 'a value'));
      const within = startManager({
        store: storeOn(cluster, `${prefix}more`),
        listen: '127.0.0.1:0',
        logger: silent,
      });
      await expect(within).rejects.toMatchObject({ code: 'PREFIX_IN_USE' });
    }),
  );

  it(
    'ends at once if its endpoints are not of one cluster, and says which belongs to which',
    onEtcd(async (scene) => {
      const { cluster: stray } = await onSmall.scene();
      const endpoints = [...scene.cluster.endpoints.slice(0, 2), ...stray.endpoints];
      for (let tries = 0; tries < 4; tries += 1) {
        const starting = start(scene, 'm1', {
          store: storeOn({ endpoints }, scene.prefix),
        });
        await expect(starting).rejects.toMatchObject({
          ...{ code: 'ETCD_UNAVAILABLE', retryable: false, reason: 'divided' },
          message: expect.stringMatching(new RegExp(`cluster \\d+ at ${stray.endpoints[0]}(;|$)`)),
        });
      }
      const found = await new PromiseClient(realClient(stray)).range({ key: scene.prefix, end: scene.end });
      expect(done(found).keyValues).toEqual([]);
    }),
  );

  it(
    'ends at once with wrong credentials, which nobody gets to see',
    onLocked(async (scene) => {
      const { cluster, prefix } = scene;
      const [user, password] = [SOMEBODY.user, SOMEBODY.password].map(encodeURIComponent);
      const logger = listeningLogger();
      const wrong = start(scene, 'm1', { store: storeOn(cluster, prefix, `${user}:wrong-s3cret@`), logger });
      await expect(wrong).rejects.toMatchObject({ code: 'ETCD_UNAVAILABLE', retryable: false });
      await expect(wrong).rejects.not.toThrow('s3cret');
      const elsewhere = start(scene, 'm1', {
        store: storeOn(cluster, 'other', `${user}:${password}@`),
        logger,
      });
      await expect(elsewhere).rejects.toMatchObject({ code: 'ETCD_UNAVAILABLE', retryable: false });
      await using right = await start(scene, 'm1', {
        store: storeOn(cluster, prefix, `${user}:${password}@`),
      });
      await right.whenLeading();
      expect(JSON.stringify([logger.lines, await statusOf(right)])).not.toMatch(/s3cret|p@ss|p%40ss/);
    }),
  );
});

describe('a log in etcd that somebody has deleted', { timeout: LONG_MS }, () => {
  it(
    'is said to be gone by those who follow it, and whom they followed stands in their log',
    onEtcd(async (scene) => {
      await using all = new AsyncDisposableStack();
      const defaults = { leaseMs: 4_000 };
      const first = all.use(await start(scene, 'm1', { defaults }));
      await first.whenLeading();
      const logger = listeningLogger();
      const standby = all.use(await start(scene, 'm2', { defaults, logger }));
      await eventually(() => standby.status().leader !== undefined);
      const { address } = first;
      const { term } = first.observe();
      expect(logger.lines.filter(({ message }) => message === 'follows another Manager')).toEqual([
        { level: 'info', message: 'follows another Manager', leader: 'm1', address, term },
      ]);
      const asking = new PromiseClient(realClient(scene.cluster));
      done(await asking.transact({ success: [{ do: 'delete', key: scene.prefix, end: scene.end }] }));
      await eventually(async () =>
        /^the log is gone from etcd/.test((await statusOf(standby)).whyNotReady ?? ''),
      );
    }),
  );

  it(
    'is begun anew by a Manager that starts; it gives nobody a key that another may hold, and no number twice',
    onEtcd(async (scene) => {
      await using all = new AsyncDisposableStack();
      const defaults = { leaseMs: 4_000 };
      const first = all.use(await start(scene, 'm1', { defaults }));
      await first.whenLeading();
      const join = async (name: string, { address }: PoolManager) =>
        all.use(await joinPool({ managers: [address], pool, name, url: `http://${name}`, logger: silent }));
      const one = await join('a', first);
      const before = await one.whenOwned('alice');
      const asking = new PromiseClient(realClient(scene.cluster));
      done(await asking.transact({ success: [{ do: 'delete', key: scene.prefix, end: scene.end }] }));
      await first.close(); // Or it could be elected on the new log, and grant the key to its old owner.
      const second = all.use(await start(scene, 'm2', { defaults }));
      const two = await join('b', second);
      const number = await two.whenOwned('alice');
      expect(one.check('alice')).toBeUndefined();
      expect(number).toBeGreaterThan(before);
    }),
  );
});

describe('a log in etcd that was put back from a backup', { timeout: LONG_MS }, () => {
  it(
    'halts the Manager that leads on it; with its counters raised it goes on above all that was given',
    onEtcd(async (scene) => {
      const { cluster, prefix, end } = scene;
      const store = storeOn(cluster, prefix);
      const asking = new PromiseClient(realClient(cluster));
      const options = { defaults: { leaseMs: 9_000 } };
      const first = await start(scene, 'm1', options);
      const listen = first.address;
      const managers = [first.address];
      await first.whenLeading();
      const losses: Loss[] = [];
      const one = await joinPool({ managers, pool, name: 'a', url: 'http://a', logger: silent });
      await one.whenOwned('alice');
      await first.close();
      const backup = done(await asking.range({ key: prefix, end })).keyValues;

      const second = await start(scene, 'm1', { ...options, listen });
      const two = await joinPool({ managers, pool, name: 'b', url: 'http://b', logger: silent });
      await two.close();
      const { position } = second.observe().state;
      const onLoss = (loss: Loss): void => void losses.push(loss);
      await using lookup = await connectLookup({ managers, pool, onLoss, logger: silent });
      await eventually(() => (lookup.position?.position ?? 0) >= position);
      await expect(planRecovery({ store, logger: silent })).rejects.toMatchObject({ code: 'LEADER_ALIVE' });
      await second.close();
      done(await asking.transact({ success: [{ do: 'delete', key: prefix, end }] }));
      for (const { key, value } of backup) done(await asking.transact({ success: [put(key, value)] }));

      const third = await start(scene, 'm1', { ...options, listen });
      await eventually(() => third.observe().role === 'halted');
      await third.close();

      // A supervisor starts the Manager again; the new process remembers nothing, but does not lead.
      const logger = listeningLogger();
      const again = await start(scene, 'm1', { ...options, listen, logger });
      await eventually(() =>
        logger.lines.some(({ message }) => /^no Manager may lead.*manager recover/.test(message)),
      );
      expect(again.observe().role).toBe('standby');
      await again.close();

      const recovery = await planRecovery({ store, logger: silent });
      expect(recovery.found.position).toBeLessThan(position);
      expect(recovery.above.position).toBe(recovery.found.position + LEAP);
      const raised = await recovery.carryOut();
      expect(raised.history).not.toBe(recovery.found.history);

      await using fourth = await start(scene, 'm1', { ...options, listen });
      await eventually(() => (one.check('alice') ?? 0) > recovery.above.position);
      expect(fourth.observe().term).toBeGreaterThan(LEAP);
      await eventually(() => losses.some(({ has }) => has('alice')));
      await one.close();
    }),
    2 * LONG_MS,
  );

  it(
    'is not looked for where there is none',
    onEtcd(async ({ cluster, prefix }) => {
      const planning = planRecovery({ store: storeOn(cluster, prefix), logger: silent });
      await expect(planning).rejects.toMatchObject({
        ...{ code: 'PREFIX_IN_USE', message: expect.stringContaining('there is no log') },
      });
    }),
  );
});
