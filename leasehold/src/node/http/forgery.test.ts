import { describe, expect, it } from 'vitest';
import { forgeryIn } from './forgery.ts';

const judged = (headers: Readonly<Record<string, string>>): readonly unknown[] => {
  const answer = forgeryIn((name) => headers[name]);
  return answer === undefined ? [] : [answer.status, JSON.parse(answer.body).error.code];
};
const JSON_TYPE = { 'content-type': 'application/json' };
const HOST = { host: '127.0.0.1:7401' };

describe('a request that wants something done', () => {
  it.each([
    [{ ...HOST, ...JSON_TYPE }],
    [{ ...JSON_TYPE }],
    [{ ...HOST, 'content-type': 'Application/JSON; charset=utf-8' }],
    [{ ...HOST, ...JSON_TYPE, origin: 'http://127.0.0.1:7401' }],
    [{ ...HOST, ...JSON_TYPE, origin: 'http://127.0.0.1:7401', 'sec-fetch-site': 'same-origin' }],
    [{ ...JSON_TYPE, host: 'Manager.Internal', origin: 'https://manager.internal' }],
    [{ ...HOST, ...JSON_TYPE, 'sec-fetch-site': 'none' }],
  ])('is believed with %j', (headers) => {
    expect(judged(headers)).toEqual([]);
  });

  it.each([
    [{ ...HOST, ...JSON_TYPE, origin: 'http://evil.example' }],
    [{ ...HOST, ...JSON_TYPE, origin: 'http://127.0.0.1:8080' }],
    [{ ...HOST, ...JSON_TYPE, origin: 'http://127.0.0.1' }],
    [{ ...HOST, ...JSON_TYPE, origin: 'null' }],
    [{ ...HOST, ...JSON_TYPE, origin: '' }],
    [{ ...JSON_TYPE, origin: 'http://127.0.0.1:7401' }],
    [{ ...HOST, ...JSON_TYPE, 'sec-fetch-site': 'cross-site' }],
    [{ ...HOST, ...JSON_TYPE, 'sec-fetch-site': 'same-site' }],
  ])('is taken for that of another site with %j', (headers) => {
    expect(judged(headers)).toEqual([403, 'ORIGIN_NOT_ALLOWED']);
  });

  it.each([
    [{}],
    [{ 'content-type': 'text/plain' }],
    [{ 'content-type': 'application/x-www-form-urlencoded' }],
    [{ 'content-type': 'multipart/form-data; boundary=application/json' }],
    [{ 'content-type': 'text/plain; application/json' }],
    [{ 'content-type': 'application/jsonp' }],
  ])('must say that it is JSON, which it does not with %j', (headers) => {
    expect(judged({ ...HOST, ...headers })).toEqual([415, 'UNSUPPORTED_MEDIA_TYPE']);
  });
});
