import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HandMovedRuntime } from '../../node/tcp/socket-script.ts';
import { silent } from '../../runtime/logger.ts';
import type { EtcdClient } from '../client.ts';
import { gatewayClient } from './gateway-client.ts';
import { ScriptedHttp } from './http-script.ts';

const header = { cluster_id: '7', member_id: '8', revision: '42' };
const kv = { key: 'YQ==', value: 'YQ==', create_revision: '3', mod_revision: '4', lease: '5' };

/** Good answers, of which something is changed. */
const GOOD: readonly object[] = [
  { header, kvs: [kv, kv], more: true, count: '5' },
  { header, succeeded: true, responses: [{ response_put: {} }, { response_range: { kvs: [kv] } }] },
  { header, ID: '3', TTL: '5' },
  { result: { header, ID: '3', TTL: '5' } },
  { result: { header, events: [{ kv }, { type: 'DELETE', kv }], fragment: true } },
  { result: { header, created: true, canceled: true, compact_revision: '5', cancel_reason: 'x' } },
  { header, version: '3.4.23', dbSize: '5', leader: '8', errors: ['x'] },
  { error: 'etcdserver: no leader', message: 'etcdserver: no leader', code: 14 },
  { error: { grpc_code: 14, http_code: 503, message: 'etcdserver: request timed out' } },
  { header, token: 'one' },
];

const leaf = fc.oneof(
  fc.constant(null),
  fc.boolean(),
  fc.integer(),
  fc.double(),
  fc.string(),
  fc.constant({}),
);

/** One part of it, at any depth, replaced by something else. */
function changed(value: unknown, path: readonly number[], by: unknown): unknown {
  const [step, ...rest] = path;
  if (step === undefined || typeof value !== 'object' || value === null) return by;
  const keys = Object.keys(value);
  const key = keys[step % Math.max(1, keys.length)];
  if (key === undefined) return by;
  const inner = changed((value as Record<string, unknown>)[key], rest, by);
  return Array.isArray(value)
    ? value.map((each, index) => (String(index) === key ? inner : each))
    : { ...value, [key]: inner };
}

const answers = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .tuple(fc.constantFrom(...GOOD), fc.array(fc.nat(10), { maxLength: 5 }), leaf)
    .map(([good, path, by]) => JSON.stringify(changed(good, path, by))),
);
const statuses = fc.oneof(fc.constant(200), fc.integer({ min: 100, max: 599 }));

const CALLS: Readonly<Record<string, (client: EtcdClient, answer: (answer: unknown) => void) => void>> = {
  range: (client, answer) => client.range({ key: 'a' }, 1_000, answer),
  transact: (client, answer) =>
    client.transact(
      {
        compare: [],
        success: [
          { do: 'put', key: 'a', value: new Uint8Array(1) },
          { do: 'get', key: 'a' },
        ],
        failure: [],
      },
      1_000,
      answer,
    ),
  grant: (client, answer) => client.grant(3, 1_000, answer),
  keepAlive: (client, answer) => client.keepAlive('3', 1_000, answer),
  revoke: (client, answer) => client.revoke('3', 1_000, answer),
  health: (client, answer) => client.health(1_000, answer),
};

describe('whatever a server answers', () => {
  it.each(Object.entries(CALLS))('%s is answered once', (_, call) => {
    fc.assert(
      fc.property(answers, statuses, fc.boolean(), (text, status, hasName) => {
        const [http, runtime] = [new ScriptedHttp(), new HandMovedRuntime()];
        const credentials = hasName ? { user: 'a', password: 'b' } : undefined;
        const client = gatewayClient({
          endpoints: ['http://a', 'http://b'],
          http,
          runtime,
          logger: silent,
          credentials,
        });
        let answered = 0;
        call(client, () => (answered += 1));
        for (let index = 0; index < http.posts.length && index < 20; index += 1) {
          http.posts[index]?.answer(text, status);
        }
        runtime.pass(10_000);
        expect(answered).toBe(1);
        expect(http.posts.length).toBeLessThan(20);
        expect(runtime.timers).toBe(0);
      }),
      { numRuns: 500 },
    );
  });

  it('a watch ends at most once, and tells nothing after that', () => {
    fc.assert(
      fc.property(fc.array(answers, { maxLength: 5 }), (lines) => {
        const [http, runtime] = [new ScriptedHttp(), new HandMovedRuntime()];
        const client = gatewayClient({ endpoints: ['http://a'], http, runtime, logger: silent });
        let [ended, late] = [0, 0];
        client.watch('a', 'b', 1, {
          changed: () => (late += ended),
          ended: () => (ended += 1),
        });
        for (const line of lines) http.last.says(`${line.replaceAll('\n', ' ')}\n`);
        http.last.fail('it is over');
        expect([ended, late, runtime.timers]).toEqual([1, 0, 0]);
      }),
      { numRuns: 500 },
    );
  });
});
