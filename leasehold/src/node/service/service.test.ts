import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { silent } from '../../runtime/logger.ts';
import { counter, familiesOf, gauge, type Metric } from '../../runtime/metrics.ts';
import { router } from '../http/router.ts';
import { EventLog, type ServiceEvent } from './event-log.ts';
import type { Stall } from './progress.ts';
import { queryParameter, RequestProblem } from './route.ts';
import { complaints } from './schema-checker-script.ts';
import { boolean, numberOrNull, type Schema, text, whole } from './schema.ts';
import { metricsText } from './merged-metrics.ts';
import { serveStatus } from './serve-status.ts';
import type { Served, Service } from './service.ts';
import { type ProcessHealth, statusRoutes } from './status-routes.ts';
import { VERSION } from '../../runtime/version.ts';

interface Rang extends ServiceEvent {
  readonly kind: 'rang';
  readonly door: string;
}

/** The smallest service that has everything: a doorbell. */
class Doorbell implements Served {
  rings = 0;
  lastRingAgoMs: number | undefined;
  stalls: Stall[] = [];
  readonly events: EventLog<Rang>;

  ring(door: string): void {
    this.rings += 1;
    this.events.append([{ kind: 'rang', door }], 1_000 + this.rings);
  }

  readonly service: Service;
  readonly health: ProcessHealth;

  constructor(instance = 'hall', epoch = 'e1') {
    this.events = new EventLog<Rang>({ epoch });
    this.service = {
      ...{ module: 'doorbell', instance, kind: 'cell', usualPort: 7_999 },
      ...{ title: 'Doorbell', description: 'Rings.' },
      status: () => ({ rings: this.rings, lastRingAgoMs: this.lastRingAgoMs }),
      statusSchema: { rings: whole('rings'), lastRingAgoMs: numberOrNull('how long ago the last ring was') },
      problems: () => [
        { id: 'dust', level: 'warning', what: 'it is dusty', sinceMs: 5, cure: 'wipe it' } as const,
      ],
      metrics: () => familiesOf(METRICS, this),
      events: {
        log: this.events,
        schema: { type: 'object' },
        filter: (query) => (event) =>
          query.get('door') === null || ('door' in event && event.door === query.get('door')),
        parameters: [queryParameter('door', 'only this door')],
      },
      routes: [
        {
          path: '/refused',
          summary: 'Is always refused.',
          schema: text('nothing'),
          answer: () => {
            throw new RequestProblem(404, 'NO_SUCH_DOOR', `there is no such door in the ${instance}`, {
              doors: [],
            });
          },
        },
      ],
    };
    this.health = {
      names: [
        { service: this.service, check: 'bell' },
        { service: undefined, check: 'event-loop' },
      ],
      stalls: () => this.stalls.map((stall) => ({ ...stall, service: this.service })),
      usage: () => ({ residentBytes: 1, cpuSeconds: 2, eventLoopDelaySeconds: 0.5 }),
      uptimeSeconds: () => 60,
    };
  }

  toService(): Service {
    return this.service;
  }
}

const METRICS: readonly Metric<Doorbell>[] = [
  counter('doorbell_rings_total', 'Rings.', ({ rings }) => rings),
  gauge('doorbell_last_ring_seconds', 'How long ago the last ring was.', ({ lastRingAgoMs }) =>
    lastRingAgoMs === undefined ? undefined : lastRingAgoMs / 1_000,
  ),
];

function get(bell: Doorbell, url: string): { readonly status: number; readonly body: string } {
  const answer = router(statusRoutes([bell.service], bell.health))('GET', url, () => undefined);
  if (answer.kind !== 'text') throw new Error(`${url} is no text`);
  return answer;
}

const json = (bell: Doorbell, url: string): unknown => JSON.parse(get(bell, url).body);

