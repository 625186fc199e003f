import { connect as connectTls } from 'node:tls';
import { describe, expect, it, vi } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { AddressUnavailableError, PortInUseError } from './errors.ts';
import { framed, HEARTBEAT } from './frame-writer.ts';
import { decodeWelcome } from './handshake.ts';
import { listenTcp, type TcpListener } from './listen.ts';
import type { ListenOptions } from './listen-options.ts';
import { HandMovedRuntime, listeningLogger, PROTOCOL, RawPeer, texts, until } from './socket-script.ts';

const LIMITS = {
  ...{ helloBytes: 200, frameBytesIn: 1_000, connections: 5, connectionsPerAddress: 4 },
  ...{ handshakeMs: 400, frameMs: 800, heartbeatEveryMs: 1_000, silentAfterMs: 4_000 },
};

async function bench(options: Partial<ListenOptions<string, string>> = {}) {
  const runtime = new HandMovedRuntime();
  const logger = listeningLogger();
  const listener = await listenTcp<string, string>({
    ...{ host: '127.0.0.1', port: 0, codec: texts, protocol: PROTOCOL, runtime, logger, limits: LIMITS },
    ...options,
  });
  const heard: string[] = [];
  listener.listen((from, message) => heard.push(`${from} ${message}`));
  const complaints = () => logger.lines.filter(({ level }) => level === 'warn').map(({ code }) => code);
  return { runtime, logger, listener, heard, complaints };
}

async function introduced(listener: TcpListener<string, string>): Promise<RawPeer> {
  const before = listener.counters.opened;
  const peer = new RawPeer(listener.port).introduce();
  await until(() => listener.counters.opened > before && peer.heard.length > 0);
  return peer;
}

const said = (text: string): Uint8Array => framed(Buffer.from(text));

describe('a listener', () => {
  it('welcomes a peer that introduces itself, and passes messages both ways', async () => {
    const { listener, heard } = await bench({ greeting: { http: 'http://127.0.0.1:7401' } });
    await using _ = listener;
    using peer = await introduced(listener);
    const welcome = decodeWelcome(PROTOCOL, peer.heard.subarray(4));
    expect(welcome).toEqual({
      ...{ version: 3, greeting: { http: 'http://127.0.0.1:7401' } },
      channel: expect.stringMatching(/^[0-9a-f]{32}$/),
    });
    expect(listener.peers.get('p1')?.channel).toBe(welcome.channel);
    expect([...listener.peers.values()].map(({ id, role, version }) => [id, role, version])).toEqual([
      ['p1', 'raw', 3],
    ]);

    const before = peer.heard.length;
    peer.say(said('hello')).say(said('again'));
    await until(() => heard.length === 2);
    expect(heard).toEqual(['p1 hello', 'p1 again']);
    listener.send('p1', 'yes');
    await until(() => peer.heard.length > before);
    expect(peer.heard.subarray(before)).toEqual(Buffer.from(said('yes')));
  });

  it('forgets a peer that has left, and gives its name to nobody else', async () => {
    const told: string[] = [];
    const { listener } = await bench({
      onPeer: ({ id }, state, why) => told.push(`${id} ${state} ${why?.code}`),
    });
    await using _ = listener;
    (await introduced(listener))[Symbol.dispose]();
    await until(() => listener.peers.size === 0);
    listener.send('p1', 'to nobody');
    expect(listener.counters.dropped).toBe(1);
    using peer = await introduced(listener);
    expect([...listener.peers.keys()]).toEqual(['p2']);
    expect(told).toEqual([
      'p1 connected undefined',
      'p1 disconnected CONNECTION_LOST',
      'p2 connected undefined',
    ]);
    expect(peer.isClosed).toBe(false);
  });

  it('says that its port is in use, or that the address is not of this machine', async () => {
    const { listener, runtime } = await bench();
    await using _ = listener;
    const options = { codec: texts, protocol: PROTOCOL, runtime, logger: silent };
    const { host, port } = listener;
    await expect(listenTcp({ ...options, host, port })).rejects.toThrow(PortInUseError);
    await expect(listenTcp({ ...options, host: '203.0.113.1', port: 0 })).rejects.toThrow(
      AddressUnavailableError,
    );
  });

  it('lets what it said last arrive when it ends', async () => {
    const { listener } = await bench();
    using peer = await introduced(listener);
    listener.send('p1', 'farewell');
    await listener[Symbol.asyncDispose]();
    await until(() => peer.isClosed);
    expect(peer.heard.includes('farewell')).toBe(true);
  });
});

