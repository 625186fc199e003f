/** Keys that move with their state between owners with narrow tokens, over real sockets, past a listener on the way. */

import { connect, createServer, type Socket } from 'node:net';
import { afterEach, describe, expect, it, vi } from 'vitest';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { makeToken } from '../../node/identity/token.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import type { Tls } from '../../runtime/handle.ts';
import { silent } from '../../runtime/logger.ts';
import { startManager } from './manager/start-manager.ts';
import { joinPool } from './owner/join-pool.ts';

const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const token = (grants: string): string => makeToken({ ...cluster, grants: readGrants(grants) });

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const patience = { timeout: 20_000, interval: 10 };
const KEYS = Array.from({ length: 60 }, (_, index) => `room-${index}`);
const contentOf = (key: string): string => `what nobody on the way may read, of ${key}`;

/** Passes bytes on to an address, and keeps a copy. */
async function listenInBetween(at: string, to: string): Promise<() => Buffer> {
  const [copied, sockets]: [Buffer[], Socket[]] = [[], []];
  const server = createServer((near) => {
    const far = connect(parseAddress(to).port, '127.0.0.1');
    for (const socket of [near, far]) socket.on('error', () => socket.destroy());
    near.on('data', (bytes) => copied.push(bytes));
    near.pipe(far);
    far.pipe(near);
    sockets.push(near, far);
  });
  await new Promise<void>((resolve) => server.listen(parseAddress(at).port, '127.0.0.1', resolve));
  closing.push({
    [Symbol.asyncDispose]: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  });
  return () => Buffer.concat(copied);
}

/** Three owners share the keys, and one drains; what the listeners on the way to the two others have copied. */
async function drainOne(tls: Readonly<Record<'manager' | 'a' | 'b' | 'c', Tls>>): Promise<Buffer> {
  const manager = await startManager({
    ...{ listen: '127.0.0.1:0', firstStart: true, logger: silent, tls: tls.manager },
  });
  closing.push(manager);
  const copies: (() => Buffer)[] = [];
  const start = async (name: 'a' | 'b' | 'c') => {
    const { listen, advertise } = await lastingAddresses('listen', 'advertise');
    copies.push(await listenInBetween(advertise, listen));
    const owner = await joinPool({
      ...{ managers: [manager.address], pool: 'rooms', name, url: `local://${name}`, logger: silent },
      ...{ moves: true, listen, advertise, tls: tls[name] },
    });
    closing.push(owner);
    return { owner, rooms: owner.leasedMap<string>('rooms') };
  };
  const servers = [await start('a'), await start('b'), await start('c')] as const;
  const ownerOf = (key: string) => servers.find(({ owner }) => owner.check(key) !== undefined);
  const whenOwned = (key: string) => vi.waitUntil(() => ownerOf(key), patience);
  const contents = () =>
    Promise.all(
      KEYS.map(async (key) => {
        const { owner, rooms } = await whenOwned(key);
        return owner.guard(key, (held) => rooms.get(held));
      }),
    );
  await vi.waitUntil(() => servers.every(({ owner }) => owner.ranges().length > 0), patience);
  for (const key of KEYS) {
    const { owner, rooms } = await whenOwned(key);
    await owner.guard(key, (held) => rooms.set(held, contentOf(key)));
  }
  const [a] = servers;
  expect(KEYS.map(ownerOf)).toContain(a);
  expect(await a.owner.drain({ timeoutMs: 60_000 })).toMatchObject({ lost: 0 });
  expect(await contents()).toEqual(KEYS.map(contentOf));
  return Buffer.concat(copies.map((copy) => copy()));
}

const MARK = contentOf('');
const TLS_HANDSHAKE = 22;

describe('an owner that drains', { timeout: 120_000 }, () => {
  it('moves its keys in plaintext without tokens, and with narrow ones over TLS', async () => {
    const plain = { manager: false, a: false, b: false, c: false } as const;
    expect((await drainOne(plain)).includes(MARK)).toBe(true);
    const copied = await drainOne({
      manager: token('server:pool'),
      a: token('owner:pool/rooms/a'),
      b: token('owner:pool/rooms/b'),
      c: token('owner:pool/rooms/c'),
    });
    expect(copied[0]).toBe(TLS_HANDSHAKE);
    expect(copied.includes(MARK)).toBe(false);
  });
});
