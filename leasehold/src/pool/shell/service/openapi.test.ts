import { readFileSync } from 'node:fs';
import { Validator } from '@seriousme/openapi-schema-validator';
import { describe, expect, it } from 'vitest';
import { router } from '../../../node/http/router.ts';
import type { ServiceRoute } from '../../../node/service/route.ts';
import type { Schema } from '../../../node/service/schema.ts';
import { complaints } from '../../../node/service/schema-checker-script.ts';
import {
  apiRoutes,
  keepingNothing,
  ManagerToLookAt,
  moving,
  standby,
  threeOwners,
  waiting,
} from './source-script.ts';

/** One that has been through everything there is an event for. */
function eventful(): ManagerToLookAt {
  const manager = threeOwners();
  const { rows } = manager.state.pool('presence');
  const taken = rows.find(({ owner }) => owner === 'presence-1.1');
  if (taken !== undefined) {
    manager.commit('presence', [{ kind: 'move', incarnation: 'presence-2.1', spans: [taken], ticket: 't' }]);
  }
  for (const order of ['cordoned', 'emptying', 'released', undefined] as const)
    manager.commit('presence', [{ kind: 'order', incarnation: 'presence-3.1', order }]);
  manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-3.1', why: 'certified' }]);
  manager.commit('idle', []);
  manager.commit('idle', [{ kind: 'remove' }]);
  manager.role = 'standby';
  manager.look();
  const follows = { kind: 'manager.follows', manager: 'm1', leader: 'm2', term: 4, position: 0 } as const;
  manager.events.append([follows], manager.wallMs);
  manager.role = 'halted';
  manager.haltedBecause = 'the store went back in time';
  manager.look();
  manager.role = 'leading';
  return manager;
}

const asStandby = (manager: ManagerToLookAt): ManagerToLookAt => Object.assign(manager, { role: 'standby' });

const WORLDS: readonly (readonly [string, () => ManagerToLookAt])[] = [
  ['three owners', threeOwners],
  ['a standby', () => asStandby(threeOwners())],
  ['one of several', standby],
  ['one that keeps nothing', keepingNothing],
  ['one that leads and waits', waiting],
  ['an eventful life', eventful],
  ['moves', moving],
  ['nothing at all', () => new ManagerToLookAt()],
];

const URLS: Readonly<Record<string, readonly string[]>> = {
  '/v1/pool/{pool}/keys/{key}': ['/v1/pool/{pool}/keys/alice'],
  '/v1/pool/{pool}/keys': ['/v1/pool/{pool}/keys?key=', '/v1/pool/{pool}/keys?key=alice'],
  '/v1/pool/{pool}/moves': ['/v1/pool/{pool}/moves', '/v1/pool/{pool}/moves?owner=presence-1'],
  '/v1/pool/{pool}/explain': [
    '/v1/pool/{pool}/explain?key=a{b}',
    '/v1/pool/{pool}/explain?hash=00000000000000ff',
  ],
};

const urlsOf = ({ path }: ServiceRoute, manager: ManagerToLookAt): readonly string[] =>
  (URLS[path] ?? [path]).flatMap((url) =>
    url.includes('{pool}')
      ? [
          ...manager.state.pools.keys(),
          ...manager.declared,
          ...manager.candidates.map(({ pool }) => pool),
        ].map((pool) => url.replace('{pool}', pool))
      : [url],
  );

interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, { readonly operationId: string }>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Schema>> };
}

function openApi(routes: readonly ServiceRoute[]): OpenApi {
  const answer = router(routes)('GET', '/openapi.json', () => undefined);
  if (answer.kind !== 'text') throw new Error('a stream');
  return JSON.parse(answer.body) as OpenApi;
}

const SCHEMAS = openApi(apiRoutes(threeOwners().source())).components.schemas;

const isJson = (route: ServiceRoute): boolean => route.contentType === 'application/json';

