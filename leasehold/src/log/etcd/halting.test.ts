import { describe, expect, it } from 'vitest';
import { QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

const SEEN = { history: 'history-1', term: 2_000, position: 90, why: 'a test' };

function scene() {
  const bench = new QuietEtcd();
  const [a, b] = [bench.machine('a'), bench.machine('b')];
  const [logA, logB] = [bench.open(a), bench.open(b)];
  const standA = (name = 'a.1'): Standing => new Standing(bench, a, logA, name);
  const standB = (name = 'b.1'): Standing => new Standing(bench, b, logB, name);
  const noted = (): unknown => JSON.parse(bench.get('halted') ?? 'null');
  return { bench, a, b, logA, logB, standA, standB, noted };
}

const isHeard = ({ told }: Standing): readonly string[] => told.filter((what) => what !== 'extended');

describe('a log that somebody has found to have gone back in time', () => {
  it('has nobody elected, which is said once with what to do, until an operator has raised its counters', () => {
    const { bench, b, logA, standA, standB, noted } = scene();
    logA.halt(SEEN);
    bench.until(() => bench.get('halted') !== undefined);
    expect(noted()).toEqual({ term: 2_000, position: 90, why: 'a test' });
    const [one, other] = [standA(), standB()];
    bench.pass(20_000);
    expect([one.told, other.told, bench.get('leader')]).toEqual([[], [], undefined]);
    const said = bench.lines.filter((line) => line.includes('no Manager may lead'));
    expect(said).toEqual([expect.stringContaining('manager recover'), expect.anything()]);
    bench.raise(b, { term: 0, position: 0 });
    bench.until(() => one.leadership !== undefined || other.leadership !== undefined);
    const { leading } = one.leadership === undefined ? other : one;
    expect(leading.start).toMatchObject({ history: 'raised', floor: 90 });
    expect(leading.term).toBeGreaterThan(2_000);
  });

  it('is let go of by its leader, with the next extension', () => {
    const { bench, logB, standA } = scene();
    const leader = standA().elected();
    logB.halt(SEEN);
    const notedAtMs = bench.world.trueMs;
    bench.until(() => leader.told.includes('deposed resigned'));
    expect(bench.world.trueMs - notedAtMs).toBeLessThan(600);
    bench.pass(50);
    expect(bench.get('leader')).toBeUndefined();
  });

  it('has nobody elected who looked before it was noted', () => {
    const { bench, b, logA, standB } = scene();
    b.faults.answerMs = [200, 200];
    const standing = standB();
    bench.until(() => b.client.asked.includes('grant'));
    logA.halt(SEEN);
    bench.pass(5_000);
    expect([standing.told, bench.get('leader')]).toEqual([[], undefined]);
  });

  it('is noted with the highest that anybody has seen', () => {
    const { bench, logA, logB, noted } = scene();
    logA.halt(SEEN);
    bench.pass(100);
    logB.halt({ ...SEEN, term: 1, position: 95, why: 'another' });
    bench.pass(100);
    expect(noted()).toEqual({ term: 2_000, position: 95, why: 'a test' });
  });

  it('is noted by a leader before it says that it cannot go on, and before it lets go of its key', () => {
    const { bench, a, standA, noted } = scene();
    const leader = standA().elected();
    const restore = bench.etcd.backup();
    leader.append(1, 'x');
    a.client.fail('transact', 'lost', 'halted');
    restore(true);
    bench.until(() => bench.fatal.length > 0);
    expect(bench.fatal).toMatchObject([{ code: 'STORE_WENT_BACK', term: leader.leading.term, position: 1 }]);
    expect(noted()).toMatchObject({ term: leader.leading.term, position: 1 });
    // It has stopped to lead meanwhile.
    expect(isHeard(leader)).toEqual(['elected', 'deposed resigned']);
    bench.pass(100);
    expect(bench.get('leader')).toBeUndefined();
  });

  it('ends a leader in the end although etcd takes no note', () => {
    const { bench, a, standA } = scene();
    const leader = standA().elected();
    const restore = bench.etcd.backup();
    leader.append(1, 'x');
    for (let tries = 0; tries < 1_000; tries += 1)
      a.client.fail('transact', { refused: 'no-space' }, 'halted');
    restore(true);
    bench.until(() => bench.fatal.length > 0);
    expect(bench.fatal).toMatchObject([{ code: 'STORE_WENT_BACK' }]);
    expect(bench.lines).toContainEqual(expect.stringContaining('could not note in etcd'));
  });
});

describe('a note that comes too late', () => {
  it('is not written once an operator has raised the counters, nor by a try that was on its way', () => {
    const { bench, a, b, logA, noted } = scene();
    a.client.fail('transact', { lateMs: 300 }, 'halted');
    logA.halt(SEEN);
    bench.pass(5);
    bench.raise(b, { term: 0, position: 0 });
    bench.pass(1_000);
    expect(noted()).toBeNull();
  });

  it('is not written where there is no log any more', () => {
    const { bench, logA } = scene();
    bench.delete('meta');
    logA.halt(SEEN);
    bench.pass(1_000);
    expect(bench.keys()).toEqual([]);
  });

  it('is not waited for by a closing log for longer than a request', () => {
    const { bench, logA } = scene();
    bench.etcd.isDown = true;
    logA.halt(SEEN);
    const [beganAtMs, closedAtMs] = [bench.world.trueMs, [] as number[]];
    logA.close(() => closedAtMs.push(bench.world.trueMs));
    bench.pass(3_000);
    expect(closedAtMs).toEqual([expect.closeTo(beganAtMs + 500, 0)]);
    bench.etcd.isDown = false;
    bench.pass(70_000);
    expect(bench.get('halted')).toBeUndefined();
  });
});
