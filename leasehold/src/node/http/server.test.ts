import { Agent, request as httpRequest } from 'node:http';
import { connect, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { type Logger, silent } from '../../runtime/logger.ts';
import { AddressUnavailableError, PortInUseError } from '../tcp/errors.ts';
import { listeningLogger } from '../tcp/socket-script.ts';
import type { HttpAnswer, HttpRoute, ServerSentEvent } from './exchange.ts';
import { type HttpServer, type HttpServerOptions, serveHttp } from './server.ts';

/** Becomes so, however busy the machine is. */
const eventually = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 20_000 });

const text: HttpRoute = {
  path: '/text',
  answer: () => ({ kind: 'text', status: 200, headers: { 'content-type': 'text/plain' }, body: 'größe\n' }),
};
/** More than the kernel buffers for a client that does not read. */
const LARGE_BYTES = 30_000_000;
const largeBody = 'x'.repeat(LARGE_BYTES);
const large: HttpRoute = {
  path: '/large',
  answer: () => ({ kind: 'text', status: 200, headers: {}, body: largeBody }),
};
const broken: HttpRoute = {
  path: '/broken',
  answer: () => {
    throw new Error('a fault');
  },
};

/** A stream of events from the test. */
class Tap {
  readonly waiting: ServerSentEvent[] = [];
  pulled = 0;
  readers = 0;
  #onMore: () => void = () => {};
  readonly route: HttpRoute = {
    path: '/stream',
    answer: () => ({
      kind: 'stream',
      open: (onMore) => {
        this.readers += 1;
        this.#onMore = onMore;
        return {
          next: () => {
            const event = this.waiting.shift();
            if (event !== undefined) this.pulled += 1;
            return event;
          },
          [Symbol.dispose]: () => {
            this.readers -= 1;
          },
        };
      },
    }),
  };

  pour(...data: readonly string[]): void {
    this.waiting.push(...data.map((each) => ({ id: undefined, event: 'drop', data: each })));
    this.#onMore();
  }
}

const open: (() => Promise<void> | void)[] = [];
afterEach(async () => {
  for (const close of open.splice(0).reverse()) await close();
});

async function serve(options: Partial<HttpServerOptions> = {}): Promise<HttpServer> {
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    routes: [text, broken],
    logger: silent,
    ...options,
  });
  open.push(() => server.close(0));
  return server;
}

/** The server's bytes for these bytes until the server closes, or until `enough`. */
function raw(
  { port }: HttpServer,
  bytes: string,
  enough: (got: string) => boolean = () => false,
): Promise<string> {
  return new Promise((resolve, reject) => {
    let got = '';
    const socket = connect(port, '127.0.0.1', () => socket.write(bytes));
    open.push(() => void socket.destroy());
    socket.on('data', (chunk) => {
      got += chunk;
      if (enough(got)) resolve(got);
    });
    socket.on('close', () => resolve(got));
    socket.on('error', reject);
  });
}

/** A client that asks and reads nothing. */
function paused({ port }: HttpServer, bytes: string): Socket {
  const socket = connect(port, '127.0.0.1');
  open.push(() => void socket.destroy());
  socket.on('error', () => socket.destroy());
  socket.pause();
  socket.write(bytes);
  return socket;
}

const statusOf = (answer: string): number => Number(/^HTTP\/1\.1 (\d+)/.exec(answer)?.[1]);
const codeOf = (answer: string): unknown => JSON.parse(answer.slice(answer.indexOf('{'))).error.code;

