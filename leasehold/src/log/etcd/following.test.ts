import { describe, expect, it } from 'vitest';
import type { Instant } from '../../runtime/time.ts';
import type { Following } from '../log.ts';
import { bytes, contents, type Machine, QuietEtcd, Standing, text } from './simulation/quiet-etcd.ts';

function scene() {
  const bench = new QuietEtcd();
  const [a, c] = [bench.machine('a'), bench.machine('c')];
  const [logA, logC] = [bench.open(a), bench.open(c)];
  const leader = new Standing(bench, a, logA, 'a.1').elected();
  leader.append(1, 'a');
  const told: string[] = [];
  const asked: Instant[] = [];
  const following: Following = logC.follow({
    reset: (start) => told.push(`reset ${contents(start)}`.trimEnd()),
    batch: (batch) => told.push(`${batch.position} ${text(batch.bytes)}`),
    head: (position, askedAt) => {
      told.push(`head ${position}`);
      asked.push(askedAt);
    },
  });
  bench.until(() => told.length > 0);
  bench.pass(20);
  return { bench, a, c, logA, logC, leader, told, asked, following };
}

const raise = (bench: QuietEtcd, machine: Machine): void =>
  void bench.raise(machine, { term: 1_000, position: 50 });

/** How many it has begun. */
const watches = ({ client }: Machine): number => client.asked.filter((what) => what === 'watch').length;

describe('a follower', () => {
  it('goes on where it was when a watch has ended', () => {
    const { bench, leader, told } = scene();
    bench.etcd.breakWatches(1, 'end');
    leader.append(2, 'b');
    leader.append(3, 'c');
    bench.pass(200);
    expect(told).toEqual(['reset 1 a', '2 b', '3 c']);
  });

  it('replaces a watch that has gone deaf, within two looks at the head', () => {
    const { bench, c, leader, told } = scene();
    bench.etcd.breakWatches(1, 'deafen');
    leader.append(2, 'b');
    bench.pass(700);
    leader.append(3, 'c');
    bench.pass(50);
    expect(told).toEqual(['reset 1 a', '2 b', '3 c']);
    expect(watches(c)).toBe(2);
  });

  it('does not replace a watch that is only slow: it need not be where the head is, but where it was', () => {
    const { bench, c, leader, told } = scene();
    c.faults.delayMs = [290, 290];
    leader.append(2, 'b');
    c.faults.delayMs = [1, 2];
    bench.pass(1_000);
    expect(told).toEqual(['reset 1 a', '2 b']);
    expect(watches(c)).toBe(1);
  });

  it('goes on when etcd has forgotten the revision it watched from', () => {
    const { bench, c, leader, told } = scene();
    c.faults.isCut = true;
    bench.etcd.breakWatches(1, 'end');
    leader.append(2, 'b');
    bench.etcd.store.compact(bench.etcd.store.revision);
    c.faults.isCut = false;
    bench.pass(2_000);
    expect(told).toEqual(['reset 1 a', '2 b']);
  });

  it('begins anew when etcd forgets the revision that is being read', () => {
    const { bench, c, logC, leader } = scene();
    const told: string[] = [];
    c.faults.delayMs = [30, 30];
    logC.follow({ reset: (start) => told.push(contents(start)), batch: () => {}, head: () => {} });
    bench.pass(40);
    leader.append(2, 'b');
    bench.etcd.store.compact(bench.etcd.store.revision);
    bench.until(() => told.length > 0);
    expect(told).toEqual(['1 a 2 b']);
  });

  it('reads a long log in pages, and in smaller ones where a page is too large', () => {
    const { bench, c, logC, leader } = scene();
    for (let position = 2; position <= 60; position++) leader.append(position, 'x');
    const told: number[] = [];
    c.client.asked.length = 0;
    c.client.fail('range', { refused: 'too-large' });
    logC.follow({ reset: ({ batches }) => told.push(batches.length), batch: () => {}, head: () => {} });
    bench.until(() => told.length > 0);
    expect(told).toEqual([60]);
    // One page was refused; then one batch, 4, 16, and all the rest.
    expect(c.client.asked.filter((what) => what === 'range')).toHaveLength(5);
  });

  it('is reset when the entries it lacks are in a snapshot', () => {
    const { bench, c, leader, told } = scene();
    c.faults.isCut = true;
    bench.etcd.breakWatches(1, 'deafen');
    leader.append(2, 'b');
    leader.leading.compact(bytes('snapshot'), 2);
    leader.append(3, 'c');
    c.faults.isCut = false;
    bench.pass(2_000);
    expect(told).toEqual(['reset 1 a', 'reset [2 snapshot] 3 c']);
  });

  it('is reset when the history is another, before it is told anything of that', () => {
    const { bench, a, logA, leader, told } = scene();
    leader.leading.resign();
    bench.pass(50);
    raise(bench, a);
    const next = new Standing(bench, a, logA, 'a.2').elected();
    next.append(51, 'b');
    bench.pass(200);
    expect(told).toEqual(['reset 1 a', 'reset 1 a', '51 b']);
  });

  it('is reset when the store went back in time, so that the Manager can tell', () => {
    const { bench, leader, told } = scene();
    const restore = bench.etcd.backup();
    leader.append(2, 'b');
    bench.pass(50);
    restore(true);
    bench.pass(1_000);
    expect(told).toEqual(['reset 1 a', '2 b', 'reset 1 a']);
  });

  it('is reset when its last batch is another, although the log has gone further', () => {
    const { bench, a, logA, leader, told } = scene();
    const restore = bench.etcd.backup();
    leader.append(2, 'b');
    bench.pass(20);
    leader.leading.resign();
    bench.etcd.breakWatches(1, 'deafen');
    restore(true);
    bench.etcd.changeLeader(1);
    const other = new Standing(bench, a, logA, 'a.2').elected();
    for (const [place, what] of ['B', 'C', 'D', 'E'].entries()) other.append(place + 2, what);
    bench.pass(1_500);
    expect(told).toEqual(['reset 1 a', '2 b', 'reset 1 a 2 B 3 C 4 D 5 E']);
  });

  it('takes no notice of other keys', () => {
    const { bench, leader, told } = scene();
    bench.put('managers/m1', '{}');
    bench.delete('managers/m1');
    leader.append(2, 'b');
    bench.pass(500);
    expect(told).toEqual(['reset 1 a', '2 b']);
  });

  it('may end from within what it is told', () => {
    const { bench, logC, leader } = scene();
    const told: string[] = [];
    const following: Following = logC.follow({
      reset: (start) => {
        told.push(contents(start));
        following[Symbol.dispose]();
      },
      batch: (batch) => told.push(text(batch.bytes)),
      head: () => {},
    });
    leader.append(2, 'b');
    bench.pass(500);
    expect(told).toHaveLength(1);
  });
});

