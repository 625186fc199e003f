import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../node/tcp/socket-script.ts';
import type { EtcdAnswer, EtcdClient } from '../client.ts';
import { gatewayClient } from './gateway-client.ts';
import { ScriptedHttp, type ScriptedPost } from './http-script.ts';

const of = (cluster: string): object => ({ header: { cluster_id: cluster, member_id: '8', revision: '42' } });

class Bench {
  readonly http: ScriptedHttp = new ScriptedHttp();
  readonly runtime: HandMovedRuntime = new (class extends HandMovedRuntime {
    override random = (): number => 0.9;
  })();
  readonly told: string[] = [];
  readonly #client: EtcdClient;

  constructor(...endpoints: readonly string[]) {
    const { http, runtime } = this;
    this.#client = gatewayClient({ endpoints, http, runtime, logger: listeningLogger() });
  }

  read(timeoutMs = 5_000): void {
    this.#client.range({ key: 'k' }, timeoutMs, (answer: EtcdAnswer<unknown>) =>
      this.told.push(
        answer.kind === 'refused' ? `${answer.refusal.reason}: ${answer.refusal.message}` : answer.kind,
      ),
    );
  }

  /** The last question to that endpoint. */
  at(endpoint: string): ScriptedPost {
    const found = this.http.posts.findLast(({ post }) => post.url.startsWith(`${endpoint}/`));
    if (found === undefined) throw new Error(`${endpoint} was not asked`);
    return found;
  }
}

const [A, B, C] = ['http://a', 'http://b', 'http://c'] as const;
const STATUSES = ['a', 'b', 'c'].map((name) => `${name}/v3/maintenance/status`);

describe('a list of endpoints', () => {
  it('is asked which cluster it is before anything else, whichever endpoint is asked first', () => {
    const bench = new Bench(A, B, C);
    bench.read();
    bench.read();
    expect(bench.http.asked).toEqual(STATUSES);
    for (const endpoint of [A, B, C]) bench.at(endpoint).answer(of('7'));
    expect(bench.http.asked.slice(3)).toEqual(['c/v3/kv/range', 'c/v3/kv/range']);
    for (const post of bench.http.posts.slice(3)) post.answer(of('7'));
    expect(bench.told).toEqual(['done', 'done']);
    bench.read();
    expect(bench.http.asked.slice(5)).toEqual(['c/v3/kv/range']);
  });

  it('of two clusters is not used: it is said which endpoint names which', () => {
    const bench = new Bench(A, B, C);
    bench.read();
    for (const endpoint of [A, B]) bench.at(endpoint).answer(of('7'));
    bench.at(C).answer(of('9'));
    expect(bench.told).toEqual(['divided: cluster 7 at http://a, http://b; cluster 9 at http://c']);
    expect(bench.http.asked).toEqual(STATUSES);
    expect(bench.runtime.timers).toBe(0);
  });

  it('of which too few answer is not used, as there may be another cluster; it is asked again', () => {
    const bench = new Bench(A, B, C);
    bench.read();
    bench.at(A).failUnsent('connect ECONNREFUSED');
    bench.at(B).failUnsent('connect ECONNREFUSED');
    bench.at(C).answer(of('9'));
    expect(bench.told).toEqual([
      expect.stringMatching(/^unavailable: 1 of 3 endpoints say which .*ECONNREFUSED/),
    ]);
    bench.read();
    expect(bench.http.asked.slice(3)).toEqual(STATUSES);
  });

  it('is used although one of three hangs, after a while', () => {
    const bench = new Bench(A, B, C);
    bench.read();
    for (const endpoint of [A, B]) bench.at(endpoint).answer(of('7'));
    bench.runtime.pass(1_100);
    expect(bench.http.asked.slice(3)).toEqual(['a/v3/kv/range']);
    bench.at(A).answer(of('7'));
    expect(bench.told).toEqual(['done']);
  });

  it('keeps nobody waiting for longer than he asked for; nothing of his is sent after that', () => {
    const bench = new Bench(A, B);
    bench.read(300);
    bench.runtime.pass(301);
    expect(bench.told).toEqual(['unavailable: not known within 300 ms which cluster it is']);
    for (const endpoint of [A, B]) bench.at(endpoint).answer(of('7'));
    expect(bench.http.asked).toEqual(STATUSES.slice(0, 2));
  });

  it('of one endpoint is whatever that belongs to', () => {
    const bench = new Bench(A);
    bench.read();
    expect(bench.http.asked).toEqual(['a/v3/kv/range']);
    bench.at(A).answer(of('7'));
    bench.read();
    bench.at(A).answer(of('9'));
    expect(bench.told).toEqual(['done', expect.stringContaining('belongs to another etcd cluster')]);
  });
});