describe('an HTTP server', () => {
  it('answers, and counts bytes rather than characters', async () => {
    const server = await serve();
    const response = await fetch(`${server.url}/text`);
    expect([response.status, response.headers.get('content-length')]).toEqual([200, '8']);
    expect(await response.text()).toBe('größe\n');
    expect(server.counters).toMatchObject({ requests: 1, failures: 0 });
  });

  it('answers a HEAD with the same headers and no body', async () => {
    const response = await fetch(`${(await serve()).url}/text`, { method: 'HEAD' });
    expect([response.headers.get('content-length'), await response.text()]).toEqual(['8', '']);
  });

  it('answers a fault of its own without saying what it is, but logs it', async () => {
    const logged: unknown[] = [];
    const logger: Logger = { ...silent, error: (message, facts) => logged.push([message, facts]) };
    const server = await serve({ logger });
    const response = await fetch(`${server.url}/broken`);
    expect([response.status, await response.json()]).toMatchObject([500, { error: { code: 'INTERNAL' } }]);
    expect(logged).toEqual([['http request failed', { url: '/broken', error: 'Error: a fault' }]]);
    expect(server.counters.failures).toBe(1);
  });

  it('answers one request after another on one connection, whatever their size', async () => {
    const server = await serve({ routes: [text, large] });
    const agent = new Agent({ keepAlive: true, maxSockets: 1 });
    open.push(() => agent.destroy());
    const ask = (path: string): Promise<readonly [number, boolean]> =>
      new Promise((resolve, reject) => {
        const { host, port } = server;
        const request = httpRequest({ host, port, path, agent }, (response) => {
          let bytes = 0;
          response.on('data', (chunk: Uint8Array) => (bytes += chunk.length));
          response.on('end', () => resolve([bytes, request.reusedSocket]));
        });
        request.on('error', reject).end();
      });
    expect(await ask('/text')).toEqual([8, false]);
    for (let time = 0; time < 3; time += 1) {
      expect(await ask('/large')).toEqual([LARGE_BYTES, true]);
      expect(await ask('/text')).toEqual([8, true]);
    }
    expect(server.counters).toMatchObject({ requests: 7, failures: 0, cutOff: 0 });
  });

  it('names the port that is in use', async () => {
    const { port } = await serve();
    await expect(serve({ port })).rejects.toThrow(PortInUseError);
    await expect(serve({ port })).rejects.toMatchObject({ code: 'PORT_IN_USE', port, retryable: true });
  });

  it('names the address that this machine does not have', async () => {
    await expect(serve({ host: '192.0.2.1' })).rejects.toThrow(AddressUnavailableError);
  });
});

describe('a request that takes a while', { timeout: 30_000 }, () => {
  type Answer = HttpAnswer & { kind: 'text' };
  const done: Answer = { kind: 'text', status: 200, headers: {}, body: 'done' };

  /** Is answered when the test says so. */
  class Slow {
    asked = 0;
    answer: (answer: Answer) => void = () => {};
    fail: (why: Error) => void = () => {};
    readonly route: HttpRoute = {
      path: '/slow',
      method: 'POST',
      answer: () => {
        this.asked += 1;
        return {
          kind: 'promised',
          answer: new Promise((resolve, reject) => ([this.answer, this.fail] = [resolve, reject])),
        };
      },
    };
  }
  const post = (server: HttpServer, body?: string): Promise<Response> =>
    fetch(`${server.url}/slow`, {
      ...{ method: 'POST', headers: { 'content-type': 'application/json' } },
      ...(body === undefined ? {} : { body }),
    });

  it.each([[undefined], ['{}']])('is answered when it is done, asked with %j', async (body) => {
    const slow = new Slow();
    const server = await serve({ routes: [slow.route] });
    const answer = post(server, body);
    await eventually(() => slow.asked).toBe(1);
    slow.answer(done);
    expect(await (await answer).text()).toBe('done');
  });

  it('is answered as a fault when it fails in a way that nobody thought of', async () => {
    const slow = new Slow();
    const server = await serve({ routes: [slow.route] });
    const answer = post(server);
    await eventually(() => slow.asked).toBe(1);
    slow.fail(new Error('a fault'));
    expect([(await answer).status, await (await answer).json()]).toMatchObject([
      500,
      { error: { code: 'INTERNAL' } },
    ]);
  });

  it('is not answered when the client has gone', async () => {
    const slow = new Slow();
    const { lines, ...logger } = listeningLogger();
    const server = await serve({ routes: [slow.route, text], logger, limits: { answerMs: 10 } });
    const socket = paused(
      server,
      'POST /slow HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\n\r\n',
    );
    await eventually(() => slow.asked).toBe(1);
    socket.destroy();
    slow.answer(done);
    expect((await fetch(`${server.url}/text`)).status).toBe(200);
    expect(lines).toEqual([]);
  });
});

describe('the host that a request names', () => {
  const asFor = (server: HttpServer, host: string): Promise<number | undefined> =>
    new Promise((resolve, reject) => {
      const { port } = server;
      httpRequest({ host: '127.0.0.1', port, path: '/text', headers: { host }, agent: false }, (response) => {
        response.resume();
        resolve(response.statusCode);
      })
        .on('error', reject)
        .end();
    });

  it('must be an address, localhost or an allowed name', async () => {
    const server = await serve({ allowedHosts: ['manager.internal'] });
    expect(await asFor(server, `127.0.0.1:${server.port}`)).toBe(200);
    expect(await asFor(server, 'localhost')).toBe(200);
    expect(await asFor(server, 'manager.internal:7401')).toBe(200);
    expect(await asFor(server, 'evil.example')).toBe(403);
  });

  it('may be left out in HTTP/1.0, as old health checks do', async () => {
    const server = await serve();
    expect(statusOf(await raw(server, 'GET /text HTTP/1.0\r\n\r\n'))).toBe(200);
    expect(statusOf(await raw(server, 'GET /text HTTP/1.1\r\n\r\n'))).toBe(400);
  });
});

