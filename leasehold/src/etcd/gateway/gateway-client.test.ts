import { describe, expect, it } from 'vitest';
import { HandMovedRuntime, listeningLogger } from '../../node/tcp/socket-script.ts';
import type { EtcdAnswer, EtcdClient, EtcdTransaction } from '../client.ts';
import { type GatewayOptions, gatewayClient } from './gateway-client.ts';
import { ScriptedHttp } from './http-script.ts';

const header = { cluster_id: '7', member_id: '8', revision: '42' };
const NO_LEADER = 'etcdserver: no leader';

class Bench {
  readonly http: ScriptedHttp = new ScriptedHttp();
  readonly logger: ReturnType<typeof listeningLogger> = listeningLogger();
  readonly runtime: HandMovedRuntime;
  readonly client: EtcdClient;
  readonly told: string[] = [];

  constructor(options: Partial<GatewayOptions> & { random?: number } = {}) {
    const { random = 0, ...rest } = options;
    this.runtime = new (class extends HandMovedRuntime {
      override random = (): number => random;
    })();
    const endpoints = ['http://a', 'http://b', 'http://c'];
    const { http, runtime, logger } = this;
    if ((rest.endpoints ?? endpoints).length > 1) http.introduction = { header };
    this.client = gatewayClient({ endpoints, http, runtime, logger, ...rest });
  }

  get lines(): readonly string[] {
    return this.logger.lines.map(({ level, message }) => `${level} ${message}`);
  }

  tell = (answer: EtcdAnswer<unknown>): void => {
    this.told.push(answer.kind === 'refused' ? `refused ${answer.refusal.reason}` : answer.kind);
  };

  read(timeoutMs = 1_000): void {
    this.client.range({ key: 'a' }, timeoutMs, this.tell);
  }

  write(timeoutMs = 1_000): void {
    this.client.transact(WRITE, timeoutMs, this.tell);
  }
}

const WRITE: EtcdTransaction = {
  compare: [],
  success: [{ do: 'put', key: 'a', value: new Uint8Array(1) }],
  failure: [],
};
const WRITTEN = { header, succeeded: true, responses: [{ response_put: {} }] };

describe('a request to etcd', () => {
  it('is answered by the member that is asked, and goes there again', () => {
    const bench = new Bench();
    for (let round = 0; round < 3; round += 1) {
      bench.read();
      bench.http.last.answer({ header });
    }
    expect(bench.told).toEqual(['done', 'done', 'done']);
    expect(bench.http.asked).toEqual(['a/v3/kv/range', 'a/v3/kv/range', 'a/v3/kv/range']);
    expect(bench.http.last.post.headers).toEqual({
      accept: 'application/json',
      'content-type': 'application/json',
      'grpc-metadata-hasleader': 'true',
    });
  });

  it('begins with a member by chance, so that not all load the first', () => {
    const bench = new Bench({ random: 0.9 });
    bench.read();
    expect(bench.http.asked).toEqual(['c/v3/kv/range']);
  });

  it('leaves no timer behind', () => {
    const bench = new Bench();
    bench.read();
    expect(bench.runtime.timers).toBe(1);
    bench.http.last.answer({ header });
    expect(bench.runtime.timers).toBe(0);
  });

  it.each([
    ['grant', '/v3/lease/grant', { TTL: '5' }, { header, ID: '3', TTL: '5' }],
    ['keepAlive', '/v3/lease/keepalive', { ID: '3' }, { result: { header, ID: '3', TTL: '5' } }],
    ['revoke', '/v3/lease/revoke', { ID: '3' }, { header }],
  ] as const)('about leases goes where it must: %s', (call, path, body, answer) => {
    const bench = new Bench();
    if (call === 'grant') bench.client.grant(5, 1_000, bench.tell);
    else bench.client[call]('3', 1_000, bench.tell);
    expect(bench.http.asked).toEqual([`a${path}`]);
    expect(bench.http.last.body).toEqual(body);
    bench.http.last.answer(answer);
    expect(bench.told).toEqual(['done']);
  });
});

