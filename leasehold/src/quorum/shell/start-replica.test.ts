import { cp, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { InvalidOptionError } from '../../runtime/errors.ts';
import { silent } from '../../runtime/logger.ts';
import { TestGroup } from './testing/groups.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);
const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

describe('three replicas', () => {
  it('found a group, take a write at one and show it at every other', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const { revision } = await group.connect('a').put('k', 'v');
    expect(revision).toBeGreaterThan(0);
    for (const name of ['a', 'b', 'c']) {
      const found = await group.connect(name).get('k');
      expect([text(found.value), found.revision]).toEqual(['v', revision]);
    }
  });

  it('answer reads from their own memory once they hold leases, and say so', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.connect('a').put('k', 'v');
    for (const name of ['a', 'b', 'c']) {
      const client = group.connect(name);
      await eventually(async () => expect((await client.get('k')).served).toBe('local'));
    }
    const client = group.connect('a');
    expect((await client.get('k', { mode: 'quorum' })).served).toBe('quorum');
    expect((await client.get('k', { mode: 'log' })).served).toBe('log');
    expect((await client.get('k', { mode: 'stale' })).served).toBe('stale');
  });

  it('keep what they acknowledged when all of them are stopped and started again', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.connect('b').puts(Array.from({ length: 50 }, (_, at) => ({ key: `k${at}`, value: `${at}` })));
    for (const name of ['a', 'b', 'c']) await group.stop(name);
    for (const name of ['c', 'a', 'b']) await group.start(name);
    await group.ready();
    const { entries } = await group.connect('c').getAll(['k0', 'k49', 'k50']);
    expect(entries.map(({ value }) => text(value))).toEqual(['0', '49', undefined]);
  });

  it('go on without one of them, and bring it up to date when it is back', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const client = group.connect('a', 'b');
    await client.put('k', 'before');
    await group.stop('c');
    await client.put('k', 'after');
    await group.start('c');
    const back = group.connect('c');
    await eventually(async () => expect(text((await back.get('k')).value)).toBe('after'));
  });

  it('serve a client in the process of a replica', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const { client } = group.replicas.get('b') ?? expect.unreachable();
    await client.put('k', 'v');
    await eventually(async () => expect((await client.get('k')).served).toBe('local'));
  });

  it('read without a promise under the lease, and not at all without one', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const replica = group.replicas.get('b') ?? expect.unreachable();
    await replica.client.put('k', 'v');
    await eventually(() => expect(text(replica.getLocal('k')?.value)).toBe('v'));
    expect(replica.getLocal('none')).toMatchObject({ value: undefined, revision: 0, served: 'local' });
    await group.stop('a');
    await group.stop('c');
    await eventually(() => expect(replica.getLocal('k')).toBeUndefined());
  });

  it('make a member of a replica that joins, and let one go', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const client = group.connect('a');
    await client.put('k', 'v');
    const listen = await group.freeAddress();
    const newcomer = await group.start('d', { listen, join: true });
    await client.add('d', { timeoutMs: 20_000 });
    await newcomer.ready();
    expect(newcomer.status().members.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
    await eventually(async () => expect(text((await newcomer.client.get('k')).value)).toBe('v'));
    const follower = ['b', 'c'].find((name) => name !== group.leader) ?? 'c';
    await client.remove(follower, { timeoutMs: 20_000 });
    await eventually(() => expect(newcomer.status().members.map(({ name }) => name)).not.toContain(follower));
  });

  it('take a change once, however often it is sent, and never a directory that was removed', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const client = group.connect('a');
    const listen = await group.freeAddress();
    const newcomer = await group.start('d', { listen, join: true });
    const { storage } = newcomer.status();
    await client.add('d', { timeoutMs: 20_000 });
    await newcomer.ready();
    await expect(client.add('d')).rejects.toMatchObject({ reason: 'already-a-member' });
    const leader = group.replicas.get(group.leader ?? 'd');
    if (leader === newcomer) await client.transfer('a');
    await eventually(() => expect(group.leader).not.toBe('d'));
    await client.remove('d', { timeoutMs: 20_000 });
    await expect(client.remove('d')).rejects.toMatchObject({ reason: 'not-a-member' });
    await group.stop('d');
    const again = group.start('d', { listen, join: true }).then((replica) => replica.ready());
    await expect(again).rejects.toMatchObject({ reason: 'removed' });
    await expect(client.add('d', { timeoutMs: 500 })).rejects.toMatchObject({ reason: 'only-removed' });
    await expect(client.add(storage, { timeoutMs: 500 })).rejects.toMatchObject({ reason: 'only-removed' });
  });

  it('do not seat a directory that is gone', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const client = group.connect('a');
    const listen = await group.freeAddress();
    await group.start('d', { listen, join: true });
    await eventually(() => expect(group.replicas.get('a')?.status().others).toHaveLength(1));
    await group.stop('d');
    await rm(group.directory('d'), { recursive: true });
    await expect(client.add('d', { timeoutMs: 2_000 })).rejects.toMatchObject({ reason: 'not-known' });
    expect(group.replicas.get('a')?.status().members).toHaveLength(3);
  });

  it('hand the leadership to the member that is named', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const to = ['a', 'b', 'c'].find((name) => name !== group.leader) ?? 'a';
    await group.connect('a').transfer(to);
    await eventually(() => expect(group.leader).toBe(to));
  });
});

