import { describe, expect, it } from 'vitest';
import { bytes, contents, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

// A piece of a snapshot is 4 bytes long.

function scene() {
  const bench = new QuietEtcd();
  const [a, b] = [bench.machine('a'), bench.machine('b')];
  const [logA, logB] = [bench.open(a), bench.open(b)];
  const leader = new Standing(bench, a, logA, 'a.1').elected();
  for (const [place, what] of ['a', 'b', 'c'].entries()) leader.append(place + 1, what);
  const next = (): Standing => new Standing(bench, b, logB, 'b.1').elected();
  return { bench, a, logA, leader, next };
}

describe('a compaction', () => {
  it('puts the pieces, points at them, and deletes what they replace', () => {
    const { bench, leader, next } = scene();
    leader.leading.compact(bytes('snapshot!'), 2);
    bench.pass(200);
    expect(bench.keys()).toEqual([
      ...['head', 'leader', 'log/0000000000000003', 'meta', 'snapshot', 'snapshots/0000000000000002/0000'],
      ...['snapshots/0000000000000002/0001', 'snapshots/0000000000000002/0002'],
    ]);
    expect(JSON.parse(bench.get('snapshot') ?? '')).toMatchObject({ position: 2, chunks: 3, bytes: 9 });
    leader.leading.resign();
    expect(contents(next().leading.start)).toBe('[2 snapshot!] 3 c');
  });

  it('of nothing but a position needs no pieces', () => {
    const { bench, leader, next } = scene();
    leader.leading.compact(new Uint8Array(0), 3);
    bench.pass(200);
    leader.leading.resign();
    expect(contents(next().leading.start)).toBe('[3 ]');
  });

  it('deletes the pieces of the one before', () => {
    const { bench, leader } = scene();
    leader.leading.compact(bytes('earlier'), 1);
    bench.pass(200);
    leader.leading.compact(bytes('later'), 3);
    bench.pass(200);
    expect(bench.keys('snapshots/')).toEqual([
      'snapshots/0000000000000003/0000',
      'snapshots/0000000000000003/0001',
    ]);
    expect(bench.keys('log/')).toEqual([]);
  });

  it('that a leader did not finish goes with the next one', () => {
    const { bench, a, leader, next } = scene();
    a.client.fail('transact', { lateMs: 60_000 }, 'snapshots/0000000000000002/0001');
    leader.leading.compact(bytes('unfinished'), 2);
    bench.pass(3);
    leader.leading.resign();
    const second = next();
    expect(bench.keys('snapshots/')).toEqual(['snapshots/0000000000000002/0000']);
    expect(contents(second.leading.start)).toBe('1 a 2 b 3 c');
    second.leading.compact(bytes('done'), 3);
    bench.pass(200);
    expect(bench.keys('snapshots/')).toEqual(['snapshots/0000000000000003/0000']);
  });

  it('whose answers are lost is done once', () => {
    const { bench, a, leader } = scene();
    a.client.fail('transact', 'unanswered', 'snapshots/');
    a.client.fail('transact', 'unanswered', 'snapshot"');
    leader.leading.compact(bytes('snapshot'), 2);
    bench.pass(500);
    expect(bench.keys('log/')).toEqual(['log/0000000000000003']);
    leader.leading.compact(bytes('another'), 3);
    bench.pass(500);
    expect(JSON.parse(bench.get('snapshot') ?? '')).toMatchObject({ position: 3 });
    expect(bench.keys('log/')).toEqual([]);
  });

  it('that arrives late does not undo a later one', () => {
    const { bench, a, leader, next } = scene();
    a.client.fail('transact', { lateMs: 400 }, 'snapshot"');
    leader.leading.compact(bytes('earlier'), 1);
    bench.pass(200);
    leader.leading.compact(bytes('later'), 3);
    bench.pass(600);
    leader.leading.resign();
    expect(contents(next().leading.start)).toBe('[3 later]');
  });

  it('that etcd refuses leaves the log as it was; the next one does its work', () => {
    const { bench, leader, next } = scene();
    bench.etcd.isFull = true;
    leader.leading.compact(bytes('refused'), 1);
    bench.pass(200);
    bench.etcd.isFull = false;
    expect([bench.keys('snapshots/'), bench.get('snapshot')]).toEqual([[], undefined]);
    expect(bench.keys('log/')).toHaveLength(3);
    leader.leading.compact(bytes('done'), 2);
    bench.pass(200);
    leader.leading.resign();
    expect(contents(next().leading.start)).toBe('[2 done] 3 c');
  });

  it('with which etcd becomes full counts, although etcd says that it has no room for it', () => {
    const { bench, a, leader, next } = scene();
    a.client.fail('transact', 'crossing-the-quota', 'snapshot"');
    leader.leading.compact(bytes('earlier'), 1);
    bench.pass(200);
    expect(bench.keys('log/')).toHaveLength(2);
    leader.leading.compact(bytes('later'), 2);
    bench.pass(200);
    leader.leading.resign();
    expect(contents(next().leading.start)).toBe('[2 later] 3 c');
  });

  it('of which a piece makes etcd full is left, and goes with the next one', () => {
    const { bench, a, leader, next } = scene();
    a.client.fail('transact', 'crossing-the-quota', 'snapshots/');
    leader.leading.compact(bytes('earlier'), 1);
    bench.pass(200);
    expect(bench.keys('log/')).toHaveLength(3);
    leader.leading.compact(bytes('later'), 2);
    bench.pass(200);
    expect(bench.keys('snapshots/').every((key) => key.includes('2/'))).toBe(true);
    leader.leading.resign();
    expect(contents(next().leading.start)).toBe('[2 later] 3 c');
  });

  it('deposes a leader that finds it is none', () => {
    const { bench, leader, next } = scene();
    bench.etcd.changeLeader(1);
    next();
    leader.leading.compact(bytes('stale'), 2);
    bench.until(() => leader.told.length > 1);
    expect(leader.told).toEqual(['elected', 'deposed superseded']);
    expect(bench.keys('snapshots/')).toEqual([]);
  });

  it.each([
    ['is missing', (bench: QuietEtcd) => bench.delete('snapshots/0000000000000002/0001')],
    ['was written over', (bench: QuietEtcd) => bench.put('snapshots/0000000000000002/0001', 'SHOT')],
  ])('of which a piece %s is damage, and not skipped', (_, harm) => {
    const { bench, leader } = scene();
    leader.leading.compact(bytes('snapshot'), 2);
    bench.pass(200);
    leader.leading.resign();
    harm(bench);
    const b = bench.machine('c');
    const standing = new Standing(bench, b, bench.open(b), 'c.1');
    bench.until(() => bench.fatal.length > 0);
    expect(bench.fatal).toMatchObject([{ code: 'DAMAGED_LOG', key: '/test/snapshot' }]);
    expect(standing.told).toEqual([]);
  });
});
