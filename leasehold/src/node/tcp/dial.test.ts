import { createServer } from 'node:net';
import { describe, expect, it } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { nodeRuntime } from '../runtime.ts';
import { type DialOptions, dialTcp } from './dial.ts';
import type { ProtocolId } from './handshake.ts';
import { listenTcp, type TcpListener } from './listen.ts';
import { HandMovedRuntime, listeningLogger, PROTOCOL, texts, until } from './socket-script.ts';

const listening = (port = 0, protocol: ProtocolId = PROTOCOL): Promise<TcpListener<string, string>> =>
  listenTcp({ host: '127.0.0.1', port, codec: texts, protocol, runtime: nodeRuntime(), logger: silent });

function bench(options: Partial<DialOptions<string, string>> = {}) {
  const told: string[] = [];
  const heard: string[] = [];
  const dialer = dialTcp<string, string>({
    ...{ codec: texts, protocol: PROTOCOL, role: 'tester', runtime: nodeRuntime(), logger: silent },
    onState: (_address, state, why) => told.push(why === undefined ? state : `${state} ${why.code}`),
    ...options,
  });
  dialer.listen((from, message) => heard.push(`${from} ${message}`));
  return { dialer, told, heard };
}

const at = ({ port }: { readonly port: number }): string => `127.0.0.1:${port}`;

describe('a dialler', () => {
  it('connects when something is first sent, and keeps what is sent until it is connected', async () => {
    await using listener = await listening();
    listener.listen((from, message) => listener.send(from, message.toUpperCase()));
    const { dialer, told, heard } = bench();
    await using _ = dialer;
    for (const word of ['one', 'two', 'three']) dialer.send(at(listener), word);
    await until(() => heard.length === 3);
    expect(heard).toEqual(['ONE', 'TWO', 'THREE'].map((word) => `${at(listener)} ${word}`));
    expect(told).toEqual(['connected']);
    expect([...listener.peers.values()].map(({ role }) => role)).toEqual(['tester']);
    expect([dialer.problems().size, dialer.welcome(at(listener))?.version]).toEqual([0, 3]);
  });

  it('comes back by itself when the server was restarted on its port', async () => {
    const first = await listening();
    const { port } = first;
    const logger = listeningLogger();
    const { dialer, told } = bench({ logger });
    await using _ = dialer;
    dialer.send(at(first), 'hello');
    await until(() => told.length === 1);
    await first[Symbol.asyncDispose]();
    await until(() => told.includes('disconnected UNREACHABLE'));
    expect(dialer.problems().get(`127.0.0.1:${port}`)?.message).toBe(
      `cannot reach 127.0.0.1:${port}: no process listens there; is it running, and is the port right?`,
    );
    await using second = await listening(port);
    const heard: string[] = [];
    second.listen((from, message) => heard.push(`${from} ${message}`));
    await until(() => told.at(-1) === 'connected');
    dialer.send(`127.0.0.1:${port}`, 'hello again');
    await until(() => heard.length === 1);
    expect(heard).toEqual(['p1 hello again']);
    expect(told[1]).toBe('disconnected CONNECTION_LOST');
    expect(dialer.problems().size).toBe(0);
    const warnings = logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings).toEqual(['not connected', 'connected again']);
  });

  it('says of a first connection that it came at last, not again', async () => {
    const closed = await listening();
    const { port } = closed;
    await closed[Symbol.asyncDispose]();
    const logger = listeningLogger();
    const { dialer, told } = bench({ logger });
    dialer.send(`127.0.0.1:${port}`, 'hello');
    await until(() => told.length > 0);
    await using _ = await listening(port);
    await until(() => told.at(-1) === 'connected');
    const warnings = logger.lines.filter(({ level }) => level === 'warn').map(({ message }) => message);
    expect(warnings).toEqual(['not connected', 'connected at last']);
  });

  it('drops what is sent to nobody, and never throws', async () => {
    const closed = await listening();
    await closed[Symbol.asyncDispose]();
    const { dialer, told } = bench();
    dialer.send(`127.0.0.1:${closed.port}`, 'anybody?');
    await until(() => told.length === 1);
    dialer.send(`127.0.0.1:${closed.port}`, 'anybody?');
    dialer.send('nowhere', 'anybody?');
    expect(dialer.problems().get('nowhere')?.code).toBe('INVALID_OPTION');
    await dialer[Symbol.asyncDispose]();
    dialer.send(`127.0.0.1:${closed.port}`, 'anybody?');
    expect(dialer.counters.dropped).toBe(4);
  });

  it('keeps only so much while it is connecting', async () => {
    await using listener = await listening();
    let heard = 0;
    listener.listen(() => (heard += 1));
    const { dialer } = bench({ limits: { queueBytesOut: 1_000 } });
    await using _ = dialer;
    for (let message = 0; message < 50; message += 1) dialer.send(at(listener), 'x'.repeat(96));
    await until(() => heard > 0);
    expect([heard, dialer.counters.dropped]).toEqual([10, 40]);
  });

  it('leaves a server that talks nonsense, and counts it', async () => {
    await using listener = await listening();
    listener.listen((from) => listener.send(from, 'nonsense'));
    const { dialer, told } = bench();
    await using _ = dialer;
    dialer.send(at(listener), 'hello');
    await until(() => told.length === 2);
    expect(told).toEqual(['connected', 'disconnected MALFORMED_MESSAGE']);
    expect(dialer.counters).toMatchObject({ messagesIn: 1, malformed: 1, closed: 1 });
  });

  it('lets what it said last arrive when it ends', async () => {
    await using listener = await listening();
    const heard: string[] = [];
    listener.listen((from, message) => {
      heard.push(message);
      for (let word = 0; word < 100; word += 1) listener.send(from, 'much that is not read any more');
    });
    const { dialer, told } = bench();
    dialer.send(at(listener), 'hello');
    await until(() => told.length === 1);
    dialer.send(at(listener), 'farewell');
    await dialer[Symbol.asyncDispose]();
    await until(() => heard.length === 2);
    expect(told).toEqual(['connected', 'disconnected TRANSPORT_CLOSED']);
  });
});

