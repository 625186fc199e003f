import { mkdtempSync, rmSync } from 'node:fs';
import { connect as connectPlain, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import process from 'node:process';
import { type ConnectionOptions, connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from '../http-client/certificates-script.ts';
import { type LeaseholdError, RefusedError } from '../../runtime/errors.ts';
import { secureTexts } from '../http-client/secure-context.ts';
import { grantsText, readGrants } from '../identity/grants.ts';
import { newKeyPair } from '../identity/keys.ts';
import { type Identity, mayPeerBe, type PeerIdentity } from '../identity/peer-identity.ts';
import { makeToken, readToken, type Token } from '../identity/token.ts';
import { type DialOptions, dialTcp } from './dial.ts';
import { framed } from './frame-writer.ts';
import { encodeHello } from './handshake.ts';
import { listenTcp } from './listen.ts';
import { type SecureSockets, socketsOfFiles, socketsOfTokens } from './secure-sockets.ts';
import { HandMovedRuntime, listeningLogger, PROTOCOL, RawPeer, texts, until } from './socket-script.ts';

const LONG_MS = 30_000;
const LIMITS = { connections: 2, handshakeMs: 400, heartbeatEveryMs: 1_000, silentAfterMs: 4_000 };

let directory: string;
let certificates: Certificates;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'leasehold-mutual-tls-'));
  if (hasOpenssl()) certificates = makeCertificates(directory);
}, LONG_MS);
afterAll(() => rmSync(directory, { recursive: true }));

async function bench(context: TestContext) {
  leaveOutWithoutOpenssl(context);
  const runtime = new HandMovedRuntime();
  const logger = listeningLogger();
  const common = { codec: texts, protocol: PROTOCOL, runtime, logger, limits: LIMITS };
  const secure = socketsOfFiles(secureTexts({ ca: certificates.ca, ...certificates.server }));
  const listener = await listenTcp<string, string>({ ...common, secure, host: '127.0.0.1', port: 0 });
  const dial = () => dialTcp<string, string>({ ...common, secure, role: 'member' });
  const complaints = () => logger.lines.filter(({ level }) => level === 'warn').map(({ code }) => code);
  return { runtime, listener, dial, complaints, address: `127.0.0.1:${listener.port}` };
}

/** As a ClientHello begins that has 165 bytes. */
const HALF_A_HELLO = Buffer.from('16030100a5010000', 'hex');

describe('a listener that encrypts, with one who does not go on to agree on that', {
  timeout: LONG_MS,
}, () => {
  for (const [how, words] of [
    ['says nothing', ''],
    ['stops in the middle of it', HALF_A_HELLO],
  ] as const) {
    it(`cuts it off in the end if it ${how}`, async (context) => {
      const { listener, runtime, complaints } = await bench(context);
      await using _ = listener;
      using silent = new RawPeer(listener.port).say(words);
      await until(() => listener.connections === 1);
      runtime.pass(LIMITS.handshakeMs);
      expect(silent.isClosed).toBe(false);
      runtime.pass(LIMITS.handshakeMs);
      await until(() => silent.isClosed);
      expect([listener.connections, listener.counters.refused, complaints()]).toEqual([
        0,
        1,
        ['PEER_TIMEOUT'],
      ]);
    });

    it(`ends all the same if it ${how}`, async (context) => {
      const { listener } = await bench(context);
      using silent = new RawPeer(listener.port).say(words);
      await until(() => listener.connections === 1);
      await listener[Symbol.asyncDispose]();
      await until(() => silent.isClosed);
    });
  }

  it('gives it no more time if it does, and then does not introduce itself', async (context) => {
    const { listener, runtime, complaints } = await bench(context);
    await using _ = listener;
    using underneath = new RawPeer(listener.port);
    await until(() => listener.connections === 1);
    runtime.pass(LIMITS.handshakeMs);
    const own = secureTexts({ ca: certificates.ca, ...certificates.server });
    const secured = connect({
      ...own,
      host: '127.0.0.1',
      socket: underneath.socket,
      ALPNProtocols: ['leasehold/1'],
    });
    secured.on('error', () => {}).write('.');
    await until(() => listener.counters.bytesIn === 1);
    runtime.pass(LIMITS.handshakeMs / 2);
    await until(() => underneath.isClosed);
    expect(complaints()).toEqual(['PEER_TIMEOUT']);
  });

  it('counts it as a connection, until it is gone', async (context) => {
    const { listener, dial, address, complaints } = await bench(context);
    await using _ = listener;
    await using dialer = dial();
    using first = new RawPeer(listener.port);
    using second = new RawPeer(listener.port);
    await until(() => listener.connections === 2);
    using third = new RawPeer(listener.port);
    await until(() => third.isClosed);
    expect(complaints()).toEqual(['TOO_MANY_CONNECTIONS']);
    for (const peer of [first, second]) peer.socket.destroy();
    await until(() => listener.connections === 0);
    dialer.send(address, 'hello');
    await until(() => dialer.welcome(address) !== undefined);
    expect([listener.connections, listener.peers.size]).toEqual([1, 1]);
  });

  it('has no deadline any more for one who does', async (context) => {
    const { listener, dial, address, runtime } = await bench(context);
    await using _ = listener;
    await using dialer = dial();
    dialer.send(address, 'hello');
    await until(() => dialer.welcome(address) !== undefined);
    runtime.pass(3 * LIMITS.handshakeMs);
    expect([listener.connections, listener.peers.size]).toEqual([1, 1]);
  });
});

