import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it, vi } from 'vitest';
import { complaints } from '../../../node/service/schema-checker-script.ts';
import type { Schema } from '../../../node/service/schema.ts';
import { metricsText } from '../../../node/service/merged-metrics.ts';
import { serveStatus } from '../../../node/service/serve-status.ts';
import { silent } from '../../../runtime/logger.ts';
import { connectLookup } from '../lookup/connect-lookup.ts';
import { startManager } from '../manager/start-manager.ts';
import { joinPool } from '../owner/join-pool.ts';
import { LOOKUP_METRICS, OWNER_METRICS } from './owner-and-lookup.ts';
import { complaintsAbout } from '../../../node/testing/exposition.ts';

const LONG_MS = 60_000;

describe('an owner, a look-up and a Manager at one port', { timeout: LONG_MS }, () => {
  it('are all in the status, the metrics, the events and a valid document, and are red once closed', async () => {
    await using manager = await startManager({ listen: '127.0.0.1:0', firstStart: true, logger: silent });
    const common = { managers: [manager.address], pool: 'rooms', logger: silent };
    await using owner = await joinPool({ ...common, name: 'a', url: 'http://a' });
    await using lookup = await connectLookup(common);
    await owner.whenOwned('alice');
    await lookup.whenFound('alice');
    await using server = await serveStatus([owner, lookup, manager], {
      ...{ listen: '127.0.0.1:0', logger: silent },
    });
    const get = (path: string): Promise<Response> => fetch(`${server.url}${path}`);
    // biome-ignore lint/suspicious/noExplicitAny: answers of any shape
    const json = async (path: string): Promise<any> => (await get(path)).json();

    const document = await json('/openapi.json');
    expect(await new Validator().validate(structuredClone(document))).toMatchObject({ valid: true });
    const schemas = document.components.schemas as Readonly<Record<string, Schema>>;
    for (const [path, name] of [
      ['/v1/status', 'Status'],
      ['/v1/problems', 'Problems'],
      ['/v1/events/recent', 'Events'],
      ['/readyz', 'Readiness'],
    ] as const)
      expect([path, complaints(schemas, schemas[name] ?? {}, await json(path))]).toEqual([path, []]);

    expect((await get('/readyz')).status).toBe(200);
    expect((await json('/v1/status')).handles).toMatchObject([
      { module: 'pool', instance: 'rooms', role: 'owner', name: 'a', isAdmitted: true, sharePercent: 100 },
      { module: 'pool', instance: 'rooms', role: 'lookup', name: null, isCutOff: false },
      { module: 'manager' },
    ]);
    const metrics = await (await get('/metrics')).text();
    expect(complaintsAbout(metrics)).toEqual([]);
    expect(metrics).toContain('\nleasehold_pool_owner_admitted{pool="rooms"} 1\n');
    expect(metrics).toContain('\nleasehold_pool_owner_share_ratio{pool="rooms"} 1\n');
    expect(metrics).toMatch(/^leasehold_pool_lookup_age_seconds\{pool="rooms"\} [\d.e-]+$/m);
    expect(metrics).toContain('\nleasehold_stalled{module="pool",pool="rooms",check="admission"} 0\n');
    expect(metricsText([owner, lookup])).toContain('\nleasehold_pool_lookup_cut_off{pool="rooms"} 0\n');
    const kindsOf = async (pool: string): Promise<readonly string[]> =>
      (await json(`/v1/events/recent?pool=${pool}`)).events.map(({ kind }: { kind: string }) => kind);
    expect(await kindsOf('rooms')).toEqual(
      expect.arrayContaining(['pool.joined', 'pool.admitted', 'pool.granted']),
    );
    expect(await kindsOf('halls')).not.toContain('pool.granted');

    await owner.close();
    await lookup.close();
    const red = await get('/readyz');
    expect([red.status, await red.json()]).toMatchObject([
      503,
      {
        stalls: [
          { check: 'admission', why: 'this owner waits for nothing: it was closed' },
          { check: 'table', why: 'this look-up waits for nothing: it was closed' },
        ],
      },
    ]);
  });

  it('say why they are not ready without a Manager, and count what was lost', async () => {
    const manager = await startManager({
      ...{ listen: '127.0.0.1:0', firstStart: true, logger: silent },
      defaults: { leaseMs: 600 },
    });
    await using _ = manager;
    const common = { managers: [manager.address], pool: 'rooms', logger: silent };
    await using owner = await joinPool({ ...common, name: 'a', url: 'http://a' });
    await using lookup = await connectLookup({ ...common, syncEveryMs: 50, staleAfterMs: 1_500 });
    await owner.whenOwned('alice');
    await using server = await serveStatus([owner, lookup], { listen: '127.0.0.1:0', logger: silent });
    await manager.close();
    const metrics = (): string => metricsText([owner, lookup]);
    const seen = [
      /^leasehold_pool_owner_losses_total\{pool="rooms"\} [1-9]/m,
      /^leasehold_pool_lookup_losses_total\{pool="rooms"\} [1-9]/m,
      /^leasehold_pool_lookup_cut_off\{pool="rooms"\} 1$/m,
    ];
    await vi.waitUntil(() => seen.every((each) => each.test(metrics())), { timeout: LONG_MS, interval: 20 });
    const red = await fetch(`${server.url}/readyz`);
    expect([red.status, await red.text()]).toEqual([
      503,
      expect.stringContaining('this look-up waits for a Manager that answers'),
    ]);
    const { stalls } = JSON.parse(await (await fetch(`${server.url}/readyz`)).text());
    expect(stalls).toMatchObject([{ check: 'keys' }, { check: 'table' }]);
  });

  it('have the metrics that docs/metrics.md lists, and no other', () => {
    const file = readFileSync(new URL('../../../../../docs/metrics.md', import.meta.url), 'utf8');
    const [section = ''] = file.split('\n## Of an owner and a look-up\n')[1]?.split('\n## ') ?? [];
    const listed = [...section.matchAll(/^\| `(leasehold_\w+)` \| (\w+) \| ([^|]*) \| (.*) \|$/gm)];
    expect(
      listed.map(([, name, type, labels, help]) => [name, type, labels?.replaceAll('`', '').trim(), help]),
    ).toEqual(
      [...OWNER_METRICS, ...LOOKUP_METRICS].map(({ name, type, labels, help }) => [
        ...[name, type, labels.join(', '), help],
      ]),
    );
  });
});
