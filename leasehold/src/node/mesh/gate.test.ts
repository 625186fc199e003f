/** Attacks by processes that hold a token, but not the one for what they say. A dialler or listener of their own, and no code of the mesh. */

import { lastingAddresses } from '../testing/lasting-port.ts';
import { describe, expect, it } from 'vitest';
import { RefusedError } from '../../runtime/errors.ts';
import { silent } from '../../runtime/logger.ts';
import { readGrants } from '../identity/grants.ts';
import { newKeyPair } from '../identity/keys.ts';
import { makeToken, readToken } from '../identity/token.ts';
import { parseAddress } from '../tcp/address.ts';
import { dialTcp } from '../tcp/dial.ts';
import type { Texts } from '../tcp/handshake.ts';
import { listenTcp } from '../tcp/listen.ts';
import { HandMovedRuntime, listeningLogger, PROTOCOL, texts, until } from '../tcp/socket-script.ts';
import { nameInUse } from './errors.ts';
import { clientTexts } from './introduction.ts';
import { openMesh, type PeerState } from './mesh.ts';
import { secureSocketsOf } from './tls-option.ts';

const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const sockets = (grants: string) =>
  secureSocketsOf({ tls: makeToken({ ...cluster, grants: readGrants(grants) }), logger: silent }, 0) ??
  expect.fail('no sockets');

const COMMON = { codec: texts, protocol: PROTOCOL };

async function openMember(name: string, peers: Readonly<Record<string, string>>, grants: string) {
  const heard: string[] = [];
  const states: (readonly [string, PeerState])[] = [];
  const logger = listeningLogger();
  const runtime = new HandMovedRuntime();
  const mesh = await openMesh<string, string>({
    ...COMMON,
    name,
    runtime,
    logger,
    incarnation: `first of ${name}`,
    group: 'default',
    module: 'membership',
    agreed: {},
    listen: parseAddress(peers[name] as string),
    secure: sockets(grants),
    receive: (from, message) => heard.push(`${from}: ${message}`),
    clients: { receive: (_, message, from) => heard.push(`client ${from}: ${message}`) },
    onPeer: (peer, state) => states.push([peer, state]),
  });
  mesh.setPeers(new Map(Object.entries(peers)));
  return { mesh, heard, states, runtime, [Symbol.asyncDispose]: () => mesh[Symbol.asyncDispose]() };
}

/** What a stranger says in its hello, and how a member answers. */
async function knock(address: string, grants: string, role: string, introduction: Texts) {
  const runtime = new HandMovedRuntime();
  const logger = listeningLogger();
  await using dialer = dialTcp<string, string>({
    ...COMMON,
    runtime,
    logger,
    role,
    introduction,
    secure: sockets(grants),
  });
  dialer.send(address, 'hello');
  const answer = (): string | undefined =>
    dialer.welcome(address) === undefined ? dialer.problems().get(address)?.message : 'welcome';
  await until(() => answer() !== undefined);
  return answer();
}

const asMember = (member: string, group = 'default'): Texts => ({ member, group, incarnation: 'x' });

