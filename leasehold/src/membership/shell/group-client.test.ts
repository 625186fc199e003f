/** Clients and servers of a group in one process, over real sockets on loopback. Each test waits for a condition. */

import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { makeToken } from '../../node/identity/token.ts';
import { clientTexts } from '../../node/mesh/introduction.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { assert } from '../../runtime/assert.ts';
import { instant } from '../../runtime/time.ts';
import type { AnyMessage } from '../core/messages.ts';
import { encodeMessage, MEMBERSHIP_PROTOCOL, membershipCodec } from '../wire/codec.ts';
import { agreedOf, durationsOf } from './settings.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { BODY_BYTES_MAX } from '../wire/bounds.ts';
import type { GroupMember } from './group-member.ts';
import type { GroupClient } from './group-client.ts';
import { connectGroup, type ConnectGroupOptions } from './connect-group.ts';
import { joinGroup } from './join-group.ts';
import { OVERHEAD_BYTES, WAITING_BYTES_MAX } from './sends.ts';

const LEASE_MS = 1_500;
const LONG_MS = 60_000;

const joined: (GroupMember | GroupClient)[] = [];
afterEach(async () => {
  await Promise.all(joined.splice(0).map((each) => each.close()));
});

const until = (holds: () => boolean): Promise<void> =>
  vi.waitFor(
    () => {
      if (!holds()) throw new Error('not yet');
    },
    { timeout: LONG_MS, interval: 10 },
  );

async function serve(
  name: string,
  peers: Record<string, string>,
  { onMessage }: { onMessage?: (to: string, text: string) => void } = {},
): Promise<GroupMember> {
  const listen = peers[name] ?? '';
  const options = { name, listen, peers, leaseMs: LEASE_MS, logger: silent };
  const heard = (_from: string, bytes: Uint8Array): void =>
    onMessage?.(name, new TextDecoder().decode(bytes));
  const server = await joinGroup({ ...options, onMessage: heard });
  joined.push(server);
  return server;
}

async function attach(
  name: string,
  peers: Record<string, string>,
  options: Partial<ConnectGroupOptions> = {},
): Promise<GroupClient> {
  const servers = Object.values(peers);
  const client = await connectGroup({ name, servers, leaseMs: LEASE_MS, logger: silent, ...options });
  joined.push(client);
  return client;
}

const acts = (each: GroupMember | GroupClient, members: string, clients: string): boolean =>
  each.view?.members.join() === members && each.view.clients.join() === clients && each.standing() === 'acts';

describe('a client that every server refuses', () => {
  const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
  const token = (grants: string, root = cluster.root): string =>
    makeToken({ ...cluster, root, grants: readGrants(grants) });

  it.each([
    ['another root', 'WRONG_CLUSTER', token('everything', newKeyPair())],
    ['plaintext', 'TLS_REQUIRED', false],
  ] as const)('for %s is told at once', async (_, code, tls) => {
    const { a } = await lastingAddresses('a');
    const server = await joinGroup({
      ...{ name: 'a', peers: { a }, leaseMs: LEASE_MS, logger: silent },
      tls: token('server:membership/default/a'),
    });
    const client = await connectGroup({ name: 'x', servers: [a], leaseMs: LEASE_MS, tls, logger: silent });
    try {
      // No time limit: the refusal itself is the answer.
      await expect(client.acting({ timeoutMs: 3_600_000 })).rejects.toMatchObject({ code, retryable: false });
    } finally {
      await client.close();
      await server.close();
    }
  });
});

