import { createServer as createHttpServer } from 'node:http';
import { type AddressInfo, createServer, type Server, type Socket } from 'node:net';
import { afterEach, describe, expect, it } from 'vitest';
import { ConnectionClosedError, piecesOf, send, textOf } from './request.ts';
import { run, start } from './testing/started.ts';

const LONG_MS = 60_000;
const FOREVER = new AbortController().signal;

const open: Server[] = [];
const sockets = new Set<Socket>();
afterEach(async () => {
  for (const socket of sockets) socket.destroy();
  sockets.clear();
  for (const server of open.splice(0)) await new Promise((resolve) => server.close(resolve));
});

async function listen(server: Server): Promise<string> {
  open.push(server.on('connection', (socket: Socket) => sockets.add(socket)));
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

/** A server that sends this text as soon as a request comes, and closes. */
const saying = (text: string): Promise<string> =>
  listen(createServer((socket) => void socket.once('data', () => socket.end(text))));

describe('a request over HTTP', () => {
  it('brings the answer whole, whatever its status, and follows no redirection', async () => {
    const url = await listen(
      createHttpServer((request, response) => {
        let body = '';
        request.setEncoding('utf8').on('data', (piece: string) => (body += piece));
        request.on('end', () => {
          response.writeHead(302, { location: '/elsewhere' }).end(`${request.method} ${request.url} ${body}`);
        });
      }),
    );
    const answer = await send(`${url}/a?b`, { method: 'POST', body: 'é', signal: FOREVER });
    expect([answer.statusCode, await textOf(answer, FOREVER)]).toEqual([302, 'POST /a?b é']);
  });

  it.each([
    ['without a word', ''],
    ['in the middle of a head', 'HTTP/1.1 200 OK\r\ncontent-'],
    [
      'to go on in another protocol',
      'HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: x\r\n\r\n',
    ],
  ])('fails if the connection is closed %s', async (_, text) => {
    await expect(send(await saying(text), { signal: FOREVER })).rejects.toThrow(ConnectionClosedError);
  });

  it('fails if the connection is closed in the middle of the body', async () => {
    const answer = await send(await saying('HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf'), {
      signal: FOREVER,
    });
    await expect(textOf(answer, FOREVER)).rejects.toThrow('the other side closed the connection');
  });

  it('rejects with the reason of the signal, before there is an answer and within it', async () => {
    const before = new AbortController();
    const silent = await listen(
      createServer((socket) => void socket.once('data', () => before.abort('enough'))),
    );
    await expect(send(silent, { signal: before.signal })).rejects.toBe('enough');
    await expect(send(silent, { signal: before.signal })).rejects.toBe('enough');

    const within = new AbortController();
    const slow = await listen(createHttpServer((_, response) => void response.write('half')));
    const answer = await send(slow, { signal: within.signal });
    within.abort('enough');
    await expect(textOf(answer, within.signal)).rejects.toBe('enough');
  });

  it('does not take the abort of a body that ends with its connection for its end', async () => {
    const within = new AbortController();
    const url = await listen(
      createServer((socket) => {
        socket.once('data', () => socket.write('HTTP/1.1 200 OK\r\n\r\n{"half": 1}'));
      }),
    );
    const answer = await send(url, { signal: within.signal });
    const pieces = piecesOf(answer, within.signal);
    expect((await pieces.next()).value).toBe('{"half": 1}');
    within.abort('enough');
    await expect(pieces.next()).rejects.toBe('enough');
  });
});

describe('a server that closes every connection at once', () => {
  // As a process of its own: a process that has sent a request before would find the end by other means.
  it.each([
    [['status'], '--at', 'Manager'],
    [['pool', 'list', '--json'], '--at', 'Manager'],
    [['watch'], '--at', 'Manager'],
    [['flease', 'status', 'backup'], '--at', 'member'],
    [['flease', 'watch', 'backup'], '--at', 'member'],
  ])(
    'is nobody who answers, and that is said: %s',
    async (words, option, who) => {
      const url = await listen(createServer((socket) => void socket.end()));
      const { code, stderr } = await run([...words, option, url.replace('http://', '')]);
      expect({ code, stderr }).toMatchObject({ code: 3 });
      expect(stderr).toContain(`no ${who} answers at ${url}: the other side closed the connection. `);
      expect(stderr).toContain('UNREACHABLE');
    },
    LONG_MS,
  );
});

describe('a server that accepts connections and says nothing', () => {
  it('is waited for no longer than until Ctrl-C', async () => {
    let asked: () => void = () => {};
    const hasAsked = new Promise<void>((resolve) => (asked = resolve));
    const url = await listen(createServer((socket) => void socket.once('data', asked)));
    await using watching = await start(['watch', '--at', url]);
    await hasAsked;
    watching.child.kill('SIGINT');
    expect(await watching.ended).toBe(0);
  }, 9_000); // Without the fix the command would wait for ten seconds.
});
