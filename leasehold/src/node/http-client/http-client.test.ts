import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { createServer as createHttpServer, type RequestListener } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createServer as createTlsServer, type TlsOptions } from 'node:tls';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import type { HttpExchange } from '../../runtime/http.ts';
import {
  type Certificates,
  hasOpenssl,
  leaveOutWithoutOpenssl,
  makeCertificates,
} from './certificates-script.ts';
import { type HttpClientOptions, httpClient } from './http-client.ts';
import { secureContext } from './secure-context.ts';

let directory: string;
let certificates: Certificates;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'leasehold-http-client-'));
  if (hasOpenssl()) certificates = makeCertificates(directory);
}, 30_000);
afterAll(() => rmSync(directory, { recursive: true }));

/** A server on loopback, and all requests to the server. */
class Other implements AsyncDisposable {
  readonly server: Server;
  readonly sockets = new Set<Socket>();
  connections = 0;
  heard = '';

  private constructor(server: Server) {
    this.server = server;
    server.on('connection', (socket: Socket) => {
      this.connections += 1;
      this.sockets.add(socket);
      socket.on('error', () => socket.destroy());
    });
  }

  static async listen(server: Server): Promise<Other> {
    const other = new Other(server);
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return other;
  }

  static http(serve: RequestListener): Promise<Other> {
    return Other.listen(createHttpServer(serve));
  }

  /** Without any HTTP: receives bytes, and does as the test says. */
  static raw(hear: (socket: Socket, other: () => Other) => void): Promise<Other> {
    const server = createServer((socket) => {
      socket.on('data', (bytes) => (other.heard += bytes.toString()));
      hear(socket, () => other);
    });
    let other: Other;
    return Other.listen(server).then((listening) => (other = listening));
  }

  static async secure(options: TlsOptions = {}): Promise<Other> {
    const { cert, key } = certificates.server;
    const pair = { cert: readFileSync(cert), key: readFileSync(key) };
    const server = createTlsServer({ ...pair, ...options }, (socket) => {
      socket.on('data', (bytes) => {
        other.heard += bytes.toString();
        socket.end('HTTP/1.1 200 OK\r\ncontent-length: 2\r\n\r\nok');
      });
    });
    server.on('tlsClientError', () => {});
    const other: Other = await Other.listen(server);
    return other;
  }

  get port(): number {
    return (this.server.address() as AddressInfo).port;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const socket of this.sockets) socket.destroy();
    await new Promise((resolve) => this.server.close(resolve));
  }
}

interface Heard {
  /** `200 text`, or `failed: why`. */
  readonly what: string;
  readonly mayHaveArrived: boolean;
}

function ask(client: ReturnType<typeof httpClient>, url: string, body = '{}'): Promise<Heard> {
  return new Promise((resolve) => {
    let isWithin = true;
    let [status, text] = [0, ''];
    const heard = (what: string): void => {
      expect(isWithin, 'told from within').toBe(false);
      resolve({ what, mayHaveArrived: exchange.mayHaveArrived });
    };
    const exchange = client.post(
      { url, headers: { 'content-type': 'application/json' }, body },
      {
        status: (of) => (status = of),
        data: (bytes) => (text += Buffer.from(bytes).toString()),
        ended: () => heard(`${status} ${text}`),
        failed: (why) => heard(`failed: ${why}`),
      },
    );
    isWithin = false;
  });
}

const asking = async (url: string, options: HttpClientOptions = {}): Promise<Heard> => {
  using client = httpClient(options);
  return await ask(client, url);
};

describe('a request by HTTP', () => {
  it('brings back status and answer, whatever the status', async () => {
    await using other = await Other.http((request, response) => {
      let body = '';
      request.on('data', (bytes) => (body += bytes));
      request.on('end', () => response.writeHead(418).end(`${request.method} ${request.url} ${body}`));
    });
    using client = httpClient();
    const { what } = await ask(client, `http://127.0.0.1:${other.port}/v3/x`, 'é');
    expect(what).toBe('418 POST /v3/x é');
  });

  it('uses a connection again, which may have carried it', async () => {
    await using other = await Other.http((_, response) => response.end('ok'));
    using client = httpClient();
    for (let round = 0; round < 5; round += 1) {
      const { what, mayHaveArrived } = await ask(client, `http://127.0.0.1:${other.port}/`);
      expect([what, mayHaveArrived]).toEqual(['200 ok', true]);
    }
    expect(other.connections).toBe(1);
  });

  it('follows no redirection', async () => {
    await using other = await Other.http((_, response) => response.writeHead(302, { location: '/x' }).end());
    expect((await asking(`http://127.0.0.1:${other.port}/`)).what).toBe('302 ');
  });

  it('hands on an answer as it comes, for as long as it comes', async () => {
    let send: (text: string) => void = () => {};
    await using other = await Other.http((_, response) => {
      send = (text) => void response.write(text);
      response.flushHeaders();
    });
    using client = httpClient();
    let text = '';
    let onText: () => void = () => {};
    using _ = client.post(
      { url: `http://127.0.0.1:${other.port}/`, headers: {}, body: '' },
      {
        status: () => onText(),
        data: (bytes) => {
          text += Buffer.from(bytes).toString();
          onText();
        },
        ended: () => expect.unreachable(),
        failed: (why) => expect.unreachable(why),
      },
    );
    await new Promise<void>((resolve) => (onText = resolve));
    for (const line of ['one\n', 'two\n']) {
      const heard = new Promise<void>((resolve) => (onText = resolve));
      send(line);
      await heard;
    }
    expect(text).toBe('one\ntwo\n');
  });

  it('that is broken off says nothing more, and closes its connection', async () => {
    let closed: () => void = () => {};
    const isClosed = new Promise<void>((resolve) => (closed = resolve));
    let asked: () => void = () => {};
    const isAsked = new Promise<void>((resolve) => (asked = resolve));
    await using other = await Other.http((_, response) => {
      response.on('close', closed);
      asked();
    });
    using client = httpClient();
    const never = (): never => expect.unreachable();
    const events = { status: never, data: never, ended: never, failed: never };
    const exchange = client.post({ url: `http://127.0.0.1:${other.port}/`, headers: {}, body: '' }, events);
    await isAsked;
    exchange[Symbol.dispose]();
    await isClosed;
    expect(exchange.mayHaveArrived).toBe(true);
  });
});

