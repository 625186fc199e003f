import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../node/tcp/socket-script.ts';
import type { EtcdClient } from '../client.ts';
import { type GatewayOptions, gatewayClient } from './gateway-client.ts';
import { ScriptedHttp } from './http-script.ts';

const header = { cluster_id: '7', member_id: '8', revision: '42' };
const event = (key: string, revision: number, value?: string): object => ({
  ...(value === undefined ? { type: 'DELETE' } : {}),
  kv: {
    key: Buffer.from(key).toString('base64'),
    value: Buffer.from(value ?? '').toString('base64'),
    mod_revision: String(revision),
  },
});

class Bench {
  readonly http: ScriptedHttp = new ScriptedHttp();
  readonly runtime: HandMovedRuntime = new (class extends HandMovedRuntime {
    override random = (): number => 0;
  })();
  readonly client: EtcdClient;
  readonly told: string[] = [];
  watch: Disposable;
  onTold: (word: string) => void = () => {};

  constructor(options: Partial<GatewayOptions> = {}) {
    const { http, runtime } = this;
    const endpoints = ['http://a', 'http://b'];
    http.introduction = { header };
    this.client = gatewayClient({ endpoints, http, runtime, logger: listeningLogger(), ...options });
    this.watch = this.again();
  }

  again(): Disposable {
    return this.client.watch('k/', 'k0', 5, {
      changed: (key, value, revision) =>
        this.#tell(`${revision} ${key} ${value === undefined ? 'gone' : Buffer.from(value).toString()}`),
      ended: (why, isCompacted) => this.#tell(`${isCompacted ? 'compacted' : 'ended'}: ${why}`),
    });
  }

  #tell(word: string): void {
    this.told.push(word);
    this.onTold(word);
  }
}

