import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../../node/runtime.ts';
import { silent } from '../../../runtime/logger.ts';
import { instant } from '../../../runtime/time.ts';
import { SharedLimits } from '../shared-limits.ts';
import { wholeRight } from '../../core/shared/directory.ts';
import { ratelimit } from '../ratelimit.ts';
import { requestLimit } from '../http/limit-request.ts';
import { METRICS } from './service.ts';
import { serveStatus } from '../../../node/service/serve-status.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';

/** A process that holds the keys of one limiter for ever, and cannot find the owners of the others. */
const limitsOf = (
  whyCutOff: () => string | undefined = () => undefined,
  isReady: () => boolean = () => true,
): SharedLimits =>
  new SharedLimits({
    ...{ name: 'ada', instance: 'ratelimit', address: '127.0.0.1:1', epoch: 'life1', logger: silent },
    directory: {
      rightTo: (limiter, _key, now) => (limiter === 'api' ? wholeRight(instant(-1e6), now) : undefined),
      find: () => undefined,
      whyCutOff,
      isReady,
    },
    runtime: nodeRuntime(),
    sendAsk: () => {},
    sendAnswer: () => {},
    close: async () => {},
  });

describe('the port of a process that shares limits', () => {
  it('shows limits, decisions and the level of a key, and takes no tokens', async () => {
    await using shared = limitsOf();
    const limiter = ratelimit({ name: 'api', limit: 2, per: '1h', shared });
    for (let count = 0; count < 3; count += 1) await limiter.consume('ann');
    await using server = await serveStatus(shared, { listen: '127.0.0.1:0', logger: silent });
    const get = async (path: string) => (await fetch(`${server.url}${path}`)).json();
    expect(await get('/v1/status')).toMatchObject({
      handles: [
        {
          ...{ module: 'ratelimit', instance: 'ratelimit', name: 'ada', differences: [] },
          limiters: [{ name: 'api', limit: 2, decisions: { 'allowed by owner': 2, 'denied by owner': 1 } }],
        },
      ],
    });
    const level = { limiter: 'api', key: 'bob', allowed: true, remaining: 2, by: 'owner' };
    expect(await get('/v1/ratelimit/ratelimit/key?limiter=api&key=bob')).toMatchObject(level);
    expect(await get('/v1/ratelimit/ratelimit/key?limiter=api&key=bob')).toMatchObject(level);
    expect((await fetch(`${server.url}/v1/ratelimit/ratelimit/key?limiter=other&key=bob`)).status).toBe(404);
    expect(JSON.stringify(await get('/v1/ratelimit/ratelimit/key?limiter=other&key=bob'))).toContain(
      'no limiter other: it has api',
    );
    expect(JSON.stringify(await get('/v1/ratelimit/ratelimit/key?limiter=api'))).toContain(
      'no key was given',
    );
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(complaintsAbout(metrics)).toEqual([]);
    expect(metrics).toContain(
      'leasehold_ratelimit_decisions_total{pool="ratelimit",limiter="api",result="allowed",by="owner"} 2',
    );
  });

  it('tells of requests that were decided without the owner of their key', async () => {
    await using shared = limitsOf();
    const limiter = ratelimit({ name: 'cut', limit: 2, shared, askTimeoutMs: 0 });
    const event = shared.events()[Symbol.asyncIterator]().next();
    expect(await limiter.consume('ann')).toMatchObject({ denied: 'cut-off', by: 'closed' });
    const told = { kind: 'ratelimit.cut-off', instance: 'ratelimit', limiter: 'cut', by: 'closed' };
    expect((await event).value).toMatchObject(told);
  });

  it('is not ready while the process owns no keys, and says why', async () => {
    let why: string | undefined = 'no Manager has renewed its lease';
    await using shared = limitsOf(() => why);
    await using server = await serveStatus(shared, { listen: '127.0.0.1:0', logger: silent });
    await vi.waitFor(
      async () => {
        const ready = await fetch(`${server.url}/readyz`);
        expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining(why ?? '')]);
      },
      { timeout: 10_000 },
    );
    why = undefined;
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('is not ready from the start until the process owns keys, and stays ready while keys change hands later', async () => {
    let isReady = false;
    await using shared = limitsOf(undefined, () => isReady);
    await using server = await serveStatus(shared, { listen: '127.0.0.1:0', logger: silent });
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([503, expect.stringContaining('owns no keys yet')]);
    isReady = true;
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    isReady = false;
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
  });

  it('is not ready once the limits are closed, and requests are told why', async () => {
    await using shared = limitsOf();
    await using server = await serveStatus(shared, { listen: '127.0.0.1:0', logger: silent });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await shared.close();
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining('the shared limits are closed'),
    ]);
    const decide = requestLimit(ratelimit({ name: 'cut', limit: 2, shared, askTimeoutMs: 0 }), {
      key: () => 'ann',
    });
    expect(await decide({})).toMatchObject({
      denial: { status: 503, body: { error: 'CLOSED' } },
    });
  });

  it('has the metrics that docs/metrics.md lists, and no other', () => {
    const text = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const listed = [
      ...text.matchAll(/^\| `(leasehold_ratelimit_(?!spread_)\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm),
    ];
    expect(
      listed.map(([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', '').trim(), help]),
    ).toEqual(METRICS.map(({ name, type, labels, help }) => [name, type, labels.join(', '), help]));
  });
});