describe('a listener, to somebody who speaks something else', () => {
  it('says so in HTTP, with where HTTP is', async () => {
    const { listener, complaints, logger } = await bench({ greeting: { http: 'http://127.0.0.1:7401' } });
    await using _ = listener;
    const url = `http://127.0.0.1:${listener.port}/status`;
    const answer = await fetch(url, { method: 'POST', body: 'x'.repeat(5_000) });
    expect(answer.status).toBe(400);
    expect(await answer.text()).toBe(
      `This is port ${listener.port}, which speaks parley. HTTP is at http://127.0.0.1:7401\n`,
    );
    expect(complaints()).toEqual(['WRONG_PROTOCOL']);
    expect(logger.lines.find(({ level }) => level === 'warn')?.['why']).toContain(
      'the other side speaks HTTP',
    );
  });

  it('sends an alert to a TLS client', async () => {
    const { listener, complaints } = await bench();
    await using _ = listener;
    const why = await new Promise<Error>((resolve) => {
      connectTls({ host: '127.0.0.1', port: listener.port, rejectUnauthorized: false }).once(
        'error',
        resolve,
      );
    });
    expect(why.message).toContain('alert protocol version');
    expect(complaints()).toEqual(['WRONG_PROTOCOL']);
  });

  it('closes on a frame that is too large, before and after the handshake', async () => {
    const { listener, complaints, runtime } = await bench();
    await using _ = listener;
    using stranger = new RawPeer(listener.port).say(Buffer.from([0, 0, 0, 201]));
    await until(() => stranger.isClosed);
    runtime.leap(60_000);
    using peer = await introduced(listener);
    peer.say(said('x'.repeat(1_000)));
    peer.say(Buffer.from([0, 0, 3, 233]));
    await until(() => peer.isClosed);
    expect(complaints()).toEqual(['FRAME_TOO_LARGE', 'FRAME_TOO_LARGE']);
    expect(listener.counters.messagesIn).toBe(1);
  });

  it('tells a client of another version, and one of another protocol, what is wrong', async () => {
    const { listener } = await bench();
    await using _ = listener;
    for (const [protocol, code] of [
      [{ name: 'parley', version: 1, oldest: 1 }, 'upgrade the client'],
      [{ name: 'parley', version: 9, oldest: 4 }, 'upgrade the server'],
      [{ name: 'gossip', version: 3, oldest: 3 }, 'the other side speaks'],
    ] as const) {
      using peer = new RawPeer(listener.port).introduce('raw', protocol);
      await until(() => peer.isClosed);
      expect(() => decodeWelcome(PROTOCOL, peer.heard.subarray(4))).toThrow(code);
    }
  });

  it('closes the one connection that sent nonsense', async () => {
    const { listener, complaints, heard } = await bench();
    await using _ = listener;
    using good = await introduced(listener);
    using bad = await introduced(listener);
    bad.say(Buffer.concat([said('sense'), said('nonsense'), said('sense')]));
    await until(() => bad.isClosed);
    good.say(said('sense'));
    await until(() => heard.length === 2);
    expect(heard).toEqual(['p2 sense', 'p1 sense']);
    expect(complaints()).toEqual(['MALFORMED_MESSAGE']);
    expect(listener.counters).toMatchObject({ messagesIn: 3, malformed: 1, closed: 1 });
  });

  it('closes a peer that floods it with heartbeats', async () => {
    const { listener, complaints } = await bench();
    await using _ = listener;
    using flooder = await introduced(listener);
    using other = await introduced(listener);
    flooder.say(Buffer.alloc(15_000 * HEARTBEAT.length));
    other.say(Buffer.alloc(100 * HEARTBEAT.length));
    await vi.waitUntil(() => flooder.isClosed, { timeout: 60_000 });
    expect([other.isClosed, listener.peers.size, complaints()]).toEqual([false, 1, ['MALFORMED_MESSAGE']]);
  });

  it('does not say that it refused one who went away by itself', async () => {
    const { listener, logger } = await bench();
    await using _ = listener;
    const peer = new RawPeer(listener.port);
    await until(() => listener.connections === 1);
    peer[Symbol.dispose]();
    await until(() => listener.connections === 0);
    const messages = logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(messages).toEqual(['peer went away without introducing itself']);
  });

  it('does not fill the log with one who goes on', async () => {
    const { listener, logger, runtime } = await bench();
    await using _ = listener;
    const annoy = async (): Promise<void> => {
      using peer = new RawPeer(listener.port).say('whatever\r\n');
      await until(() => peer.isClosed);
    };
    for (let time = 0; time < 10; time += 1) await annoy();
    runtime.leap(11_000);
    await annoy();
    const warnings = logger.lines.filter(({ level }) => level === 'warn');
    expect(warnings.map(({ also }) => also)).toEqual([undefined, '9 times more since this was last said']);
  });
});