describe('a request that surely had no effect', () => {
  it.each([
    ['there is no connection', (bench: Bench) => bench.http.last.failUnsent('connect ECONNREFUSED')],
    ['the member has no leader', (bench: Bench) => bench.http.last.refuse(NO_LEADER, 14, 503)],
    ['it is another server', (bench: Bench) => bench.http.last.answer('404 page not found', 404)],
  ])('goes to the next member, where it stays: %s', (_, failing) => {
    const bench = new Bench();
    bench.write();
    failing(bench);
    expect(bench.told).toEqual([]);
    bench.http.last.answer(WRITTEN);
    bench.write();
    expect(bench.told).toEqual(['done']);
    expect(bench.http.asked).toEqual(['a/v3/kv/txn', 'b/v3/kv/txn', 'b/v3/kv/txn']);
  });

  it('is refused when it was at all of them, each once', () => {
    const bench = new Bench();
    bench.write();
    for (let member = 0; member < 3; member += 1) bench.http.last.failUnsent('connect ECONNREFUSED');
    expect(bench.told).toEqual(['refused unavailable']);
    expect(bench.http.asked).toEqual(['a/v3/kv/txn', 'b/v3/kv/txn', 'c/v3/kv/txn']);
  });

  it.each([
    ['etcdserver: request is too large', 3, 'refused too-large'],
    ['etcdserver: requested lease not found', 5, 'refused no-lease'],
    ['etcdserver: permission denied', 7, 'refused denied'],
  ])('is refused at once if no member would do it: %s', (sentence, code, told) => {
    const bench = new Bench();
    bench.write();
    bench.http.last.refuse(sentence, code);
    expect(bench.told).toEqual([told]);
    expect(bench.http.posts).toHaveLength(1);
    expect(bench.lines).toEqual([]);
  });
});

describe('a request that etcd has no room for', () => {
  const FULL = 'etcdserver: mvcc: database space exceeded';

  it('may have been carried out just so, if it writes; but it will not be later', () => {
    const bench = new Bench();
    const heard: EtcdAnswer<unknown>[] = [];
    bench.client.transact(WRITE, 1_000, (answer) => heard.push(answer));
    bench.http.last.refuse(FULL, 8, 429);
    expect(heard).toEqual([{ kind: 'unknown', why: FULL, refusal: { reason: 'no-space', message: FULL } }]);
    expect(bench.http.posts).toHaveLength(1);
    expect(bench.lines).toEqual([]);
  });

  it('is refused if it is none the worse for having been carried out', () => {
    const bench = new Bench();
    bench.client.grant(3, 1_000, bench.tell);
    bench.http.last.refuse(FULL, 8, 429);
    bench.read();
    bench.http.last.refuse(FULL, 8, 429);
    expect(bench.told).toEqual(['refused no-space', 'refused no-space']);
  });
});

describe('a request that may have had an effect', () => {
  it.each([
    ['the connection is lost', (bench: Bench) => bench.http.last.fail('read ECONNRESET')],
    ['etcd gives up', (bench: Bench) => bench.http.last.refuse('etcdserver: request timed out', 14, 503)],
    ['the answer is no JSON', (bench: Bench) => bench.http.last.answer('{"header"')],
    [
      'the answer is nonsense',
      (bench: Bench) => bench.http.last.answer({ header, succeeded: true, responses: [] }),
    ],
    ['the answer is a proxy’s', (bench: Bench) => bench.http.last.answer('Bad Gateway', 502)],
    ['there is no answer in time', (bench: Bench) => bench.runtime.pass(500)],
  ])('is sent once, and unknown, if it writes: %s', (_, failing) => {
    const bench = new Bench();
    bench.write();
    failing(bench);
    expect(bench.told).toEqual(['unknown']);
    expect(bench.http.posts).toHaveLength(1);
    bench.write();
    expect(bench.http.asked.at(-1)).toBe('b/v3/kv/txn');
  });

  it('goes to the next member if it only reads', () => {
    const bench = new Bench();
    bench.read();
    bench.http.last.fail('read ECONNRESET');
    bench.http.last.answer({ header });
    expect(bench.told).toEqual(['done']);
  });

  it('goes to the next member if it is a transaction that only reads', () => {
    const bench = new Bench();
    const gets = [{ do: 'get', key: 'a' }] as const;
    bench.client.transact({ compare: [], success: gets, failure: [] }, 1_000, bench.tell);
    bench.http.last.fail('read ECONNRESET');
    bench.http.last.answer({ header, succeeded: true, responses: [{ response_range: {} }] });
    expect(bench.told).toEqual(['done']);
  });

  it('is not refused by another member', () => {
    const bench = new Bench();
    bench.client.grant(3, 1_000, bench.tell);
    bench.http.last.fail('read ECONNRESET');
    bench.http.last.refuse('etcdserver: mvcc: database space exceeded', 8);
    expect(bench.told).toEqual(['unknown']);
  });

  it('is done if another member says that the lease is gone already', () => {
    const bench = new Bench();
    bench.client.revoke('3', 1_000, bench.tell);
    bench.http.last.fail('read ECONNRESET');
    bench.http.last.refuse('etcdserver: requested lease not found', 5);
    bench.client.revoke('3', 1_000, bench.tell);
    bench.http.last.refuse('etcdserver: requested lease not found', 5);
    expect(bench.told).toEqual(['done', 'refused no-lease']);
  });

  it('is unknown when no member has answered', () => {
    const bench = new Bench();
    bench.read();
    for (let member = 0; member < 3; member += 1) bench.http.last.fail('read ECONNRESET');
    expect(bench.told).toEqual(['unknown']);
  });
});

