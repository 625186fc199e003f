/** Groups in one process, over real sockets on loopback. Each test waits for a condition, so a busy machine only makes it longer. */

import { once } from 'node:events';
import { createServer } from 'node:net';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { makeToken } from '../../node/identity/token.ts';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { BODY_BYTES_MAX } from '../wire/bounds.ts';
import type { GroupMember } from './group-member.ts';
import type { View } from './view.ts';
import { joinGroup, type JoinGroupOptions } from './join-group.ts';
import { OVERHEAD_BYTES, WAITING_BYTES_MAX } from './sends.ts';

const LONG_MS = 60_000;
/** Long enough that views last on a busy machine. */
const LEASE_MS = 3_000;

const open: GroupMember[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((group) => group.close()));
});

const until = (isSo: () => boolean): Promise<boolean> =>
  vi.waitUntil(isSo, { timeout: LONG_MS, interval: 5 });

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

const sees = (group: GroupMember, ...members: string[]): boolean =>
  group.status().state === 'in-view' && group.view?.members.join() === members.join();

describe('servers of a group', { timeout: LONG_MS }, () => {
  it('agree on one view with all of them, and act in it', async () => {
    const addresses = await lastingAddresses('a', 'b', 'c');
    const groups = await Promise.all(['a', 'b', 'c'].map((name) => join(name, addresses)));
    const views = await Promise.all(
      groups.map(async (group) => {
        await until(() => sees(group, 'a', 'b', 'c'));
        return group.acting();
      }),
    );
    expect(new Set(views.map(({ id }) => id)).size).toBe(1);
    for (const group of groups) expect([group.standing(), group.reach('b')]).not.toContain('none');
  });

  it('act only after a whole promise, because nobody knows what the process before has promised', async () => {
    const addresses = await lastingAddresses('a');
    const group = await join('a', addresses);
    await until(() => sees(group, 'a'));
    expect(group.standing()).toBe('none');
    await group.acting();
    expect([group.standing(), group.standing(undefined)]).toEqual(['acts', 'acts']);
    expect(group.standing({ ...(group.view as View), id: '0.0.x' })).toBe('none');
  });

  it('are found by a server that is in nobody’s peers, if it dials one of them', async () => {
    const { x, ...addresses } = await lastingAddresses('a', 'b', 'x');
    const groups = await Promise.all(['a', 'b'].map((name) => join(name, addresses)));
    groups.push(await join('x', { a: addresses.a, x }));
    for (const group of groups) await until(() => sees(group, 'a', 'b', 'x'));
    // b and x are in no list of each other, and talk over a.
    expect(groups[1]?.reach('x')).toBe('overlay');
    await groups[1]?.send('x', Buffer.from('hello'));
  });

  it('form a view without a server that leaves, and wait for none of its leases', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const views: View[] = [];
    const a = await join('a', addresses, { onView: (view) => views.push(view) });
    const b = await join('b', addresses);
    await until(() => sees(a, 'a', 'b') && sees(b, 'a', 'b'));
    await b.close();
    await until(() => sees(a, 'a') && views.at(-1)?.lost.join() === 'b');
    expect([b.view, b.standing(), b.status().state]).toEqual([undefined, 'none', 'left']);
    await expect(b.send('a', new Uint8Array())).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('deliver messages and broadcasts once, and say who received', async () => {
    const addresses = await lastingAddresses('a', 'b', 'c');
    const heard: string[] = [];
    const hearAt = (name: string) => ({
      onMessage: (from: string, bytes: Uint8Array) =>
        void heard.push(`${from} to ${name}: ${Buffer.from(bytes)}`),
    });
    const [a, b, c] = await Promise.all(['a', 'b', 'c'].map((name) => join(name, addresses, hearAt(name))));
    for (const group of [a, b, c]) await until(() => group !== undefined && sees(group, 'a', 'b', 'c'));
    await a?.send('b', Buffer.from('one'));
    const outcome = await a?.broadcast(Buffer.from('all'));
    expect([outcome?.delivered, outcome?.failed.size]).toEqual([['b', 'c'], 0]);
    await until(() => heard.length >= 3);
    expect(heard.sort()).toEqual(['a to b: all', 'a to b: one', 'a to c: all']);
    expect(a?.status().counters).toMatchObject({ messagesSent: 3, messagesFailed: 0 });
  });

  it('yield each view once to a reader, and end with its signal', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const a = await join('a', addresses);
    const stop = new AbortController();
    const read: string[] = [];
    const reading = (async () => {
      for await (const view of a.watch({ signal: stop.signal })) read.push(view.members.join());
    })();
    await until(() => read.length === 1);
    await join('b', addresses);
    await until(() => read.includes('a,b'));
    stop.abort(new Error('enough'));
    await expect(reading).rejects.toThrow('enough');
    expect(read[0]).toBe('a');
  });

  it('outlive callbacks that throw', async () => {
    const logger = listeningLogger();
    const fail = () => {
      throw new Error('a fault of the application');
    };
    const group = await join('a', await lastingAddresses('a'), { onView: fail, logger });
    await until(() => logger.lines.some(({ why }) => why === 'a fault of the application'));
    expect(sees(group, 'a')).toBe(true);
  });
});

