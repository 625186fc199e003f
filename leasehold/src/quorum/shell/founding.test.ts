import { rm } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { openExistingDirectory } from '../../node/storage.ts';
import { silent } from '../../runtime/logger.ts';
import { readIdentity, writeIdentity } from '../disk/identity.ts';
import type { QuorumReplica } from './quorum-replica.ts';
import { TestGroup } from './testing/groups.ts';

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 20 });

const awaits = (replica: QuorumReplica | undefined, ...names: readonly string[]): Promise<void> =>
  eventually(() => expect(replica?.status()).toMatchObject({ state: 'gathering', awaited: names }));

async function replaceDisk(group: TestGroup, name: string, through: string): Promise<void> {
  await group.stop(name);
  await rm(group.directory(name), { recursive: true });
  await group.start(name, { join: true });
  await group.connect(through).add(name, { timeoutMs: 30_000 });
  await group.replicas.get(name)?.ready();
}

describe('a group that was founded', () => {
  it('stays founded in every directory, although replicas restart and are written down meanwhile', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    const before = group.replicas
      .get('a')
      ?.status()
      .members.map(({ storage }) => storage);
    for (const name of ['b', 'c', 'b']) {
      await group.stop(name);
      await group.serves(name);
    }
    for (const name of ['a', 'b', 'c']) {
      await group.stop(name);
      const identity = await readIdentity(await openExistingDirectory(group.directory(name)), name);
      expect(identity?.origin).toMatchObject({ kind: 'founding' });
      const founded = identity?.origin.kind === 'founding' ? identity.origin.members : [];
      expect(founded.map(({ storage }) => storage)).toEqual(before);
    }
  });

  it('is not started from an identity that is damaged', async () => {
    await using group = await TestGroup.started('a');
    await group.stop('a');
    const storage = await openExistingDirectory(group.directory('a'));
    const identity = await readIdentity(storage, 'a');
    if (identity === undefined) expect.unreachable();
    const file = await storage.open('identity');
    await file.write(20, new TextEncoder().encode('?'));
    await file.close();
    await expect(group.start('a')).rejects.toThrow('its file "identity" is damaged');
    await writeIdentity(storage, identity);
    await group.serves('a');
  });

  it('refuses an emptied directory, although the disks of all the others were replaced since', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.connect('a').put('k', 'before', { timeoutMs: 20_000 });
    await replaceDisk(group, 'a', 'b');
    await replaceDisk(group, 'b', 'c');
    await group.stop('c');
    await rm(group.directory('c'), { recursive: true });
    const c = await group.start('c');
    await eventually(() => expect(c.failed.aborted).toBe(true));
    expect(c.failed.reason).toMatchObject({ code: 'QUORUM_REPLICA_REFUSED', reason: 'emptied-directory' });
    await group.connect('a', 'b').put('k', 'v', { timeoutMs: 20_000 });
  }, 60_000);
});

describe('a group that is being founded', () => {
  it('waits for replicas of the list that join instead', async () => {
    await using group = await TestGroup.of('a', 'b', 'c');
    const b = await group.start('b', { join: true });
    const c = await group.start('c', { join: true });
    const a = await group.start('a');
    await eventually(() => {
      for (const each of [a, b, c]) expect(each.status().others).toHaveLength(2);
    });
    expect(a.status()).toMatchObject({ state: 'gathering', awaited: ['b', 'c'], members: [] });
  });

  it('takes the directory of a name that is there, if another one was emptied before all had met', async () => {
    await using group = await TestGroup.of('a', 'b', 'c');
    const a = await group.start('a');
    const b = await group.start('b');
    await awaits(a, 'c');
    await awaits(b, 'c');
    await group.stop('b');
    await rm(group.directory('b'), { recursive: true });
    await group.start('b');
    await group.start('c');
    await group.ready();
    await group.connect('a').put('k', 'v', { timeoutMs: 20_000 });
  });

  it('waits while two directories of one name are there', async () => {
    await using group = await TestGroup.of('a', 'b', 'c');
    const a = await group.start('a');
    await group.start('c');
    await using other = await group.start('b', {
      directory: group.directory('other'),
      listen: await group.freeAddress(),
    });
    await awaits(a, 'b');
    expect(other.status().state).toBe('gathering');
  });
});

describe('a list in which an address leads back to the replica itself', () => {
  it('does not end the replica', async () => {
    await using group = await TestGroup.started('a', 'b', 'c');
    await group.connect('a').put('k', 'v', { timeoutMs: 20_000 });
    await group.stop('a');
    const said: string[] = [];
    const logger = { ...silent, warn: (message: string) => void said.push(message) };
    const own = (group.peers['a'] ?? '').replace('127.0.0.1', 'localhost');
    const a = await group.start('a', { peers: { ...group.peers, c: own }, logger });
    await eventually(() => expect(said.join()).toContain('leads back to this very replica'));
    await a.ready();
  });
});
