import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it, type TestContext } from 'vitest';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from '../http-client/certificates-script.ts';
import { secureTexts } from '../http-client/secure-context.ts';
import { dialTcp } from './dial.ts';
import { listenTcp } from './listen.ts';
import { mutualTls } from './mutual-tls.ts';
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
  const secure = mutualTls(secureTexts({ ca: certificates.ca, ...certificates.server }));
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
    const secured = connect({ ...own, host: '127.0.0.1', socket: underneath.socket });
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