describe('time', () => {
  it('goes by halves, and the rest to the last', () => {
    const bench = new Bench();
    bench.read(1_000);
    bench.runtime.pass(499);
    expect(bench.http.posts).toHaveLength(1);
    bench.runtime.pass(1);
    expect(bench.http.posts).toHaveLength(2);
    bench.runtime.pass(250);
    expect(bench.http.posts).toHaveLength(3);
    bench.runtime.pass(249);
    expect(bench.told).toEqual([]);
    bench.runtime.pass(1);
    expect(bench.told).toEqual(['unknown']);
    expect(bench.http.posts.map(({ isBrokenOff }) => isBrokenOff)).toEqual([true, true, true]);
  });

  it('is all for the only member', () => {
    const bench = new Bench({ endpoints: ['http://a'] });
    bench.read(1_000);
    bench.runtime.pass(999);
    expect(bench.told).toEqual([]);
    bench.http.last.answer({ header });
    expect(bench.told).toEqual(['done']);
  });

  it('is not over for a write that nobody has got', () => {
    const bench = new Bench();
    bench.write(1_000);
    bench.http.last.mayHaveArrived = false;
    bench.runtime.pass(500);
    expect(bench.told).toEqual([]);
    bench.http.last.answer(WRITTEN);
    expect(bench.told).toEqual(['done']);
  });

  it('that is over asks nobody else', () => {
    const bench = new Bench();
    bench.write(1_000);
    const [first] = bench.http.posts;
    bench.runtime.pass(400);
    bench.runtime.leap(700);
    bench.runtime.pass(1);
    expect(bench.told).toEqual(['unknown']);
    first?.answer(WRITTEN);
    expect(bench.told).toEqual(['unknown']);
  });

  it('is not over before what came while the process was held up has been read', () => {
    const bench = new Bench();
    bench.write(1_000);
    bench.runtime.leap(5_000);
    bench.http.last.answer(WRITTEN);
    bench.runtime.pass(1);
    expect(bench.told).toEqual(['done']);
  });
});

describe('an answer that is too large', () => {
  const large = (bench: Bench): void => bench.http.last.says('x'.repeat(2_000));

  it('is refused if it was asked for by a read', () => {
    const bench = new Bench({ answerBytesMax: 1_000 });
    bench.read();
    large(bench);
    expect(bench.told).toEqual(['refused too-large']);
    expect(bench.http.last.isBrokenOff).toBe(true);
  });

  it('leaves it unknown what a write did', () => {
    const bench = new Bench({ answerBytesMax: 1_000 });
    bench.write();
    large(bench);
    expect(bench.told).toEqual(['unknown']);
  });
});

describe('a member of another cluster', () => {
  const other = { ...header, cluster_id: '1' };

  it('is not believed', () => {
    const bench = new Bench();
    bench.read();
    bench.http.last.answer({ header });
    bench.read();
    bench.http.last.fail('read ECONNRESET');
    bench.http.last.answer({ header: other });
    bench.http.last.answer({ header });
    expect(bench.told).toEqual(['done', 'done']);
    expect(bench.http.asked.slice(1)).toEqual(['a/v3/kv/range', 'b/v3/kv/range', 'c/v3/kv/range']);
  });

  it('is refused where there is nobody else', () => {
    const bench = new Bench({ endpoints: ['http://a'] });
    bench.read();
    bench.http.last.answer({ header });
    bench.read();
    bench.http.last.answer({ header: other });
    bench.write();
    bench.http.last.answer({ ...WRITTEN, header: other });
    expect(bench.told).toEqual(['done', 'refused other', 'unknown']);
  });
});

describe('the log of a gateway client', () => {
  it('is one line for a member that fails, and one when it answers again', () => {
    const bench = new Bench({ endpoints: ['http://a', 'http://b'] });
    for (let round = 0; round < 3; round += 1) {
      bench.read();
      bench.http.last.failUnsent('connect ECONNREFUSED');
      bench.http.last.failUnsent('connect ECONNREFUSED');
    }
    expect(bench.lines).toEqual(['warn etcd member http://a fails', 'warn etcd member http://b fails']);
    expect(bench.logger.lines[0]).toMatchObject({ why: 'connect ECONNREFUSED', next: 'http://b' });
    bench.read();
    bench.http.last.answer({ header });
    bench.read();
    bench.http.last.answer({ header });
    expect(bench.lines.slice(2)).toEqual(['info over: etcd member http://a fails']);
  });
});