describe('a listener at several addresses of a machine', { timeout: LONG_MS }, () => {
  it('has a deadline for each of the handshakes that come from one port', async () => {
    const runtime = new HandMovedRuntime();
    const listener = await listenTcp<string, string>({
      ...{ codec: texts, protocol: PROTOCOL, runtime, logger: listeningLogger(), limits: LIMITS },
      ...{ secure: socketsOfTokens([tokenFor('everything')]), host: '0.0.0.0', port: 0 },
    });
    await using _ = listener;
    const peers: Socket[] = [];
    const open = async (host: string): Promise<void> => {
      const localPort = peers[0]?.localPort;
      const from = localPort === undefined ? {} : { localPort };
      const peer = connectPlain({ host, port: listener.port, localAddress: '127.0.0.1', ...from });
      peers.push(peer);
      await until(() => listener.connections === peers.length);
    };
    await open('127.0.0.1');
    await open('127.0.0.2');
    runtime.pass(2 * LIMITS.handshakeMs);
    await until(() => peers.every(({ closed }) => closed));
    expect([listener.connections, listener.counters.refused]).toEqual([0, 2]);
  });
});

const CLUSTER = { cluster: 'blue', root: newKeyPair(), hosts: [], endS: undefined };
const tokenFor = (grants: string, of = CLUSTER): Token =>
  readToken(makeToken({ ...of, grants: readGrants(grants) }));

async function tokenBench(
  listens = tokenFor('server:flease/default/a'),
  refuses?: () => LeaseholdError | undefined,
) {
  const runtime = new HandMovedRuntime();
  const logger = listeningLogger();
  const common = { codec: texts, protocol: PROTOCOL, runtime, logger, limits: LIMITS };
  const peers: Identity[] = [];
  const listener = await listenTcp<string, string>({
    ...common,
    secure: socketsOfTokens([listens]),
    host: '127.0.0.1',
    port: 0,
    refuses: (_, identity) => {
      peers.push(identity);
      return refuses?.();
    },
  });
  const address = `127.0.0.1:${listener.port}`;
  const dial = (secure: SecureSockets | undefined, more: Partial<DialOptions<string, string>> = {}) => {
    const dialer = dialTcp<string, string>({ ...common, ...more, secure, role: 'member' });
    dialer.send(address, 'hello');
    return dialer;
  };
  const problem = async (secure: SecureSockets | undefined, more?: Partial<DialOptions<string, string>>) => {
    await using dialer = dial(secure, more);
    await until(() => dialer.problems().get(address) !== undefined);
    const { code, message, ...rest } = dialer.problems().get(address) as LeaseholdError;
    return { code: (rest as { reason?: string }).reason ?? code, message };
  };
  return { listener, dial, problem, address, peers, logger };
}