describe('a request of a stranger', { timeout: 30_000 }, () => {
  const request = (path: string, headers = ''): string =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;

  it('has no longer URL than allowed', async () => {
    const server = await serve({ limits: { urlCharacters: 100 } });
    const response = await fetch(`${server.url}/text?${'x'.repeat(100)}`);
    expect([response.status, await response.json()]).toMatchObject([
      414,
      { error: { code: 'URL_TOO_LONG' } },
    ]);
  });

  it('has no longer head than allowed', async () => {
    const got = await raw(
      await serve({ limits: { headBytes: 2_000 } }),
      request('/text', `x: ${'x'.repeat(3_000)}\r\n`),
    );
    expect([statusOf(got), codeOf(got)]).toEqual([431, 'HEADERS_TOO_LARGE']);
  });

  it('comes within the time allowed', async () => {
    const got = await raw(await serve({ limits: { requestMs: 60 } }), 'GET /text HTTP/1.1\r\nhost: loc');
    expect([statusOf(got), codeOf(got)]).toEqual([408, 'REQUEST_TIMEOUT']);
  });

  it.each(['\0\0\0\x05hello', '\x16\x03\x01\x02\0', 'nonsense\r\n\r\n', 'GET / HTTP/9.9\r\n\r\n'])(
    'is HTTP, and not %j',
    async (bytes) => {
      const got = await raw(await serve(), bytes);
      expect([statusOf(got), codeOf(got)]).toEqual([400, 'MALFORMED_REQUEST']);
    },
  );

  it('has no body: one is not waited for', async () => {
    const got = await raw(await serve(), request('/text', 'content-length: 100000\r\n'));
    expect(statusOf(got)).toBe(200);
    expect(got.toLowerCase()).toContain('connection: close');
  });

  it('comes over no more connections than allowed: the oldest of the busiest address makes room', async () => {
    const { lines, ...logger } = listeningLogger();
    const server = await serve({ limits: { connections: 20 }, logger });
    const silent = Array.from({ length: 200 }, () => connect(server.port, '127.0.0.1').resume());
    for (const socket of silent) socket.on('error', () => socket.destroy());
    const other = connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.2' });
    await eventually(() => silent.filter(({ closed }) => closed).length).toBeGreaterThanOrEqual(180);
    expect((await fetch(`${server.url}/text`)).status).toBe(200);
    expect(other.closed).toBe(false);
    expect(server.counters.connectionsFull).toBeGreaterThan(100);
    expect(lines.filter(({ level }) => level === 'warn')).toMatchObject([
      { message: expect.stringContaining('no room for more http connections'), most: 20 },
    ]);
    for (const socket of [...silent, other]) socket.destroy();
  });

  it('is refused with a reason if all connections are taken by streams', async () => {
    const server = await serve({ routes: [text, new Tap().route], limits: { connections: 2 } });
    paused(server, request('/stream'));
    paused(server, request('/stream'));
    await eventually(() => server.counters.streams).toBe(2);
    const got = await raw(server, request('/text'));
    expect([statusOf(got), codeOf(got)]).toEqual([503, 'TOO_MANY_CONNECTIONS']);
  });

  it('does not stay longer than allowed when there is nothing more to ask', async () => {
    const got = await raw(await serve({ limits: { idleMs: 20 } }), request('/text'));
    expect(statusOf(got)).toBe(200);
  });
});

describe('an answer that is not read', { timeout: 30_000 }, () => {
  const request = (path: string, headers = ''): string =>
    `GET ${path} HTTP/1.1\r\nhost: localhost\r\n${headers}\r\n`;

  it.each([
    ['/large', ''],
    ['/text', ''],
    ['/stream', ''],
    ['/text', 'expect: 100-continue\r\n'],
    ['/text', 'expect: the-unexpected\r\n'],
  ])('is the only one: who asks for %s again meanwhile is cut off (%j)', async (path, headers) => {
    const { lines, ...logger } = listeningLogger();
    const server = await serve({ routes: [text, large, new Tap().route], logger });
    const sockets = [1, 2, 3].map(() => paused(server, request(path, headers).repeat(500)));
    await eventually(() => server.counters.cutOff).toBe(3);
    expect(server.counters.requests).toBe(3);
    for (const socket of sockets) socket.resume();
    await eventually(() => sockets.every(({ destroyed }) => destroyed)).toBe(true);
    await eventually(() => server.counters.streams).toBe(0);
    expect(lines).toMatchObject([
      {
        level: 'warn',
        message: 'http connection cut off',
        peer: '127.0.0.1',
        why: expect.stringContaining('asked again'),
      },
    ]);
  });

  it('does not wait for ever', async () => {
    const server = await serve({ routes: [large], limits: { answerMs: 30 } });
    const socket = paused(server, request('/large'));
    await eventually(() => server.counters.cutOff).toBe(1);
    socket.resume();
    await eventually(() => socket.destroyed).toBe(true);
  });

  it('is not missed any more when it has left, though the connection stays', async () => {
    const server = await serve({ limits: { answerMs: 30, idleMs: 100 } });
    expect(statusOf(await raw(server, request('/text')))).toBe(200);
    expect(server.counters).toMatchObject({ requests: 1, cutOff: 0 });
  });
});