describe('a listener, to a peer that is slow', () => {
  it('gives up on one that does not introduce itself', async () => {
    const { listener, runtime, complaints } = await bench();
    await using _ = listener;
    using peer = new RawPeer(listener.port).say(Buffer.from([0, 0]));
    await until(() => listener.connections === 1);
    runtime.pass(400);
    expect(listener.counters.refused).toBe(0);
    runtime.pass(300);
    expect(listener.counters.refused).toBe(1);
    await until(() => peer.isClosed);
    expect(complaints()).toEqual(['PEER_TIMEOUT']);
  });

  it('gives up on one that begins a frame and does not end it, though it never falls silent', async () => {
    const { listener, runtime } = await bench();
    await using _ = listener;
    using peer = await introduced(listener);
    const [{ bytesIn: before = 0 } = {}] = listener.peers.values();
    peer.say(Buffer.from([0, 0, 1, 0]));
    let sent = 4;
    while (listener.peers.size > 0 && sent < 30) {
      await until(() => listener.counters.bytesIn === before + sent || listener.peers.size === 0);
      runtime.pass(100);
      peer.say('x');
      sent += 1;
    }
    await until(() => peer.isClosed);
    expect(sent - 4).toBeGreaterThanOrEqual(8);
    expect(sent - 4).toBeLessThanOrEqual(12);
  });

  it('sends it heartbeats, and gives up on one that has none', async () => {
    const { listener, runtime, complaints } = await bench();
    await using _ = listener;
    using peer = await introduced(listener);
    runtime.pass(3_900);
    expect(listener.peers.size).toBe(1);
    expect(listener.counters.heartbeatsOut).toBeGreaterThanOrEqual(3);
    runtime.pass(400);
    expect(listener.peers.size).toBe(0);
    await until(() => peer.isClosed);
    expect(complaints()).toEqual(['PEER_TIMEOUT']);
  });

  it('keeps one that has nothing to say but that it is there', async () => {
    const { listener, runtime } = await bench();
    await using _ = listener;
    using peer = await introduced(listener);
    for (let second = 0; second < 20; second += 1) {
      const before = listener.counters.bytesIn;
      peer.say(new Uint8Array(4));
      await until(() => listener.counters.bytesIn > before);
      runtime.pass(1_000);
    }
    expect([listener.peers.size, listener.counters.messagesIn]).toEqual([1, 0]);
  });

  it('does not call it silent because we were stopped ourselves', async () => {
    const { listener, runtime } = await bench();
    await using _ = listener;
    using peer = await introduced(listener);
    runtime.leap(60_000);
    expect([listener.peers.size, peer.isClosed]).toEqual([1, false]);
  });

  it('needs one timer for all of them', async () => {
    const { listener, runtime } = await bench();
    await using _ = listener;
    using one = await introduced(listener);
    using two = await introduced(listener);
    expect([one.isClosed, two.isClosed, runtime.timers]).toEqual([false, false, 1]);
  });
});

