import { describe, expect, it } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { counter, familiesOf, gauge, type Metric } from '../../runtime/metrics.ts';
import { router } from '../http/router.ts';
import { EventLog, type ServiceEvent } from './event-log.ts';
import type { Stall } from './progress.ts';
import { queryParameter, RequestProblem } from './route.ts';
import { complaints } from './schema-checker-script.ts';
import { numberOrNull, type Schema, text, whole } from './schema.ts';
import { serveService } from './serve-service.ts';
import { type Service, type ServiceHealth, serviceRoutes } from './service.ts';

interface Rang extends ServiceEvent {
  readonly kind: 'rang';
  readonly door: string;
}

/** The smallest service that has everything: a doorbell. */
class Doorbell {
  rings = 0;
  lastRingAgoMs: number | undefined;
  stalls: Stall[] = [];
  readonly events = new EventLog<Rang>({ epoch: 'e1' });

  ring(door: string): void {
    this.rings += 1;
    this.events.append([{ kind: 'rang', door }], 1_000 + this.rings);
  }

  readonly service: Service<Rang> = {
    ...{ name: 'doorbell', title: 'Doorbell', description: 'Rings.', version: '1.2.3' },
    status: () => ({ rings: this.rings, lastRingAgoMs: this.lastRingAgoMs }),
    statusSchema: { rings: whole('rings'), lastRingAgoMs: numberOrNull('how long ago the last ring was') },
    metrics: () => familiesOf(METRICS, this),
    events: {
      log: this.events,
      schema: { type: 'object' },
      filter: (query) => (event) => query.get('door') === null || event.door === query.get('door'),
      parameters: [queryParameter('door', 'only this door')],
    },
    routes: [
      {
        path: '/v1/refused',
        summary: 'Is always refused.',
        schema: text('nothing'),
        answer: () => {
          throw new RequestProblem(404, 'NO_SUCH_DOOR', 'there is no such door', { doors: [] });
        },
      },
    ],
  };

  readonly health: ServiceHealth = {
    names: ['bell', 'event-loop'],
    stalls: () => this.stalls,
    whyNotReady: () => this.stalls[0]?.why,
    usage: () => ({ residentBytes: 1, cpuSeconds: 2, eventLoopDelaySeconds: 0.5 }),
    uptimeSeconds: () => 60,
  };
}

const METRICS: readonly Metric<Doorbell>[] = [
  counter('doorbell_rings_total', 'Rings.', ({ rings }) => rings),
  gauge('doorbell_last_ring_seconds', 'How long ago the last ring was.', ({ lastRingAgoMs }) =>
    lastRingAgoMs === undefined ? undefined : lastRingAgoMs / 1_000,
  ),
];

function get(bell: Doorbell, url: string): { readonly status: number; readonly body: string } {
  const answer = router(serviceRoutes(bell.service, bell.health))('GET', url, () => undefined);
  if (answer.kind !== 'text') throw new Error(`${url} is no text`);
  return answer;
}

const json = (bell: Doorbell, url: string): unknown => JSON.parse(get(bell, url).body);