describe('a name and a password', () => {
  const credentials = { user: 'root', password: 'sesame' };
  const withToken = (): Bench => {
    const bench = new Bench({ credentials });
    bench.read();
    bench.http.last.answer({ header, token: 'one' });
    bench.http.last.answer({ header });
    return bench;
  };

  it('are exchanged for a token, once', () => {
    const bench = withToken();
    bench.read();
    bench.http.last.answer({ header });
    expect(bench.http.asked).toEqual(['a/v3/auth/authenticate', 'a/v3/kv/range', 'a/v3/kv/range']);
    expect(bench.http.posts[0]?.body).toEqual({ name: 'root', password: 'sesame' });
    expect(bench.http.posts.map(({ post }) => post.headers['authorization'])).toEqual([
      undefined,
      'one',
      'one',
    ]);
    expect(bench.told).toEqual(['done', 'done']);
  });

  it('are exchanged once for all that wait', () => {
    const bench = new Bench({ credentials });
    bench.read();
    bench.write();
    bench.http.last.answer({ header, token: 'one' });
    expect(bench.http.asked).toEqual(['a/v3/auth/authenticate', 'a/v3/kv/range', 'a/v3/kv/txn']);
  });

  it.each([
    ['etcdserver: invalid auth token', 16],
    ['etcdserver: revision of auth store is old', 3],
  ])('are exchanged again when the token is refused: %s', (sentence, code) => {
    const bench = withToken();
    bench.write();
    bench.http.last.refuse(sentence, code, 401);
    bench.http.last.answer({ header, token: 'two' });
    expect(bench.http.last.post.headers['authorization']).toBe('two');
    bench.http.last.answer(WRITTEN);
    expect(bench.told).toEqual(['done', 'done']);
  });

  it('are not exchanged a third time for one request', () => {
    const bench = withToken();
    bench.write();
    bench.http.last.refuse('etcdserver: invalid auth token', 16, 401);
    bench.http.last.answer({ header, token: 'two' });
    bench.http.last.refuse('etcdserver: invalid auth token', 16, 401);
    expect(bench.told).toEqual(['done', 'refused denied']);
  });

  it('that are wrong refuse everything, and are in no line', () => {
    const bench = new Bench({ credentials });
    bench.read();
    bench.write();
    bench.http.last.refuse('etcdserver: authentication failed, invalid user ID or password', 3);
    expect(bench.told).toEqual(['refused denied', 'refused denied']);
    expect(JSON.stringify(bench.logger.lines)).not.toContain('sesame');
  });

  it('are left out where nobody asks for them, which is said once', () => {
    const bench = new Bench({ credentials });
    bench.read();
    bench.http.last.refuse('etcdserver: authentication is not enabled', 9, 412);
    bench.http.last.answer({ header });
    bench.read();
    expect(bench.http.last.post.headers['authorization']).toBeUndefined();
    expect(bench.lines).toEqual(['warn etcd asks nobody for a name and a password']);
  });

  it('are given when somebody asks for them after all', () => {
    const bench = new Bench({ credentials });
    bench.read();
    bench.http.last.refuse('etcdserver: authentication is not enabled', 9, 412);
    bench.http.last.answer({ header });
    bench.write();
    bench.http.last.refuse('etcdserver: user name is empty', 3);
    bench.http.last.answer({ header, token: 'one' });
    expect(bench.http.last.post.headers['authorization']).toBe('one');
    bench.http.last.answer(WRITTEN);
    expect(bench.told).toEqual(['done', 'done']);
    expect(bench.lines.at(-1)).toBe('info over: etcd asks nobody for a name and a password');
  });

  it('that nobody has checked in time refuse the request, which was not sent', () => {
    const bench = new Bench({ credentials });
    bench.write(1_000);
    bench.runtime.pass(1_000);
    expect(bench.told).toEqual(['refused unavailable']);
    expect(bench.http.asked).toEqual(['a/v3/auth/authenticate']);
  });
});

describe('health', () => {
  it('is each member’s own word', () => {
    const bench = new Bench();
    const answers: unknown[] = [];
    bench.client.health(1_000, (members) => answers.push(...members));
    const [a, b, c] = bench.http.posts;
    a?.answer({ header, version: '3.4.23', dbSize: '5', leader: '8' });
    b?.failUnsent('connect ECONNREFUSED');
    c?.refuse('etcdserver: permission denied', 7);
    const nothing = { version: undefined, databaseBytes: undefined, isFull: false, isLeader: false };
    expect(answers).toEqual([
      {
        endpoint: 'http://a',
        reachable: true,
        complaint: undefined,
        version: '3.4.23',
        databaseBytes: 5,
        isFull: false,
        isLeader: true,
      },
      { ...nothing, endpoint: 'http://b', reachable: false, complaint: 'http://b: connect ECONNREFUSED' },
      { ...nothing, endpoint: 'http://c', reachable: true, complaint: 'etcdserver: permission denied' },
    ]);
  });
});