describe('a listener, to too many', () => {
  it('refuses more connections than it may have, and takes others when some have left', async () => {
    const { listener } = await bench();
    await using _ = listener;
    const peers = [1, 2, 3, 4].map(() => new RawPeer(listener.port).introduce());
    await until(() => listener.peers.size === 4);
    using fifth = new RawPeer(listener.port).introduce();
    await until(() => fifth.isClosed);
    expect(() => decodeWelcome(PROTOCOL, fifth.heard.subarray(4))).toThrow('TOO_MANY_CONNECTIONS');
    peers.pop()?.[Symbol.dispose]();
    await until(() => listener.connections === 3);
    peers.push(await introduced(listener));
    for (const peer of peers) peer[Symbol.dispose]();
  });
});

describe('a listener without room that knows which peers are admitted', () => {
  const limits = { ...LIMITS, connections: 4, connectionsPerAddress: 4 };

  it('closes the oldest stranger of the busiest address for a newcomer, and no admitted peer', async () => {
    const { listener, logger } = await bench({ limits, admitted: () => new Set(['p1']) });
    await using _ = listener;
    using member = await introduced(listener);
    listener.admit('p1');
    using elsewhere = new RawPeer(listener.port, '127.0.0.2').introduce();
    await until(() => listener.counters.opened === 2);
    using older = await introduced(listener);
    using younger = await introduced(listener);
    using newcomer = await introduced(listener);
    await until(() => older.isClosed);
    expect([member, elsewhere, younger, newcomer].map(({ isClosed }) => isClosed)).not.toContain(true);
    expect(listener.counters.limited.connections).toBe(1);
    expect(logger.lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: expect.stringContaining('no room for more connections'), limit: 'connections', most: 4 },
    ]);
  });

  it('counts a peer as a stranger again that is admitted no more, over that connection', async () => {
    let admitted = new Set(['p1', 'p2', 'p3', 'p4']);
    const { listener, runtime } = await bench({ limits, admitted: () => admitted });
    await using _ = listener;
    const peers: RawPeer[] = [];
    for (const id of admitted) {
      peers.push(await introduced(listener));
      listener.admit(id);
    }
    using refused = new RawPeer(listener.port).introduce();
    await until(() => refused.isClosed);
    expect(listener.counters.limited.connections).toBe(1);
    admitted = new Set(['p1', 'p3', 'p4']);
    runtime.pass(LIMITS.handshakeMs);
    using newcomer = await introduced(listener);
    await until(() => peers[1]?.isClosed === true);
    expect([peers[0], peers[2], peers[3], newcomer].map((peer) => peer?.isClosed)).not.toContain(true);
    for (const peer of peers) peer[Symbol.dispose]();
  });

  it('refuses a newcomer if all are admitted, and says why', async () => {
    const { listener } = await bench({
      ...{ limits: { ...limits, connections: 1 }, admitted: () => new Set(['p1']) },
    });
    await using _ = listener;
    using member = await introduced(listener);
    listener.admit('p1');
    using newcomer = new RawPeer(listener.port).introduce();
    await until(() => newcomer.isClosed);
    expect(newcomer.heard.toString()).toContain('TOO_MANY_CONNECTIONS');
    expect(member.isClosed).toBe(false);
  });
});
