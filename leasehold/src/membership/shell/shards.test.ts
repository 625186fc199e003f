/** Shards of servers in one process, over real sockets on loopback. Each test waits for a condition. */

import { afterEach, describe, expect, it, vi } from 'vitest';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { assert } from '../../runtime/assert.ts';
import { silent } from '../../runtime/logger.ts';
import type { GroupMember } from './group-member.ts';
import { joinGroup, type JoinGroupOptions } from './join-group.ts';
import { type Shards, shards } from './shards.ts';

const LONG_MS = 60_000;
const LEASE_MS = 1_500;
const COUNT = 64;

const open: GroupMember[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((group) => group.close()));
});

async function join(
  name: string,
  addresses: Readonly<Record<string, string>>,
  options: Partial<JoinGroupOptions> = {},
): Promise<GroupMember> {
  const { [name]: listen = '', ...peers } = addresses;
  const group = await joinGroup({ name, listen, peers, leaseMs: LEASE_MS, logger: silent, ...options });
  open.push(group);
  return group;
}

const until = (isSo: () => boolean): Promise<boolean> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 5 });

describe('the shards of a group', { timeout: LONG_MS }, () => {
  it('are shared out evenly, each to one server, and again without a server that leaves', async () => {
    const addresses = await lastingAddresses('a', 'b', 'c');
    const names = ['a', 'b', 'c'];
    const groups = await Promise.all(names.map((name) => join(name, addresses, { maxServers: 3 })));
    const parts = groups.map((group) => shards(group, COUNT));
    await until(() => parts.every((part) => part.mine().length >= 21));
    expect(parts.flatMap((part) => part.mine()).sort((one, other) => one - other)).toEqual(
      Array.from({ length: COUNT }, (_, shard) => shard),
    );
    const [a, b, c] = parts;
    assert(a !== undefined && b !== undefined && c !== undefined, 'there are three');
    const shard = c.mine()[0] ?? 0;
    const held = c.hold(shard);
    expect([held?.isHeld(), c.isHeld(shard), a.isHeld(shard), a.ownerOf(shard), a.hold(shard)]).toEqual([
      true,
      true,
      false,
      'c',
      undefined,
    ]);
    const signal = held?.signal;
    expect(signal?.aborted).toBe(false);
    await groups[2]?.close();
    await until(() => a.mine().length === COUNT / 2 && b.mine().length === COUNT / 2);
    expect([held?.isHeld(), c.mine().length]).toEqual([false, 0]);
    await until(() => signal?.aborted === true);
    expect(signal?.reason).toHaveProperty('code', 'LEASE_LOST');
    const next = [a, b].flatMap((part) => part.hold(shard) ?? []);
    expect(next).toHaveLength(1);
    expect(next[0]?.number).toBeGreaterThan(held?.number ?? Number.POSITIVE_INFINITY);
  });

  it('are held by no server that sees half of the servers or fewer', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const group = await join('a', addresses, { maxServers: 2 });
    const part = shards(group, COUNT);
    await group.acting();
    expect([part.mine().length, part.ownerOf(0)]).toEqual([0, 'a']);
  });

  it('are told to a reader whenever others are held, until the group is left', async () => {
    const { a } = await lastingAddresses('a');
    const group = await join('a', { a }, { maxServers: 1 });
    const part: Shards = shards(group, 2);
    const read: string[] = [];
    const reading = (async () => {
      for await (const mine of part.watch()) read.push(mine.join());
    })();
    await until(() => read.includes('0,1'));
    const failed = expect(reading).rejects.toMatchObject({ code: 'CLOSED' });
    await group.close();
    await failed;
    expect(read[0]).toBe('');
  });

  it('need the number of servers that there can be, and are from 1 to 1,024', async () => {
    const { a } = await lastingAddresses('a');
    const group = await join('a', { a });
    expect(() => shards(group, COUNT)).toThrow('each side of a partition would hold all shards');
    for (const count of [0, 1.5, 1_025]) expect(() => shards(group, count)).toThrow('from 1 to 1024');
    expect(() => shards({} as never, COUNT)).toThrow('it must be a server of a group');
  });
});