describe('two processes with tokens of one cluster', { timeout: LONG_MS }, () => {
  it('are connected, and each knows what the other may be', async () => {
    const client = tokenFor('client:flease/default/b*');
    const { listener, dial, address, peers } = await tokenBench();
    await using _ = listener;
    await using dialer = dial(socketsOfTokens([client]));
    await until(() => dialer.welcome(address) !== undefined);
    const [peer] = peers as [PeerIdentity];
    expect([peer.id, grantsText(peer.grants)]).toEqual([client.id, 'client:flease/default/b*']);
    const server = dialer.identity(address) as PeerIdentity;
    expect(grantsText(server.grants)).toBe('server:flease/default/a');
  });

  it('are connected while a new root is brought in', async () => {
    const old = tokenFor('everything');
    const next = tokenFor('everything', { ...CLUSTER, root: newKeyPair() });
    const { listener, dial, address } = await tokenBench(old);
    await using _ = listener;
    await using dialer = dial(socketsOfTokens([old, next]));
    await until(() => dialer.welcome(address) !== undefined);
  });

  it('say nothing but the hello to a listener that may not be what was dialled for', async () => {
    const { listener, problem, peers } = await tokenBench();
    await using _ = listener;
    const found = await problem(socketsOfTokens([tokenFor('everything')]), {
      expects: (address, identity) =>
        mayPeerBe(identity, { role: 'server', module: 'flease', instance: 'default', name: 'b' })
          ? undefined
          : new RefusedError('NOT_A_SERVER', `${address} is not b`),
    });
    expect(found).toEqual({ code: 'NOT_A_SERVER', message: expect.stringContaining('is not b') });
    expect(peers).toEqual([]);
  });

  it('do not connect if the listener has a token for diallers alone', async () => {
    const { listener, problem, peers } = await tokenBench(tokenFor('client:flease'));
    await using _ = listener;
    expect((await problem(socketsOfTokens([tokenFor('everything')]))).code).toBe('NOT_A_SERVER');
    expect(peers).toEqual([]);
  });
});

describe('a listener with a token', { timeout: LONG_MS }, () => {
  it('tells a dialler of another cluster', async () => {
    const other = tokenFor('everything', { ...CLUSTER, root: newKeyPair() });
    const { listener, problem, peers } = await tokenBench();
    await using _ = listener;
    expect((await problem(socketsOfTokens([other]))).code).toBe('WRONG_CLUSTER');
    expect(peers).toEqual([]);
  });

  it('tells a dialler that trusts this root and shows the token of another', async () => {
    const other = tokenFor('everything', { ...CLUSTER, root: newKeyPair() });
    const { listener, problem, peers } = await tokenBench();
    await using _ = listener;
    expect((await problem(socketsOfTokens([other, tokenFor('everything')]))).code).toBe('WRONG_CLUSTER');
    expect(peers).toEqual([]);
  });

  it('answers a peer in plaintext in plaintext', async () => {
    const { listener, problem, peers } = await tokenBench();
    await using _ = listener;
    expect(await problem(undefined)).toEqual({
      code: 'TLS_REQUIRED',
      message: expect.stringContaining('set LEASEHOLD_TOKEN_FILE, or give tls, or --token-file'),
    });
    expect(peers).toEqual([]);
  });

  const raw = { rejectUnauthorized: false, checkServerIdentity: () => undefined } as const;
  it.each<[string, (token: Token) => ConnectionOptions]>([
    [
      'speaks TLS 1.2',
      (token) => ({ ...token.vouch(), maxVersion: 'TLSv1.2', ALPNProtocols: ['leasehold/1'] }),
    ],
    ['names no application protocol', (token) => token.vouch()],
    ['names another application protocol', (token) => ({ ...token.vouch(), ALPNProtocols: ['h2'] })],
    ['shows no certificate', () => ({ ALPNProtocols: ['leasehold/1'] })],
    [
      'shows the certificate of a stranger',
      () => ({
        ...tokenFor('everything', { ...CLUSTER, root: newKeyPair() }).vouch(),
        ALPNProtocols: ['leasehold/1'],
      }),
    ],
  ])('reads no hello of a peer that %s', async (_, options) => {
    const { listener, peers, logger } = await tokenBench();
    await using _listener = listener;
    const socket = connect({
      ...raw,
      ...options(tokenFor('everything')),
      host: '127.0.0.1',
      port: listener.port,
    });
    let isClosed = false;
    socket.on('error', () => {}).on('close', () => (isClosed = true));
    socket.resume();
    socket.write(framed(encodeHello(PROTOCOL, 'member')));
    await until(() => isClosed);
    expect(peers).toEqual([]);
    expect(logger.lines.map(({ code }) => code)).not.toContain(undefined);
  });

  it('lets no peer in with a session of another and no certificate', async () => {
    const { listener, peers } = await tokenBench();
    await using _ = listener;
    const common = { ...raw, host: '127.0.0.1', port: listener.port, ALPNProtocols: ['leasehold/1'] };
    const honest = connect({ ...common, ...tokenFor('everything').vouch() });
    let session: Buffer | undefined;
    let isWelcome = false;
    honest.on('session', (bytes) => (session = bytes)).on('data', () => (isWelcome = true));
    honest.write(framed(encodeHello(PROTOCOL, 'member')));
    await until(() => isWelcome);
    honest.destroy();
    const thief = connect({ ...common, ...(session === undefined ? {} : { session }) });
    let isClosed = false;
    thief.on('error', () => {}).on('close', () => (isClosed = true));
    thief.resume();
    thief.write(framed(encodeHello(PROTOCOL, 'member')));
    await until(() => isClosed);
    expect(peers).toHaveLength(1);
  });
});

