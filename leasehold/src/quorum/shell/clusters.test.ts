import { rm } from 'node:fs/promises';
import { describe, expect, it, vi } from 'vitest';
import { type Logger, silent } from '../../runtime/logger.ts';
import { connectQuorum } from './connect-quorum.ts';
import { TestCell } from './testing/cells.ts';

const eventually = (check: () => void): Promise<void> => vi.waitFor(check, { timeout: 20_000, interval: 20 });
const text = (value: Uint8Array | undefined): string => new TextDecoder().decode(value);

/** A logger that keeps the warnings. */
function keeping(): { readonly logger: Logger; readonly warnings: string[] } {
  const warnings: string[] = [];
  return { logger: { ...silent, warn: (message) => void warnings.push(message) }, warnings };
}

describe('two clusters of one cell name', () => {
  it('leave each other alone: one at the address of a dead member does not end the living majority', async () => {
    await using one = await TestCell.of('a', 'b', 'c');
    const { logger, warnings } = keeping();
    for (const name of ['a', 'b', 'c']) await one.start(name, { logger });
    await one.ready();
    await (await one.connect('a')).put('k', 'one', { timeoutMs: 20_000 });
    await one.stop('c');
    await using two = await TestCell.of('a', 'b', 'c');
    two.peers['c'] = one.peers['c'] ?? '';
    for (const name of ['a', 'b', 'c']) await two.start(name);
    await two.ready();
    await eventually(() => expect(warnings.join()).toContain('belongs to another cluster'));
    await (await one.connect('a', 'b')).put('k', 'still one', { timeoutMs: 20_000 });
    for (const name of ['a', 'b']) await one.replicas.get(name)?.ready();
  });

  it('never feed one replica: a directory that one of them fed is refused by the other', async () => {
    await using wrong = await TestCell.started('a');
    await (await wrong.connect('a')).put('k', 'wrong', { timeoutMs: 20_000 });
    await using right = await TestCell.started('x');
    const client = await right.connect('x');
    for (let n = 0; n < 5; n += 1) await client.put('k', 'right', { timeoutMs: 20_000 });
    const listen = await wrong.freeAddress();
    const mistaken = await wrong.start('d', { newcomer: true, listen });
    await eventually(() => expect(mistaken.status().log.committed).toBeGreaterThan(1));
    await wrong.stop('d');

    const { logger, warnings } = keeping();
    const directory = wrong.directory('d');
    const d = await right.start('d', { newcomer: true, listen, directory, logger });
    await eventually(() => expect(warnings.join()).toContain('belongs to another cluster'));
    const refusal = { code: 'CHANGE_PENDING', details: { reason: 'not-known' } };
    await expect(client.addReplica('d', { timeoutMs: 500 })).rejects.toMatchObject(refusal);
    await eventually(() => expect(d.status().members.map(({ name }) => name)).toEqual(['a']));

    // With an empty directory the replica joins the cluster in the list, although the other one still dials the address.
    await right.stop('d');
    await rm(directory, { recursive: true });
    const emptied = await right.start('d', { newcomer: true, listen, directory });
    await client.addReplica('d', { timeoutMs: 20_000 });
    await emptied.ready();
    const { value } = await emptied.client.get('k', { timeoutMs: 20_000 });
    expect(text(value)).toBe('right');
  });

  it('are told apart by a client, which stays with the first', async () => {
    await using one = await TestCell.started('a');
    await using two = await TestCell.started('a');
    await (await two.connect('a')).put('k', 'of another client', { timeoutMs: 20_000 });
    const servers = [one.peers['a'] ?? '', two.peers['a'] ?? ''];
    await using client = await connectQuorum({ servers, inOrder: true, logger: silent });
    await client.put('k', 'in one', { timeoutMs: 20_000 });
    await one.stop('a');
    await expect(client.put('k', 'in two', { timeoutMs: 1_000 })).rejects.toThrow(/two cells, founded apart/);
    await one.serves('a');
    await client.put('k', 'in one again', { timeoutMs: 20_000 });
    expect(text((await (await two.connect('a')).get('k')).value)).toBe('of another client');
  });

  it('are told apart by a client that connected before its cell was founded', async () => {
    await using one = await TestCell.of('a', 'b');
    await one.start('a');
    await using two = await TestCell.of('z');
    const servers = [one.peers['a'] ?? '', two.peers['z'] ?? ''];
    await using client = await connectQuorum({ servers, inOrder: true, logger: silent });
    expect(await client.replicaStatus()).toMatchObject({ role: 'gathering' });
    await one.start('b');
    await client.put('k', 'in one', { timeoutMs: 20_000 });
    await one.stop('a');
    await two.start('z');
    await two.ready();
    await expect(client.put('k', 'in two', { timeoutMs: 1_000 })).rejects.toThrow(/two cells, founded apart/);
  });
});