describe('a dialler that does not get on with the server', () => {
  it.each<[ProtocolId, string, string]>([
    [{ name: 'parley', version: 1, oldest: 1 }, 'VERSION_MISMATCH', 'upgrade the server'],
    [{ name: 'parley', version: 9, oldest: 4 }, 'VERSION_MISMATCH', 'upgrade the client'],
    [{ name: 'gossip', version: 3, oldest: 3 }, 'WRONG_PROTOCOL', 'the other side speaks "gossip"'],
  ])('says so: the server speaks %j', async (protocol, code, message) => {
    await using listener = await listening(0, protocol);
    const { dialer, told } = bench();
    await using _ = dialer;
    dialer.send(at(listener), 'hello');
    await until(() => told.length > 0);
    expect(told[0]).toBe(`disconnected ${code}`);
    expect(dialer.problems().get(at(listener))?.message).toContain(message);
  });

  it.each([
    ['HTTP/1.1 400 Bad Request\r\n\r\n', 'WRONG_PROTOCOL', 'speaks HTTP'],
    ['SSH-2.0-x\r\n', 'WRONG_PROTOCOL', 'speaks SSH'],
    ['\u0015\u0003\u0001\u0000\u0002\u0002F', 'WRONG_PROTOCOL', 'speaks TLS'],
    ['\u0000\u0000\u0000\u0001\u0007', 'MALFORMED_HANDSHAKE', 'it must be a map'],
    ['\u0000\u0000\u0000\u0009\u0007', 'CONNECTION_LOST', 'within a frame'],
    ['', 'UNREACHABLE', 'the peer closed it'],
  ])('says so: the server answers %j', async (answer, code, message) => {
    const server = createServer((socket) => {
      socket.on('error', () => socket.destroy());
      socket.resume().end(Buffer.from(answer, 'latin1'));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const { dialer, told } = bench();
    dialer.send(`127.0.0.1:${port}`, 'hello');
    await until(() => told.length > 0);
    expect(told[0]).toBe(`disconnected ${code}`);
    expect(dialer.problems().get(`127.0.0.1:${port}`)?.message).toContain(message);
    await dialer[Symbol.asyncDispose]();
    await new Promise((resolve) => server.close(resolve));
  });
});

describe('the time a dialler takes', () => {
  it('to try again doubles up to two seconds, and starts over after a good handshake', async () => {
    const runtime = new HandMovedRuntime(); // Its chance is always one half: pauses are three quarters.
    const closed = await listening();
    await closed[Symbol.asyncDispose]();
    const { dialer, told } = bench({ runtime });
    await using _ = dialer;
    dialer.send(at(closed), 'hello');
    for (const [index, pauseMs] of [37.5, 75, 150, 300, 600, 1_200, 1_500, 1_500].entries()) {
      await until(() => told.length === index + 1);
      runtime.pass(pauseMs - 1);
      await new Promise((resolve) => setImmediate(resolve));
      expect(told).toHaveLength(index + 1);
      runtime.pass(1);
    }
    await until(() => told.length === 9);
    await using listener = await listening(closed.port);
    runtime.pass(1_500);
    await until(() => told.at(-1) === 'connected');
    await listener[Symbol.asyncDispose]();
    await until(() => told.length === 11);
    runtime.pass(37.5);
    await until(() => told.length === 12);
  });

  it('to try again is none for one who knows that somebody is there', async () => {
    const runtime = new HandMovedRuntime();
    const closed = await listening();
    await closed[Symbol.asyncDispose]();
    const { dialer, told } = bench({ runtime });
    await using _ = dialer;
    dialer.hurry(at(closed)); // Nobody has sent anything there.
    dialer.send(at(closed), 'hello');
    dialer.hurry(at(closed)); // It is being tried.
    await until(() => told.length === 1);
    await using listener = await listening(closed.port);
    dialer.hurry(at(closed));
    await until(() => told.length === 2);
    expect(told).toEqual(['disconnected UNREACHABLE', 'connected']);
    runtime.pass(2_000); // What was to be done after the pause is not done as well.
    dialer.hurry(at(closed));
    dialer.send(at(closed), 'hello');
    await until(() => listener.counters.messagesIn > 0);
    expect(listener.connections).toBe(1);
  });

  it('to give up an address that nobody uses is a minute', async () => {
    const runtime = new HandMovedRuntime();
    await using listener = await listening();
    const { dialer, told } = bench({ runtime, limits: { silentAfterMs: 1_000_000 } });
    await using _ = dialer;
    dialer.send(at(listener), 'hello');
    await until(() => told.length === 1);
    runtime.pass(59_000);
    dialer.send(at(listener), 'still here');
    runtime.pass(60_000);
    expect(told).toEqual(['connected']);
    runtime.pass(3_000);
    expect(told).toEqual(['connected', 'disconnected TRANSPORT_CLOSED']);
    expect(dialer.problems().size).toBe(0);
    await until(() => listener.peers.size === 0);
    dialer.send(at(listener), 'hello');
    await until(() => told.at(-1) === 'connected');
  });

  it('to give up an address that stays in use has no end, until it does not any more', async () => {
    const runtime = new HandMovedRuntime();
    await using listener = await listening();
    const inUse = new Set([at(listener)]);
    const stays = (address: string): boolean => inUse.has(address);
    const { dialer, told } = bench({ runtime, limits: { silentAfterMs: 1e9 }, stays });
    await using _ = dialer;
    dialer.send(at(listener), 'hello');
    await until(() => told.length === 1);
    runtime.pass(7_200_000);
    expect(told).toEqual(['connected']);
    inUse.clear();
    runtime.pass(1_000);
    expect(told).toEqual(['connected', 'disconnected TRANSPORT_CLOSED']);
  });

  describe('to give up one that has answered', () => {
    /** Everybody here is silent for hours, so that only use counts. */
    const limits = { silentAfterMs: 1e9 };
    const minutes = (count: number): number => count * 60_000;

    async function answered(runtime: HandMovedRuntime, listener: TcpListener<string, string>) {
      listener.listen((from, message) => listener.send(from, `${message} to you`));
      const { dialer, told, heard } = bench({ runtime, limits });
      dialer.send(at(listener), 'hello');
      await until(() => heard.length === 1);
      return { dialer, told, heard };
    }

    it('is an hour, so that it can say more without being asked', async () => {
      const runtime = new HandMovedRuntime();
      await using listener = await listening();
      const { dialer, told, heard } = await answered(runtime, listener);
      await using _ = dialer;
      for (const word of ['news', 'more news']) {
        runtime.pass(minutes(59));
        listener.send('p1', word);
        await until(() => heard.at(-1) === `${at(listener)} ${word}`);
      }
      runtime.pass(minutes(60));
      expect(told).toEqual(['connected']);
      runtime.pass(3_000);
      expect(told).toEqual(['connected', 'disconnected TRANSPORT_CLOSED']);
      await until(() => listener.peers.size === 0);
    });

    it('is a minute from when it was lost, in which it can come back, and a minute for it to answer', async () => {
      const runtime = new HandMovedRuntime();
      const first = await listening();
      const { dialer, told } = await answered(runtime, first);
      await using _ = dialer;
      runtime.pass(minutes(10));
      await first[Symbol.asyncDispose]();
      await until(() => told.length === 2);
      await using second = await listening(first.port);
      runtime.pass(50);
      await until(() => told.at(-1) === 'connected');
      expect(second.peers.size).toBe(1);
      runtime.pass(minutes(1) + 3_000);
      expect(told.slice(1)).toEqual([
        'disconnected CONNECTION_LOST',
        'connected',
        'disconnected TRANSPORT_CLOSED',
      ]);
    });

    it('is a minute from when it was lost if it does not come back', async () => {
      const runtime = new HandMovedRuntime();
      const listener = await listening();
      const { dialer, told } = await answered(runtime, listener);
      await using _ = dialer;
      runtime.pass(minutes(10));
      await listener[Symbol.asyncDispose]();
      await until(() => told.length === 2);
      for (let second = 0; second < 58; second += 2) {
        const before = told.length;
        runtime.pass(2_000);
        await until(() => told.length > before);
      }
      expect(dialer.problems().get(at(listener))?.code).toBe('UNREACHABLE');
      runtime.pass(2_000);
      runtime.pass(2_000);
      expect(dialer.problems().size).toBe(0);
      await until(() => runtime.timers === 0);
    });
  });

  it('to give up a server that does not answer is that of a handshake', async () => {
    const runtime = new HandMovedRuntime();
    const server = createServer();
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as { port: number };
    const accepted = new Promise<{ destroy(): void }>((resolve) => server.on('connection', resolve));
    const { dialer, told } = bench({ runtime });
    dialer.send(`127.0.0.1:${port}`, 'hello');
    const socket = await accepted;
    runtime.pass(8_000);
    expect(told).toEqual(['disconnected PEER_TIMEOUT']);
    await dialer[Symbol.asyncDispose]();
    socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
});
