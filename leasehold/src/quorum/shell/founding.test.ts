import { rm } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { openExistingDirectory } from '../../node/storage.ts';
import { silent } from '../../runtime/logger.ts';
import { readIdentity, writeIdentity } from './disk/identity.ts';
import type { QuorumReplica } from './quorum-replica.ts';
import { TestCell } from './testing/cells.ts';

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 20 });

const awaits = (replica: QuorumReplica | undefined, ...names: readonly string[]): Promise<void> =>
  eventually(() => expect(replica?.status()).toMatchObject({ role: 'gathering', awaited: names }));

async function replaceDisk(cell: TestCell, name: string, through: string): Promise<void> {
  await cell.stop(name);
  await rm(cell.directory(name), { recursive: true });
  await cell.start(name, { newcomer: true });
  await (await cell.connect(through)).addReplica(name, { timeoutMs: 30_000 });
  await cell.replicas.get(name)?.ready();
}

describe('a cell that was founded', () => {
  it('stays founded in every directory, although replicas restart and are written down meanwhile', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    const before = cell.replicas
      .get('a')
      ?.status()
      .members.map(({ storage }) => storage);
    for (const name of ['b', 'c', 'b']) {
      await cell.stop(name);
      await cell.serves(name);
    }
    for (const name of ['a', 'b', 'c']) {
      await cell.stop(name);
      const identity = await readIdentity(await openExistingDirectory(cell.directory(name)), name);
      expect(identity?.origin).toMatchObject({ kind: 'founding' });
      const founded = identity?.origin.kind === 'founding' ? identity.origin.members : [];
      expect(founded.map(({ storage }) => storage)).toEqual(before);
    }
  });

  it('is not started from an identity that is damaged', async () => {
    await using cell = await TestCell.started('a');
    await cell.stop('a');
    const storage = await openExistingDirectory(cell.directory('a'));
    const identity = await readIdentity(storage, 'a');
    if (identity === undefined) expect.unreachable();
    const file = await storage.open('identity');
    await file.write(20, new TextEncoder().encode('?'));
    await file.close();
    await expect(cell.start('a')).rejects.toThrow('its file "identity" is damaged');
    await writeIdentity(storage, identity);
    await cell.serves('a');
  });

  it('refuses an emptied directory, although the disks of all the others were replaced since', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await (await cell.connect('a')).put('k', 'before', { timeoutMs: 20_000 });
    await replaceDisk(cell, 'a', 'b');
    await replaceDisk(cell, 'b', 'c');
    await cell.stop('c');
    await rm(cell.directory('c'), { recursive: true });
    const c = await cell.start('c');
    expect(await c.closed).toMatchObject({ code: 'NAME_IN_USE', details: { reason: 'emptied-directory' } });
    await (await cell.connect('a', 'b')).put('k', 'v', { timeoutMs: 20_000 });
  }, 60_000);
});

describe('a cell that is being founded', () => {
  it('waits for replicas of the list that join instead', async () => {
    await using cell = await TestCell.of('a', 'b', 'c');
    const b = await cell.start('b', { newcomer: true });
    const c = await cell.start('c', { newcomer: true });
    const a = await cell.start('a');
    await eventually(() => {
      for (const each of [a, b, c]) expect(each.status().others).toHaveLength(2);
    });
    expect(a.status()).toMatchObject({ role: 'gathering', awaited: ['b', 'c'], members: [] });
  });

  it('takes the directory of a name that is there, if another one was emptied before all had met', async () => {
    await using cell = await TestCell.of('a', 'b', 'c');
    const a = await cell.start('a');
    const b = await cell.start('b');
    await awaits(a, 'c');
    await awaits(b, 'c');
    await cell.stop('b');
    await rm(cell.directory('b'), { recursive: true });
    await cell.start('b');
    await cell.start('c');
    await cell.ready();
    await (await cell.connect('a')).put('k', 'v', { timeoutMs: 20_000 });
  });

  it('waits while two directories of one name are there, and founds when one of them is gone', async () => {
    await using cell = await TestCell.of('a', 'b', 'c');
    const a = await cell.start('a');
    const b = await cell.start('b');
    await awaits(a, 'c');
    const address = await cell.freeAddress();
    const place = { directory: cell.directory('other'), listen: address, advertise: address };
    await using second = await cell.start('b', place);
    await awaits(a, 'b', 'c');
    await b.close();
    await awaits(a, 'c');
    await cell.start('c');
    await cell.ready();
    expect(second.status().members).toHaveLength(3);
  });
});

describe('a replica whose list lacked a name at the first start', () => {
  it('founds the cell with the others once its list is corrected, without a new directory', async () => {
    await using cell = await TestCell.of('a', 'b', 'c');
    const said: string[] = [];
    const logger = { ...silent, warn: (message: string) => void said.push(message) };
    await cell.start('b', { logger });
    const c = await cell.start('c', {
      peers: { b: cell.peers['b'] as string, c: cell.peers['c'] as string },
    });
    await eventually(() => expect(c.status()).toMatchObject({ role: 'checking-in', awaited: ['b'] }));
    await eventually(() => expect(said.join()).toContain('was started with another list of replicas'));
    await cell.start('a');
    await cell.stop('c');
    await cell.start('c');
    await cell.ready();
    await (await cell.connect('c')).put('k', 'v', { timeoutMs: 20_000 });
    expect(cell.replicas.get('a')?.status().members).toHaveLength(3);
  });

  it('takes part in the founding by the shorter list, if the others are corrected instead', async () => {
    await using cell = await TestCell.of('b', 'c');
    const more = { ...cell.peers, d: await cell.freeAddress() };
    const c = await cell.start('c', { peers: more });
    const b = await cell.start('b');
    await eventually(() => expect(b.status()).toMatchObject({ role: 'checking-in', awaited: ['c'] }));
    expect(c.status().role).toBe('gathering');
    await cell.stop('c');
    await cell.start('c');
    await cell.ready();
    await (await cell.connect('b')).put('k', 'v', { timeoutMs: 20_000 });
  });

  it('stays in a cell that serves, whatever its list says later', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await (await cell.connect('a')).put('k', 'v', { timeoutMs: 20_000 });
    await cell.stop('c');
    await cell.serves('c', {
      peers: { b: cell.peers['b'] as string, c: cell.peers['c'] as string },
    });
    expect(cell.replicas.get('c')?.status().members).toHaveLength(3);
  });
});

describe('a list in which an address leads back to the replica itself', () => {
  it('does not end the replica', async () => {
    await using cell = await TestCell.started('a', 'b', 'c');
    await (await cell.connect('a')).put('k', 'v', { timeoutMs: 20_000 });
    await cell.stop('a');
    const said: string[] = [];
    const logger = { ...silent, warn: (message: string) => void said.push(message) };
    const own = (cell.peers['a'] ?? '').replace('127.0.0.1', 'localhost');
    const a = await cell.start('a', { peers: { ...cell.peers, c: own }, logger });
    await eventually(() => expect(said.join()).toContain('leads back to this very replica'));
    await a.ready();
  });
});
