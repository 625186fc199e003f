import { afterAll, describe, expect, it } from 'vitest';
import { PromiseClient, done, put, Watched } from '../testing/promise-client.ts';
import { EtcdCluster } from '../testing/etcd-cluster.ts';
import { LONG_MS, leaveOutWithoutEtcd, sharedEtcd } from '../testing/on-etcd.ts';
import { realClient } from '../testing/real-client.ts';

const onEtcd = sharedEtcd({ members: 1 });

const text = (bytes: Uint8Array | undefined): string | undefined =>
  bytes === undefined ? undefined : Buffer.from(bytes).toString();

describe('a transaction on a real etcd', () => {
  it(
    'compares by create revision, by revision and by value, and tells what it found',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster));
      const key = `${prefix}a`;
      const absent = { compare: [{ key, createRevision: 0 }], success: [put(key, 'one')] };
      const first = done(await asking.transact(absent));
      expect(first.succeeded).toBe(true);

      const second = done(
        await asking.transact({
          ...absent,
          failure: [
            { do: 'get', key },
            { do: 'get', key: `${prefix}b` },
          ],
        }),
      );
      expect(second.succeeded).toBe(false);
      const [found, missing] = second.found;
      expect(missing).toBeUndefined();
      expect(found).toMatchObject({
        key,
        createRevision: first.revision,
        modRevision: first.revision,
        lease: '0',
      });
      expect(text(found?.value)).toBe('one');

      const third = done(await asking.put(key, 'two'));
      const holds = [
        { key, createRevision: first.revision },
        { key, modRevision: third.revision },
        { key, value: Buffer.from('two') },
      ];
      expect(done(await asking.transact({ compare: holds })).succeeded).toBe(true);
      const other = { key, value: Buffer.from('one') };
      expect(done(await asking.transact({ compare: [...holds, other] })).succeeded).toBe(false);
    }),
    LONG_MS,
  );

  it(
    'puts, gets and deletes all at once, at the revision that it names',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { revision } = done(
        await asking.transact({ success: [put(`${prefix}a`, 'x'), put(`${prefix}b`, 'y')] }),
      );
      const { keyValues } = done(await asking.range({ key: prefix, end }));
      expect(keyValues.map(({ modRevision }) => modRevision)).toEqual([revision, revision]);
      const success = [
        { do: 'get', key: `${prefix}a` },
        { do: 'delete', key: prefix, end },
      ] as const;
      expect(text(done(await asking.transact({ success })).found[0]?.value)).toBe('x');
      expect(done(await asking.range({ key: prefix, end })).keyValues).toEqual([]);
    }),
    LONG_MS,
  );

  it(
    'keeps every byte, and values that are empty',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const odd = Uint8Array.from({ length: 256 }, (_, byte) => byte);
      done(await asking.transact({ success: [put(`${prefix}a`, odd), put(`${prefix}b`, '')] }));
      const [a, b] = done(await asking.range({ key: prefix, end })).keyValues;
      expect([[...(a?.value ?? [])], b?.value.length]).toEqual([[...odd], 0]);
    }),
    LONG_MS,
  );

  it(
    'is refused if it is too large, and leaves nothing',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      for (const bytes of [1_600_000, 2_500_000]) {
        expect(await asking.put(`${prefix}a`, new Uint8Array(bytes))).toMatchObject({
          kind: 'refused',
          refusal: { reason: 'too-large' },
        });
      }
      const many = Array.from({ length: 129 }, (_, index) => put(`${prefix}${index}`, 'x'));
      expect(await asking.transact({ success: many })).toMatchObject({ refusal: { reason: 'too-large' } });
      expect(done(await asking.range({ key: prefix, end })).keyValues).toEqual([]);
      done(await asking.put(`${prefix}a`, new Uint8Array(1_400_000)));
    }),
    LONG_MS,
  );
});

describe('a range of a real etcd', () => {
  it(
    'is in order, in pages, and as it was at a revision',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      for (const key of ['c', 'a', 'b']) done(await asking.put(prefix + key, key));
      const first = done(await asking.range({ key: prefix, end, limit: 2 }));
      expect([first.keyValues.map(({ value }) => text(value)), first.more]).toEqual([['a', 'b'], true]);
      done(await asking.put(`${prefix}c`, 'changed'));
      const rest = done(await asking.range({ key: `${prefix}c`, end, revision: first.revision }));
      expect([rest.keyValues.map(({ value }) => text(value)), rest.more]).toEqual([['c'], false]);
    }),
    LONG_MS,
  );

  it(
    'is refused if its revision is no longer kept, or not there yet',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster));
      done(await asking.put(`${prefix}a`, 'x'));
      const { revision } = done(await asking.put(`${prefix}a`, 'y'));
      const [member] = cluster.members;
      if (member === undefined) throw new Error('no member');
      await cluster.ask(member, '/v3/kv/compaction', { revision: String(revision) });
      const at = (of: number) => asking.range({ key: `${prefix}a`, revision: of });
      expect(await at(revision - 1)).toMatchObject({ refusal: { reason: 'compacted' } });
      expect(await at(revision + 1_000)).toMatchObject({ refusal: { reason: 'other' } });
    }),
    LONG_MS,
  );

  it(
    'is refused if it is larger than we read',
    onEtcd(async ({ cluster, prefix }) => {
      const asking = new PromiseClient(realClient(cluster, { answerBytesMax: 10_000 }));
      done(await asking.put(`${prefix}a`, new Uint8Array(8_000)));
      expect(await asking.range({ key: `${prefix}a` })).toMatchObject({ refusal: { reason: 'too-large' } });
    }),
    LONG_MS,
  );
});