describe('a directory', () => {
  it('that was emptied is refused under its old name, and can join in its place', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const name = ['b', 'c'].find((each) => each !== group.leader) ?? 'c';
    const client = group.connect('a');
    await client.put('k', 'v');
    await group.stop(name);
    await rm(group.directory(name), { recursive: true });
    await expect(group.serves(name)).rejects.toMatchObject({
      code: 'QUORUM_REPLICA_REFUSED',
      reason: 'emptied-directory',
    });
    await rm(group.directory(name), { recursive: true });
    const joined = await group.start(name, { join: true });
    await client.add(name, { timeoutMs: 20_000 });
    await joined.ready();
    expect(joined.status().members).toHaveLength(3);
  });

  it('that is an older copy is refused: it does not know what it has voted since', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.stop('c');
    await cp(group.directory('c'), group.directory('backup'), { recursive: true });
    for (let times = 0; times < 2; times += 1) {
      await group.start('c');
      await group.ready();
      await group.stop('c');
    }
    await rm(group.directory('c'), { recursive: true });
    await cp(group.directory('backup'), group.directory('c'), { recursive: true });
    // As a supervisor does that starts the process again and again: each start once raised the life, up to one that is admitted.
    for (let times = 0; times < 5; times += 1) {
      await expect(group.serves('c')).rejects.toMatchObject({
        code: 'QUORUM_REPLICA_REFUSED',
        reason: 'old-copy',
      });
    }
  });

  it('that is a copy of one in use is refused', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.stop('c');
    await cp(group.directory('c'), group.directory('copy'), { recursive: true });
    await group.start('c');
    await group.ready();
    const listen = await group.freeAddress();
    const copy = group.serves('c', { directory: group.directory('copy'), listen });
    await expect(copy).rejects.toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason: 'running-twice' });
    await group.stop('c');
    await expect(
      group.start('c', { directory: group.directory('copy'), listen }),
      'the next life of the copy would be the highest',
    ).rejects.toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason: 'running-twice' });
  });

  it('that is copied while in use is not heard as long as the original is', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await cp(group.directory('c'), group.directory('copy'), { recursive: true });
    const warn = vi.fn();
    const listen = await group.freeAddress();
    const original = group.replicas.get('c') ?? expect.unreachable();
    await using copy = await group.start('c', {
      ...{ directory: group.directory('copy'), listen, peers: { ...group.peers, c: listen } },
      logger: { ...silent, warn },
    });
    group.replicas.set('c', original);
    await eventually(() => expect(warn.mock.calls.flat().join()).toContain('is still connected'));
    await group.connect('a').put('k', 'v');
    await eventually(async () => expect(text((await original.client.get('k')).value)).toBe('v'));
    expect(original.failed.aborted).toBe(false);
    expect(copy.status().leader, 'the copy has heard of no leader').toBeUndefined();
  });

  it('and its peers, copied to other addresses, do not reach the originals', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await using staging = await TestGroup.of('a', 'b', 'c');
    await group.connect('a').put('k', 'v');
    for (const name of ['a', 'b', 'c'])
      await cp(group.directory(name), staging.directory(name), { recursive: true });
    for (const name of ['a', 'b', 'c']) await staging.start(name);
    await staging.ready();
    await staging.connect('b').put('k', 'staging');
    expect(text((await group.connect('b').get('k')).value)).toBe('v');
    for (const { failed } of group.replicas.values()) expect(failed.aborted).toBe(false);
  });

  it('of another replica, of another program, or without its journal is refused', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.stop('b');
    await group.stop('c');
    await expect(group.start('b', { directory: group.directory('c') })).rejects.toMatchObject({
      code: 'QUORUM_DIRECTORY_MISMATCH',
    });
    await rm(`${group.directory('c')}/0000000000000001.journal`);
    await expect(group.start('c')).rejects.toMatchObject({ code: 'QUORUM_VOTES_LOST' });
    await rm(`${group.directory('b')}/identity`);
    await expect(group.start('b')).rejects.toMatchObject({ code: 'QUORUM_DIRECTORY_MISMATCH' });
  });
});