describe('a request that fails has surely not arrived', () => {
  it('if nobody listens', async () => {
    const other = await Other.raw(() => {});
    const { port } = other;
    await other[Symbol.asyncDispose]();
    const { what, mayHaveArrived } = await asking(`http://127.0.0.1:${port}/`);
    expect(what).toMatch(/^failed: .*ECONNREFUSED/);
    expect(mayHaveArrived).toBe(false);
  });

  it('if nobody listens at any of its addresses', async () => {
    const other = await Other.raw(() => {});
    const { port } = other;
    await other[Symbol.asyncDispose]();
    const { what, mayHaveArrived } = await asking(`http://localhost:${port}/`);
    expect(what).toMatch(/^failed: .*ECONNREFUSED/);
    expect(mayHaveArrived).toBe(false);
  });

  it('if there is no such host', async () => {
    const { what, mayHaveArrived } = await asking('http://host.invalid/');
    expect(what).toMatch(/^failed: .*host\.invalid/);
    expect(mayHaveArrived).toBe(false);
  });

  it('if the handshake does not come to an end', async () => {
    let connected: () => void = () => {};
    const isConnected = new Promise<void>((resolve) => (connected = resolve));
    await using other = await Other.raw(() => connected());
    using client = httpClient();
    const never = (): never => expect.unreachable();
    const url = `https://127.0.0.1:${other.port}/`;
    const exchange: HttpExchange = client.post(
      { url, headers: {}, body: 'secret' },
      { status: never, data: never, ended: never, failed: never },
    );
    await isConnected;
    expect(exchange.mayHaveArrived).toBe(false);
    exchange[Symbol.dispose]();
  });

  it('if it is TLS and the other side is not', async () => {
    await using other = await Other.http((_, response) => response.end('ok'));
    const { mayHaveArrived, what } = await asking(`https://127.0.0.1:${other.port}/`);
    expect([what.slice(0, 7), mayHaveArrived]).toEqual(['failed:', false]);
  });

  it('if nobody vouches for the other side, who is told nothing', async (context) => {
    leaveOutWithoutOpenssl(context);
    await using other = await Other.secure();
    const trust = secureContext({ ca: certificates.strangersCa });
    const { what, mayHaveArrived } = await asking(`https://127.0.0.1:${other.port}/`, {
      secureContext: trust,
    });
    expect(what).toMatch(/failed: .*certificate/);
    expect([mayHaveArrived, other.heard]).toEqual([false, '']);
  });

  it.for(['TLSv1.2', 'TLSv1.3'] as const)(
    'if the other side does not take our certificate, by %s',
    async (version, context) => {
      leaveOutWithoutOpenssl(context);
      const trusting = { requestCert: true, ca: readFileSync(certificates.ca) };
      await using other = await Other.secure({ ...trusting, minVersion: version, maxVersion: version });
      const strangers = { ca: certificates.ca, ...certificates.stranger };
      for (const options of [{ ca: certificates.ca }, strangers]) {
        const { what, mayHaveArrived } = await asking(`https://127.0.0.1:${other.port}/`, {
          secureContext: secureContext(options),
        });
        expect(what).toMatch(/^failed: /);
        expect(other.heard).toBe('');
        // A connection that is reset before the reason is read leaves the question open; that is allowed.
        if (/alert/.test(what)) expect(mayHaveArrived).toBe(false);
      }
    },
  );
});

describe('a request that fails may have arrived', () => {
  it('if the connection ends without an answer', async () => {
    await using other = await Other.raw((socket) => socket.once('data', () => socket.destroy()));
    const { what, mayHaveArrived } = await asking(`http://127.0.0.1:${other.port}/`);
    expect(what).toMatch(/^failed: /);
    expect(mayHaveArrived).toBe(true);
  });

  it('if the connection ends in the middle of the answer', async () => {
    await using other = await Other.raw((socket) =>
      socket.once('data', () => socket.end('HTTP/1.1 200 OK\r\ncontent-length: 10\r\n\r\nhalf')),
    );
    const { what, mayHaveArrived } = await asking(`http://127.0.0.1:${other.port}/`);
    expect(what).toMatch(/^failed: /);
    expect(mayHaveArrived).toBe(true);
  });

  it('if the answer is no HTTP', async () => {
    await using other = await Other.raw((socket) => socket.once('data', () => socket.end('hello\r\n\r\n')));
    const { what, mayHaveArrived } = await asking(`http://127.0.0.1:${other.port}/`);
    expect(what).toMatch(/^failed: Parse Error/);
    expect(mayHaveArrived).toBe(true);
  });
});

describe('a request by TLS', () => {
  it('shows who we are, if we have a certificate', async (context) => {
    leaveOutWithoutOpenssl(context);
    const trusting = { requestCert: true, ca: readFileSync(certificates.ca) };
    await using other = await Other.secure(trusting);
    const trust = secureContext({ ca: certificates.ca, ...certificates.client });
    const { what, mayHaveArrived } = await asking(`https://127.0.0.1:${other.port}/`, {
      secureContext: trust,
    });
    expect([what, mayHaveArrived]).toEqual(['200 ok', true]);
  });
});
