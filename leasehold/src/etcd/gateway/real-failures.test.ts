import { describe, expect, it } from 'vitest';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { PromiseClient, done, put, Watched } from '../testing/promise-client.ts';
import type { EtcdCluster, EtcdMember } from '../testing/etcd-cluster.ts';
import { LONG_MS, sharedEtcd } from '../testing/on-etcd.ts';
import { realClient } from '../testing/real-client.ts';

const onEtcd = sharedEtcd({ members: 3, isRelayed: true });

/** Our client begins with the first member; the others are enough for etcd. */
const first = (cluster: EtcdCluster): EtcdMember => cluster.members[0] as EtcdMember;

/** Asks until it is done, as the log does. */
async function insist<T>(ask: () => Promise<{ readonly kind: string } & T>): Promise<void> {
  for (let tries = 0; (await ask()).kind !== 'done'; tries += 1) expect(tries).toBeLessThan(100);
}

describe('a member of a real etcd that is killed', () => {
  it(
    'is followed by the next, and said to fail once and to be well once',
    onEtcd(async ({ cluster, prefix }) => {
      const logger = listeningLogger();
      const asking = new PromiseClient(realClient(cluster, { logger }));
      done(await asking.put(`${prefix}a`, '1'));
      await first(cluster).kill();
      await insist(() => asking.put(`${prefix}a`, '2'));
      for (let round = 0; round < 10; round += 1) await insist(() => asking.put(`${prefix}a`, String(round)));
      const { endpoint } = first(cluster);
      const about = (level: string) =>
        logger.lines.filter((line) => line.level === level && line.message.includes(endpoint));
      expect(about('warn')).toHaveLength(1);
      await cluster.heal();
      const members = await asking.health();
      expect(members.every(({ reachable }) => reachable)).toBe(true);
      expect(about('info')).toHaveLength(1);
    }),
    LONG_MS,
  );

  it(
    'is known by its refused connection to have got nothing: the same request goes to the next',
    onEtcd(async ({ cluster, prefix }) => {
      await first(cluster).kill();
      await cluster.whenLed();
      const asking = new PromiseClient(realClient(cluster));
      expect((await asking.put(`${prefix}a`, '1')).kind).toBe('done');
    }),
    LONG_MS,
  );

  it(
    'ends its watch, and the next one goes on at another where it ended',
    onEtcd(async ({ cluster, prefix, end }) => {
      const { client } = new PromiseClient(realClient(cluster));
      const asking = new PromiseClient(realClient(cluster, { random: 0.9 }));
      const { revision } = done(await asking.put(`${prefix}a`, '1'));
      using watched = new Watched(client, prefix, end, revision);
      await watched.until((word) => word.endsWith('1'));
      await first(cluster).kill();
      await watched.until((word) => word.startsWith('ended'));
      await insist(() => asking.put(`${prefix}b`, '2'));
      using again = new Watched(client, prefix, end, revision + 1);
      await again.until((word) => word.endsWith('2'));
      expect(watched.told.filter((word) => word.startsWith('ended'))).toHaveLength(1);
    }),
    LONG_MS,
  );

  it(
    'takes no lease with it that is kept alive at another',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { lease } = done(await asking.grant(30));
      done(await asking.put(`${prefix}a`, '1', lease));
      await (await cluster.whenLed()).kill();
      await insist(() => asking.keepAlive(lease));
      expect(done(await asking.range({ key: `${prefix}a` })).keyValues).toHaveLength(1);
    }),
    LONG_MS,
  );
});

describe('a member of a real etcd that is stopped', () => {
  it(
    'costs a read half of its time',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster));
      done(await asking.put(`${prefix}a`, '1'));
      first(cluster).pause();
      await cluster.whenLed();
      expect(done(await asking.range({ key: `${prefix}a` }, 2_000)).keyValues).toHaveLength(1);
    }),
    LONG_MS,
  );

  it(
    'leaves a transaction unknown, and does it later or never; the next one is done elsewhere',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster));
      done(await asking.put(`${prefix}a`, '1'));
      first(cluster).pause();
      expect((await asking.transact({ success: [put(`${prefix}c`, '1')] }, 500)).kind).toBe('unknown');
      await cluster.whenLed();
      await insist(() => asking.put(`${prefix}b`, '2'));
    }),
    LONG_MS,
  );

  it(
    'ends its watch when another request there is not answered',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { revision } = done(await asking.put(`${prefix}a`, '1'));
      using watched = new Watched(asking.client, prefix, end, revision);
      await watched.until((word) => word.endsWith('1'));
      first(cluster).pause();
      await asking.range({ key: `${prefix}a` }, 1_000);
      expect(watched.told.at(-1)).toBe('ended: the member does not answer');
      await cluster.whenLed();
      await insist(() => asking.put(`${prefix}b`, '2'));
      using again = new Watched(asking.client, prefix, end, revision + 1);
      await again.until((word) => word.endsWith('2'));
    }),
    LONG_MS,
  );
});

describe('a member of a real etcd that is cut off from the others', () => {
  it(
    'refuses soon, so that the next is asked, and ends its watch',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const watching = realClient(cluster);
      const { revision } = done(await asking.put(`${prefix}a`, '1'));
      using watched = new Watched(watching, prefix, end, revision);
      await watched.until((word) => word.endsWith('1'));
      await cluster.cutOff(first(cluster));
      await insist(() => asking.put(`${prefix}b`, '2'));
      await watched.until((word) => word.startsWith('ended'));
      expect(watched.told.filter((word) => word.startsWith('put'))).toHaveLength(1);
    }),
    LONG_MS,
  );
});

describe('an etcd without a majority', () => {
  it(
    'does nothing, and says which members are not there',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster), 1_500);
      const [, second, third] = cluster.members;
      await second?.kill();
      await third?.kill();
      const answer = await asking.put(`${prefix}a`, '1');
      expect(['unknown', 'refused']).toContain(answer.kind);
      expect((await asking.range({ key: `${prefix}a` })).kind).not.toBe('done');
      expect((await asking.health()).map(({ reachable }) => reachable)).toEqual([true, false, false]);
    }),
    LONG_MS,
  );

  it(
    'that is not there at all refuses: nothing was sent',
    onEtcd(async ({ cluster, prefix }) => {
      for (const member of cluster.members) await member.kill();
      const asking = new PromiseClient(realClient(cluster));
      expect(await asking.put(`${prefix}a`, '1')).toMatchObject({
        kind: 'refused',
        refusal: { reason: 'unavailable' },
      });
      using watched = new Watched(asking.client, prefix, 'z', 1);
      await watched.until((word) => /^ended: .*ECONNREFUSED/.test(word));
    }),
    LONG_MS,
  );
});
