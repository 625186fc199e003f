import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../runtime/assert.ts';
import { bytes, contents, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

function scene() {
  const bench = new QuietEtcd();
  const [a, b] = [bench.machine('a'), bench.machine('b')];
  const [logA, logB] = [bench.open(a), bench.open(b)];
  const leader = new Standing(bench, a, logA, 'a.1').elected();
  const read = (): string => {
    leader.leading.resign();
    return contents(new Standing(bench, b, logB, 'b.9').elected().leading.start);
  };
  return { bench, a, b, logA, logB, leader, read };
}

describe('an append', () => {
  it('is one batch under its position, and the head with it', () => {
    const { bench, leader } = scene();
    expect(leader.append(10, 'a')).toBe('appended 10');
    expect(bench.get('log/000000000000000a')).toBe('a');
    expect(bench.get('head')).toBe('10');
  });

  it('whose answer is lost is found to be written, and not written twice', () => {
    const { bench, a, leader } = scene();
    a.client.fail('transact', 'unanswered', 'log/');
    const before = bench.etcd.store.revision;
    expect(leader.append(1, 'a')).toBe('appended 1');
    expect(bench.etcd.store.revision).toBe(before + 1);
    expect(leader.append(2, 'b')).toBe('appended 2');
  });

  it('that is lost is tried again, at the same position and with the same bytes', () => {
    const { a, leader, read } = scene();
    a.client.fail('transact', 'lost', 'log/');
    a.client.fail('transact', { refused: 'unavailable' }, 'log/');
    expect(leader.append(1, 'a')).toBe('appended 1');
    expect(read()).toBe('1 a');
  });

  it('that arrives late, after another try of it and what came next, does nothing', () => {
    const { bench, a, leader, read } = scene();
    a.client.fail('transact', { lateMs: 400 }, 'log/');
    expect(leader.append(1, 'a')).toBe('appended 1');
    expect(leader.append(2, 'b')).toBe('appended 2');
    bench.pass(600);
    expect(bench.get('head')).toBe('2');
    expect(read()).toBe('1 a 2 b');
  });

  it('that arrives late, when its batch has been compacted away, does not bring it back', () => {
    const { bench, a, leader, read } = scene();
    a.client.fail('transact', { lateMs: 400 }, 'log/');
    leader.append(1, 'a');
    leader.append(2, 'b');
    leader.leading.compact(bytes('snapshot'), 2);
    bench.pass(600);
    expect(bench.keys('log/')).toEqual([]);
    expect(bench.get('head')).toBe('2');
    expect(read()).toBe('[2 snapshot]');
  });

  it('that etcd refuses is refused, and leaves the place to another', () => {
    const { bench, leader, read } = scene();
    bench.etcd.isFull = true;
    expect(leader.append(1, 'a')).toBe('refused 1');
    bench.etcd.isFull = false;
    expect(leader.append(1, 'b')).toBe('appended 1');
    expect(read()).toBe('1 b');
  });

  it('is not refused while an earlier try may be written yet', () => {
    const { bench, a, leader, read } = scene();
    a.client.fail('transact', { lateMs: 300 }, 'log/');
    bench.world.after(10, () => (bench.etcd.isFull = true));
    bench.world.after(250, () => (bench.etcd.isFull = false));
    expect(leader.append(1, 'a')).toBe('appended 1');
    expect(read()).toBe('1 a');
  });

  it('with which etcd becomes full is appended, although etcd says that it has no room for it', () => {
    const { bench, leader, read } = scene();
    bench.etcd.isAboutToBeFull = true;
    expect(leader.append(1, 'a')).toBe('appended 1');
    expect(leader.append(2, 'b')).toBe('refused 2');
    bench.etcd.isFull = false;
    expect(leader.append(2, 'c')).toBe('appended 2');
    expect(read()).toBe('1 a 2 c');
  });

  it('whose answer was lost is found to be written also in an etcd that is full by then', () => {
    const { bench, a, leader } = scene();
    a.client.fail('transact', 'unanswered', 'log/');
    bench.etcd.isAboutToBeFull = true;
    expect(leader.append(1, 'a')).toBe('appended 1');
    expect([bench.etcd.isFull, bench.get('head')]).toEqual([true, '1']);
  });

  it('with which etcd becomes full finds it out too if another leads meanwhile', () => {
    const { bench, a, b, logB, leader } = scene();
    a.client.fail('transact', 'crossing-the-quota', 'log/');
    leader.submit(1, 'a');
    bench.pass(5);
    bench.etcd.changeLeader(1);
    const next = new Standing(bench, b, logB, 'b.1').elected();
    expect(contents(next.leading.start)).toBe('1 a');
    expect([leader.outcomes, leader.told.at(-1)]).toEqual([[], 'deposed lease-ended']);
  });

  it('of a superseded leader does nothing, however late it arrives', () => {
    const { bench, a, b, logB, leader } = scene();
    a.client.fail('transact', { lateMs: 1_000 }, 'log/');
    leader.submit(1, 'stale');
    bench.pass(5);
    bench.etcd.changeLeader(1);
    const next = new Standing(bench, b, logB, 'b.1').elected();
    expect(next.append(1, 'fresh')).toBe('appended 1');
    bench.pass(2_000);
    expect(leader.outcomes).toEqual([]);
    expect(leader.told.at(-1)).toBe('deposed superseded');
    expect(bench.get('log/0000000000000001')).toBe('fresh');
  });

  it('goes above the last position', () => {
    const { leader } = scene();
    leader.append(5, 'a');
    expect(() => leader.submit(5, 'b')).toThrow(AssertionError);
  });

  it('goes above the floor', () => {
    const { bench, b, logB, leader } = scene();
    leader.append(1, 'a');
    leader.leading.resign();
    bench.pass(50);
    bench.raise(b, { term: 0, position: 50 });
    const next = new Standing(bench, b, logB, 'b.1').elected();
    expect(() => next.submit(50, 'b')).toThrow(AssertionError);
    expect(next.append(51, 'b')).toBe('appended 51');
  });

  it('finds it out if the store was put back with its own key in it, before it writes again: that is fatal', () => {
    const { bench, leader } = scene();
    leader.append(1, 'a');
    const restore = bench.etcd.backup();
    leader.append(2, 'b');
    restore(true);
    bench.pass(1_500);
    expect(bench.fatal).toMatchObject([{ code: 'STORE_WENT_BACK', key: '/test/head', position: 2 }]);
    expect(bench.fatal[0]?.message).toMatch(/Stop all Managers, raise the counters .* and start them/);
  });

  it('finds it out with its next write, if that comes first', () => {
    const { bench, leader } = scene();
    leader.append(1, 'a');
    const restore = bench.etcd.backup();
    leader.append(2, 'b');
    restore(true);
    leader.submit(3, 'c');
    bench.pass(50);
    expect(bench.fatal).toMatchObject([{ code: 'STORE_WENT_BACK', position: 2 }]);
    expect(leader.outcomes).toEqual(['appended 1', 'appended 2']);
  });

  it('finds it out if somebody else has written to the log: that is fatal', () => {
    const { bench, leader } = scene();
    leader.append(1, 'a');
    bench.put('head', '1');
    leader.submit(2, 'b');
    bench.until(() => bench.fatal.length > 0);
    expect(bench.fatal).toMatchObject([{ code: 'DAMAGED_LOG', key: '/test/head' }]);
    expect(leader.outcomes).toEqual(['appended 1']);
  });
});

describe('a leader', () => {
  it('says once that etcd does not answer, and once that it does again', () => {
    const { bench, leader } = scene();
    bench.lines.length = 0;
    bench.etcd.isDown = true;
    leader.submit(1, 'a');
    bench.pass(30_000);
    bench.etcd.isDown = false;
    bench.until(() => leader.outcomes.length > 0);
    expect(bench.lines).toEqual(['warn no answer from etcd', 'info over: no answer from etcd']);
  });

  it('says how etcd is', () => {
    const { bench, logA } = scene();
    const told: string[] = [];
    logA.health((members) =>
      told.push(...members.map(({ endpoint, reachable }) => `${endpoint} ${reachable}`)),
    );
    bench.pass(50);
    expect(told).toEqual(['simulated true']);
  });
});
