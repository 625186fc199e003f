import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { beginEtcdLog, type OpenEtcdLog, openEtcdLog } from './etcd-log.ts';
import { resolveEtcdLogOptions } from './options.ts';
import { contents, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

describe('opening a log on etcd', () => {
  it('begins one where there is nothing, and finds it again', () => {
    const bench = new QuietEtcd();
    bench.tryToOpen(bench.machine('a'));
    expect(JSON.parse(bench.get('meta') ?? '')).toEqual({
      ...{ format: 1, cluster: 'c', history: 'history-1', termBase: 0, floor: expect.any(Number) },
      key: expect.stringMatching(/^[0-9a-f]{64}$/),
    });
    const b = bench.machine('b');
    const { start } = new Standing(bench, b, bench.open(b), 'b.1').elected().leading;
    expect([start.history, contents(start), start.begunHere]).toEqual(['history-1', '', false]);
    expect(start.key).toBe(JSON.parse(bench.get('meta') ?? '').key);
  });

  it('gives a key to a history from before there were keys, with the first election', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    const log = bench.open(a); // Of a `meta` without a key.
    const keys: unknown[] = [];
    log.follow({ reset: ({ key }) => keys.push(key), batch: () => {}, head: () => {} });
    bench.until(() => keys.length === 1);
    const { start } = new Standing(bench, a, log, 'a.1').elected().leading;
    expect(start.key).toMatch(/^[0-9a-f]{64}$/);
    bench.until(() => keys.length === 2);
    expect(keys).toEqual([undefined, start.key]);
    expect(JSON.parse(bench.get('meta') ?? '')).toMatchObject({ history: 'history-1', key: start.key });
  });

  it('has the one it begins go on above all numbers of another that was there before', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    const before = new Standing(bench, a, bench.tryToOpen(a).log as OpenEtcdLog, 'a.1').elected();
    const { floor, begunHere } = before.leading.start;
    expect(begunHere).toBe(true);
    for (let used = 1; used <= 5; used += 1) before.append(floor + used, 'x');
    bench.delete('', '~');
    bench.pass(100);
    const b = bench.machine('b');
    const { start } = new Standing(bench, b, bench.tryToOpen(b).log as OpenEtcdLog, 'b.1').elected().leading;
    expect(start.floor).toBeGreaterThan(floor + 5);
    // By that, whoever leads first knows that it must wait.
    expect([start.batches, start.snapshot]).toEqual([[], undefined]);
  });

  it('takes what another has made in the same moment', () => {
    const bench = new QuietEtcd();
    const [a, b] = [bench.machine('a'), bench.machine('b')];
    const opened: unknown[] = [];
    for (const machine of [a, b])
      beginEtcdLog(resolveEtcdLogOptions(bench.options(machine)), (log) => opened.push(log));
    bench.until(() => opened.length === 2);
    expect(opened).not.toContain(undefined);
    expect(bench.lines.filter((line) => line.startsWith('info began'))).toHaveLength(1);
  });

  it('is not undone by a try that arrives late', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    a.client.fail('transact', { lateMs: 100 }, 'meta');
    expect(bench.tryToOpen(a).error).toBeUndefined();
    const made = bench.get('meta');
    bench.pass(200);
    expect(bench.get('meta')).toBe(made);
  });

  it('finds the keys it has made itself if the answer is lost', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    a.client.fail('transact', 'unanswered', 'meta');
    expect(bench.tryToOpen(a).error).toBeUndefined();
    expect(bench.get('meta')).toContain('history-1');
  });

  it.each([
    ['keys that are not those of a log', 'something', 'else'],
    ['a meta of something else', 'meta', 'not ours'],
    [
      'the log of another cluster',
      'meta',
      '{"format":1,"cluster":"other","history":"h","termBase":0,"floor":0}',
    ],
  ])('refuses a prefix with %s, and writes nothing', (_, key, value) => {
    const bench = new QuietEtcd();
    bench.put(key, value);
    expect(bench.tryToOpen(bench.machine('a')).error).toMatchObject({
      ...{ code: 'PREFIX_IN_USE', retryable: false, key: `/test/${key}` },
    });
    expect(bench.keys()).toEqual([key]);
    expect(bench.get(key)).toBe(value);
  });

  it('refuses a log of a newer version, and writes nothing', () => {
    const bench = new QuietEtcd();
    bench.put('meta', '{"format":2,"cluster":"c"}');
    expect(bench.tryToOpen(bench.machine('a')).error).toMatchObject({
      code: 'UNREADABLE_LOG',
      version: 2,
    });
    expect(bench.keys()).toEqual(['meta']);
  });

  it('gives up in time if etcd does not answer, and says why', () => {
    const bench = new QuietEtcd();
    bench.etcd.isDown = true;
    const { error } = bench.tryToOpen(bench.machine('a'), { openWithinMs: 1_000 });
    expect(error).toMatchObject({ code: 'ETCD_UNAVAILABLE', retryable: true });
    expect(error?.message).toContain('no answer from a majority of etcd');
    expect(bench.world.trueMs).toBeLessThan(1_100);
  });

  it('gives up at once if etcd denies it', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    a.client.fail('transact', { refused: 'denied' });
    expect(bench.tryToOpen(a).error).toMatchObject({
      code: 'ETCD_UNAVAILABLE',
      retryable: false,
      reason: 'denied',
    });
  });

  it('can be given up by a signal, with its reason; then nothing is asked any more', async () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    bench.etcd.isDown = true;
    const giveUp = new AbortController();
    const opening = openEtcdLog(bench.options(a), giveUp.signal);
    bench.pass(1_000);
    giveUp.abort(new Error('enough'));
    await expect(opening).rejects.toThrow('enough');
    const asked = a.client.asked.length;
    bench.pass(5_000);
    expect(a.client.asked).toHaveLength(asked);
    await expect(openEtcdLog(bench.options(a), giveUp.signal)).rejects.toThrow('enough');
  });

  it.each([
    ['prefix', { prefix: '/no/slash' }],
    ['prefix', { prefix: '/' + '\n/' }],
    ['cluster', { cluster: '' }],
    ['leaderLeaseMs', { leaderLeaseMs: 0 }],
    ['pollMs', { pollMs: Number.NaN }],
    ['maxBatchBytes', { maxBatchBytes: 2 ** 21 }],
    ['chunkBytes', { chunkBytes: 1.5 }],
  ])('rejects a wrong %s by name', (option, wrong) => {
    const bench = new QuietEtcd();
    const options = bench.options(bench.machine('a'), wrong);
    expect(() => resolveEtcdLogOptions(options)).toThrow(InvalidArgumentError);
    expect(() => resolveEtcdLogOptions(options)).toThrow(`option ${option} `);
  });

  it.each([
    [100, 2],
    [2_000, 2],
    [2_250, 3],
  ])('asks for a lease that covers a leader lease of %i ms: %i s', (leaderLeaseMs, ttlSeconds) => {
    const bench = new QuietEtcd();
    const options = bench.options(bench.machine('a'), { leaderLeaseMs });
    expect(resolveEtcdLogOptions(options).ttlSeconds).toBe(ttlSeconds);
  });
});