describe('startReplica', () => {
  it.each([
    ['a name that is not among the peers', { name: 'x' }],
    ['two replicas at one address', { peers: { a: '127.0.0.1:1', b: '127.0.0.1:1' } }],
    [
      'eight replicas',
      { peers: Object.fromEntries([...'abcdefgh'].map((n, at) => [n, `127.0.0.1:${at + 1}`])) },
    ],
    ['an address beyond loopback without TLS', { peers: { a: '10.0.0.1:7600' } }],
    ['a heartbeat that is too slow', { heartbeatMs: 900, electionMs: 1_000 }],
    ['sessions that end before a client repeats a write', { sessionMs: 2_000 }],
    ['a name with a tilde', { name: 'a~b', peers: { 'a~b': '127.0.0.1:1' } }],
    ['a misspelt option', { leasMs: 3 } as object],
    ['no directory', { directory: undefined as never }],
    ['a directory that is a number', { directory: 5 as never }],
    ['an empty directory name', { directory: '' }],
    ['a logger without methods', { logger: {} as never }],
    ['a logger that is a number', { logger: 5 as never }],
    ['a text for join', { join: 'no' as never }],
    ['no readers', { readers: null as never }],
    ['a lease of nothing', { leaseMs: 1e-9 }],
    ['a heartbeat of nothing', { heartbeatMs: 1e-300 }],
  ])('refuses options with %s', async (_, options) => {
    await using group = await TestGroup.of('a');
    await expect(group.start('a', options)).rejects.toThrow(InvalidOptionError);
  });

  it('refuses a file in the place of its directory, and says so', async () => {
    await using group = await TestGroup.of('a');
    const directory = group.directory('file');
    await writeFile(directory, '');
    await expect(group.start('a', { directory })).rejects.toMatchObject({
      code: 'EEXIST',
      message: expect.stringContaining('there is a file of that name; give a directory'),
    });
  });

  it('says what an even number of replicas costs', async () => {
    await using group = await TestGroup.of('a', 'b');
    const warn = vi.fn();
    await group.start('a', { logger: { ...silent, warn } });
    expect(warn.mock.calls.flat().join()).toContain(
      'a group of 2 tolerates 0 lost replicas, as one of 1 does',
    );
  });
});