describe('a stream', { timeout: 30_000 }, () => {
  const ask = 'GET /stream HTTP/1.1\r\nhost: localhost\r\n\r\n';

  it('tells events as they come, and a comment when there are none', async () => {
    const tap = new Tap();
    const server = await serve({ routes: [tap.route], limits: { heartbeatEveryMs: 5 } });
    const got = raw(server, ask, (text) => text.includes('two') && text.includes(': still here'));
    await eventually(() => tap.readers).toBe(1);
    tap.pour('one', 'two');
    expect((await got).replace(/\r\n[0-9a-f]+\r\n/g, '')).toMatch(
      /retry: 1000[\s\S]*data: one[\s\S]*data: two/,
    );
  });

  it('is not opened by a HEAD', async () => {
    const tap = new Tap();
    const response = await fetch(`${(await serve({ routes: [tap.route] })).url}/stream`, { method: 'HEAD' });
    expect([response.headers.get('content-type'), tap.readers]).toEqual([
      'text/event-stream; charset=utf-8',
      0,
    ]);
  });

  it('pulls no more than a reader takes, and goes on when it takes more', async () => {
    const tap = new Tap();
    const server = await serve({ routes: [tap.route] });
    const socket = paused(server, ask);
    await eventually(() => tap.readers).toBe(1);
    const events = 400;
    tap.pour(...Array<string>(events).fill('x'.repeat(100_000)));
    // The kernel takes a few megabytes and the server one event beyond that.
    await eventually(() => tap.pulled).toBeGreaterThan(0);
    expect(tap.pulled).toBeLessThan(events);
    socket.resume();
    await eventually(() => tap.pulled).toBe(events);
  });

  it('is cut off when its reader takes nothing', async () => {
    const tap = new Tap();
    const server = await serve({ routes: [tap.route], limits: { stalledAfterMs: 30 } });
    paused(server, ask);
    await eventually(() => tap.readers).toBe(1);
    tap.pour(...Array<string>(400).fill('x'.repeat(100_000)));
    await eventually(() => tap.readers).toBe(0);
    await eventually(() => server.counters.streams).toBe(0);
    expect(server.counters.streamsStalled).toBe(1);
  });

  it('is one of no more than allowed', async () => {
    const tap = new Tap();
    const server = await serve({ routes: [tap.route], limits: { streams: 1 } });
    paused(server, ask);
    await eventually(() => server.counters.streams).toBe(1);
    const response = await fetch(`${server.url}/stream`);
    expect([response.status, await response.json()]).toMatchObject([
      503,
      { error: { code: 'TOO_MANY_STREAMS' } },
    ]);
  });

  it('makes room for an address that has fewer, and is not kept out by one that has all', async () => {
    const server = await serve({ routes: [new Tap().route], limits: { streams: 3 } });
    for (const count of [1, 2, 3]) {
      paused(server, ask);
      await eventually(() => server.counters.streams).toBe(count);
    }
    const other = connect({ port: server.port, host: '127.0.0.1', localAddress: '127.0.0.2' }, () => {
      other.write(ask);
    });
    const heard: string[] = [];
    other.on('data', (chunk) => heard.push(String(chunk)));
    await eventually(() => statusOf(heard.join(''))).toBe(200);
    await eventually(() => server.counters.streams).toBe(3);
    expect((await fetch(`${server.url}/stream`)).status).toBe(503);
    expect(server.counters.streamsFull).toBe(2);
    other.destroy();
  });

  it('ends properly when the server closes, which waits for nothing else', async () => {
    const tap = new Tap();
    const server = await serve({ routes: [tap.route] });
    const got = raw(server, ask);
    await eventually(() => tap.readers).toBe(1);
    await server.close(60_000);
    expect((await got).endsWith('0\r\n\r\n')).toBe(true);
    expect(tap.readers).toBe(0);
  });
});
