import { describe, expect, it } from 'vitest';
import type { HttpAnswer, HttpRequest, HttpRoute } from './exchange.ts';
import { router } from './router.ts';

/** Answers with what it was given. */
const echo = (path: string): HttpRoute => ({
  path,
  answer: ({ parameters, query, header }: HttpRequest): HttpAnswer => ({
    kind: 'text',
    status: 200,
    headers: {},
    body: JSON.stringify([path, parameters, Object.fromEntries(query), header('x')]),
  }),
});
const route = router(['/', '/things', '/things/{name}', '/things/all', '/things/{name}/{part}'].map(echo));
const ask = (
  url: string,
  method = 'GET',
): { readonly status: number; readonly body: unknown; readonly allow?: string | undefined } => {
  const answer = route(method, url, (name) => `header ${name}`);
  if (answer.kind !== 'text') throw new Error('a stream');
  return { status: answer.status, body: JSON.parse(answer.body), allow: answer.headers['allow'] };
};

describe('the router', () => {
  it.each([
    ['/', '/', {}, {}],
    ['', '/', {}, {}],
    ['/?a=b%20c&d', '/', {}, { a: 'b c', d: '' }],
    ['/things', '/things', {}, {}],
    ['/things/', '/things', {}, {}],
    ['/things/all', '/things/all', {}, {}],
    ['/things/a%2Fb', '/things/{name}', { name: 'a/b' }, {}],
    ['/things/%D1%8F?x=1#y', '/things/{name}', { name: 'я' }, { x: '1' }],
    ['/things/all/of', '/things/{name}/{part}', { name: 'all', part: 'of' }, {}],
    ['http://other.example/things?x=1', '/things', {}, { x: '1' }],
  ])('takes %s to %s', (url, path, parameters, query) => {
    expect(ask(url)).toMatchObject({ status: 200, body: [path, parameters, query, 'header x'] });
  });

  it.each(['/thing', '/things/a/b/c', '/things//part', '/Things', '/things/a/'.repeat(9)])(
    'finds nothing at %s, and says what there is',
    (url) => {
      expect(ask(url)).toMatchObject({
        status: 404,
        body: {
          error: {
            code: 'UNKNOWN_ROUTE',
            routes: ['/', '/things', '/things/{name}', '/things/all', '/things/{name}/{part}'],
          },
        },
      });
    },
  );

  it('answers HEAD like GET and nothing else', () => {
    expect(ask('/things', 'HEAD').status).toBe(200);
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS', 'get']) {
      expect(ask('/things', method)).toMatchObject({
        status: 405,
        allow: 'GET, HEAD',
        body: { error: { code: 'METHOD_NOT_ALLOWED' } },
      });
    }
  });

  it('does something only where that is meant, and only for one who means it', () => {
    const act: HttpRoute = { ...echo('/act'), method: 'POST' };
    const both = [{ ...echo('/both'), method: 'POST' as const }, echo('/{name}')];
    const posted = (url: string, method: string, headers: Readonly<Record<string, string>>) =>
      router([act, ...both])(method, url, (name) => headers[name]);
    const json = { 'content-type': 'application/json' };
    expect(posted('/act', 'POST', json)).toMatchObject({ status: 200 });
    expect(posted('/act', 'POST', { ...json, origin: 'http://evil.example' })).toMatchObject({ status: 403 });
    expect(posted('/act', 'POST', {})).toMatchObject({ status: 415 });
    expect(posted('/both', 'GET', {})).toMatchObject({ status: 200 });
    expect(posted('/both', 'POST', json)).toMatchObject({ status: 200 });
    expect(posted('/both', 'PUT', json)).toMatchObject({
      status: 405,
      headers: { allow: 'POST, GET, HEAD' },
    });
  });

  it('names the method to use for a GET of a route that acts', () => {
    const answer = router([{ ...echo('/act'), method: 'POST' }])('GET', '/act', () => undefined);
    expect(answer).toMatchObject({ status: 405, headers: { allow: 'POST' } });
    expect(answer).toMatchObject({ body: expect.stringContaining('GET is not possible here, only POST is') });
  });

  it.each(['/things/%', '/things/%E0%A4%A', '/things/%zz'])('refuses %s', (url) => {
    expect(ask(url)).toMatchObject({ status: 400, body: { error: { code: 'MALFORMED_URL' } } });
  });
});
