import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { EtcdTransaction } from '../client.ts';
import {
  clusterOf,
  type Fields,
  objectOf,
  readGrant,
  readKeepAlive,
  readRange,
  readRevoke,
  readStatus,
  readToken,
  readTransaction,
  readWatch,
} from './answers.ts';
import { grantBody, leaseBody, rangeBody, transactionBody, watchBody } from './requests.ts';

const base64 = (text: string): string => Buffer.from(text).toString('base64');
const header = { cluster_id: '7', member_id: '8', revision: '42', raft_term: '2' };

describe('an answer to a range', () => {
  it('has keys and values in base64, and numbers in quotes', () => {
    const kvs = [
      {
        key: base64('a'),
        value: base64('one'),
        create_revision: '3',
        mod_revision: '41',
        version: '2',
        lease: '9',
      },
    ];
    const { revision, keyValues, more } = readRange({ header, kvs, more: true, count: '5' });
    expect({ revision, more }).toEqual({ revision: 42, more: true });
    expect(keyValues).toEqual([
      { key: 'a', value: Buffer.from('one'), createRevision: 3, modRevision: 41, lease: '9' },
    ]);
  });

  it('leaves out fields that are zero or empty', () => {
    expect(readRange({ header })).toEqual({ revision: 42, keyValues: [], more: false });
    const [only] = readRange({ header, kvs: [{ key: base64('a'), mod_revision: 5 }] }).keyValues;
    expect(only).toEqual({ key: 'a', value: Buffer.alloc(0), createRevision: 0, modRevision: 5, lease: '0' });
  });

  it('keeps every byte of a value', () => {
    const bytes = Uint8Array.from({ length: 256 }, (_, byte) => byte);
    const [only] = readRange({
      header,
      kvs: [{ key: '', value: Buffer.from(bytes).toString('base64') }],
    }).keyValues;
    expect([...(only?.value ?? [])]).toEqual([...bytes]);
  });
});

describe('an answer to a transaction', () => {
  const transaction: EtcdTransaction = {
    compare: [],
    success: [
      { do: 'get', key: 'a' },
      { do: 'put', key: 'b', value: new Uint8Array(0) },
      { do: 'get', key: 'c' },
    ],
    failure: [{ do: 'delete', key: 'd' }],
  };

  it('has what each get of the branch that was taken has found', () => {
    const responses = [
      { response_range: { kvs: [{ key: base64('a'), value: base64('1'), mod_revision: '4' }], count: '1' } },
      { response_put: { header: { revision: '42' } } },
      { response_range: {} },
    ];
    const { succeeded, revision, found } = readTransaction(transaction, {
      header,
      succeeded: true,
      responses,
    });
    expect({ succeeded, revision }).toEqual({ succeeded: true, revision: 42 });
    expect(found.map((each) => each?.key)).toEqual(['a', undefined]);
  });

  it('has failed if it does not say that it has succeeded', () => {
    const responses = [{ response_delete_range: { deleted: '1' } }];
    expect(readTransaction(transaction, { header, responses })).toEqual({
      succeeded: false,
      revision: 42,
      found: [],
    });
  });

  it.each([
    ['too few', []],
    ['too many', [{ response_delete_range: {} }, { response_delete_range: {} }]],
    ['of another kind', [{ response_put: {} }]],
    ['nothing', [null]],
  ])('is refused if its responses are %s', (_, responses) => {
    expect(() => readTransaction(transaction, { header, responses })).toThrow(/responses/);
  });
});

describe('an answer to a watch', () => {
  it('has the keys that were put and deleted, with revisions', () => {
    const events = [
      { kv: { key: base64('a'), value: base64('1'), create_revision: '5', mod_revision: '5' } },
      { type: 'DELETE', kv: { key: base64('a'), mod_revision: '6' } },
      { kv: { key: base64('b'), mod_revision: '7' } },
    ];
    expect(readWatch({ header, events })).toEqual({
      isCreated: false,
      isCanceled: false,
      isCompacted: false,
      isFragment: false,
      why: '',
      events: [
        { key: 'a', value: Buffer.from('1'), revision: 5 },
        { key: 'a', value: undefined, revision: 6 },
        { key: 'b', value: Buffer.alloc(0), revision: 7 },
      ],
    });
  });

  it('may be that it is over', () => {
    expect(readWatch({ created: true })).toMatchObject({ isCreated: true, isCanceled: false });
    expect(readWatch({ canceled: true, compact_revision: '3' })).toMatchObject({ isCompacted: true });
    expect(readWatch({ canceled: true, cancel_reason: 'x' })).toMatchObject({ isCanceled: true, why: 'x' });
  });
});

