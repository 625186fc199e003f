import { cp, rm, writeFile } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { silent } from '../../runtime/logger.ts';
import { TestCell } from './testing/cells.ts';

const text = (value: Uint8Array | undefined): string | undefined =>
  value === undefined ? undefined : new TextDecoder().decode(value);
const eventually = (check: () => void | Promise<void>): Promise<void> =>
  vi.waitFor(check, { timeout: 20_000, interval: 20 });

describe('three replicas', () => {
  it('found a cell, take a write at one and show it at every other', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const { revision } = await (await cell.connect('a')).put('k', 'v');
    expect(revision).toBeGreaterThan(0);
    for (const name of ['a', 'b', 'c']) {
      const found = await (await cell.connect(name)).get('k');
      expect([text(found.value), found.revision]).toEqual(['v', revision]);
    }
  });

  it('answer reads from their own memory once they hold leases, and say so', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await (await cell.connect('a')).put('k', 'v');
    for (const name of ['a', 'b', 'c']) {
      const client = await cell.connect(name);
      await eventually(async () => expect((await client.get('k')).served).toBe('local'));
    }
    const client = await cell.connect('a');
    expect((await client.get('k', { mode: 'quorum' })).served).toBe('quorum');
    expect((await client.get('k', { mode: 'log' })).served).toBe('log');
    expect((await client.get('k', { mode: 'weak' })).served).toBe('weak');
  });

  it('keep what they acknowledged when all of them are stopped and started again', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await (await cell.connect('b')).putMany(Array.from({ length: 50 }, (_, at) => [`k${at}`, `${at}`]));
    for (const name of ['a', 'b', 'c']) await cell.stop(name);
    for (const name of ['c', 'a', 'b']) await cell.start(name);
    await cell.ready();
    const { entries } = await (await cell.connect('c')).snapshot(['k0', 'k49', 'k50']);
    expect(entries.map(({ value }) => text(value))).toEqual(['0', '49', undefined]);
  });

  it('go on without one of them, and bring it up to date when it is back', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a', 'b');
    await client.put('k', 'before');
    await cell.stop('c');
    await client.put('k', 'after');
    await cell.start('c');
    const back = await cell.connect('c');
    await eventually(async () => expect(text((await back.get('k')).value)).toBe('after'));
  });

  it('serve a client in the process of a replica', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const { client } = cell.replicas.get('b') ?? expect.unreachable();
    await client.put('k', 'v');
    await eventually(async () => expect((await client.get('k')).served).toBe('local'));
  });

  it('read without a promise under the lease, and not at all without one', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const replica = cell.replicas.get('b') ?? expect.unreachable();
    await replica.client.put('k', 'v');
    await eventually(() => expect(text(replica.getLocal('k')?.value)).toBe('v'));
    expect(replica.getLocal('none')).toMatchObject({ value: undefined, revision: 0, served: 'local' });
    await cell.stop('a');
    await cell.stop('c');
    await eventually(() => expect(replica.getLocal('k')).toBeUndefined());
  });

  it('make a member of a replica that joins, and let one go', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a');
    await client.put('k', 'v');
    const listen = await cell.freeAddress();
    const newcomer = await cell.start('d', { listen, newcomer: true });
    await client.addReplica('d', { timeoutMs: 20_000 });
    await newcomer.ready();
    expect(newcomer.status().members.map(({ name }) => name)).toEqual(['a', 'b', 'c', 'd']);
    await eventually(async () => expect(text((await newcomer.client.get('k')).value)).toBe('v'));
    const follower = ['b', 'c'].find((name) => name !== cell.leader) ?? 'c';
    await client.removeReplica(follower, { timeoutMs: 20_000 });
    await eventually(() => expect(newcomer.status().members.map(({ name }) => name)).not.toContain(follower));
  });

  it('take a change once, however often it is sent, and never a directory that was removed', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a');
    const listen = await cell.freeAddress();
    const newcomer = await cell.start('d', { listen, newcomer: true });
    const { storage } = newcomer.status();
    await client.addReplica('d', { timeoutMs: 20_000 });
    await newcomer.ready();
    await expect(client.addReplica('d')).rejects.toMatchObject({ details: { reason: 'already-a-member' } });
    const leader = cell.replicas.get(cell.leader ?? 'd');
    if (leader === newcomer) await client.stepDown({ to: 'a' });
    await eventually(() => expect(cell.leader).not.toBe('d'));
    await client.removeReplica('d', { timeoutMs: 20_000 });
    await expect(client.removeReplica('d')).rejects.toMatchObject({ details: { reason: 'not-a-member' } });
    await cell.stop('d');
    const again = cell.start('d', { listen, newcomer: true }).then((replica) => replica.ready());
    await expect(again).rejects.toMatchObject({ code: 'REMOVED' });
    await expect(client.addReplica('d', { timeoutMs: 500 })).rejects.toMatchObject({
      details: { reason: 'only-removed' },
    });
    await expect(client.addReplica(storage, { timeoutMs: 500 })).rejects.toMatchObject({
      details: { reason: 'only-removed' },
    });
  });

  it('do not seat a directory that is gone', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const client = await cell.connect('a');
    const listen = await cell.freeAddress();
    await cell.start('d', { listen, newcomer: true });
    await eventually(() => expect(cell.replicas.get('a')?.status().others).toHaveLength(1));
    await cell.stop('d');
    await rm(cell.directory('d'), { recursive: true });
    await expect(client.addReplica('d', { timeoutMs: 2_000 })).rejects.toMatchObject({
      details: { reason: 'not-known' },
    });
    expect(cell.replicas.get('a')?.status().members).toHaveLength(3);
  });

  it('hand the leadership to the member that is named', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const to = ['a', 'b', 'c'].find((name) => name !== cell.leader) ?? 'a';
    await (await cell.connect('a')).stepDown({ to: to });
    await eventually(() => expect(cell.leader).toBe(to));
  });
});

