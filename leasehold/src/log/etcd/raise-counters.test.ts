import { describe, expect, it } from 'vitest';
import { InvalidOptionError, type LeaseholdError } from '../../runtime/errors.ts';
import type { RaisedCounters } from '../file/raise-counters.ts';
import { beginRaising, raiseEtcdCounters } from './raise-counters.ts';
import { contents, type Machine, PREFIX, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

const wish = (bench: QuietEtcd, { client, runtime }: Machine, term: number, position: number) => ({
  ...{ client, runtime, logger: bench.logger, prefix: PREFIX, cluster: 'c' },
  ...{ randomId: () => 'raised', term, position, withinMs: 3_000 },
});

function raise(bench: QuietEtcd, machine: Machine, term: number, position: number) {
  let outcome: { raised: RaisedCounters | undefined; error: LeaseholdError | undefined } | undefined;
  beginRaising(wish(bench, machine, term, position), (raised, error) => (outcome = { raised, error }));
  bench.until(() => outcome !== undefined);
  return outcome as NonNullable<typeof outcome>;
}

function scene() {
  const bench = new QuietEtcd();
  const [a, operator] = [bench.machine('a'), bench.machine('operator')];
  const log = bench.open(a);
  const lead = (name: string): Standing => new Standing(bench, a, log, name).elected();
  const leader = lead('a.1');
  leader.append(1, 'a');
  return { bench, a, operator, leader, lead };
}

describe('raising the counters of a log on etcd', () => {
  it('has terms and positions go on above what was seen, in a new history that keeps what is there', () => {
    const { bench, operator, leader, lead } = scene();
    leader.leading.resign();
    bench.pass(50);
    expect(raise(bench, operator, 1_000, 50).raised).toEqual({ history: 'raised', term: 1_000, floor: 50 });
    const next = lead('a.2');
    expect(next.leading.term).toBeGreaterThan(1_000);
    expect(next.leading.start).toMatchObject({ history: 'raised', floor: 50 });
    expect(contents(next.leading.start)).toBe('1 a');
  });

  it('lowers nothing', () => {
    const { bench, operator, leader, lead } = scene();
    leader.leading.resign();
    bench.pass(50);
    const { raised } = raise(bench, operator, 0, 0);
    expect(raised?.term).toBeGreaterThanOrEqual(leader.leading.term);
    expect(raised?.floor).toBe(1);
    expect(lead('a.2').leading.term).toBeGreaterThan(leader.leading.term);
  });

  it('is refused while somebody leads, with the name of who does', () => {
    const { bench, operator } = scene();
    const before = bench.get('meta');
    expect(raise(bench, operator, 1_000, 50).error).toMatchObject({
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
    beginRaising(wish(bench, operator, 1_000, 50), (_, why) => (error = why));
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
    expect(raise(bench, operator, 1_000, 50).raised).toEqual({ history: 'raised', term: 1_000, floor: 50 });
  });

  it('needs a log, and one of this cluster', () => {
    const bench = new QuietEtcd();
    expect(raise(bench, bench.machine('operator'), 0, 0).error).toMatchObject({ code: 'PREFIX_IN_USE' });
    bench.put('meta', '{"format":1,"cluster":"other","history":"h","termBase":0,"floor":0}');
    expect(raise(bench, bench.machine('operator-2'), 0, 0).error).toMatchObject({ code: 'PREFIX_IN_USE' });
  });

  it('gives up in time if etcd does not answer', () => {
    const { bench, operator } = scene();
    bench.etcd.isDown = true;
    expect(raise(bench, operator, 0, 0).error).toMatchObject({ code: 'ETCD_UNAVAILABLE', retryable: true });
  });

  it('takes whole numbers', async () => {
    const { bench, operator } = scene();
    await expect(raiseEtcdCounters(wish(bench, operator, -1, 0))).rejects.toThrow(InvalidOptionError);
    await expect(raiseEtcdCounters(wish(bench, operator, 0, 1.5))).rejects.toThrow('option position');
  });
});