describe('a service', () => {
  it('shows its status after what every service says, with null for what is undefined', () => {
    expect(json(new Doorbell(), '/v1/status')).toEqual({
      ...{ service: 'doorbell', version: '1.2.3', isReady: true, whyNotReady: null },
      ...{ rings: 0, lastRingAgoMs: null },
    });
  });

  it('is not ready while work stands still, lives all the same, and says why everywhere', () => {
    const bell = new Doorbell();
    expect(get(bell, '/readyz')).toMatchObject({ status: 200 });
    expect(json(bell, '/readyz')).toEqual({ isReady: true, why: null, stalls: [] });
    bell.stalls = [{ check: 'bell', why: 'the clapper is stuck', forMs: 7_000 }];
    expect(get(bell, '/readyz').status).toBe(503);
    expect(json(bell, '/readyz')).toEqual({
      ...{ isReady: false, why: 'the clapper is stuck' },
      stalls: [{ check: 'bell', why: 'the clapper is stuck', forMs: 7_000 }],
    });
    expect(json(bell, '/v1/status')).toMatchObject({ isReady: false, whyNotReady: 'the clapper is stuck' });
    expect(get(bell, '/metrics').body).toContain(
      'leasehold_stalled{check="bell"} 1\nleasehold_stalled{check="event-loop"} 0\n',
    );
    expect(get(bell, '/healthz').status).toBe(200);
  });

  it('shows its table of metrics, and those of every process', () => {
    const bell = new Doorbell();
    bell.ring('front');
    const { body } = get(bell, '/metrics');
    expect(body).toContain('# TYPE doorbell_rings_total counter\ndoorbell_rings_total 1\n');
    expect(body).toContain('# TYPE doorbell_last_ring_seconds gauge\n# HELP');
    expect(body).toContain('process_resident_memory_bytes 1\n');
  });

  it('keeps its last events, and filters them as the request wants', () => {
    const bell = new Doorbell();
    bell.ring('front');
    bell.ring('back');
    expect(json(bell, '/v1/events/recent?door=back')).toEqual({
      events: [{ id: 'e1-2', atMs: 1_002, kind: 'rang', door: 'back' }],
      latestEventId: 'e1-2',
    });
    expect(json(bell, '/v1/events/recent?limit=1')).toMatchObject({ events: [{ door: 'back' }] });
    expect(get(bell, '/v1/events/recent?limit=x').status).toBe(400);
  });

  it('streams its events, resumed after the last one that a reader has seen', () => {
    const bell = new Doorbell();
    bell.ring('front');
    bell.ring('back');
    const routes = router(serviceRoutes(bell.service, bell.health));
    const answer = routes('GET', '/v1/events?after=e1-1', () => undefined);
    if (answer.kind !== 'stream') throw new Error('it is no stream');
    using supply = answer.open(() => {});
    expect(supply.next()).toMatchObject({ id: 'e1-2', event: 'rang' });
    expect(supply.next()).toBeUndefined();
  });

  it('answers what a route throws on purpose', () => {
    expect([get(new Doorbell(), '/v1/refused').status, json(new Doorbell(), '/v1/refused')]).toEqual([
      404,
      { error: { code: 'NO_SUCH_DOOR', message: 'there is no such door', doors: [] } },
    ]);
  });

  it('answers as its OpenAPI document says', () => {
    const bell = new Doorbell();
    bell.stalls = [{ check: 'bell', why: 'stuck', forMs: 1 }];
    const document = json(bell, '/openapi.json') as {
      readonly paths: Readonly<Record<string, unknown>>;
      readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
    };
    const { schemas } = document.components;
    for (const [url, name] of [
      ['/v1/status', 'Status'],
      ['/v1/events/recent', 'Events'],
      ['/healthz', 'Health'],
      ['/readyz', 'Readiness'],
      ['/v1/refused', 'Error'],
    ] as const)
      expect([url, complaints(schemas, schemas[name] ?? {}, json(bell, url))]).toEqual([url, []]);
    expect(Object.keys(document.paths).sort()).toEqual(
      serviceRoutes(bell.service, bell.health)
        .map(({ path }) => path)
        .sort(),
    );
  });
});

describe('a port of a service', () => {
  it('answers over a socket, and is closed when it is disposed of', async () => {
    const bell = new Doorbell();
    let why: string | undefined = 'stuck';
    const checks = () => [{ name: 'bell', afterMs: 0, standsStill: () => why }];
    const server = await serveService({ ...bell.service, checks }, { port: 0, logger: silent }, 7_999);
    const red = await fetch(`${server.url}/readyz`);
    expect([red.status, await red.json()]).toMatchObject([503, { stalls: [{ check: 'bell' }] }]);
    why = undefined;
    expect((await fetch(`${server.url}/v1/status`)).status).toBe(200);
    await server.close();
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  it.each([
    [{ port: 70_000 }, 'port'],
    [{ host: '0.0.0.0' }, 'insecure'],
    [{ prot: 1 } as object, 'prot'],
  ])('is refused before anything has started: %j', async (options, naming) => {
    await expect(serveService(new Doorbell().service, options, 0)).rejects.toThrow(naming);
  });
});