describe('the OpenAPI document', () => {
  it.each(WORLDS)('has every field that is answered, of %s', (_, world) => {
    const manager = world();
    const routes = apiRoutes(manager.source());
    const route = router(routes);
    for (const each of routes.filter(isJson).filter(({ method }) => method === 'GET')) {
      for (const url of urlsOf(each, manager)) {
        const answer = route('GET', url, () => undefined);
        if (answer.kind !== 'text') throw new Error(`${url} is a stream`);
        const schema = answer.status === 421 ? SCHEMAS['Error'] : each.schema;
        expect([url, complaints(SCHEMAS, schema ?? {}, JSON.parse(answer.body))]).toEqual([url, []]);
      }
    }
  });

  const acting = [
    '/v1/manager/step-down',
    '/v1/pool/presence/remove',
    '/v1/pool/presence/owners/presence-1/drain',
    '/v1/pool/presence/owners/presence-1/cordon',
    '/v1/pool/presence/owners/presence-1/uncordon',
  ];
  it.each(WORLDS.flatMap(([name, world]) => acting.map((url) => [url, name, world] as const)))(
    'has every field of what comes of a POST to %s, of %s',
    async (url, _, world) => {
      const routes = apiRoutes(world().source());
      const posts = routes.filter(({ method }) => method === 'POST');
      expect(posts).toHaveLength(acting.length);
      const json = (name: string): string | undefined =>
        name === 'content-type' ? 'application/json' : undefined;
      const answered = router(routes)('POST', url, json);
      if (answered.kind === 'stream') throw new Error('it is a stream');
      const { status, body } = answered.kind === 'promised' ? await answered.answer : answered;
      const schema = status === 200 ? posts[acting.indexOf(url)]?.schema : SCHEMAS['Error'];
      expect(complaints(SCHEMAS, schema ?? {}, JSON.parse(body))).toEqual([]);
    },
  );

  it('has seen every kind of event', () => {
    const kinds = new Set(
      eventful()
        .events.recent(100)
        .map(({ kind }) => kind),
    );
    expect([...kinds].sort()).toEqual(
      [
        'manager.deposed',
        'manager.elected',
        'manager.follows',
        'pool.granted',
        'manager.halted',
        'pool.joined',
        'pool.left',
        'pool.lost',
        'pool.moved',
        'pool.ordered',
        'pool.removed',
      ].sort(),
    );
  });

  it('describes failures as they are', () => {
    const route = router(apiRoutes(threeOwners().source()));
    const error = SCHEMAS['Error'] ?? {};
    for (const [method, url] of [
      ['GET', '/nowhere'],
      ['POST', '/v1/status'],
      ['GET', '/v1/pool/none'],
      ['GET', '/v1/pool/presence/explain'],
      ['GET', '/%'],
    ]) {
      const answer = route(method ?? '', url ?? '', () => undefined);
      if (answer.kind !== 'text') throw new Error('a stream');
      expect(answer.status).toBeGreaterThanOrEqual(400);
      expect(complaints(SCHEMAS, error, JSON.parse(answer.body))).toEqual([]);
    }
  });

  it('describes how one that stands by sends elsewhere', () => {
    const answer = router(apiRoutes(keepingNothing().source()))('GET', '/v1/pool/none', () => undefined);
    if (answer.kind !== 'text') throw new Error('a stream');
    expect(answer.status).toBe(421);
    expect(complaints(SCHEMAS, SCHEMAS['Error'] ?? {}, JSON.parse(answer.body))).toEqual([]);
  });

  it('lists every route, each with a name of its own, and every parameter in a path', () => {
    const routes = apiRoutes(threeOwners().source());
    const document = openApi(routes);
    expect([document.openapi, document.info.version]).toEqual(['3.1.0', '0.1.0']);
    expect(Object.keys(document.paths)).toEqual(routes.map(({ path }) => path));
    const ids = routes.map(({ path, method }) => document.paths[path]?.[method.toLowerCase()]?.operationId);
    expect(new Set(ids).size).toBe(ids.length);
    for (const { path, parameters } of routes) {
      const named = [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => name);
      expect(parameters.filter((each) => each.in === 'path').map(({ name }) => name)).toEqual(named);
    }
  });

  it('is valid by the schema of OpenAPI', async () => {
    const { valid, errors } = await new Validator().validate({
      ...openApi(apiRoutes(threeOwners().source())),
    });
    expect([valid, errors]).toEqual([true, undefined]);
  });

  it('refers only to schemas that exist, and has none that nobody refers to', () => {
    const document = JSON.stringify([
      apiRoutes(threeOwners().source()),
      SCHEMAS,
      { $ref: '#/components/schemas/Error' },
    ]);
    const named = new Set([...document.matchAll(/#\/components\/schemas\/(\w+)/g)].map(([, name]) => name));
    expect([...named].sort()).toEqual(Object.keys(SCHEMAS).sort());
  });

  it('is explained in docs/http-api.md route by route', () => {
    const text = readFileSync(new URL('../../../../../docs/http-api.md', import.meta.url), 'utf8');
    const documented = [...text.matchAll(/^\| `([A-Z]+ [^`]+)`/gm)].map(([, route]) => route);
    expect(documented.sort()).toEqual(
      apiRoutes(threeOwners().source())
        .map(({ method, path }) => `${method} ${path}`)
        .sort(),
    );
  });
});

describe('the checker of schemas', () => {
  const schema: Schema = {
    type: 'object',
    properties: {
      count: { type: 'integer' },
      kind: { type: 'string', enum: ['a'] },
      list: { type: 'array', items: { type: 'null' } },
    },
    required: ['count'],
    additionalProperties: false,
  };

  it.each([
    [{}, '$.count is missing'],
    [{ count: 1.5 }, '$.count: 1.5 is no integer'],
    [{ count: 1, kind: 'b' }, '$.kind: "b" is not one of a'],
    [{ count: 1, list: [null, 2] }, '$.list[1]: 2 is no null'],
    [{ count: 1, more: 1 }, '$.more is in no schema'],
    [[], '$: [] is no object'],
  ])('finds what is wrong with %j', (value, complaint) => {
    expect(complaints({}, schema, value)).toEqual([complaint]);
  });

  it('finds nothing wrong with what is right, and no schema that is not there', () => {
    expect(complaints({}, schema, { count: 1, kind: 'a', list: [null] })).toEqual([]);
    expect(complaints({}, { $ref: '#/components/schemas/X' }, 1)).toHaveLength(1);
  });
});