describe('a service', () => {
  it('shows its status after what every service says, with null for what is undefined', () => {
    expect(json(new Doorbell(), '/v1/status')).toEqual({
      ...{ version: VERSION, isReady: true, whyNotReady: null },
      handles: [
        {
          ...{ module: 'doorbell', instance: 'hall', isReady: true, whyNotReady: null },
          ...{ rings: 0, lastRingAgoMs: null },
        },
      ],
    });
  });

  it('is not ready while work stands still, lives all the same, and says why everywhere', () => {
    const bell = new Doorbell();
    expect(get(bell, '/readyz')).toMatchObject({ status: 200 });
    const handle = { module: 'doorbell', instance: 'hall', role: null };
    expect(json(bell, '/readyz')).toEqual({
      ...{ isReady: true, why: null, stalls: [] },
      handles: [{ ...handle, isReady: true }],
    });
    bell.stalls = [{ check: 'bell', why: 'the clapper is stuck', forMs: 7_000 }];
    expect(get(bell, '/readyz').status).toBe(503);
    expect(json(bell, '/readyz')).toEqual({
      ...{ isReady: false, why: 'the clapper is stuck' },
      stalls: [
        {
          ...{ module: 'doorbell', instance: 'hall' },
          ...{ check: 'bell', why: 'the clapper is stuck', forMs: 7_000 },
        },
      ],
      handles: [{ ...handle, isReady: false }],
    });
    expect(json(bell, '/v1/status')).toMatchObject({ isReady: false, whyNotReady: 'the clapper is stuck' });
    expect(get(bell, '/metrics').body).toContain(
      'leasehold_stalled{module="doorbell",cell="hall",check="bell"} 1\nleasehold_stalled{check="event-loop"} 0\n',
    );
    expect(get(bell, '/healthz').status).toBe(200);
  });

  it('shows its table of metrics, and those of every process', () => {
    const bell = new Doorbell();
    bell.ring('front');
    const { body } = get(bell, '/metrics');
    expect(body).toContain('# TYPE doorbell_rings_total counter\ndoorbell_rings_total{cell="hall"} 1\n');
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
    const routes = router(statusRoutes([bell.service], bell.health));
    const answer = routes('GET', '/v1/events?after=e1-1', () => undefined);
    if (answer.kind !== 'stream') throw new Error('it is no stream');
    using supply = answer.open(() => {});
    expect(supply.next()).toMatchObject({ id: 'e1-2', event: 'rang' });
    expect(supply.next()).toBeUndefined();
  });

  it('answers what a route throws on purpose', () => {
    expect([
      get(new Doorbell(), '/v1/doorbell/hall/refused').status,
      json(new Doorbell(), '/v1/doorbell/hall/refused'),
    ]).toEqual([
      404,
      { error: { code: 'NO_SUCH_DOOR', message: 'there is no such door in the hall', doors: [] } },
    ]);
  });

  it('has an OpenAPI document that is valid by the schema of OpenAPI', async () => {
    const document = json(new Doorbell(), '/openapi.json') as Record<string, unknown>;
    expect(await new Validator().validate(document)).toMatchObject({ valid: true });
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
      ['/v1/problems', 'Problems'],
      ['/v1/events/recent', 'Events'],
      ['/healthz', 'Health'],
      ['/readyz', 'Readiness'],
      ['/v1/doorbell/hall/refused', 'Error'],
    ] as const)
      expect([url, complaints(schemas, schemas[name] ?? {}, json(bell, url))]).toEqual([url, []]);
    expect(Object.keys(document.paths).sort()).toEqual(
      statusRoutes([bell.service], bell.health)
        .map(({ path }) => path)
        .sort(),
    );
  });
});