describe('a directory', () => {
  it('that was emptied is refused under its old name, and can join in its place', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const name = ['b', 'c'].find((each) => each !== cell.leader) ?? 'c';
    const client = await cell.connect('a');
    await client.put('k', 'v');
    await cell.stop(name);
    await rm(cell.directory(name), { recursive: true });
    await expect(cell.serves(name)).rejects.toMatchObject({
      code: 'NAME_IN_USE',
      details: { reason: 'emptied-directory' },
    });
    await rm(cell.directory(name), { recursive: true });
    const joined = await cell.start(name, { newcomer: true });
    await client.addReplica(name, { timeoutMs: 20_000 });
    await joined.ready();
    expect(joined.status().members).toHaveLength(3);
  });

  it('that is an older copy is refused: it does not know what it has voted since', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await cell.stop('c');
    await cp(cell.directory('c'), cell.directory('backup'), { recursive: true });
    for (let times = 0; times < 2; times += 1) {
      await cell.start('c');
      await cell.ready();
      await cell.stop('c');
    }
    await rm(cell.directory('c'), { recursive: true });
    await cp(cell.directory('backup'), cell.directory('c'), { recursive: true });
    // As a supervisor does that starts the process again and again: each start once raised the life, up to one that is admitted.
    for (let times = 0; times < 5; times += 1) {
      await expect(cell.serves('c')).rejects.toMatchObject({
        code: 'DATA_LOST',
        details: { reason: 'old-copy' },
      });
    }
  });

  it('that is a copy of one in use is refused', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await cell.stop('c');
    await cp(cell.directory('c'), cell.directory('copy'), { recursive: true });
    await cell.start('c');
    await cell.ready();
    const listen = await cell.freeAddress();
    const copy = cell.serves('c', { directory: cell.directory('copy'), listen });
    await expect(copy).rejects.toMatchObject({ code: 'DATA_LOST', details: { reason: 'running-twice' } });
    await cell.stop('c');
    await expect(
      cell.start('c', { directory: cell.directory('copy'), listen }),
      'the next life of the copy would be the highest',
    ).rejects.toMatchObject({ code: 'DATA_LOST', details: { reason: 'running-twice' } });
  });

  it('that is copied while in use is not heard as long as the original is', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await cp(cell.directory('c'), cell.directory('copy'), { recursive: true });
    const warn = vi.fn();
    const listen = await cell.freeAddress();
    const original = cell.replicas.get('c') ?? expect.unreachable();
    await using copy = await cell.start('c', {
      ...{ directory: cell.directory('copy'), listen, peers: { ...cell.peers, c: listen } },
      logger: { ...silent, warn },
    });
    cell.replicas.set('c', original);
    await eventually(() => expect(warn.mock.calls.flat().join()).toContain('is still connected'));
    await (await cell.connect('a')).put('k', 'v');
    await eventually(async () => expect(text((await original.client.get('k')).value)).toBe('v'));
    await original.ready();
    expect(copy.status().leader, 'the copy has heard of no leader').toBeUndefined();
  });

  it('and its peers, copied to other addresses, do not reach the originals', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await using staging = await TestCell.of('a', 'b', 'c');
    await (await cell.connect('a')).put('k', 'v');
    for (const name of ['a', 'b', 'c'])
      await cp(cell.directory(name), staging.directory(name), { recursive: true });
    for (const name of ['a', 'b', 'c']) await staging.start(name);
    await staging.ready();
    await (await staging.connect('b')).put('k', 'staging');
    expect(text((await (await cell.connect('b')).get('k')).value)).toBe('v');
    await cell.ready();
  });

  it('of another replica, of another program, or without its journal is refused', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await cell.stop('b');
    await cell.stop('c');
    await expect(cell.start('b', { directory: cell.directory('c') })).rejects.toMatchObject({
      code: 'DIRECTORY_MISMATCH',
    });
    await rm(`${cell.directory('c')}/0000000000000001.journal`);
    await expect(cell.start('c')).rejects.toMatchObject({ code: 'DATA_LOST' });
    await rm(`${cell.directory('b')}/identity`);
    await expect(cell.start('b')).rejects.toMatchObject({ code: 'DIRECTORY_MISMATCH' });
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
    ['a heartbeat that is too slow', { heartbeatEveryMs: 900, electionMs: 1_000 }],
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
    ['a heartbeat of nothing', { heartbeatEveryMs: 1e-300 }],
  ])('refuses options with %s', async (_, options) => {
    await using cell = await TestCell.of('a');
    await expect(cell.start('a', options)).rejects.toThrow(InvalidArgumentError);
  });

  it('refuses a file in the place of its directory, and says so', async () => {
    await using cell = await TestCell.of('a');
    const directory = cell.directory('file');
    await writeFile(directory, '');
    await expect(cell.start('a', { directory })).rejects.toMatchObject({
      code: 'EEXIST',
      message: expect.stringContaining('there is a file of that name; give a directory'),
    });
  });

  it('says what an even number of replicas costs', async () => {
    await using cell = await TestCell.of('a', 'b');
    const warn = vi.fn();
    await cell.start('a', { logger: { ...silent, warn } });
    expect(warn.mock.calls.flat().join()).toContain(
      'a cell of 2 tolerates 0 lost replicas, as one of 1 does',
    );
  });
});