describe('the head of a log on etcd', () => {
  it('is that of the log, not that of the entries followed so far', () => {
    const { bench, leader, told, following } = scene();
    bench.etcd.breakWatches(1, 'deafen');
    leader.append(7, 'b');
    following.askHead();
    bench.pass(20);
    expect(told).toEqual(['reset 1 a', 'head 7']);
  });

  it('is as of the request that was answered', () => {
    const { bench, c, told, asked, following } = scene();
    c.client.fail('transact', 'unanswered');
    c.client.fail('transact', 'lost');
    const before = c.process.now();
    following.askHead();
    bench.until(() => told.includes('head 1'));
    expect(asked[0]).toBeGreaterThan(before + 10);
    expect(asked[0]).toBeLessThan(c.process.now());
  });

  it('is that of the snapshot if all is compacted, and 0 if there never was anything', () => {
    const { bench, leader, told, following } = scene();
    leader.leading.compact(bytes('snapshot'), 1);
    bench.pass(100);
    following.askHead();
    bench.until(() => told.includes('head 1'));

    const empty = new QuietEtcd();
    const heads: number[] = [];
    const other = empty
      .open(empty.machine('c'))
      .follow({ reset: () => {}, batch: () => {}, head: (position) => heads.push(position) });
    other.askHead();
    empty.pass(500);
    expect(heads).toEqual([0]);
  });

  it('is told only after the reset, and only of the history that is followed', () => {
    const { bench, a, c, logC, leader } = scene();
    const told: string[] = [];
    const following = logC.follow({
      reset: ({ history }) => told.push(`reset ${history}`),
      batch: () => {},
      head: (position) => told.push(`head ${position}`),
    });
    following.askHead();
    bench.pass(200);
    leader.leading.resign();
    bench.pass(50);
    c.faults.delayMs = [30, 30];
    raise(bench, a);
    following.askHead();
    bench.pass(1_000);
    expect(told).toEqual(['reset history-1', 'head 1', 'reset raised', 'head 1']);
  });
});
