/**
 * A pool with tokens, attacked by processes with tokens for something else: real sockets, and a dialler or listener of their own, without any code of the
 * attacked side.
 */

import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readGrants } from '../../node/identity/grants.ts';
import { newKeyPair } from '../../node/identity/keys.ts';
import { UNRESTRICTED } from '../../node/identity/peer-identity.ts';
import { makeToken, readToken } from '../../node/identity/token.ts';
import { secureSocketsOf } from '../../node/mesh/tls-option.ts';
import { nodeRuntime } from '../../node/runtime.ts';
import { newSigner } from '../../node/signer.ts';
import { parseAddress } from '../../node/tcp/address.ts';
import { dialTcp } from '../../node/tcp/dial.ts';
import { listenTcp } from '../../node/tcp/listen.ts';
import { lastingAddresses } from '../../node/testing/lasting-port.ts';
import type { Tls } from '../../runtime/handle.ts';
import { silent } from '../../runtime/logger.ts';
import { prove } from '../core/incarnation.ts';
import type { FromManager, ToGate } from '../core/messages.ts';
import { connectQuorum } from '../../quorum/shell/connect-quorum.ts';
import { clientCodec, managerCodec, POOL_PROTOCOL } from '../wire/codec.ts';
import { certificate, probe, report, sync } from '../wire/samples.ts';
import { connectLookup } from './lookup/connect-lookup.ts';
import { startManager } from './manager/start-manager.ts';
import { refusalOfHello, refusalOfMessage } from './manager/token-gate.ts';
import { joinPool } from './owner/join-pool.ts';
import { supervise } from './supervise.ts';
import { toManager } from '../wire/messages.ts';

const cluster = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const token = (grants: string): string => makeToken({ ...cluster, grants: readGrants(grants) });
const foreign = makeToken({ ...cluster, root: newKeyPair(), grants: readGrants('everything') });
const socketsFor = (tls: Tls) => secureSocketsOf({ tls, logger: silent }, 0) ?? expect.fail('no sockets');

const closing: AsyncDisposable[] = [];
afterEach(async () => {
  for (const each of closing.splice(0).reverse()) await each[Symbol.asyncDispose]();
});

const runtime = nodeRuntime();
const COMMON = { protocol: POOL_PROTOCOL, runtime, logger: silent } as const;
/** Beyond the time limit of a test: what is told, is told at once. */
const NEVER_MS = 3_600_000;

async function manager(tls: Tls = token('server:pool'), listen = '127.0.0.1:0'): Promise<string> {
  const started = await startManager({ listen, firstStart: true, logger: silent, tls });
  closing.push(started);
  return started.address;
}

async function owner(address: string, name: string, tls: Tls, pool = 'presence') {
  const managers = [address];
  const joined = await joinPool({
    ...{ managers, pool, name, url: `http://${name}`, tls, logger: silent, timeoutMs: NEVER_MS },
  });
  closing.push(joined);
  return joined;
}

async function lookup(address: string, tls: Tls, pool = 'presence') {
  const connected = await connectLookup({
    ...{ managers: [address], pool, tls, logger: silent, timeoutMs: NEVER_MS },
  });
  closing.push(connected);
  return connected;
}

async function until(isTrue: () => boolean): Promise<void> {
  while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 5));
}

/** Says something as a peer of a role; resolves with what the Manager answers, or with why there is no connection. */
async function say(address: string, grants: Tls, role: string, ...messages: readonly ToGate[]) {
  const answers: FromManager[] = [];
  const dialer = dialTcp<ToGate, FromManager>({
    ...{ ...COMMON, codec: clientCodec, role, secure: socketsFor(grants) },
  });
  closing.push(dialer);
  dialer.listen((_, answer) => answers.push(answer));
  for (const message of messages) dialer.send(address, message);
  await until(() => answers.length > 0 || dialer.problems().has(address));
  const problem = dialer.problems().get(address);
  const reason = problem !== undefined && 'reason' in problem ? problem.reason : problem?.code;
  return { answers, reason };
}

/** A report of this owner with the proof that the connection wants. */
async function reportAs(address: string, grants: string, pool: string, name: string) {
  const signer = newSigner();
  const answers: FromManager[] = [];
  const dialer = dialTcp<ToGate, FromManager>({
    ...{ ...COMMON, codec: clientCodec, role: 'owner', secure: socketsFor(token(grants)) },
    preface: ({ channel }) => [prove(signer, pool, channel)],
  });
  closing.push(dialer);
  dialer.listen((_, answer) => answers.push(answer));
  const { incarnation } = signer;
  dialer.send(address, { ...report, pool, name, incarnation, url: 'http://thief', held: [], letGo: [] });
  await until(() => answers.length > 0);
  return answers[0];
}

