/** A cell of replicas with tokens, attacked by processes with tokens for something else: real sockets, and no code of the attacked side. */

import { afterEach, describe, expect, it } from 'vitest';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { UNRESTRICTED } from '../../node/identity/peer-identity.ts';
import { makeToken, readToken } from '../../node/identity/token.ts';
import { secureSocketsOf } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { silent } from '../../runtime/logger.ts';
import { call as callForm, type Reply } from '../wire/calls.ts';
import { listenerCodec, QUORUM_PROTOCOL, replicaCodec } from '../wire/codec.ts';
import type { PeerMessage } from '../wire/messages.ts';
import { connectQuorum } from './connect-quorum.ts';
import { refusalOfFrame } from './gate.ts';
import { TestCell } from './testing/cells.ts';

const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const token = (grants: string): string => makeToken({ ...cluster, grants: readGrants(grants) });
const socketsFor = (grants: string) =>
  secureSocketsOf({ tls: token(grants), logger: silent }, 0) ?? expect.fail('no sockets');

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const runtime = nodeRuntime();
const COMMON = { protocol: QUORUM_PROTOCOL, runtime, logger: silent } as const;

async function cell(): Promise<TestCell> {
  const all = await TestCell.of('a', 'b', 'c');
  closing.push(all);
  for (const name of ['a', 'b', 'c']) await all.start(name, { tls: token(`server:quorum/default/${name}`) });
  await all.ready();
  return all;
}

const clientOf = async (all: TestCell, grants: string) => {
  const client = await connectQuorum({
    servers: Object.values(all.peers),
    tls: token(grants),
    logger: silent,
  });
  closing.push(client);
  return client;
};

const textOf = (value: Uint8Array | undefined): string => Buffer.from(value ?? []).toString();

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 10));
}