describe('a dialler with a token', { timeout: LONG_MS }, () => {
  it('says so if the listener speaks plaintext', async () => {
    const runtime = new HandMovedRuntime();
    const common = { codec: texts, protocol: PROTOCOL, runtime, logger: listeningLogger(), limits: LIMITS };
    await using plain = await listenTcp<string, string>({ ...common, host: '127.0.0.1', port: 0 });
    const address = `127.0.0.1:${plain.port}`;
    const secure = socketsOfTokens([tokenFor('everything')]);
    await using dialer = dialTcp<string, string>({ ...common, secure, role: 'member' });
    dialer.send(address, 'secret');
    await until(() => dialer.problems().get(address) !== undefined);
    expect(dialer.problems().get(address)).toMatchObject({
      ...{ code: 'TLS_NOT_SPOKEN', retryable: false },
      message: expect.stringContaining('give the process there a token, or tls: false here'),
    });
  });

  it('takes no other fault of a handshake for plaintext, whichever code Node gives it', () => {
    const { whyNotDialled } = socketsOfTokens([tokenFor('everything')]);
    const codeOf = (message: string): string | undefined =>
      whyNotDialled(Object.assign(new Error(message), { code: 'EPROTO' }), 'a:1')?.code;
    expect(
      codeOf('write EPROTO 80BC:error:0A00010B:SSL routines:ssl3_get_record:wrong version number:'),
    ).toBe('TLS_NOT_SPOKEN');
    expect(codeOf('write EPROTO 80BC:error:0A00045C:SSL routines:tlsv13 alert certificate required:')).toBe(
      undefined,
    );
    expect(codeOf('read EPROTO')).toBe(undefined);
  });

  it('verifies the listener whatever NODE_TLS_REJECT_UNAUTHORIZED says', async () => {
    const before = process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
    const { listener, problem, peers } = await tokenBench();
    await using _ = listener;
    process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = '0';
    try {
      const other = tokenFor('everything', { ...CLUSTER, root: newKeyPair() });
      expect((await problem(socketsOfTokens([other]))).code).toBe('WRONG_CLUSTER');
    } finally {
      if (before === undefined) delete process.env['NODE_TLS_REJECT_UNAUTHORIZED'];
      else process.env['NODE_TLS_REJECT_UNAUTHORIZED'] = before;
    }
    expect(peers).toEqual([]);
  });
});