describe('a server that is refused', { timeout: LONG_MS }, () => {
  it('has another leaseMs or group, and both sides say which', async () => {
    const addresses = await lastingAddresses('a', 'b', 'c');
    const a = await join('a', addresses);
    const b = await join('b', addresses, { leaseMs: 2 * LEASE_MS });
    const c = await join('c', addresses, { group: 'other' });
    const problem = (group: GroupMember, peer: string) =>
      group.status().peers.find(({ name }) => name === peer)?.problem;
    await until(() =>
      [problem(a, 'b'), problem(b, 'a'), problem(c, 'a')].every((why) => why?.includes('CONFIG_MISMATCH')),
    );
    expect(problem(a, 'b')).toContain('leaseMs is 6000 at b and 3000 at a');
    expect(problem(b, 'a')).toContain('leaseMs is 3000 at a and 6000 at b');
    expect(problem(c, 'a')).toContain('group is default at a and other at c');
    for (const [group, name] of [
      [a, 'a'],
      [b, 'b'],
      [c, 'c'],
    ] as const)
      expect(sees(group, name)).toBe(true);
  });

  it('has the name of another that runs, at another address: one of the two leaves, and says why', async () => {
    const { other, ...addresses } = await lastingAddresses('a', 'b', 'other');
    const leaseMs = 500;
    await join('b', addresses, { leaseMs });
    const both = [
      await join('a', addresses, { leaseMs }),
      await join('a', { b: addresses.b, a: other }, { leaseMs }),
    ];
    const why = await Promise.race(both.map(({ closed }) => closed));
    expect(why).toMatchObject({ code: 'NAME_IN_USE', retryable: true });
  });
});

describe('a server whose token grants another name', () => {
  it('is told before etcd is asked, which may register nobody under that name', async () => {
    const root = newKeyPair();
    const grants = readGrants('server:membership/default/b');
    const tls = makeToken({ cluster: 'blue', root, hosts: [], endS: undefined, grants });
    const { etcd, listen } = await lastingAddresses('etcd', 'listen');
    const asked = vi.fn();
    const server = createServer(asked).listen(Number(etcd.split(':')[1]), '127.0.0.1');
    await once(server, 'listening');
    try {
      const joining = joinGroup({ name: 'a', listen, etcd: `etcd://${etcd}`, tls, logger: silent });
      await expect(joining).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
      expect(asked).not.toHaveBeenCalled();
    } finally {
      server.close();
    }
  });
});

describe('options of a group', () => {
  it.each<[Partial<JoinGroupOptions>, string]>([
    [{ maxServers: 2 }, 'peers and this server are 3: raise maxServers at all servers first'],
    [{ maxServers: 0 }, 'whole number from 1'],
    [{ leaseMs: 1 }, 'it must be from 100'],
    [{ name: '' }, 'option name'],
    [{ name: 'a\u0007' }, 'no control or invisible characters'],
    [{ listen: '0.0.0.0:7700' }, 'everybody who can connect there could take part'],
    [{ peers: { b: 'nowhere' } }, 'option peers.b'],
    [{ advertise: 'nowhere' }, 'option advertise'],
    [{ tls: { ca: 'x', cert: 'y' } as never }, 'tls.'],
    [{ peer: {} } as never, 'there is no such option'],
  ])('%j is refused before anything starts', async (options, message) => {
    const given = {
      name: 'a',
      listen: '127.0.0.1:1',
      peers: { b: '127.0.0.1:2', c: '127.0.0.1:3' },
      logger: silent,
    };
    await expect(joinGroup({ ...given, ...options })).rejects.toThrow(message);
  });
});

describe('a message that cannot be sent', { timeout: LONG_MS }, () => {
  it('is to no member, too large, or one too many; and nothing was sent', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const a = await join('a', addresses);
    await expect(a.send('b', new Uint8Array())).rejects.toMatchObject({ code: 'NOT_A_MEMBER' });
    const b = await join('b', addresses);
    await until(() => sees(a, 'a', 'b') && sees(b, 'a', 'b'));
    await expect(a.send('b', new Uint8Array(BODY_BYTES_MAX + 1))).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
    await expect(a.broadcast(new Uint8Array(BODY_BYTES_MAX + 1))).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
    // All in one turn, so none is acknowledged before the last. On a busy machine a view may change meanwhile.
    const room = Math.floor(WAITING_BYTES_MAX / (BODY_BYTES_MAX + OVERHEAD_BYTES));
    const many = Array.from({ length: room + 5 }, () => a.send('b', new Uint8Array(BODY_BYTES_MAX)));
    const outcomes = await Promise.allSettled(many);
    const isRefused = outcomes.map((each) => each.status === 'rejected' && each.reason.code === 'BUSY');
    expect(isRefused).toEqual([...Array(room).fill(false), ...Array(5).fill(true)]);
  });

  it('is given up by its signal', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const [a, b] = [await join('a', addresses), await join('b', addresses)];
    await until(() => sees(a, 'a', 'b') && sees(b, 'a', 'b'));
    const stop = new AbortController();
    const sending = a.send('b', new Uint8Array(1), { signal: stop.signal });
    stop.abort(new Error('no longer wanted'));
    await expect(sending).rejects.toThrow('no longer wanted');
    await expect(a.send('b', new Uint8Array(1), { signal: stop.signal })).rejects.toThrow('no longer wanted');
  });
});