describe('replicas with tokens', () => {
  it('serve a client what its token grants, and refuse the rest', async () => {
    const all = await cell();
    const client = await clientOf(all, 'client:quorum/default');
    await client.put('flag', Buffer.from('on'));
    const reader = await clientOf(all, 'reader:quorum/default');
    expect(textOf((await reader.get('flag')).value)).toBe('on');
    await expect(reader.put('flag', Buffer.from('off'))).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    await expect(client.removeReplica('c')).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
    expect(textOf((await client.get('flag')).value)).toBe('on');
  });

  it('do not begin under a name that the own token does not grant', async () => {
    const all = await TestCell.of('a', 'b', 'c');
    closing.push(all);
    const starting = all.start('a', { tls: token('server:quorum/default/b') });
    await expect(starting).rejects.toMatchObject({ code: 'NOT_ALLOWED' });
  });

  it.each([
    ['server:flease/default/a', 'client'],
    ['owner:pool', 'client'],
    ['reader:quorum/other', 'client'],
    ['reader:quorum/default', 'replica'],
  ])('welcome no process with a token for %s as a %s', async (grants, role) => {
    const all = await TestCell.of('a', 'b', 'c');
    closing.push(all);
    await all.start('a', { tls: token('server:quorum/default/a') });
    const address = all.peers['a'] as string;
    const secure = socketsFor(grants);
    const dialer = dialTcp<PeerMessage, readonly Reply[]>({ ...COMMON, codec: replicaCodec, role, secure });
    closing.push(dialer);
    const storage = 'a~1';
    dialer.send(address, {
      ...{ kind: 'hello', cell: 'default', storage, life: 1, process: 'another', address },
      ...{ initial: undefined, isJoining: false, cluster: undefined },
    });
    await until(() => dialer.problems().has(address) || dialer.welcome(address) !== undefined);
    expect(dialer.problems().get(address)).toMatchObject({ reason: 'NOT_ALLOWED' });
    expect(dialer.welcome(address)).toBeUndefined();
  });

  it('retire no directory for a hello in the name of another replica', async () => {
    const all = await cell();
    await all.stop('b');
    const address = all.peers['a'] as string;
    const forged =
      all.replicas
        .get('a')
        ?.status()
        .members.find(({ name }) => name === 'b')?.storage ?? '';
    const hello: PeerMessage = {
      kind: 'hello',
      cell: 'default',
      storage: forged,
      life: 2 ** 40,
      process: 'forged',
      address: all.peers['b'] as string,
      initial: undefined,
      isJoining: false,
      cluster: undefined,
    };
    // Those that say that they are clients pass the handshake, and are refused at the hello.
    for (const [grants, role] of [
      ['client:quorum/default', 'client'],
      ['server:quorum/default/c', 'replica'],
      ['server:quorum/other/b', 'replica'],
      ['owner:pool|client:quorum', 'client'],
    ] as const) {
      const replies: Reply[] = [];
      const dialer = dialTcp<PeerMessage, readonly Reply[]>({
        ...COMMON,
        codec: replicaCodec,
        role,
        secure: socketsFor(grants),
      });
      closing.push(dialer);
      dialer.listen((_, said) => replies.push(...said));
      dialer.send(address, hello);
      await until(() => replies.length > 0 || dialer.problems().has(address));
      const refusal = grants === 'server:quorum/other/b' ? dialer.problems().get(address) : { ...replies[0] };
      expect(refusal).toMatchObject(
        grants === 'server:quorum/other/b'
          ? { reason: 'NOT_ALLOWED' }
          : { kind: 'failed', code: 'NOT_ALLOWED' },
      );
    }
    await all.serves('b', { tls: token('server:quorum/default/b') });
  });

  it('take a replica of another name at the address of one that was removed', async () => {
    const all = await cell();
    const client = await clientOf(all, 'client:quorum/default|operator:quorum/default');
    await all.stop('c');
    await client.removeReplica('c');
    const { a, b, c } = all.peers as Record<'a' | 'b' | 'c', string>;
    await all.start('d', { peers: { a, b, d: c }, newcomer: true, tls: token('server:quorum/default/d') });
    await client.addReplica('d');
    await all.replicas.get('d')?.ready();
    const members = all.replicas
      .get('a')
      ?.status()
      .members.map(({ name }) => name);
    expect(members).toEqual(['a', 'b', 'd']);
  });

  it('reach each other although a replica says that it is at the address of another', async () => {
    const all = await cell();
    const status = all.replicas.get('a')?.status();
    const storage = status?.members.find(({ name }) => name === 'c')?.storage ?? '';
    await all.stop('c');
    await all.stop('b');
    const dialer = dialTcp<PeerMessage, readonly Reply[]>({
      ...COMMON,
      codec: replicaCodec,
      role: 'replica',
      secure: socketsFor('server:quorum/default/c'),
    });
    closing.push(dialer);
    dialer.send(all.peers['a'] as string, {
      ...{ kind: 'hello', cell: 'default', storage, life: 1_000, process: 'another' },
      ...{ address: all.peers['b'] as string, initial: undefined, isJoining: false, cluster: undefined },
    });
    const addressOfC = () =>
      all.replicas
        .get('a')
        ?.status()
        .members.find(({ name }) => name === 'c')?.address;
    await until(() => addressOfC() === all.peers['b']);
    await all.serves('b', { tls: token('server:quorum/default/b') });
  });

  it('are not stopped by a process at the address of a dead replica that says they were removed', async () => {
    const all = await cell();
    await all.stop('b');
    let hellos = 0;
    for (const grants of ['server:quorum/default/c', 'owner:pool']) {
      const listener = await listenTcp({
        ...COMMON,
        ...parseAddress(all.peers['b'] as string),
        codec: listenerCodec,
        secure: socketsFor(grants),
        greeting: { cell: 'default', name: 'b', storage: 'b~1' },
        refuses: ({ role }) => {
          if (role === 'replica') hellos += 1; // A client may ask any replica.
          return undefined;
        },
      });
      const refused = listener.counters;
      listener.listen((connection) => {
        listener.send(connection, [{ kind: 'failed', id: 0, code: 'removed', message: '' }]);
      });
      await until(() => refused.refused + refused.opened + refused.closed > 0 || listener.connections > 0);
      await (await clientOf(all, 'client:quorum/default')).put('x', Buffer.from('1'));
      await listener[Symbol.asyncDispose]();
    }
    expect(hellos).toBe(0);
    for (const name of ['a', 'c']) await all.replicas.get(name)?.ready();
    await all.serves('b', { tls: token('server:quorum/default/b') });
  });
});

describe('a client with a token', () => {
  it('takes no server for a replica whose token does not say so', async () => {
    const all = await TestCell.of('a');
    closing.push(all);
    const listener = await listenTcp({
      ...COMMON,
      ...parseAddress(all.peers['a'] as string),
      codec: listenerCodec,
      secure: socketsFor('server:quorum/other/a'),
    });
    closing.push(listener);
    const heard: unknown[] = [];
    listener.listen((_, inbound) => heard.push(inbound));
    const client = await clientOf(all, 'client:quorum/default');
    // A time limit beyond that of the test: the refusal itself is the answer.
    const limit = { timeoutMs: 3_600_000 };
    const refusal = { code: 'NOT_A_SERVER', retryable: false, isOutcomeKnown: true };
    await expect(client.get('flag', limit)).rejects.toMatchObject(refusal);
    await expect(client.put('flag', 'on', limit)).rejects.toMatchObject(refusal);
    await expect(client.watch({ key: 'flag' }).next()).rejects.toMatchObject(refusal);
    expect(heard).toEqual([]);
  });
});

describe('the gate of a replica', () => {
  const identity = {
    id: '',
    cluster: 'blue',
    grants: readToken(token('reader:pool')).grants,
    endS: undefined,
  };

  it('has a row for each call, and none passes without a grant', () => {
    const all = callForm.samples();
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(9);
    for (const call of all) {
      const inbound = { from: 'client', calls: [call] } as const;
      expect(refusalOfFrame('default', inbound, identity)?.code, call.kind).toBe('NOT_ALLOWED');
      expect(refusalOfFrame('default', inbound, UNRESTRICTED), call.kind).toBeUndefined();
    }
  });
});
