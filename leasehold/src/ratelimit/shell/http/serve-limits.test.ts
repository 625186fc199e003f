import { readFileSync } from 'node:fs';
import { describe, expect, it, vi } from 'vitest';
import { nodeRuntime } from '../../../node/runtime.ts';
import { silent } from '../../../runtime/logger.ts';
import { instant } from '../../../runtime/time.ts';
import { LimitSharing } from '../limit-sharing.ts';
import { wholeRight } from '../../owner/directory.ts';
import { ratelimit } from '../ratelimit.ts';
import { requestLimit } from './limit-request.ts';
import { METRICS, serveLimits } from './serve-limits.ts';

/** A process that holds the keys of one limiter for ever, and cannot find the owners of the others. */
const sharingOf = (whyCutOff: () => string | undefined = () => undefined): LimitSharing =>
  new LimitSharing({
    ...{ name: 'ada', pool: 'ratelimit', address: '127.0.0.1:1', epoch: 'life1', logger: silent },
    directory: {
      rightTo: (limiter, _key, now) => (limiter === 'api' ? wholeRight(instant(-1e6), now) : undefined),
      find: () => undefined,
      whyCutOff,
    },
    runtime: nodeRuntime(),
    sendAsk: () => {},
    sendAnswer: () => {},
    close: async () => {},
  });

describe('the port of a process that shares limits', () => {
  it('shows limits, decisions and the level of a key, and takes no tokens', async () => {
    await using sharing = sharingOf();
    const limiter = ratelimit({ name: 'api', limit: 2, per: '1h', sharing });
    for (let count = 0; count < 3; count += 1) await limiter.consume('ann');
    await using server = await serveLimits(sharing, { port: 0, logger: silent });
    const get = async (path: string) => (await fetch(`${server.url}${path}`)).json();
    expect(await get('/v1/status')).toMatchObject({
      ...{ service: 'ratelimit', name: 'ada', differences: [] },
      limiters: [{ name: 'api', limit: 2, decisions: { 'allowed by owner': 2, 'denied by owner': 1 } }],
    });
    const level = { limiter: 'api', key: 'bob', allowed: true, remaining: 2, by: 'owner' };
    expect(await get('/v1/key?limiter=api&key=bob')).toMatchObject(level);
    expect(await get('/v1/key?limiter=api&key=bob')).toMatchObject(level);
    expect((await fetch(`${server.url}/v1/key?limiter=other&key=bob`)).status).toBe(404);
    expect(JSON.stringify(await get('/v1/key?limiter=other&key=bob'))).toContain(
      'no limiter other: it has api',
    );
    expect(JSON.stringify(await get('/v1/key?limiter=api'))).toContain('no key was given');
    const metrics = await (await fetch(`${server.url}/metrics`)).text();
    expect(metrics).toContain(
      'leasehold_ratelimit_decisions_total{limiter="api",result="allowed",by="owner"} 2',
    );
  });

  it('tells of requests that were decided without the owner of their key', async () => {
    await using sharing = sharingOf();
    const limiter = ratelimit({ name: 'cut', limit: 2, sharing, waitMs: 0 });
    expect(await limiter.consume('ann')).toMatchObject({ denied: 'cut-off', by: 'closed' });
    expect(sharing.events.recent(5)).toMatchObject([{ kind: 'cut-off', limiter: 'cut', by: 'closed' }]);
  });

  it('is not ready while the process owns no keys, and says why', async () => {
    let why: string | undefined = 'no Manager has renewed its lease';
    await using sharing = sharingOf(() => why);
    await using server = await serveLimits(sharing, { port: 0, logger: silent });
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

  it('is not ready once the sharing is closed, and requests are told why', async () => {
    await using sharing = sharingOf();
    await using server = await serveLimits(sharing, { port: 0, logger: silent });
    expect((await fetch(`${server.url}/readyz`)).status).toBe(200);
    await sharing.close();
    const ready = await fetch(`${server.url}/readyz`);
    expect([ready.status, await ready.text()]).toEqual([
      503,
      expect.stringContaining('the sharing is closed'),
    ]);
    const decide = requestLimit(ratelimit({ name: 'cut', limit: 2, sharing, waitMs: 0 }), {
      key: () => 'ann',
    });
    expect(await decide({})).toMatchObject({
      denial: { status: 503, body: { error: 'LIMIT_SHARING_CLOSED' } },
    });
  });

  it('has the metrics that docs/metrics.md lists, and no other', () => {
    const text = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const listed = [...text.matchAll(/^\| `(leasehold_ratelimit_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)];
    expect(
      listed.map(([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', '').trim(), help]),
    ).toEqual(METRICS.map(({ name, type, labels, help }) => [name, type, labels.join(', '), help]));
  });
});
