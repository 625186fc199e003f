import { describe, expect, it } from 'vitest';
import { InvalidArgumentError, type LeaseholdError } from '../../runtime/errors.ts';
import { beginRaising, raiseEtcdCounters, readEtcdCounters } from './counters.ts';
import { contents, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

function scene() {
  const bench = new QuietEtcd();
  const [a, operator] = [bench.machine('a'), bench.machine('operator')];
  const log = bench.open(a);
  const lead = (name: string): Standing => new Standing(bench, a, log, name).elected();
  const leader = lead('a.1');
  leader.append(1, 'a');
  return { bench, a, operator, leader, log, lead };
}

describe('reading the counters of a log on etcd', () => {
  it('says the highest term that there can have been, and the last position', () => {
    const { bench, operator, leader } = scene();
    leader.append(7, 'b');
    leader.leading.resign();
    bench.pass(50);
    const { found } = bench.tryToRead(operator);
    expect(found).toMatchObject({ history: 'history-1', position: 7 });
    expect(found?.term).toBeGreaterThanOrEqual(leader.leading.term);
    bench.raise(operator, { term: 1_000, position: 50 });
    const raised = bench.tryToRead(operator).found;
    expect(raised).toMatchObject({ history: 'raised', position: 50 });
    expect(raised?.term).toBeGreaterThan(1_000);
  });

  it('is refused while somebody leads, and where there is no log', () => {
    const { bench, operator } = scene();
    expect(bench.tryToRead(operator).error).toMatchObject({ code: 'LEADER_ALIVE', leader: 'a.1' });
    const empty = new QuietEtcd();
    expect(empty.tryToRead(empty.machine('operator')).error).toMatchObject({ code: 'PREFIX_IN_USE' });
  });

  it('goes on through a refusal that may pass, and gives up at once if etcd denies it', () => {
    const { bench, operator, leader } = scene();
    leader.leading.resign();
    bench.pass(50);
    operator.client.fail('transact', { refused: 'other' });
    expect(bench.tryToRead(operator).found).toMatchObject({ position: 1 });
    const before = bench.world.trueMs;
    operator.client.fail('transact', { refused: 'denied' });
    expect(bench.tryToRead(operator).error).toMatchObject({ reason: 'denied', retryable: false });
    expect(bench.world.trueMs - before).toBeLessThan(100);
  });

  it('gives up in time, with the reason', () => {
    const { bench, operator } = scene();
    bench.etcd.isDown = true;
    const before = bench.world.trueMs;
    const { error } = bench.tryToRead(operator);
    expect(error).toMatchObject({ code: 'ETCD_UNAVAILABLE', retryable: true });
    expect(error?.message).toMatch(/^could not read the log: .* etcd: no answer in time$/);
    expect(bench.world.trueMs - before).toBeLessThan(3_100);
  });

  it('makes sure of the prefix', async () => {
    const { bench, operator } = scene();
    const options = { ...bench.raising(operator), prefix: 'no-slash' };
    await expect(readEtcdCounters(options)).rejects.toThrow('option prefix');
  });
});

describe('raising the counters of a log on etcd', () => {
  it('has terms and positions go on above what was seen, in a new history that keeps what is there', () => {
    const { bench, operator, leader, lead } = scene();
    leader.leading.resign();
    bench.pass(50);
    expect(bench.tryToRaise(operator, { term: 1_000, position: 50 }).raised).toEqual({
      history: 'raised',
      term: 1_000,
      floor: 50,
    });
    const next = lead('a.2');
    expect(next.leading.term).toBeGreaterThan(1_000);
    expect(next.leading.start).toMatchObject({ history: 'raised', floor: 50 });
    expect(contents(next.leading.start)).toBe('1 a');
  });

  it('lowers nothing', () => {
    const { bench, operator, leader, lead } = scene();
    leader.leading.resign();
    bench.pass(50);
    const { raised } = bench.tryToRaise(operator, { term: 0, position: 0 });
    expect(raised?.term).toBeGreaterThanOrEqual(leader.leading.term);
    expect(raised?.floor).toBeGreaterThan(1);
    expect(lead('a.2').leading.term).toBeGreaterThan(leader.leading.term);
  });

  it('leaves out a position although the log has got as far as was seen: by that the next leader knows that it must wait', () => {
    const { bench, operator, leader, lead } = scene();
    leader.append(7, 'b');
    leader.leading.resign();
    bench.pass(50);
    const { raised } = bench.tryToRaise(operator, { term: 0, position: 7 });
    expect(raised?.floor).toBe(8);
    const { start } = lead('a.2').leading;
    expect([contents(start), start.floor]).toEqual(['1 a 7 b', 8]);
  });

  it('goes above the counters that a Manager noted when it found that the log went back, and removes the note', () => {
    const { bench, operator, leader, log, lead } = scene();
    log.halt({ history: 'history-1', term: 2_000, position: 90, why: 'a test' });
    bench.until(() => leader.told.includes('deposed resigned'));
    bench.pass(50);
    expect(bench.tryToRead(operator).found).toMatchObject({
      position: 1,
      halt: { term: 2_000, position: 90, why: 'a test' },
    });
    expect(bench.raise(operator, { term: 1_000, position: 50 })).toMatchObject({ term: 2_000, floor: 90 });
    expect(bench.get('halted')).toBeUndefined();
    expect(lead('a.2').leading.term).toBeGreaterThan(2_000);
  });

  it('is done anew if something is noted meanwhile', () => {
    const { bench, operator, leader, log } = scene();
    leader.leading.resign();
    bench.pass(50);
    operator.faults.answerMs = [100, 100];
    let floor = 0;
    beginRaising(
      bench.raising(operator, { term: 1_000, position: 50 }),
      (raised) => (floor = raised?.floor ?? -1),
    );
    log.halt({ history: 'history-1', term: 2_000, position: 90, why: 'a test' });
    bench.until(() => floor !== 0);
    expect([floor, bench.get('halted')]).toEqual([90, undefined]);
  });

  it('is refused while somebody leads, with the name of who does', () => {
    const { bench, operator } = scene();
    const before = bench.get('meta');
    expect(bench.tryToRaise(operator, { term: 1_000, position: 50 }).error).toMatchObject({
      ...{ code: 'LEADER_ALIVE', retryable: true, leader: 'a.1' },
    });
    expect(bench.get('meta')).toBe(before);
  });

  it('is refused if somebody is elected in the same moment', () => {
    const { bench, operator, leader, lead } = scene();
    leader.leading.resign();
    bench.pass(50);
    operator.client.fail('transact', { refused: 'unavailable' }, 'meta');
    let error: LeaseholdError | undefined;
    beginRaising(bench.raising(operator, { term: 1_000, position: 50 }), (_, why) => (error = why));
    bench.pass(20);
    lead('a.2');
    bench.until(() => error !== undefined);
    expect(error).toMatchObject({ code: 'LEADER_ALIVE' });
  });

  it('is done once although the answer is lost', () => {
    const { bench, operator, leader } = scene();
    leader.leading.resign();
    bench.pass(50);
    operator.client.fail('transact', 'unanswered', 'meta');
    expect(bench.tryToRaise(operator, { term: 1_000, position: 50 }).raised).toEqual({
      history: 'raised',
      term: 1_000,
      floor: 50,
    });
  });

  it('needs a log, and one of this cluster', () => {
    const bench = new QuietEtcd();
    expect(bench.tryToRaise(bench.machine('operator'), { term: 0, position: 0 }).error).toMatchObject({
      code: 'PREFIX_IN_USE',
    });
    bench.put('meta', '{"format":1,"cluster":"other","history":"h","termBase":0,"floor":0}');
    expect(bench.tryToRaise(bench.machine('operator-2'), { term: 0, position: 0 }).error).toMatchObject({
      code: 'PREFIX_IN_USE',
    });
  });

  it('gives up in time if etcd does not answer', () => {
    const { bench, operator } = scene();
    bench.etcd.isDown = true;
    expect(bench.tryToRaise(operator, { term: 0, position: 0 }).error).toMatchObject({
      code: 'ETCD_UNAVAILABLE',
      retryable: true,
    });
  });

  it('takes whole numbers', async () => {
    const { bench, operator } = scene();
    await expect(raiseEtcdCounters(bench.raising(operator, { term: -1, position: 0 }))).rejects.toThrow(
      InvalidArgumentError,
    );
    await expect(raiseEtcdCounters(bench.raising(operator, { term: 0, position: 1.5 }))).rejects.toThrow(
      'option position',
    );
  });
});
