import { describe, expect, it } from 'vitest';
import { httpClient } from '../../node/http-client/http-client.ts';
import { secureContext } from '../../node/http-client/secure-context.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { PromiseClient, done, Watched } from '../testing/promise-client.ts';
import type { EtcdCluster } from '../testing/etcd-cluster.ts';
import { LONG_MS, sharedEtcd } from '../testing/on-etcd.ts';
import { realClient } from '../testing/real-client.ts';
import { parseEtcdAddress } from './address.ts';
import { gatewayClient } from './gateway-client.ts';

const SOMEBODY = { user: 'some:body', password: 'p@ss/w%rd' };

const onLocked = sharedEtcd({ members: 1 }, (cluster) =>
  cluster.enableAuth(SOMEBODY.user, SOMEBODY.password, 'test-'),
);

describe('a real etcd that wants a name and a password', () => {
  it(
    'takes the right ones, also out of an address',
    onLocked(async ({ cluster, prefix, end }) => {
      const [endpoint = ''] = cluster.endpoints;
      const user = `${encodeURIComponent(SOMEBODY.user)}:${encodeURIComponent(SOMEBODY.password)}`;
      const { endpoints, credentials } = parseEtcdAddress(endpoint.replace('http://', `etcd://${user}@`));
      const asking = new PromiseClient(realClient(cluster, { endpoints, credentials }));
      const { lease } = done(await asking.grant(20));
      const { revision } = done(await asking.put(`${prefix}a`, '1', lease));
      expect(done(await asking.keepAlive(lease)).ttlSeconds).toBe(20);
      expect(done(await asking.range({ key: prefix, end })).keyValues).toHaveLength(1);
      using watched = new Watched(asking.client, prefix, end, revision);
      await watched.until((word) => word === `put ${prefix}a 1`);
      expect((await asking.health())[0]).toMatchObject({ reachable: true, isLeader: true });
      expect((await asking.revoke(lease)).kind).toBe('done');
    }),
    LONG_MS,
  );

  it(
    'refuses wrong ones and none at all, and keys that are not ours',
    onLocked(async ({ cluster, prefix }) => {
      const refusedWith = async (credentials: typeof SOMEBODY | undefined, key: string): Promise<unknown> =>
        await new PromiseClient(realClient(cluster, { credentials })).put(key, '1');
      const denied = { kind: 'refused', refusal: { reason: 'denied' } };
      expect(await refusedWith({ ...SOMEBODY, password: 'wrong' }, `${prefix}a`)).toMatchObject(denied);
      expect(await refusedWith({ ...SOMEBODY, user: 'nobody' }, `${prefix}a`)).toMatchObject(denied);
      expect(await refusedWith(undefined, `${prefix}a`)).toMatchObject(denied);
      expect(await refusedWith(SOMEBODY, 'others/a')).toMatchObject(denied);
    }),
    LONG_MS,
  );

  it(
    'ends a watch of keys that are not ours',
    onLocked(async ({ cluster }) => {
      using watched = new Watched(realClient(cluster, { credentials: SOMEBODY }), 'others/', 'others0', 1);
      await watched.until((word) => /^ended: .*denied/.test(word));
    }),
    LONG_MS,
  );

  it(
    'forgets its tokens when it is restarted, which nobody notices',
    onLocked(async ({ cluster, prefix }) => {
      const logger = listeningLogger();
      const asking = new PromiseClient(realClient(cluster, { credentials: SOMEBODY, logger }));
      done(await asking.put(`${prefix}a`, '1'));
      const [member] = cluster.members;
      await member?.kill();
      await member?.start();
      // The server may take a moment before the first answer.
      for (let tries = 0; tries < 10_000; tries += 1) {
        const answer = await asking.put(`${prefix}a`, '2');
        expect(answer).not.toMatchObject({ refusal: { reason: 'denied' } });
        if (answer.kind === 'done') break;
      }
      done(await asking.put(`${prefix}a`, '3'));
      expect(JSON.stringify(logger.lines)).not.toContain(SOMEBODY.password);
    }),
    LONG_MS,
  );
});

const onOpen = sharedEtcd({ members: 1 });

describe('a real etcd on which authentication is switched on', () => {
  it(
    'is given the name and the password that it did not ask for before',
    onOpen(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster, { credentials: SOMEBODY }));
      const { lease } = done(await asking.grant(20));
      done(await asking.put(`${prefix}a`, '1', lease));
      await cluster.enableAuth(SOMEBODY.user, SOMEBODY.password, prefix);
      expect(done(await asking.keepAlive(lease)).ttlSeconds).toBe(20);
      done(await asking.put(`${prefix}a`, '2'));
      expect(done(await asking.range({ key: `${prefix}a` })).keyValues).toHaveLength(1);
      expect((await asking.revoke(lease)).kind).toBe('done');
    }),
    LONG_MS,
  );
});

const onSecure = sharedEtcd({ members: 1, isSecure: true });

const secureClient = (cluster: EtcdCluster, options: Parameters<typeof secureContext>[0]): PromiseClient =>
  new PromiseClient(
    gatewayClient({
      endpoints: cluster.endpoints,
      http: httpClient({ secureContext: secureContext(options) }),
      runtime: nodeRuntime({ unref: true }),
      logger: silent,
    }),
    2_000,
  );

describe('a real etcd by TLS', () => {
  it(
    'answers whom it knows',
    onSecure(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { revision } = done(await asking.put(`${prefix}a`, '1'));
      using watched = new Watched(asking.client, prefix, end, revision);
      await watched.until((word) => word === `put ${prefix}a 1`);
      expect((await asking.health())[0]).toMatchObject({ reachable: true, isLeader: true });
    }),
    LONG_MS,
  );

  it(
    'is told nothing if we do not trust it',
    onSecure(async ({ cluster, prefix }) => {
      const { certificates } = cluster;
      const asking = secureClient(cluster, { ca: certificates?.strangersCa, ...certificates?.client });
      const answer = await asking.put(`${prefix}a`, '1');
      expect(answer).toMatchObject({ kind: 'refused', refusal: { reason: 'unavailable' } });
      expect(JSON.stringify(answer)).toMatch(/certificate/);
    }),
    LONG_MS,
  );

  it(
    'does nothing for whom it does not know',
    onSecure(async ({ cluster, prefix, end }) => {
      const { certificates } = cluster;
      const ca = certificates?.ca;
      for (const options of [{ ca }, { ca, ...certificates?.stranger }]) {
        const answer = await secureClient(cluster, options).put(`${prefix}a`, '1');
        expect(['refused', 'unknown']).toContain(answer.kind);
        if (answer.kind === 'refused') expect(answer.refusal.reason).toBe('unavailable');
      }
      const asking = new PromiseClient(realClient(cluster));
      expect(done(await asking.range({ key: prefix, end })).keyValues).toEqual([]);
    }),
    LONG_MS,
  );

  it(
    'says so if it is asked without TLS',
    onSecure(async ({ cluster, prefix }) => {
      const endpoints = cluster.endpoints.map((endpoint) => endpoint.replace('https', 'http'));
      const answer = await new PromiseClient(realClient(cluster, { endpoints })).put(`${prefix}a`, '1');
      expect(JSON.stringify(answer)).toMatch(/write etcds:\/\//);
    }),
    LONG_MS,
  );
});
