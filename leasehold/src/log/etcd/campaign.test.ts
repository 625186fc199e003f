import { describe, expect, it } from 'vitest';
import { beginRaising } from './counters.ts';
import { bytes, contents, PREFIX, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

// In these worlds a leader lease and etcd's lease are 2000 ms long; an extension is asked for every 500 ms.

function scene() {
  const bench = new QuietEtcd();
  const [a, b] = [bench.machine('a'), bench.machine('b')];
  const [logA, logB] = [bench.open(a, { about: { id: 'm1' } }), bench.open(b)];
  const standA = (name = 'a.1'): Standing => new Standing(bench, a, logA, name);
  const standB = (name = 'b.1'): Standing => new Standing(bench, b, logB, name);
  return { bench, a, b, standA, standB };
}

describe('a candidate', () => {
  it('is elected by a leader key that says who it is, and leads in a term of that key', () => {
    const { bench, standA } = scene();
    const { leading } = standA().elected();
    const leader = bench.etcd.store.at(`${PREFIX}leader`);
    expect(JSON.parse(bench.get('leader') ?? '')).toEqual({
      id: 'm1',
      candidate: 'a.1',
      lease: leader?.lease,
    });
    expect(leading.term).toBe(leader?.createRevision);
  });

  it('finds that it was elected although the answer was lost, and is told once', () => {
    const { bench, a, standA } = scene();
    a.client.fail('transact', 'unanswered', 'leader');
    const standing = standA().elected();
    bench.pass(3_000);
    expect(standing.told.filter((what) => what !== 'extended')).toEqual(['elected']);
    expect(standing.leading.term).toBe(bench.etcd.store.at(`${PREFIX}leader`)?.createRevision);
  });

  it('that has withdrawn is not elected by a try that arrives later', () => {
    const { bench, a, standA } = scene();
    a.client.fail('transact', { lateMs: 600 }, 'leader');
    const standing = standA();
    bench.pass(20);
    standing.campaign[Symbol.dispose]();
    bench.pass(2_000);
    expect([standing.told, bench.get('leader')]).toEqual([[], undefined]);
  });

  it('that has lost to another is not elected by a try that arrives when that one is gone', () => {
    const { bench, a, standA, standB } = scene();
    a.client.fail('transact', { lateMs: 700 }, 'leader');
    const first = standA();
    bench.pass(10);
    const second = standB().elected();
    bench.pass(500);
    second.leading.resign();
    bench.pass(50);
    // The process stands still, so the process is elected all the same: by a try of its own, and once.
    first.elected();
    const { lease } = JSON.parse(bench.get('leader') ?? '') as { lease: string };
    bench.pass(1_000);
    expect(JSON.parse(bench.get('leader') ?? '')).toMatchObject({ candidate: 'a.1', lease });
    expect(first.told.filter((what) => what !== 'extended')).toEqual(['elected']);
  });

  it('is elected when the leader goes although its watch is deaf', () => {
    const { bench, standA, standB } = scene();
    const first = standA().elected();
    const second = standB();
    bench.pass(100);
    bench.etcd.breakWatches(1, 'deafen');
    first.leading.resign();
    second.elected();
    expect(bench.lines.filter((line) => line.startsWith('warn'))).toEqual([]);
  });

  it('stands again without a word if its lease ends before everything is read', () => {
    const { bench, a, standA } = scene();
    const { leading } = standA('a.0').elected();
    leading.append({ position: 1, bytes: bytes('x') }, () => leading.resign());
    const standing = standA();
    bench.until(() => bench.get('leader')?.includes('a.1') === true);
    const before = bench.get('leader');
    a.client.fail('range', 'lost');
    bench.etcd.changeLeader(1);
    standing.elected();
    bench.pass(1_000);
    expect(standing.told.filter((what) => what !== 'extended')).toEqual(['elected']);
    expect(bench.get('leader')).not.toBe(before);
    expect(contents(standing.leading.start)).toBe('1 x');
  });

  it('whose lease was granted long ago is told only with an extension that is not over', () => {
    const { bench, a, standA } = scene();
    for (let times = 0; times < 3; times++) a.client.fail('transact', 'lost', 'leader');
    bench.etcd.losesKeepAlives = true;
    a.faults.delayMs = [300, 320];
    const standing = standA();
    bench.pass(2_500);
    bench.etcd.losesKeepAlives = false;
    a.faults.delayMs = [1, 2];
    standing.elected();
    expect(standing.untilMs).toBeGreaterThan(bench.world.trueMs);
  });

  it('that cannot read the log lets go of the key after some leader leases, and another gets it', () => {
    const { bench, a, standA, standB } = scene();
    const { leading } = standA('a.0').elected();
    leading.append({ position: 1, bytes: bytes('x') }, () => leading.resign());
    for (let times = 0; times < 1_000; times++) a.client.fail('range', 'lost');
    const first = standA();
    bench.until(() => bench.get('leader')?.includes('a.1') === true);
    const electedAtMs = bench.world.trueMs;
    const second = standB();
    bench.pass(9_500);
    expect([first.told, second.told]).toEqual([[], []]);
    second.elected();
    expect(bench.world.trueMs).toBeLessThan(electedAtMs + 10_500);
    expect(bench.lines).toContain('warn elected, and has not read the log in time: lets go');
  });

  it('that is alone allows itself twice as long the next time', () => {
    const { bench, a, standA } = scene();
    const { leading } = standA('a.0').elected();
    leading.append({ position: 1, bytes: bytes('x') }, () => leading.resign());
    for (let times = 0; times < 3_000; times++) a.client.fail('range', 'lost');
    standA();
    bench.until(() => bench.get('leader')?.includes('a.1') === true);
    const keys = [0, 10_500, 19_000, 1_500].map((ms) => {
      bench.pass(ms);
      return bench.get('leader');
    });
    expect(keys[1]).not.toBe(keys[0]);
    expect(keys[2]).toBe(keys[1]);
    expect(keys[3]).not.toBe(keys[2]);
  });

  it('says so if etcd keeps the key of a dead leader for longer than owners can wait', () => {
    const { bench, a } = scene();
    bench.etcd.ttlSecondsMin = 8;
    const log = bench.open(a, { leaderChangeMs: 5_000 });
    new Standing(bench, a, log, 'a.2').elected().leading.resign();
    expect(bench.lines).toEqual([expect.stringMatching(/^warn etcd grants more than a leader lease/)]);
    bench.etcd.ttlSecondsMin = 0;
    new Standing(bench, a, log, 'a.3').elected();
    expect(bench.lines.at(-1)).toMatch(/^info over: etcd grants more/);
  });

  it('is elected on the counters as they are, if they are raised while it stands', () => {
    const { bench, a, b, standA } = scene();
    a.faults.answerMs = [100, 100];
    const standing = standA();
    bench.until(() => a.client.asked.includes('grant'));
    beginRaising(bench.raising(b, { term: 1_000, position: 50 }), () => {});
    standing.elected();
    expect(standing.leading.term).toBeGreaterThan(1_000);
    expect(standing.leading.start).toMatchObject({ history: 'raised', floor: 50 });
  });

  it('waits, and says so once, when the log is gone: to begin anew is for people to decide', () => {
    const { bench, standA } = scene();
    bench.delete('meta');
    const standing = standA();
    bench.pass(20_000);
    expect(standing.told).toEqual([]);
    expect(bench.keys()).toEqual([]);
    expect(bench.lines.filter((line) => line.includes('the log is gone'))).toHaveLength(1);
  });

  it('is not elected where the log cannot be read; that is fatal, and leaves the leader key to others', () => {
    const { bench, standA } = scene();
    standA('a.0').elected().leading.resign();
    bench.put('head', '7');
    const standing = standA();
    bench.until(() => bench.fatal.length > 0);
    bench.pass(100);
    expect(bench.fatal).toMatchObject([{ code: 'DAMAGED_LOG', retryable: false }]);
    expect([standing.told, bench.get('leader')]).toEqual([[], undefined]);
  });
});

describe('the leader lease', () => {
  it('is counted from before the lease was asked for, not from the election', () => {
    const { bench, a, standA } = scene();
    a.faults.delayMs = [50, 50];
    const standing = standA();
    bench.until(() => a.client.asked.includes('grant'));
    const askedAtMs = bench.world.trueMs;
    standing.elected();
    expect(bench.world.trueMs).toBeGreaterThan(askedAtMs + 250);
    expect(standing.untilMs).toBeLessThanOrEqual(askedAtMs + 2_000);
    expect(standing.untilMs).toBeGreaterThan(askedAtMs + 1_990);
  });

  it('is extended from before the extension was asked for', () => {
    const { bench, a, standA } = scene();
    const standing = standA().elected();
    a.faults.delayMs = [50, 50];
    const before = a.client.asked.length;
    bench.until(() => a.client.asked.slice(before).includes('keepAlive'));
    const askedAtMs = bench.world.trueMs;
    bench.until(() => standing.told.includes('extended'));
    expect(bench.world.trueMs).toBeGreaterThan(askedAtMs + 190);
    expect(standing.untilMs).toBeLessThanOrEqual(askedAtMs + 2_000);
  });

  it('is not extended by a member that was replaced and says the lease is alive', () => {
    const { bench, standA, standB } = scene();
    const first = standA().elected();
    bench.etcd.goStale('a.1');
    bench.etcd.changeLeader(1);
    standB().elected();
    bench.until(() => first.told.length > 1);
    expect(first.told).toEqual(['elected', 'deposed superseded']);
  });

  it('is over when etcd has ended it', () => {
    const { bench, standA } = scene();
    const standing = standA().elected();
    bench.etcd.changeLeader(1);
    bench.until(() => standing.told.length > 1);
    expect(standing.told).toEqual(['elected', 'deposed lease-ended']);
  });

  it('that has run out deposes nobody: who still has the key when etcd is back goes on', () => {
    const { bench, standA } = scene();
    const standing = standA().elected();
    bench.etcd.isDown = true;
    bench.pass(10_000);
    expect(standing.untilMs).toBeLessThan(bench.world.trueMs);
    expect(standing.told).toEqual(['elected']);
    bench.etcd.isDown = false;
    bench.until(() => standing.told.includes('extended'));
    expect(standing.append(1, 'a')).toBe('appended 1');
  });

  it('that etcd extends while it answers nothing else is let go of, and another leads', () => {
    const { bench, a, standA, standB } = scene();
    const first = standA().elected();
    const second = standB();
    bench.pass(100);
    for (let times = 0; times < 12; times++) a.client.fail('transact', { refused: 'denied' });
    bench.pass(5_500);
    expect(first.told).toEqual(['elected']);
    bench.until(() => first.told.length > 1);
    expect(first.told).toEqual(['elected', 'deposed resigned']);
    second.elected();
  });

  it('that could not be confirmed for a while goes on when it can', () => {
    const { bench, a, standA } = scene();
    const standing = standA().elected();
    for (let times = 0; times < 11; times++) a.client.fail('transact', { refused: 'denied' });
    bench.pass(30_000);
    for (let times = 0; times < 11; times++) a.client.fail('transact', 'lost');
    bench.pass(30_000);
    expect(standing.told.filter((what) => what !== 'extended')).toEqual(['elected']);
    expect(standing.untilMs).toBeGreaterThan(bench.world.trueMs);
  });

  it('that was let go of is tried again until etcd has heard it', () => {
    const { bench, a, standA, standB } = scene();
    const first = standA().elected();
    a.client.fail('revoke', 'lost');
    a.client.fail('revoke', { refused: 'unavailable' });
    first.leading.resign();
    const resignedAtMs = bench.world.trueMs;
    standB().elected();
    expect(bench.world.trueMs).toBeLessThan(resignedAtMs + 500);
  });
});