describe('a lease of a real etcd', () => {
  it(
    'takes its keys with it when it is revoked',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { lease, ttlSeconds } = done(await asking.grant(30));
      expect(ttlSeconds).toBe(30);
      done(await asking.put(`${prefix}a`, 'x', lease));
      expect(done(await asking.range({ key: `${prefix}a` })).keyValues[0]?.lease).toBe(lease);
      expect(done(await asking.keepAlive(lease)).ttlSeconds).toBe(30);
      expect((await asking.revoke(lease)).kind).toBe('done');
      expect(done(await asking.range({ key: prefix, end })).keyValues).toEqual([]);
      expect(await asking.revoke(lease)).toMatchObject({ refusal: { reason: 'no-lease' } });
      expect(done(await asking.keepAlive(lease)).ttlSeconds).toBe(0);
      expect(await asking.put(`${prefix}a`, 'x', lease)).toMatchObject({ refusal: { reason: 'no-lease' } });
    }),
    LONG_MS,
  );

  it(
    'runs out when nobody keeps it alive, not before, and takes its keys with it',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { lease, ttlSeconds } = done(await asking.grant(1));
      const { revision } = done(await asking.put(`${prefix}a`, 'x', lease));
      using watched = new Watched(asking.client, prefix, end, revision);
      const keptAt = performance.now();
      done(await asking.keepAlive(lease));
      await watched.until((word) => word === `delete ${prefix}a`);
      expect(performance.now() - keptAt).toBeGreaterThanOrEqual(ttlSeconds * 1_000);
      expect(done(await asking.keepAlive(lease)).ttlSeconds).toBe(0);
    }),
    LONG_MS,
  );
});

describe('a watch on a real etcd', () => {
  it(
    'begins in the past and goes on with what comes',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { revision } = done(await asking.put(`${prefix}a`, '1'));
      done(await asking.put(`${prefix}a`, '2'));
      using watched = new Watched(asking.client, prefix, end, revision + 1);
      await watched.until((word) => word.endsWith('2'));
      done(await asking.transact({ success: [put(`${prefix}b`, '3'), { do: 'delete', key: `${prefix}a` }] }));
      await watched.until((word) => word.startsWith('delete'));
      done(await asking.put(`${end}-not-watched`, 'x'));
      done(await asking.put(`${prefix}c`, '4'));
      await watched.until((word) => word.endsWith('4'));
      expect(watched.told.map((word) => word.replaceAll(prefix, ''))).toEqual([
        'put a 2',
        'put b 3',
        'delete a',
        'put c 4',
      ]);
      expect(watched.revisions).toEqual([revision + 1, revision + 2, revision + 2, revision + 4]);
    }),
    LONG_MS,
  );

  it(
    'brings megabytes of the past in fragments, all of it',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      const { revision } = done(await asking.put(`${prefix}first`, 'x'));
      const large = 'x'.repeat(700_000);
      for (let index = 0; index < 12; index += 1) done(await asking.put(`${prefix}${index}`, large));
      using watched = new Watched(realClient(cluster, { answerBytesMax: 4_000_000 }), prefix, end, revision);
      await watched.until((word) => word.startsWith(`put ${prefix}11 `));
      expect(watched.revisions).toEqual(Array.from({ length: 13 }, (_, index) => revision + index));
    }),
    LONG_MS,
  );

  it(
    'ends if its revision is no longer kept',
    onEtcd(async ({ cluster, prefix, end }) => {
      const asking = new PromiseClient(realClient(cluster));
      done(await asking.put(`${prefix}a`, 'x'));
      const { revision } = done(await asking.put(`${prefix}a`, 'y'));
      const [member] = cluster.members;
      if (member === undefined) throw new Error('no member');
      await cluster.ask(member, '/v3/kv/compaction', { revision: String(revision) });
      using watched = new Watched(asking.client, prefix, end, revision - 1);
      await watched.until((word) => word === 'compacted');
      expect(watched.told).toEqual(['compacted']);
    }),
    LONG_MS,
  );
});

describe('an etcd that is full', () => {
  let cluster: EtcdCluster | undefined;
  afterAll(async () => await cluster?.[Symbol.asyncDispose]());

  it(
    'refuses what needs room, still reads and deletes, and says so in its health',
    async (context) => {
      leaveOutWithoutEtcd(context);
      cluster = await EtcdCluster.start({ members: 1, quotaBytes: 4 * 1024 * 1024 });
      const asking = new PromiseClient(realClient(cluster));
      let answer = await asking.put('full/0', new Uint8Array(500_000));
      for (let index = 1; answer.kind === 'done' && index < 50; index += 1) {
        answer = await asking.put(`full/${index}`, new Uint8Array(500_000));
      }
      expect(answer).toMatchObject({ kind: 'unknown', refusal: { reason: 'no-space' } });
      expect(await asking.grant(10)).toMatchObject({ kind: 'refused', refusal: { reason: 'no-space' } });
      expect((await asking.range({ key: 'full/0' })).kind).toBe('done');
      expect((await asking.transact({ success: [{ do: 'delete', key: 'full/0' }] })).kind).toBe('done');
      const [member] = await asking.health();
      expect(member).toMatchObject({ reachable: true, isLeader: true });
      expect(member?.complaint).toMatch(/NOSPACE/);
    },
    LONG_MS,
  );
});
