/** Clients and servers of a group in one process, over real sockets on loopback. Each test waits for a condition. */

import { clientTexts } from '../../node/mesh/introduction.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { assert } from '../../runtime/assert.ts';
import { instant } from '../../runtime/time.ts';
import type { AnyMessage } from '../core/messages.ts';
import { encodeMessage, MEMBERSHIP_PROTOCOL, membershipCodec } from '../wire/codec.ts';
import { agreedOf, durationsOf } from './settings.ts';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { freeAddresses, listeningLogger } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import { LeftGroupError } from '../errors.ts';
import type { Group } from './group.ts';
import type { GroupClient } from './group-client.ts';
import type { JoinGroupClientOptions } from './join-client.ts';
import { joinGroup } from './join-group.ts';

const LEASE_MS = 1_500;
const LONG_MS = 60_000;

const joined: (Group | GroupClient)[] = [];
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

async function serve(name: string, peers: Record<string, string>, group?: string): Promise<Group> {
  const listen = peers[name] ?? '';
  const server = await joinGroup({ name, listen, peers, leaseMs: LEASE_MS, logger: silent, group });
  joined.push(server);
  return server;
}

async function attach(
  name: string,
  peers: Record<string, string>,
  options: Partial<JoinGroupClientOptions> = {},
): Promise<GroupClient> {
  const client = await joinGroup({ name, peers, leaseMs: LEASE_MS, logger: silent, ...options });
  joined.push(client);
  return client;
}

const acts = (each: Group | GroupClient, members: string, clients: string): boolean =>
  each.view?.members.join() === members && each.view.clients.join() === clients && each.standing() === 'acts';

describe('clients of a group', { timeout: LONG_MS }, () => {
  it('are in one view with the servers and each other, and act in it', async () => {
    const addresses = await freeAddresses('a', 'b');
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
    await expect(clients[1]?.acting()).rejects.toThrow(LeftGroupError);
  });

  it('go to another server when theirs leaves, which waits until they have stopped', async () => {
    const addresses = await freeAddresses('a', 'b');
    const [a, b] = await Promise.all(['a', 'b'].map((name) => serve(name, addresses)));
    const client = await attach('x', addresses);
    await client.acting();
    const own = client.status().server === 'a' ? a : b;
    const other = own === a ? b : a;
    await own?.close();
    await until(() => other !== undefined && acts(other, other.name, 'x') && acts(client, other.name, 'x'));
  });

  it('are refused by servers with another leaseMs or group, and their status says which', async () => {
    const addresses = await freeAddresses('a');
    await serve('a', addresses);
    const [slow, foreign] = [
      await attach('x', addresses, { leaseMs: 2 * LEASE_MS }),
      await attach('y', addresses, { group: 'other' }),
    ];
    await until(() =>
      [slow, foreign].every((each) => each.status().problems['a']?.includes('CONFIG_MISMATCH')),
    );
    expect(slow.status().problems['a']).toContain('leaseMs is');
    expect(foreign.status().problems['a']).toContain('group is');
  });

  it('are attached to no server that has another name than its address in peers', async () => {
    const { a, b } = await freeAddresses('a', 'b');
    const server = await serve('a', { a });
    const logger = listeningLogger();
    const client = await attach('x', { b: a }, { logger });
    await until(() =>
      logger.lines.some(({ message }) => message.includes('another server is at the address')),
    );
    expect([server.status().attachedClients, client.standing(), client.status().problems['b']]).toEqual([
      0,
      'none',
      'is a',
    ]);
    expect(b).not.toBe(a);
  });

  it('end with NAME_TAKEN if a server has their name', async () => {
    const addresses = await freeAddresses('a', 'b');
    await Promise.all(['a', 'b'].map((name) => serve(name, addresses)));
    const ends: string[] = [];
    const onEnd = (why: { code: string } | undefined): void => void ends.push(why?.code ?? 'none');
    await attach('b', { a: addresses['a'] ?? '' }, { onEnd });
    await until(() => ends.length > 0);
    expect(ends).toEqual(['NAME_TAKEN']);
  });

  it('act on although another connection says that they detach, and one connection attaches no names but its own', async () => {
    const { a } = await freeAddresses('a');
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
    const stamp = { to: 'a', stamp: instant(1), server: undefined, echo: undefined, holds: 0 };
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

  it('of one name refute each other, and one of them ends with NAME_TAKEN', async () => {
    const addresses = await freeAddresses('a');
    await serve('a', addresses);
    const ends: string[] = [];
    const onEnd = (why: { code: string } | undefined): void => void ends.push(why?.code ?? 'none');
    await attach('x', addresses, { onEnd });
    await attach('x', addresses, { onEnd });
    await until(() => ends.length > 0);
    expect(ends[0]).toBe('NAME_TAKEN');
  });
});

describe('options of a client', () => {
  it.each<[Partial<JoinGroupClientOptions>, string]>([
    [{ peers: {} }, 'option peers'],
    [{ name: 'a' }, 'it is the name of a server in peers'],
    [{ leaseMs: 1 }, 'it must be a number from 100'],
    [{ onMessage: () => {} } as never, 'there is no such option'],
    [{ size: 3 } as never, 'there is no such option'],
  ])('%j is refused before anything starts', async (options, message) => {
    const given = { name: 'x', peers: { a: '127.0.0.1:1' }, logger: silent };
    await expect(joinGroup({ ...given, ...options })).rejects.toThrow(message);
  });
});