describe('answers about leases, members and names', () => {
  it('keep all digits of a lease', () => {
    const ID = '7587866331286532999';
    expect(readGrant({ header, ID, TTL: '3' })).toEqual({ lease: ID, ttlSeconds: 3 });
  });

  it('say by a missing TTL that the lease is gone', () => {
    expect(readKeepAlive({ ID: '5', TTL: '3' })).toEqual({ ttlSeconds: 3 });
    expect(readKeepAlive({ ID: '5' })).toEqual({ ttlSeconds: 0 });
  });

  it('say how a member is', () => {
    const answer = { header, version: '3.4.23', dbSize: '20480', leader: '8' };
    expect(readStatus('http://a', answer)).toEqual({
      endpoint: 'http://a',
      reachable: true,
      complaint: undefined,
      isFull: false,
      version: '3.4.23',
      databaseBytes: 20_480,
      isLeader: true,
    });
    expect(readStatus('http://a', { ...answer, leader: '9', errors: ['alarm:NOSPACE '] })).toMatchObject({
      isLeader: false,
      complaint: 'alarm:NOSPACE',
      isFull: true,
    });
    expect(readStatus('http://a', { header })).toMatchObject({
      isLeader: false,
      complaint: 'it knows no leader',
    });
  });

  it('say which cluster it is', () => {
    expect(clusterOf({ header })).toBe('7');
    expect(clusterOf({})).toBeUndefined();
  });

  it('have a token that fits a header', () => {
    expect(readToken({ token: 'abc.12' })).toBe('abc.12');
    for (const token of ['', 'a b', 'a\r\nx: y', 'é', 'a'.repeat(8_193), 3, undefined]) {
      expect(() => readToken({ token })).toThrow(/token must be/);
    }
  });
});

describe('nothing is taken on trust', () => {
  const kv = { key: base64('a'), mod_revision: '1' };
  const cases: readonly (readonly [string, (answer: Fields) => unknown, Fields])[] = [
    ['header must be an object', readRange, {}],
    ['header must be an object', readRevoke, { header: [] }],
    ['header.revision must not be 0', readRange, { header: {} }],
    ['header.revision must be a whole number', readRange, { header: { revision: '-1' } }],
    ['header.revision must be a whole number', readRange, { header: { revision: '9007199254740993' } }],
    ['header.revision must be a whole number', readRange, { header: { revision: '1e3' } }],
    ['header.revision must be a whole number', readRange, { header: { revision: 1.5 } }],
    ['header.cluster_id must be a whole number', clusterOf, { header: { cluster_id: 'x' } }],
    ['kvs must be a list', readRange, { header, kvs: {} }],
    ['kvs[1] must be an object', readRange, { header, kvs: [kv, 'x'] }],
    ['kvs[0].key must be base64', readRange, { header, kvs: [{ key: '%%%%' }] }],
    ['kvs[0].key must be base64', readRange, { header, kvs: [{ key: 'YQ' }] }],
    ['kvs[0].value must be a text', readRange, { header, kvs: [{ ...kv, value: 3 }] }],
    ['kvs[0].lease must be a whole number', readRange, { header, kvs: [{ ...kv, lease: '1.5' }] }],
    ['more must be true or false', readRange, { header, more: 'yes' }],
    ['ID must not be 0', readGrant, { TTL: '3' }],
    ['TTL must not be 0', readGrant, { ID: '3' }],
    ['TTL must be a whole number', readKeepAlive, { TTL: 'x' }],
    ['events[0].kv must be an object', readWatch, { events: [{}] }],
    ['events[0].kv.mod_revision must not be 0', readWatch, { events: [{ kv: { key: '' } }] }],
    ['events[0].type is unknown', readWatch, { events: [{ type: 'MOVE', kv }] }],
    ['cancel_reason must be a text', readWatch, { cancel_reason: {} }],
  ];
  it.each(cases)('%s', (message, read, answer) => {
    expect(() => read(answer)).toThrow(MalformedMessageError);
    expect(() => read(answer)).toThrow(message);
  });

  it.each(['', '{', '[]', '"x"', 'null', '<html>'])('%j is no answer', (text) => {
    expect(() => objectOf(text)).toThrow(MalformedMessageError);
  });
});

describe('a request', () => {
  it('asks for a range', () => {
    expect(JSON.parse(rangeBody({ key: 'a' }))).toEqual({ key: base64('a') });
    expect(JSON.parse(rangeBody({ key: 'a', end: 'b', limit: 10, revision: 7 }))).toEqual({
      key: base64('a'),
      range_end: base64('b'),
      limit: '10',
      revision: '7',
    });
  });

  it('compares, puts, deletes and gets', () => {
    const value = Buffer.from('xyz').subarray(1);
    const body = transactionBody({
      compare: [
        { key: 'a', createRevision: 0 },
        { key: 'a', modRevision: 5 },
        { key: 'a', value },
      ],
      success: [
        { do: 'put', key: 'b', value, lease: '77' },
        { do: 'put', key: 'b', value },
        { do: 'delete', key: 'c' },
        { do: 'delete', key: 'c', end: 'd' },
      ],
      failure: [{ do: 'get', key: 'a' }],
    });
    const [a, b, c, d] = ['a', 'b', 'c', 'd'].map(base64);
    expect(JSON.parse(body)).toEqual({
      compare: [
        { key: a, target: 'CREATE', result: 'EQUAL', create_revision: '0' },
        { key: a, target: 'MOD', result: 'EQUAL', mod_revision: '5' },
        { key: a, target: 'VALUE', result: 'EQUAL', value: base64('yz') },
      ],
      success: [
        { request_put: { key: b, value: base64('yz'), lease: '77' } },
        { request_put: { key: b, value: base64('yz') } },
        { request_delete_range: { key: c } },
        { request_delete_range: { key: c, range_end: d } },
      ],
      failure: [{ request_range: { key: a } }],
    });
  });

  it('names leases and revisions in digits', () => {
    expect([grantBody(3), leaseBody('7587866331286532999')]).toEqual([
      '{"TTL":"3"}',
      '{"ID":"7587866331286532999"}',
    ]);
    expect(JSON.parse(watchBody('a', 'b', 12))).toEqual({
      create_request: { key: base64('a'), range_end: base64('b'), start_revision: '12', fragment: true },
    });
  });
});