describe('several handles in one process', () => {
  const two = (): readonly [Doorbell, Doorbell] => [new Doorbell('hall', 'e1'), new Doorbell('yard', 'e2')];
  const ask = (bells: readonly Doorbell[], url: string) => {
    const services = bells.map(({ service }) => service);
    const health = { ...(bells[0] ?? new Doorbell()).health };
    const answer = router(statusRoutes(services, health))('GET', url, () => undefined);
    if (answer.kind !== 'text') throw new Error(`${url} is no text`);
    return { status: answer.status, json: JSON.parse(answer.body) as Record<string, unknown> };
  };

  it('are told apart by their instance in paths, and an instance that is not there is named', () => {
    expect(ask(two(), '/v1/doorbell/hall/refused').json).toMatchObject({
      error: { message: 'there is no such door in the hall' },
    });
    expect(ask(two(), '/v1/doorbell/yard/refused').json).toMatchObject({
      error: { message: 'there is no such door in the yard' },
    });
    expect(ask(two(), '/v1/doorbell/roof/refused')).toMatchObject({
      status: 404,
      json: { error: { code: 'NOT_FOUND', cells: ['hall', 'yard'] } },
    });
  });

  it('have one list of metrics, with the instance as a label', () => {
    const [hall, yard] = two();
    hall.ring('front');
    expect(metricsText([hall, yard])).toContain(
      '# TYPE doorbell_rings_total counter\ndoorbell_rings_total{cell="hall"} 1\ndoorbell_rings_total{cell="yard"} 0\n',
    );
  });

  it('are refused if two are of one instance, whose series and paths would be the same', () => {
    const twice = [new Doorbell(), new Doorbell()];
    const rule = 'option handles is doorbell hall, but each instance of a module may be there once';
    expect(() => metricsText(twice)).toThrow(rule);
    expect(() => ask(twice, '/v1/status')).toThrow(rule);
    expect(() => metricsText([])).toThrow('option handles is none');
    const none = {
      code: 'INVALID_OPTION',
      message: expect.stringContaining('must be a handle of this toolkit'),
    };
    for (const each of [{}, { toService: 5 }, { toService: undefined }, null, 'x'])
      expect(() => metricsText(each as Served)).toThrow(expect.objectContaining(none));
  });

  it('may be of one module with statuses of several shapes, and the document admits each', async () => {
    const [hall, yard] = two();
    const silentBell = {
      ...yard.service,
      status: () => ({ isMuted: true }),
      statusSchema: { isMuted: boolean('') },
    };
    const answer = (url: string) => {
      const routes = router(statusRoutes([hall.service, silentBell], hall.health));
      const answered = routes('GET', url, () => undefined);
      if (answered.kind !== 'text') throw new Error(`${url} is no text`);
      return JSON.parse(answered.body) as Record<string, unknown>;
    };
    const document = answer('/openapi.json') as {
      readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
    };
    expect(await new Validator().validate({ ...document })).toMatchObject({ valid: true });
    const { schemas } = document.components;
    expect(schemas['DoorbellStatus']?.anyOf).toHaveLength(2);
    expect(complaints(schemas, schemas['Status'] ?? {}, answer('/v1/status'))).toEqual([]);
  });

  it('tell their problems, and what stands still', () => {
    const [hall, yard] = two();
    hall.stalls = [{ check: 'bell', why: 'stuck', forMs: 7 }];
    expect(ask([hall, yard], '/v1/problems').json['problems']).toMatchObject([
      { module: 'doorbell', instance: 'hall', id: 'dust', level: 'warning', command: null },
      { module: 'doorbell', instance: 'yard', id: 'dust' },
      { module: 'doorbell', instance: 'hall', id: 'bell', level: 'failing', what: 'stuck', sinceMs: 7 },
    ]);
  });

  it('have one stream of events, which is resumed in each log where its reader was', () => {
    const [hall, yard] = two();
    const services = [hall.service, yard.service];
    const open = (url: string) => {
      const answer = router(statusRoutes(services, hall.health))('GET', url, () => undefined);
      if (answer.kind !== 'stream') throw new Error('it is no stream');
      return answer.open(() => {});
    };
    using first = open('/v1/events');
    hall.ring('front');
    yard.ring('gate');
    hall.ring('back');
    const told = [first.next(), first.next(), first.next()];
    expect(told.map((event) => event?.id)).toEqual(['e1-1,e2-0', 'e1-1,e2-1', 'e1-2,e2-1']);
    expect(first.next()).toBeUndefined();
    using again = open(`/v1/events?after=${told[0]?.id}`);
    expect([again.next()?.id, again.next()?.id, again.next()]).toEqual(['e1-1,e2-1', 'e1-2,e2-1', undefined]);
    using foreign = open('/v1/events?after=e9-4');
    const afterGaps = [1, 2, 3, 4, 5].map(() => foreign.next()?.event);
    expect(afterGaps.filter((kind) => kind === 'gap')).toHaveLength(2);
    expect(afterGaps.filter((kind) => kind === 'rang')).toHaveLength(3);
    expect(ask([hall, yard], '/v1/events/recent?limit=2').json).toMatchObject({
      events: [{ id: 'e2-1' }, { id: 'e1-2' }],
      latestEventId: 'e1-2,e2-1',
    });
  });
});

describe('a port of a service', () => {
  it('answers over a socket, and is closed when it is disposed of', async () => {
    const bell = new Doorbell();
    let why: string | undefined = 'stuck';
    const checks = () => [{ name: 'bell', afterMs: 0, standsStill: () => why }];
    const told: (string | undefined)[] = [];
    const service: Service = { ...bell.service, checks, served: (at) => told.push(at?.url) };
    const server = await serveStatus({ toService: () => service }, { listen: '127.0.0.1:0', logger: silent });
    expect(told).toEqual([server.url]);
    const red = await fetch(`${server.url}/readyz`);
    expect([red.status, await red.json()]).toMatchObject([503, { stalls: [{ check: 'bell' }] }]);
    why = undefined;
    expect((await fetch(`${server.url}/v1/status`)).status).toBe(200);
    await server.close();
    expect(told).toEqual([server.url, undefined]);
    await expect(fetch(`${server.url}/healthz`)).rejects.toThrow();
  });

  it.each<[object, string, string?]>([
    [{ listen: '127.0.0.1:70000' }, 'host:port'],
    [{ listen: '0.0.0.0:0' }, 'insecure', 'NO_TOKEN'],
    [{ prot: 1 }, 'prot'],
    ...[5, null, [5], [''], {}, 'x'].map((hosts): [object, string] => [
      { allowedHosts: hosts },
      'allowedHosts',
    ]),
  ])('is refused before anything has started: %j', async (options, naming, code = 'INVALID_OPTION') => {
    await expect(serveStatus(new Doorbell(), options)).rejects.toMatchObject({
      code,
      message: expect.stringContaining(naming),
    });
  });
});