describe('a pool with tokens', () => {
  it('lets an owner own, a look-up read and a supervisor certify, with a narrow token each', async () => {
    const address = await manager();
    const web = await owner(address, 'web-1', token('owner:pool/presence/web-*'));
    await web.ready();
    const table = await lookup(address, token('reader:pool/presence'));
    await until(() => table.find('ann')?.name === 'web-1');
    const end = await supervise({
      ...{ command: process.execPath, args: ['-e', ''], managers: [address], logger: silent },
      tls: token('owner:pool/presence'),
    });
    expect(end.exitCode).toBe(0);
  });

  it('has Managers whose store has their token, for the cell that is theirs by default', async () => {
    const { m1 } = (await lastingAddresses('m1')) as { m1: string };
    const directory = await mkdtemp(join(tmpdir(), 'leasehold-tokens-'));
    closing.push({ [Symbol.asyncDispose]: () => rm(directory, { recursive: true }) });
    const store = { quorum: { name: 'm1', directory, peers: { m1 } } };
    const common = { listen: '127.0.0.1:0', store, logger: silent };
    await expect(startManager({ ...common, tls: token('server:pool') })).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringContaining('may not be server m1 of quorum leasehold'),
    });
    const started = await startManager({ ...common, tls: token('server:pool|server:quorum/leasehold/m*') });
    closing.push(started);
    await expect(
      connectQuorum({ servers: [m1], cell: 'leasehold', tls: false, logger: silent }).then((client) => {
        closing.push(client);
        return client.get('key');
      }),
    ).rejects.toMatchObject({ code: 'TLS_REQUIRED' });
  });

  it.each([
    ['a Manager', 'owner:pool', 'a server of any pool', () => manager(token('owner:pool'))],
    [
      'an owner',
      'owner:pool/presence/b',
      'owner a of pool presence',
      () => owner('127.0.0.1:1', 'a', token('owner:pool/presence/b')),
    ],
    [
      'an owner of another pool',
      'owner:pool/other',
      'owner a of pool presence',
      () => owner('127.0.0.1:1', 'a', token('owner:pool/other')),
    ],
    [
      'a look-up',
      'reader:pool/other',
      'a reader of pool presence',
      () => lookup('127.0.0.1:1', token('reader:pool/other')),
    ],
    [
      'a supervisor',
      'reader:pool',
      'an owner of any pool',
      () => supervise({ command: 'true', tls: token('reader:pool'), logger: silent }),
    ],
  ] as const)('does not begin %s with a token for %s', async (_, __, words, begin) => {
    await expect(begin()).rejects.toMatchObject({
      code: 'NOT_ALLOWED',
      message: expect.stringContaining(`may not be ${words}`),
    });
  });

  it.each([
    ['reader:pool', 'owner'],
    ['reader:pool', 'supervisor'],
    ['client:pool', 'owner'],
    ['server:flease', 'lookup'],
    ['owner:quorum', 'owner'],
    ['server:membership', 'someone'],
  ])('welcomes no process with a token for %s as %s', async (grants, role) => {
    const address = await manager();
    const { answers, reason } = await say(address, token(grants), role, sync);
    expect([answers, reason]).toEqual([[], 'NOT_ALLOWED']);
  });

  it('lets no owner report under the name of another, in another pool, or from a look-up', async () => {
    const address = await manager();
    const honest = await owner(address, 'ann', token('owner:pool/presence/ann'));
    await honest.ready();
    const before = honest.ranges();
    const refused = { kind: 'refused', code: 'NOT_ALLOWED' };
    expect(await reportAs(address, 'owner:pool/presence/ben', 'presence', 'ann')).toMatchObject(refused);
    expect(await reportAs(address, 'owner:pool/other/ann', 'presence', 'ann')).toMatchObject(refused);
    expect(await reportAs(address, 'owner:pool/presence/an', 'presence', 'ann')).toMatchObject(refused);
    // A pool that only the thief's hello made plausible is not made either.
    expect(await reportAs(address, 'owner:pool/other/ann', 'third', 'ann')).toMatchObject(refused);
    const { answers } = await say(address, token('reader:pool'), 'lookup', { ...report, name: 'ann' });
    expect(answers).toMatchObject([refused]);
    expect(honest.ranges()).toEqual(before);
    const table = await lookup(address, token('reader:pool'));
    expect(table.find('ann')?.name).toBe('ann');
  });

  it('shows the table of another pool to nobody, and ends the connection', async () => {
    const address = await manager();
    const honest = await owner(address, 'ann', token('owner:pool/presence/ann'));
    await honest.ready();
    for (const grants of ['reader:pool/other', 'owner:pool/other']) {
      const role = grants.startsWith('owner') ? 'owner' : 'lookup';
      const { answers } = await say(address, token(grants), role, {
        ...sync,
        pool: 'presence',
        seen: undefined,
      });
      expect(answers).toMatchObject([{ kind: 'refused', code: 'NOT_ALLOWED', asker: sync.lookup }]);
    }
    const { answers } = await say(address, token('reader:pool'), 'lookup', certificate);
    expect(answers).toMatchObject([{ kind: 'refused', code: 'NOT_ALLOWED' }]);
  });

  it.each([
    ['a token of another cluster', foreign, 'WRONG_CLUSTER'],
    ['plaintext', false, 'TLS_REQUIRED'],
  ] as const)('tells an owner and a look-up with %s at once', async (_, tls, code) => {
    const address = await manager();
    await expect(owner(address, 'ann', tls)).rejects.toMatchObject({ code, retryable: false });
    await expect(lookup(address, tls)).rejects.toMatchObject({ code, retryable: false });
  });

  it('tells an owner and a look-up with a token at once that the Manager speaks plaintext', async () => {
    const address = await manager(false);
    const code = 'TLS_NOT_SPOKEN';
    await expect(owner(address, 'ann', token('everything'))).rejects.toMatchObject({ code });
    await expect(lookup(address, token('everything'))).rejects.toMatchObject({ code });
  });

  it('goes on to try while one address may yet serve', async () => {
    const { wrong, right } = (await lastingAddresses('wrong', 'right')) as Record<'wrong' | 'right', string>;
    await manager(foreign, wrong);
    const joining = joinPool({
      ...{ managers: [wrong, right], pool: 'presence', name: 'ann', url: 'http://ann' },
      ...{ tls: token('owner:pool/presence/ann'), logger: silent, timeoutMs: NEVER_MS },
    });
    await manager(token('server:pool'), right);
    const joined = await joining;
    closing.push(joined);
    await joined.ready();
  });

  it.each([
    ['another owner', 'owner:pool'],
    ['a server of another module', 'server:flease|server:quorum|server:membership'],
    ['a Manager of another pool', 'server:pool/other'],
  ])('says nothing to %s at the address of a dead Manager, and hears nothing', async (_, grants) => {
    const { dead } = (await lastingAddresses('dead')) as { dead: string };
    const heard: unknown[] = [];
    const hellos: unknown[] = [];
    const listener = await listenTcp<FromManager, ToGate>({
      ...{ ...COMMON, ...parseAddress(dead), codec: managerCodec, secure: socketsFor(token(grants)) },
      refuses: (hello) => {
        hellos.push(hello);
        return undefined;
      },
    });
    closing.push(listener);
    listener.listen((_from, message) => heard.push(message));
    const code = 'NOT_A_SERVER';
    await expect(owner(dead, 'ann', token('owner:pool/presence/ann'))).rejects.toMatchObject({ code });
    await expect(lookup(dead, token('reader:pool/presence'))).rejects.toMatchObject({ code });
    expect([hellos, heard]).toEqual([[], []]);
  });
});