describe('closing a log on etcd', () => {
  it('lets go of the leader key before it is done', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    const log = bench.open(a);
    new Standing(bench, a, log, 'a.1').elected();
    let isClosed = false;
    log.close(() => (isClosed = true));
    expect(isClosed).toBe(false);
    bench.until(() => isClosed);
    expect(bench.get('leader')).toBeUndefined();
  });

  it('is done within the time of a request if etcd does not answer', () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    const log = bench.open(a);
    new Standing(bench, a, log, 'a.1').elected();
    bench.etcd.isDown = true;
    const closedAtMs: number[] = [];
    const beganAtMs = bench.world.trueMs;
    log.close(() => closedAtMs.push(bench.world.trueMs - beganAtMs));
    bench.pass(5_000);
    expect(closedAtMs).toEqual([expect.closeTo(500, 0)]);
  });

  it('tells the leader, and nobody else; afterwards nobody is told anything', async () => {
    const bench = new QuietEtcd();
    const a = bench.machine('a');
    const log = bench.open(a);
    const [leader, other] = [
      new Standing(bench, a, log, 'a.1').elected(),
      new Standing(bench, a, log, 'a.2'),
    ];
    const closing = log[Symbol.asyncDispose]();
    expect(log[Symbol.asyncDispose]()).toBe(closing);
    bench.pass(100);
    await closing;
    new Standing(bench, a, log, 'a.3');
    bench.pass(3_000);
    expect(leader.told.filter((what) => what !== 'extended')).toEqual(['elected', 'deposed resigned']);
    expect(other.told).toEqual([]);
  });
});
