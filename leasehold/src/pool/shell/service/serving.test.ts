/** The API over real sockets: what only the whole of it can show. */

import { afterEach, describe, expect, it } from 'vitest';
import { type HttpServer, serveHttp } from '../../../node/http/server.ts';
import { silent } from '../../../runtime/logger.ts';
import { apiRoutes, ManagerToLookAt, threeOwners } from './source-script.ts';

/** Becomes so, however busy the machine is. */
const eventually = <T>(read: () => T): ReturnType<typeof expect.poll<T>> =>
  expect.poll(read, { timeout: 20_000 });

const servers: HttpServer[] = [];
afterEach(async () => {
  await Promise.all(servers.splice(0).map((server) => server.close(0)));
});

async function serve(manager: ManagerToLookAt): Promise<HttpServer> {
  const server = await serveHttp({
    host: '127.0.0.1',
    port: 0,
    routes: apiRoutes(manager.source()),
    logger: silent,
  });
  servers.push(server);
  return server;
}

interface Message {
  readonly id: string | undefined;
  readonly event: string | undefined;
  readonly data: string;
}

/** Reads a stream of events as a browser would. */
class Reader implements AsyncDisposable {
  readonly #chunks: ReadableStreamDefaultReader<Uint8Array>;
  readonly #decoder = new TextDecoder();
  #text = '';

  constructor(response: Response) {
    if (response.body === null) throw new Error('no body');
    this.#chunks = response.body.getReader() as ReadableStreamDefaultReader<Uint8Array>;
  }

  static async open(url: string, headers: Record<string, string> = {}): Promise<Reader> {
    const response = await fetch(url, { headers });
    expect(response.headers.get('content-type')).toBe('text/event-stream; charset=utf-8');
    return new Reader(response);
  }