describe('the gate of a Manager', () => {
  const identityOf = (grants: string) => ({
    ...{ id: '', cluster: 'blue', endS: undefined },
    grants: readToken(token(grants)).grants,
  });

  it('has a row for each message that a Manager hears, and none passes without a grant', () => {
    const all = toManager.samples();
    expect(new Set(all.map(({ kind }) => kind)).size).toBe(5);
    for (const message of all) {
      expect(refusalOfMessage(message, identityOf('server:flease'))?.code, message.kind).toBe('NOT_ALLOWED');
      expect(refusalOfMessage(message, UNRESTRICTED), message.kind).toBeUndefined();
    }
  });

  it.each([
    ['owner', 'owner:pool/x/y', true],
    ['owner', 'reader:pool', false],
    ['supervisor', 'owner:pool/x/y', true],
    ['supervisor', 'reader:pool', false],
    ['lookup', 'reader:pool/x', true],
    ['lookup', 'reader:quorum', false],
    ['anything', 'reader:pool/x', true],
    ['anything', 'operator:membership', false],
  ])('welcomes a %s with %s: %s', (role, grants, isWelcome) => {
    expect(refusalOfHello(role, identityOf(grants)) === undefined).toBe(isWelcome);
  });

  it.each([
    ['a probe', probe, 'reader:pool/x', 'reader:quorum'],
    ['a certificate', certificate, 'owner:pool/x/y', 'reader:pool'],
    ['a sync', { ...sync, pool: 'p' }, 'reader:pool/p', 'reader:pool/q'],
    ['a report', { ...report, pool: 'p', name: 'n' }, 'owner:pool/p/n', 'owner:pool/p/m'],
    ['a report', { ...report, pool: 'p', name: 'n' }, 'owner:pool/p/*', 'client:pool/p/n'],
    ['a proof', prove(newSigner(), 'p', 'ab'.repeat(16)), 'owner:pool/p/n', 'owner:pool/q/n'],
  ] as const)('lets %s pass with a token for it alone', (_, message, right, wrong) => {
    expect(refusalOfMessage(message, identityOf(right))).toBeUndefined();
    expect(refusalOfMessage(message, identityOf(wrong))?.code).toBe('NOT_ALLOWED');
  });
});