describe('clients of a group', { timeout: LONG_MS }, () => {
  it('are in one view with the servers and each other, and act in it', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const servers = await Promise.all(['a', 'b'].map((name) => serve(name, addresses)));
    const clients = await Promise.all(['x', 'y', 'z'].map((name) => attach(name, addresses)));
    for (const each of [...servers, ...clients]) await until(() => acts(each, 'a,b', 'x,y,z'));
    expect(new Set([...servers, ...clients].map(({ view }) => view?.id)).size).toBe(1);
    const attached = servers.map((server) => server.status().attachedClients);
    expect(attached.reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(['a', 'b']).toContain(clients[0]?.status().server);
    await clients[1]?.close();
    for (const each of [...servers, clients[0], clients[2]])
      await until(() => each !== undefined && acts(each, 'a,b', 'x,z'));
    expect([clients[1]?.view, clients[1]?.standing(), clients[1]?.status().state]).toEqual([
      undefined,
      'none',
      'left',
    ]);
    await expect(clients[1]?.acting()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('go to another server when theirs leaves, which waits until they have stopped', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const [a, b] = await Promise.all(['a', 'b'].map((name) => serve(name, addresses)));
    const client = await attach('x', addresses);
    await client.acting();
    const own = client.status().server === 'a' ? a : b;
    const other = own === a ? b : a;
    await own?.close();
    await until(() => other !== undefined && acts(other, other.name, 'x') && acts(client, other.name, 'x'));
  });

  it('let their server hand over what it acknowledges while it leaves', async () => {
    const addresses = await lastingAddresses('a', 'b');
    const handedOver: Record<'a' | 'b', string[]> = { a: [], b: [] };
    const onMessage = (to: string, text: string): void => void handedOver[to as 'a' | 'b'].push(text);
    const [a, b] = await Promise.all(['a', 'b'].map((name) => serve(name, addresses, { onMessage })));
    assert(a !== undefined && b !== undefined, 'both have joined');
    const client = await attach('x', addresses);
    await until(() => acts(a, 'a,b', 'x') && acts(b, 'a,b', 'x') && acts(client, 'a,b', 'x'));
    const [leaving, staying] = client.status().server === 'a' ? [a, b] : [b, a];
    const closed = leaving.close();
    const acknowledged: string[] = [];
    let sent = 0;
    // Until the leaving server is in no view, one message after the other.
    while (staying.view?.members.includes(leaving.name) === true) {
      const text = `message ${sent++}`;
      try {
        await staying.send(leaving.name, new TextEncoder().encode(text));
        acknowledged.push(text);
      } catch (error) {
        expect(error).toHaveProperty('code', expect.stringMatching(/VIEW_CHANGED|NOT_A_MEMBER/));
      }
    }
    await closed;
    expect(acknowledged.length).toBeGreaterThan(0);
    expect(handedOver[leaving.name as 'a' | 'b']).toEqual(expect.arrayContaining(acknowledged));
  });

  it('send to servers and to each other, and are sent to, over the servers to which they are attached', async () => {
    const addresses = await lastingAddresses('a', 'b', 'c');
    const heard: string[] = [];
    const hearsAt = (to: string) => ({
      onMessage: (from: string, bytes: Uint8Array) =>
        void heard.push(`${from} to ${to}: ${new TextDecoder().decode(bytes)}`),
    });
    const onMessage = (to: string, text: string): void => void heard.push(`to ${to}: ${text}`);
    const servers = await Promise.all(['a', 'b', 'c'].map((name) => serve(name, addresses, { onMessage })));
    const [x, y] = await Promise.all(['x', 'y'].map((name) => attach(name, addresses, hearsAt(name))));
    assert(x !== undefined && y !== undefined, 'both have joined');
    for (const each of [...servers, x, y]) await until(() => acts(each, 'a,b,c', 'x,y'));
    const text = new TextEncoder().encode('hello');
    for (const name of ['a', 'b', 'c', 'y']) await x.send(name, text);
    for (const server of servers) await server.send('x', text);
    // What was acknowledged was handed over; only the call of the application comes at the end of the turn.
    await until(() => heard.length === 7);
    expect(heard.sort()).toEqual([
      'a to x: hello',
      'b to x: hello',
      'c to x: hello',
      'to a: hello',
      'to b: hello',
      'to c: hello',
      'x to y: hello',
    ]);
    for (const name of ['x', 'nobody'])
      await expect(x.send(name, text)).rejects.toMatchObject({ code: 'NOT_A_MEMBER' });
    await expect(x.send('y', new Uint8Array(BODY_BYTES_MAX + 1))).rejects.toMatchObject({
      code: 'TOO_LARGE',
    });
    const room = Math.floor(WAITING_BYTES_MAX / (BODY_BYTES_MAX + OVERHEAD_BYTES));
    const many = Array.from({ length: room + 1 }, () => x.send('y', new Uint8Array(BODY_BYTES_MAX)));
    const last = (await Promise.allSettled(many)).at(-1);
    expect(last).toMatchObject({ reason: expect.objectContaining({ code: 'BUSY' }) });
  });

  it('are refused by servers with another leaseMs or group, and their status says which', async () => {
    const addresses = await lastingAddresses('a');
    await serve('a', addresses);
    const [slow, foreign] = [
      await attach('x', addresses, { leaseMs: 2 * LEASE_MS }),
      await attach('y', addresses, { group: 'other' }),
    ];
    await until(() =>
      [slow, foreign].every((each) => each.status().servers[0]?.problem?.includes('CONFIG_MISMATCH')),
    );
    expect(slow.status().servers[0]?.problem).toContain('leaseMs is');
    expect(foreign.status().servers[0]?.problem).toContain('group is');
  });

  it('learn the name of the server at an address, and say who does not answer', async () => {
    const { a, b } = await lastingAddresses('a', 'b');
    await serve('a', { a });
    const client = await attach('x', { a, b });
    await client.ready();
    expect(client.status()).toMatchObject({
      role: 'client',
      isReady: true,
      waitsFor: undefined,
      server: 'a',
    });
    expect(client.status().servers).toContainEqual({ address: a, name: 'a', problem: undefined });
    const alone = await attach('y', { b });
    await until(() => alone.status().problems.some(({ id }) => id === `peer ${b}`));
    await expect(alone.acting({ timeoutMs: 20 })).rejects.toMatchObject({ code: 'TIMEOUT', retryable: true });
    await expect(alone.send('a', 'hello')).rejects.toMatchObject({ code: 'NO_VIEW', retryable: true });
  });

  it('end with NAME_IN_USE if a server has their name', async () => {
    const addresses = await lastingAddresses('a', 'b');
    await Promise.all(['a', 'b'].map((name) => serve(name, addresses)));
    const client = await attach('b', { a: addresses['a'] ?? '' });
    expect(await client.closed).toMatchObject({ code: 'NAME_IN_USE' });
    await expect(client.acting()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('act on although another connection says that they detach, and one connection attaches no names but its own', async () => {
    const { a } = await lastingAddresses('a');
    const logger = listeningLogger();
    const server = await joinGroup({ name: 'a', listen: a, peers: { a }, leaseMs: LEASE_MS, logger });
    joined.push(server);
    const client = await attach('x', { a });
    await until(() => acts(server, 'a', 'x') && acts(client, 'a', 'x'));
    const intruder = dialTcp<Uint8Array, AnyMessage>({
      ...{ codec: membershipCodec, protocol: MEMBERSHIP_PROTOCOL, role: 'intruder', logger: silent },
      ...{ runtime: nodeRuntime(), secure: undefined, limits: {} },
      introduction: clientTexts('default', agreedOf(durationsOf(LEASE_MS))),
    });
    const { view } = client;
    const attachment = server.inside.member.view?.clients[0];
    assert(attachment !== undefined, 'the server lists its client');
    const ghost = { ...attachment, name: 'ghost' };
    const stamp = {
      to: 'a',
      stamp: instant(1),
      server: undefined,
      echo: undefined,
      holds: 0,
      greatestNumber: 0,
    };
    for (const message of [
      { kind: 'detach', client: attachment } as const,
      { kind: 'stamp', client: ghost, ...stamp, isCountable: true } as const,
    ])
      for (const frame of encodeMessage(message)) intruder.send(a, frame);
    await until(() => logger.lines.some(({ message }) => message.includes('speaks for another one')));
    await intruder[Symbol.asyncDispose]();
    await client.acting();
    expect([client.view, server.status().attachedClients]).toEqual([view, 1]);
  });

  it('of one name refute each other, and one of them ends with NAME_IN_USE', async () => {
    const addresses = await lastingAddresses('a');
    await serve('a', addresses);
    const both = [await attach('x', addresses), await attach('x', addresses)];
    const why = await Promise.race(both.map(({ closed }) => closed));
    expect(why).toMatchObject({ code: 'NAME_IN_USE' });
  });
});

describe('options of a client', () => {
  it.each<[Partial<ConnectGroupOptions>, string]>([
    [{ servers: [] }, 'option servers'],
    [{ servers: ['nowhere'] }, 'option servers'],
    [{ leaseMs: 1 }, 'it must be from 100'],
    [{ maxServers: 3 } as never, 'there is no such option'],
  ])('%j is refused before anything starts', async (options, message) => {
    const given = { name: 'x', servers: ['127.0.0.1:1'], logger: silent };
    await expect(connectGroup({ ...given, ...options })).rejects.toThrow(message);
  });
});