  async next(): Promise<Message> {
    for (;;) {
      const end = this.#text.indexOf('\n\n');
      if (end < 0) {
        const { value, done } = await this.#chunks.read();
        if (done) throw new Error('the stream has ended');
        this.#text += this.#decoder.decode(value, { stream: true });
        continue;
      }
      const lines = this.#text.slice(0, end).split('\n');
      this.#text = this.#text.slice(end + 2);
      const field = (name: string): string | undefined =>
        lines.find((line) => line.startsWith(`${name}: `))?.slice(name.length + 2);
      const data = field('data');
      if (data !== undefined) return { id: field('id'), event: field('event'), data };
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#chunks.cancel();
  }
}

describe('the API, served', { timeout: 30_000 }, () => {
  it('answers with headers that let nobody keep, guess or embed it', async () => {
    const { url } = await serve(threeOwners());
    const response = await fetch(`${url}/v1/status`);
    expect(await response.json()).toMatchObject({ handles: [{ id: 'm1' }] });
    expect(Object.fromEntries(response.headers)).toMatchObject({
      'content-type': 'application/json; charset=utf-8',
      'cache-control': 'no-store',
      'x-content-type-options': 'nosniff',
      'cross-origin-resource-policy': 'same-origin',
    });
    expect(response.headers.has('access-control-allow-origin')).toBe(false);
  });

  it('lists its routes when it is asked for another', async () => {
    const { url } = await serve(threeOwners());
    const lost = await fetch(`${url}/v2/status`);
    expect([lost.status, await lost.json()]).toMatchObject([404, { error: { code: 'UNKNOWN_ROUTE' } }]);
    const posted = await fetch(`${url}/v1/status`, { method: 'POST', body: '{}' });
    expect([posted.status, posted.headers.get('allow')]).toEqual([405, 'GET, HEAD']);
  });

  it('does something for a program that says so, and nothing for a page from elsewhere', async () => {
    const manager = threeOwners();
    let stepsDown = 0;
    manager.stepDown = async () => {
      stepsDown += 1;
      return true;
    };
    const { url } = await serve(manager);
    const post = async (headers: Record<string, string>): Promise<number> =>
      (await fetch(`${url}/v1/manager/step-down`, { method: 'POST', headers, body: '{}' })).status;
    const json = { 'content-type': 'application/json' };
    expect(await post({})).toBe(415);
    expect(await post({ ...json, origin: 'http://evil.example' })).toBe(403);
    expect(await post({ 'content-type': 'text/plain', origin: url })).toBe(415);
    const preflight = await fetch(`${url}/v1/manager/step-down`, {
      method: 'OPTIONS',
      headers: { origin: 'http://evil.example', 'access-control-request-method': 'POST' },
    });
    expect([preflight.status, preflight.headers.has('access-control-allow-origin')]).toEqual([405, false]);
    expect(stepsDown).toBe(0);
    expect(await post({ ...json, origin: url })).toBe(200);
    expect(await post(json)).toBe(200);
    expect(stepsDown).toBe(2);
  });

  it('streams what happens from now on', async () => {
    const manager = threeOwners();
    const { url } = await serve(manager);
    await using reader = await Reader.open(`${url}/v1/events`);
    manager.join('presence', 'presence-4');
    const { id, event, data } = await reader.next();
    expect([event, id]).toEqual(['pool.joined', manager.events.latestId]);
    expect(JSON.parse(data)).toMatchObject({
      id,
      kind: 'pool.joined',
      pool: 'presence',
      owner: { name: 'presence-4' },
    });
  });

  it('resumes after the event that a reader saw last', async () => {
    const manager = threeOwners();
    const { url } = await serve(manager);
    const after = manager.events.latestId;
    manager.join('presence', 'a');
    manager.join('rooms', 'b');
    for (const [query, headers] of [
      ['', { 'last-event-id': after }],
      [`?after=${after}`, {}],
      ['?after=life1-1', { 'last-event-id': after }],
    ] as const) {
      await using reader = await Reader.open(`${url}/v1/events${query}`, headers);
      expect(JSON.parse((await reader.next()).data)).toMatchObject({ pool: 'presence' });
      expect(JSON.parse((await reader.next()).data)).toMatchObject({ pool: 'rooms' });
    }
    await using rooms = await Reader.open(`${url}/v1/events?pool=rooms&after=${after}`);
    expect(JSON.parse((await rooms.next()).data)).toMatchObject({ pool: 'rooms' });
  });

  it('tells a reader from another incarnation of a gap that has no id', async () => {
    const manager = threeOwners();
    const { url } = await serve(manager);
    await using reader = await Reader.open(`${url}/v1/events`, { 'last-event-id': 'earlier-7' });
    expect(await reader.next()).toMatchObject({ event: 'gap', id: undefined });
    expect(await reader.next()).toMatchObject({ event: 'manager.elected', id: 'life1-1' });
  });

  it('keeps nothing for a reader that is slow, and tells it what it missed when it reads on', async () => {
    const manager = new ManagerToLookAt({ capacity: 20 });
    const server = await serve(manager);
    await using reader = await Reader.open(`${server.url}/v1/events`);
    // More than any socket takes while nobody reads.
    const owner = { incarnation: 'a.1', name: 'a', url: 'x'.repeat(20_000) };
    for (let count = 1; count <= 1_500; count += 1) {
      manager.events.append([{ kind: 'pool.joined', pool: 'presence', owner, position: count }], 0);
    }
    const kinds: (string | undefined)[] = [];
    for (let message = await reader.next(); ; message = await reader.next()) {
      kinds.push(message.event);
      if (message.id === manager.events.latestId) break;
    }
    expect(kinds.filter((kind) => kind === 'gap')).toHaveLength(1);
    expect(kinds.length).toBeLessThan(1_500);
    expect(kinds.slice(-20)).toEqual(Array(20).fill('pool.joined'));
  });

  it('forgets readers that have gone', async () => {
    const manager = threeOwners();
    const server = await serve(manager);
    const reader = await Reader.open(`${server.url}/v1/events`);
    expect(manager.events.readers).toBe(1);
    await reader[Symbol.asyncDispose]();
    await eventually(() => manager.events.readers).toBe(0);
    expect(server.counters.streams).toBe(0);
  });
});