describe('a member with a token', () => {
  it('talks with a member whose token grants its name', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    await using b = await openMember('b', peers, 'server:membership/default/b');
    a.mesh.send('b', 'hello');
    await until(() => b.heard.length === 1);
    expect(b.heard).toEqual(['a: hello']);
  });

  it('does not begin under a name that its own token does not grant', async () => {
    const peers = await lastingAddresses('a', 'b');
    const opening = openMember('a', peers, 'server:membership/default/b');
    await expect(opening).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringContaining('may not be server a of membership default'),
    });
  });

  it.each([
    ['of another member', 'server:membership/default/c', 'b', asMember('b')],
    ['of another group', 'server:membership/other/b', 'b', asMember('b')],
    ['of another group, which the hello names too', 'server:membership/other/b', 'b', asMember('b', 'other')],
    ['of another module', 'server:flease/default/b', 'b', asMember('b')],
    ['of a client', 'client:membership/default/b', 'b', asMember('b')],
    ['of an operator', 'operator', 'b', asMember('b')],
    ['of another client', 'client:membership/default/x', 'y', clientTexts('default')],
    ['of a reader that comes as a client', 'reader:membership/default/y', 'y', clientTexts('default')],
  ])('refuses a process with the token %s', async (_, grants, role, introduction) => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    expect(await knock(peers['a'] as string, grants, role, introduction)).toContain('NOT_ALLOWED');
    expect([a.heard, a.states]).toEqual([[], []]);
  });

  it('hears a client whose token grants its name', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    expect(
      await knock(peers['a'] as string, 'client:membership/default/x', 'x', clientTexts('default')),
    ).toBe('welcome');
    await until(() => a.heard.length === 1);
    expect(a.heard).toEqual(['client x: hello']);
  });

  it.each([
    ['another member', 'server:membership/default/c'],
    ['a sharer of limits', 'owner:pool/ratelimit/b'],
    ['a member of another group', 'server:membership/other/b'],
  ])('hears no refusal and no welcome of %s at the address of a dead member', async (_, grants) => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    const hellos: string[] = [];
    await using _false = await listenTcp<string, string>({
      ...COMMON,
      ...parseAddress(peers['b'] as string),
      runtime: new HandMovedRuntime(),
      logger: listeningLogger(),
      secure: sockets(grants),
      greeting: asMember('b'),
      refuses: ({ role }) => {
        hellos.push(role);
        return nameInUse('a');
      },
    });
    a.mesh.send('b', 'secret');
    await until(() => a.mesh.problemOf('b') !== undefined);
    expect(a.mesh.problemOf('b')).toContain('may not be server b of membership default');
    expect([hellos, a.states.filter(([, state]) => state === 'duplicated')]).toEqual([[], []]);
  });

  it('hears the refusal of a true member', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    await using _true = await listenTcp<string, string>({
      ...COMMON,
      ...parseAddress(peers['b'] as string),
      runtime: new HandMovedRuntime(),
      logger: listeningLogger(),
      secure: sockets('server:membership/default/b'),
      refuses: () => nameInUse('a'),
    });
    a.mesh.send('b', 'hello');
    await until(() => a.states.some(([, state]) => state === 'duplicated'));
    expect(a.states).toContainEqual(['a', 'duplicated']);
  });

  it('sends nothing over a connection that was made for another member at the same address', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    await using b = await openMember('b', peers, 'server:membership/default/b');
    a.mesh.send('b', 'for b');
    await until(() => b.heard.length === 1);
    a.mesh.setPeers(new Map([['c', peers['b'] as string]]));
    a.mesh.send('c', 'for c');
    expect(a.mesh.isConnected('c')).toBe(false);
    a.mesh.setPeers(new Map(Object.entries(peers)));
    a.mesh.send('b', 'for b again');
    await until(() => b.heard.length === 2);
    expect(b.heard).toEqual(['a: for b', 'a: for b again']);
  });
});

describe('a member at the address that another one says is its own', () => {
  it('is heard, and is sent nothing that is for the other', async () => {
    const peers = await lastingAddresses('a', 'b');
    await using a = await openMember('a', peers, 'server:membership/default/a');
    await using b = await openMember('b', peers, 'server:membership/default/b');
    a.mesh.setPeers(new Map([...Object.entries(peers), ['c', peers['b'] as string]]));
    a.mesh.send('c', 'for c');
    a.mesh.send('b', 'for b');
    await until(() => a.mesh.isConnected('b'));
    a.mesh.send('c', 'for c');
    a.mesh.send('b', 'for b again');
    await until(() => b.heard.includes('a: for b again'));
    expect(a.mesh.isConnected('c')).toBe(false);
  });
});

describe('the option tls', () => {
  it('takes no root of tokens for an own authority, below which every token would be everything', () => {
    const { anchor, vouch } = readToken(
      makeToken({ ...cluster, grants: readGrants('server:flease/default/a') }),
    );
    expect(() => secureSocketsOf({ tls: { ca: anchor, ...vouch() }, logger: silent }, 0)).toThrow(
      'give the token itself',
    );
    const { cert, key } = vouch();
    const grant = cert.slice(cert.lastIndexOf('-----BEGIN'));
    expect(() => secureSocketsOf({ tls: { ca: grant, cert, key }, logger: silent }, 0)).toThrow(
      'give the token itself',
    );
  });

  it('takes tokens of one cluster that have not ended', () => {
    const of = (name: string, endS?: number): string =>
      makeToken({ ...cluster, cluster: name, grants: readGrants('everything'), endS });
    expect(secureSocketsOf({ tls: undefined, logger: silent }, 0)).toBeUndefined();
    expect(() => secureSocketsOf({ tls: [], logger: silent }, 0)).toThrow('it must have a token');
    expect(() => secureSocketsOf({ tls: [of('blue'), of('green')], logger: silent }, 0)).toThrow(
      'a process is of one cluster',
    );
    expect(secureSocketsOf({ tls: `${of('blue')},\n${of('blue')}\n`, logger: silent }, 0)).toBeDefined();
    expect(() => secureSocketsOf({ tls: of('blue', 1_000), logger: silent }, 999_999)).not.toThrow();
    expect(() => secureSocketsOf({ tls: of('blue', 1_000), logger: silent }, 1_000_000)).toThrow(
      'ended at 1970-01-01T00:16:40.000Z',
    );
    const seen = (tls: string): unknown => {
      try {
        return secureSocketsOf({ tls, logger: silent }, 0);
      } catch (error) {
        return error;
      }
    };
    expect(seen('lh1.rubbish')).toBeInstanceOf(RefusedError);
    expect(String(seen('lh1.rubbish'))).not.toContain('rubbish');
  });
});
