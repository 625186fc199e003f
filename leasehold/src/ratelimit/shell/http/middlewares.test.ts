import { once } from 'node:events';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import express from 'express';
import { rateLimit } from 'express-rate-limit';
import fastify from 'fastify';
import { type Context, Hono } from 'hono';
import { afterEach, describe, expect, it, vi } from 'vitest';
import type { Instant } from '../../../runtime/time.ts';
import { ratelimit } from '../ratelimit.ts';
import { DeniedHits } from './denied-hits.ts';
import { expressStore } from './express-store.ts';
import { limitHeaders } from './headers.ts';
import { expressLimit, fastifyLimit, honoLimit, nodeLimit } from './middlewares.ts';

const closing: (() => unknown)[] = [];
afterEach(async () => {
  for (const close of closing.splice(0)) await close();
});

type Ask = (key: string) => Promise<Response>;

const asking =
  (base: string): Ask =>
  (key) =>
    fetch(base, { headers: key === '' ? {} : { 'x-api-key': key } });

async function listening(server: Server): Promise<Ask> {
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  closing.push(() => server.close());
  return asking(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
}

/** The time stands still: what a server says of seconds does not depend on how busy the machine is. */
const limiterOf = (now = 0) =>
  ratelimit({ name: 'api', limit: 2, per: '1h', runtime: { now: () => now as Instant } });
type Headed = { readonly headers: Readonly<Record<string, string | string[] | undefined>> };
const key = ({ headers }: Headed): string | undefined => headers['x-api-key']?.toString();

const servers: Readonly<Record<string, () => Promise<Ask>>> = {
  'node:http': () => {
    const limit = nodeLimit(limiterOf(), { key });
    return listening(
      createServer((request, response) => {
        void limit(request, response).then((mayGoOn) => {
          if (mayGoOn) response.end('done');
        });
      }),
    );
  },
  Express: () => {
    const app = express();
    app.use(expressLimit(limiterOf(), { key }));
    app.get('/', (_request, response) => void response.send('done'));
    return listening(createServer(app));
  },
  Fastify: async () => {
    const app = fastify();
    app.addHook('onRequest', fastifyLimit(limiterOf(), { key }));
    app.get('/', () => 'done');
    closing.push(() => app.close());
    return asking(await app.listen({ port: 0, host: '127.0.0.1' }));
  },
  Hono: async () => {
    const app = new Hono();
    app.use(honoLimit(limiterOf(), { key: (context: Context) => context.req.header('x-api-key') }));
    app.get('/', (context) => context.text('done'));
    return async (from) => app.request('/', { headers: from === '' ? {} : { 'x-api-key': from } });
  },
};

describe.each(Object.entries(servers))('a limit in %s', (_name, start) => {
  it('lets requests through, and says what is left', async () => {
    const ask = await start();
    const answer = await ask('ann');
    expect([answer.status, await answer.text()]).toEqual([200, 'done']);
    expect(answer.headers.get('ratelimit-policy')).toBe('"api";q=2;w=3600');
    expect(answer.headers.get('ratelimit')).toBe('"api";r=1;t=1800');
    expect(answer.headers.get('retry-after')).toBeNull();
  });

  it('answers 429 with when to try again', async () => {
    const ask = await start();
    await ask('ann');
    await ask('ann');
    const answer = await ask('ann');
    expect(answer.status).toBe(429);
    expect(answer.headers.get('retry-after')).toBe('1800');
    expect(await answer.json()).toMatchObject({ error: 'RATE_LIMITED' });
    expect((await ask('bob')).status).toBe(200);
  });

  it('leaves requests without a key alone', async () => {
    const ask = await start();
    for (let count = 0; count < 3; count += 1) expect((await ask('')).status).toBe(200);
  });
});

describe('a middleware', () => {
  it('is not made without a function that finds the key', () => {
    expect(() => expressLimit(limiterOf(), {} as { key: typeof key })).toThrow('option key');
  });

  it('hands an error of the key function to the framework', async () => {
    const app = express();
    app.use(
      expressLimit(limiterOf(), {
        key: () => {
          throw new Error('no session');
        },
      }),
    );
    app.use((error: Error, _request: unknown, response: express.Response, _next: unknown) => {
      response.status(500).send(error.message);
    });
    const ask = await listening(createServer(app));
    const answer = await ask('ann');
    expect([answer.status, await answer.text()]).toEqual([500, 'no session']);
  });

  it('says that a request which costs too much need not be repeated', async () => {
    const limiter = limiterOf();
    const app = new Hono();
    app.use(honoLimit(limiter, { key: () => 'ann', options: () => ({ cost: 3 }) }));
    const answer = await app.request('/');
    expect([answer.status, answer.headers.get('retry-after')]).toEqual([429, null]);
    expect(await answer.json()).toMatchObject({ message: expect.stringContaining('costs more than 2') });
  });
});

describe('the store for express-rate-limit', () => {
  const serve = (limit: number) => {
    const app = express();
    const store = expressStore(ratelimit({ limit: 2, per: '1h' }));
    app.use(rateLimit({ limit, windowMs: 3_600_000, store, keyGenerator: (request) => key(request) ?? '-' }));
    app.get('/', (_request, response) => void response.send('done'));
    return app;
  };

  it('decides as the limiter does', async () => {
    const ask = await listening(createServer(serve(2)));
    const statuses = [];
    for (const name of ['ann', 'ann', 'ann', 'bob']) statuses.push((await ask(name)).status);
    expect(statuses).toEqual([200, 200, 429, 200]);
  });

  const statusesWith = async (limit: number | (() => number), count: number): Promise<number[]> => {
    const app = express();
    const store = expressStore(ratelimit({ limit: 2, per: '1h' }));
    app.use(rateLimit({ limit, windowMs: 3_600_000, store, keyGenerator: () => 'ann' }));
    app.get('/', (_request, response) => void response.send('done'));
    const ask = await listening(createServer(app));
    const statuses = [];
    for (let at = 0; at < count; at += 1) statuses.push((await ask('ann')).status);
    return statuses;
  };

  it('denies what the limiter denies when the limit is a function, whatever number the function returns', async () => {
    expect(await statusesWith(() => 100, 4)).toEqual([200, 200, 429, 429]);
    expect(await statusesWith(() => 1, 2)).toEqual([200, 429]);
  });

  it('denies every request when the limit is 0, and takes no token', async () => {
    expect(await statusesWith(0, 2)).toEqual([429, 429]);
  });

  it('tells the hits of a key without counting one', async () => {
    const store = expressStore(ratelimit({ limit: 5, per: '1h' }));
    await store.increment('ann');
    await store.increment('ann');
    for (let count = 0; count < 2; count += 1)
      expect(await store.get('ann')).toEqual({ totalHits: 2, resetTime: expect.any(Date) });
  });

  it('fails every request when the limit is not the burst of the limiter', async () => {
    const app = serve(3);
    app.use((error: Error, _request: unknown, response: express.Response, _next: unknown) => {
      response.status(500).send(error.message);
    });
    const answer = await (await listening(createServer(app)))('ann');
    expect(await answer.text()).toBe(
      'option limit is 3, but it must be the burst of the limiter, which is 2',
    );
  });
});

describe('hits that express-rate-limit takes back', () => {
  const statusesOf = async (
    skip: { skipFailedRequests: true } | { skipSuccessfulRequests: true },
    paths: readonly string[],
  ) => {
    const app = express();
    const store = expressStore(ratelimit({ limit: 2, per: '1h' }));
    app.use(rateLimit({ limit: 2, windowMs: 3_600_000, store, keyGenerator: () => 'ann', ...skip }));
    app.get('/good', (_request, response) => void response.send('done'));
    app.get('/bad', (_request, response) => void response.status(500).send('no'));
    const server = createServer(app);
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
    closing.push(() => server.close());
    const { port } = server.address() as AddressInfo;
    const statuses = [];
    for (const path of paths) statuses.push((await fetch(`http://127.0.0.1:${port}${path}`)).status);
    return statuses;
  };

  it('give the key back a token if the request failed, and none if the limit denied the request', async () => {
    const paths = ['/bad', '/bad', '/bad', '/good', '/good', '/good', '/good', '/good'];
    const statuses = await statusesOf({ skipFailedRequests: true }, paths);
    expect(statuses).toEqual([500, 500, 500, 200, 200, 429, 429, 429]);
  });

  it('give the key back every token of requests that succeed, where only those are taken back', async () => {
    const paths = ['/good', '/good', '/good', '/bad', '/bad', '/bad', '/good'];
    const statuses = await statusesOf({ skipSuccessfulRequests: true }, paths);
    expect(statuses).toEqual([200, 200, 200, 500, 500, 429, 429]);
  });

  it('are refunded to no other key while more keys are denied than are remembered one by one', () => {
    const denied = new DeniedHits();
    for (let id = 0; id < 10_001; id += 1) denied.add(`k${id}`, 1_000);
    expect([denied.pay('k10000'), denied.pay('k10000'), denied.pay('k0'), denied.pay('k0')]).toEqual([
      true,
      false,
      true,
      false,
    ]);
  });

  it('that were denied are forgotten a minute after the time at which the middleware takes back no more', () => {
    vi.useFakeTimers();
    closing.push(() => vi.useRealTimers());
    const denied = new DeniedHits();
    denied.add('ann', 5_000);
    vi.advanceTimersByTime(64_999);
    denied.add('bob', 5_000);
    vi.advanceTimersByTime(1);
    expect([denied.pay('ann'), denied.pay('bob')]).toEqual([false, true]);
  });
});

describe('the header fields', () => {
  it('say the same time at every instant, whatever the clock of the process makes of its last bits', () => {
    const instants = Array.from({ length: 1_000 }, (_, index) => index * 1_234.567_8);
    const said = instants.map((now) => limitHeaders('api', limiterOf(now).tryConsume('ann'))['RateLimit']);
    expect([...new Set(said)]).toEqual(['"api";r=1;t=1800']);
  });

  it('say a limit of less than one request in its time as one request in a longer time', () => {
    const result = ratelimit({ limit: 0.1, per: '1s' }).tryConsume('ann');
    expect(limitHeaders('api', result)['RateLimit-Policy']).toBe('"api";q=1;w=10');
  });

  it('say a burst below the limit with the time in which it comes back', () => {
    const result = ratelimit({ limit: 100, per: '1m', burst: 10 }).tryConsume('ann');
    expect(limitHeaders('api', result)['RateLimit-Policy']).toBe('"api";q=10;w=6');
    const quick = ratelimit({ limit: 100, per: '1s', burst: 10 }).tryConsume('ann');
    expect(limitHeaders('api', quick)['RateLimit-Policy']).toBe('"api";q=100;w=1');
  });

  it('say a limit per less than a second as its equal per second', () => {
    const result = ratelimit({ limit: 5, per: '100ms' }).tryConsume('ann');
    expect(limitHeaders('a "b" ü', result)['RateLimit-Policy']).toBe('"a \\"b\\" ?";q=50;w=1');
  });
});