describe('a watch', () => {
  it('tells what is put and deleted, in order', () => {
    const { http, told } = new Bench();
    expect(http.asked).toEqual(['a/v3/watch']);
    http.last.line({ header, created: true });
    http.last.line({ header, events: [event('k/1', 5, 'one'), event('k/1', 6)] });
    http.last.line({ header, events: [event('k/2', 7, '')] });
    expect(told).toEqual(['5 k/1 one', '6 k/1 gone', '7 k/2 ']);
  });

  it('tells a revision of which a fragment may hold a part only when it has all of it', () => {
    const { http, told } = new Bench();
    http.last.line({ header, events: [event('k/1', 5, 'a'), event('k/2', 6, 'b')], fragment: true });
    expect(told).toEqual(['5 k/1 a']);
    http.last.line({ header, events: [event('k/3', 6, 'c'), event('k/4', 7, 'd')], fragment: true });
    expect(told).toEqual(['5 k/1 a', '6 k/2 b', '6 k/3 c']);
    http.last.line({ header, events: [event('k/5', 8, 'e')] });
    expect(told.slice(3)).toEqual(['7 k/4 d', '8 k/5 e']);
  });

  it('that ends in the middle of a revision has told nothing of it', () => {
    const { http, told } = new Bench();
    http.last.line({ header, events: [event('k/1', 5, 'a'), event('k/2', 6, 'b')], fragment: true });
    http.last.fail('read ECONNRESET');
    expect(told).toEqual(['5 k/1 a', 'ended: read ECONNRESET']);
  });

  it.each([
    ['its connection is lost', (bench: Bench) => bench.http.last.fail('x'), 'ended: x'],
    ['the member ends it', (bench: Bench) => bench.http.last.answer(''), 'ended: the member ended it'],
    [
      'the member has no leader',
      (bench: Bench) =>
        bench.http.last.says('{"error":{"grpc_code":14,"message":"etcdserver: no leader"}}\n'),
      'ended: etcdserver: no leader',
    ],
    [
      'it is told nonsense',
      (bench: Bench) => bench.http.last.says('<html>\n'),
      'ended: malformed message: the answer must be JSON',
    ],
    [
      'it is cancelled',
      (bench: Bench) => bench.http.last.line({ header, canceled: true }),
      'ended: the member cancelled it',
    ],
    ['it does not begin', (bench: Bench) => bench.runtime.pass(5_000), 'ended: no watch within 5000 ms'],
  ])('ends, once, and the next one is at another member: %s', (_, ending, word) => {
    const bench = new Bench();
    ending(bench);
    expect(bench.told).toEqual([word]);
    expect(bench.http.last.isBrokenOff).toBe(true);
    expect(bench.runtime.timers).toBe(0);
    bench.again();
    expect(bench.http.asked).toEqual(['a/v3/watch', 'b/v3/watch']);
  });

  it('says when its revision is no longer kept', () => {
    const bench = new Bench();
    bench.http.last.line({ header, canceled: true, compact_revision: '9' });
    expect(bench.told).toEqual(['compacted: its revision has been compacted']);
    bench.again();
    expect(bench.http.asked).toEqual(['a/v3/watch', 'a/v3/watch']);
  });

  it('may be silent for as long as it likes', () => {
    const bench = new Bench();
    bench.http.last.line({ header, created: true });
    bench.runtime.pass(3_600_000);
    expect(bench.told).toEqual([]);
  });

  it('ends when its member leaves another request without an answer', () => {
    const bench = new Bench();
    bench.http.last.line({ header, created: true });
    bench.client.range({ key: 'k' }, 1_000, () => {});
    bench.runtime.pass(500);
    expect(bench.told).toEqual(['ended: the member does not answer']);
  });

  it('goes on when its member only refuses something', () => {
    const bench = new Bench();
    const [watch] = bench.http.posts;
    watch?.line({ header, created: true });
    bench.client.range({ key: 'k' }, 1_000, () => {});
    bench.http.last.refuse('etcdserver: no leader', 14, 503);
    watch?.line({ header, events: [event('k/1', 5, 'a')] });
    expect(bench.told).toEqual(['5 k/1 a']);
  });

  it('ends with a line that is too long', () => {
    const bench = new Bench({ answerBytesMax: 1_000 });
    bench.http.last.says('x'.repeat(1_001));
    expect(bench.told).toEqual(['ended: a line is longer than 1000 bytes']);
  });

  it('does not believe a member of another cluster', () => {
    const bench = new Bench();
    bench.client.range({ key: 'k' }, 1_000, () => {});
    bench.http.last.answer({ header });
    bench.http.posts[0]?.line({ header: { ...header, cluster_id: '1' }, created: true });
    expect(bench.told).toEqual([expect.stringMatching(/^ended: .*a belongs to another etcd cluster/)]);
    bench.again();
    expect(bench.http.asked.at(-1)).toBe('b/v3/watch');
  });

  it('tells nothing once it is disposed of, also from within', () => {
    const bench = new Bench();
    bench.onTold = () => bench.watch[Symbol.dispose]();
    bench.http.last.line({ header, events: [event('k/1', 5, 'a'), event('k/2', 6, 'b')] });
    bench.http.last.fail('x');
    expect(bench.told).toEqual(['5 k/1 a']);
    expect(bench.http.last.isBrokenOff).toBe(true);
    expect(bench.runtime.timers).toBe(0);
  });
});

describe('a watch that needs a token', () => {
  const credentials = { user: 'root', password: 'sesame' };

  it('gets one first', () => {
    const { http } = new Bench({ credentials });
    http.last.answer({ header, token: 'one' });
    expect(http.asked).toEqual(['a/v3/auth/authenticate', 'a/v3/watch']);
    expect(http.last.post.headers['authorization']).toBe('one');
  });

  it.each([
    'etcdserver: permission denied',
    'etcdserver: invalid auth token',
    'etcdserver: revision of auth store is old',
    'etcdserver: user name is empty',
  ])('ends when it is told "%s", and the next one begins with a fresh token', (sentence) => {
    for (const cancel_reason of [sentence, `rpc error: code = PermissionDenied desc = ${sentence}`]) {
      const bench = new Bench({ credentials });
      bench.http.last.answer({ header, token: 'one' });
      bench.http.last.line({ header, created: true, canceled: true, cancel_reason });
      expect(bench.told).toEqual([`ended: ${sentence}`]);
      bench.again();
      expect(bench.http.asked.at(-1)).toBe('a/v3/auth/authenticate');
    }
  });

  it('is not begun if it was disposed of meanwhile', () => {
    const bench = new Bench({ credentials });
    bench.watch[Symbol.dispose]();
    bench.http.last.answer({ header, token: 'one' });
    expect(bench.http.asked).toEqual(['a/v3/auth/authenticate']);
  });
});
