import { describe, expect, it } from 'vitest';
import { World } from '../../../sim/world.ts';
import { bytes, text } from './quiet-etcd.ts';
import { type Cause, SimulatedEtcd } from '../../../etcd/simulation/simulated-etcd.ts';

function scene() {
  const world = new World({ seed: 1 });
  const etcd = new SimulatedEtcd(world);
  const put = (key: string, value: string, lease?: string): number => {
    const success = [{ do: 'put', key, value: bytes(value), lease }] as const;
    etcd.transact({ compare: [], success, failure: [] }, 'test');
    return etcd.store.revision;
  };
  const range = (key: string, end?: string, revision?: number): string => {
    const answer = etcd.range({ key, end, revision }, 'reader');
    if (answer.kind !== 'done') return JSON.stringify(answer);
    return answer.value.keyValues.map((found) => `${found.key}=${text(found.value)}`).join(' ');
  };
  const grant = (): string => {
    const answer = etcd.grant(2);
    return answer.kind === 'done' ? answer.value.lease : '';
  };
  const pass = (ms: number): void => world.run({ untilMs: world.trueMs + ms });
  return { world, etcd, put, range, grant, pass };
}

describe('the simulated etcd, as the real one', () => {
  it('gives every transaction that changes something a revision, and shows what was at each', () => {
    const { etcd, put, range } = scene();
    const first = put('a', '1');
    const second = put('a', '2');
    put('b', '3');
    expect(second).toBe(first + 1);
    expect([range('a', 'z', first), range('a', 'z', second), range('a', 'z')]).toEqual([
      'a=1',
      'a=2',
      'a=2 b=3',
    ]);
    expect(etcd.store.at('a')).toMatchObject({ createRevision: first, modRevision: second });
  });

  it('compares, and then does one or the other, in one step', () => {
    const { etcd, put } = scene();
    const revision = put('a', '1');
    const attempt = (createRevision: number) =>
      etcd.transact(
        {
          compare: [
            { key: 'a', createRevision },
            { key: 'a', value: bytes('1') },
          ],
          success: [{ do: 'delete', key: 'a' }],
          failure: [{ do: 'get', key: 'a' }],
        },
        'test',
      );
    expect(attempt(0)).toMatchObject({ value: { succeeded: false, revision, found: [{ key: 'a' }] } });
    expect(attempt(revision)).toMatchObject({
      value: { succeeded: true, revision: revision + 1, found: [] },
    });
    expect(etcd.store.at('a')).toBeUndefined();
  });

  it('forgets revisions that were compacted, and knows none of the future', () => {
    const { etcd, put, range } = scene();
    const first = put('a', '1');
    put('a', '2');
    etcd.store.compact(first + 1);
    expect(range('a', undefined, first)).toContain('compacted');
    expect(range('a', undefined, 99)).toContain('future revision');
    const ended: boolean[] = [];
    etcd.watch({
      key: 'a',
      end: 'z',
      from: first,
      changed: () => {},
      ended: (_, compacted) => ended.push(compacted),
    });
    expect(ended).toEqual([true]);
  });

  it('deletes a key when its lease ends: at its time or up to half a second later', () => {
    for (let times = 0; times < 20; times++) {
      const { world, etcd, put, grant, pass } = scene();
      const lease = grant();
      put('a', '1', lease);
      pass(1_500);
      etcd.keepAlive(lease, 'test');
      let goneAtMs = 0;
      etcd.onChange = () => (goneAtMs = world.trueMs);
      pass(3_000);
      expect(goneAtMs).toBeGreaterThan(3_500);
      expect(goneAtMs).toBeLessThan(4_002);
    }
  });

  it('takes no key under a lease that is gone', () => {
    const { etcd, put, grant } = scene();
    const lease = grant();
    etcd.revoke(lease, 'test');
    put('a', '1', lease);
    expect(etcd.store.at('a')).toBeUndefined();
    expect(etcd.revoke(lease, 'test')).toMatchObject({ refusal: { reason: 'no-lease' } });
    expect(etcd.keepAlive(lease, 'test')).toEqual({ kind: 'done', value: { ttlSeconds: 0 } });
  });

  it('ends no lease while it has no majority, and begins all anew afterwards', () => {
    const { etcd, put, grant, pass } = scene();
    put('a', '1', grant());
    etcd.isDown = true;
    pass(60_000);
    etcd.isDown = false;
    pass(1_900);
    expect(etcd.store.at('a')).toBeDefined();
    pass(700);
    expect(etcd.store.at('a')).toBeUndefined();
  });

  it('may end leases early when its leader changes, and say of them that they are alive', () => {
    const { etcd, put, grant } = scene();
    const lease = grant();
    put('a', '1', lease);
    etcd.goStale('test');
    const causes: Cause[] = [];
    etcd.onChange = (_, cause) => causes.push(cause);
    etcd.changeLeader(1);
    expect(causes).toEqual([{ by: 'early-end' }]);
    expect(etcd.keepAlive(lease, 'test')).toEqual({ kind: 'done', value: { ttlSeconds: 2 } });
    expect(etcd.keepAlive(lease, 'somebody else')).toEqual({ kind: 'done', value: { ttlSeconds: 0 } });
  });

  it('refuses what is too large, too much, or has no room; but not deletions', () => {
    const { etcd, put } = scene();
    const value = new Uint8Array(1.5 * 2 ** 20);
    const large = { compare: [], success: [{ do: 'put', key: 'a', value }], failure: [] } as const;
    expect(etcd.transact(large, 'test')).toMatchObject({ refusal: { reason: 'too-large' } });
    const gets = Array.from({ length: 129 }, () => ({ do: 'get', key: 'a' }) as const);
    expect(etcd.transact({ compare: [], success: gets, failure: [] }, 'test')).toMatchObject({
      kind: 'refused',
    });
    put('a', '1');
    etcd.isFull = true;
    put('a', '2');
    expect(text(etcd.store.at('a')?.value ?? bytes(''))).toBe('1');
    etcd.transact({ compare: [], success: [{ do: 'delete', key: 'a' }], failure: [] }, 'test');
    expect(etcd.store.at('a')).toBeUndefined();
  });

  it('that is about to be full carries out what crosses the quota, and refuses it in the same words', () => {
    const { etcd, put, range } = scene();
    etcd.isAboutToBeFull = true;
    const words = ['1', '2'].map((word) => {
      const success = [{ do: 'put', key: 'a', value: bytes(word) }] as const;
      return etcd.transact({ compare: [], success, failure: [] }, 'test');
    });
    const refusal = { reason: 'no-space', message: 'mvcc: database space exceeded' };
    expect(words).toEqual(words.map(() => ({ kind: 'unknown', why: refusal.message, refusal })));
    expect([range('a'), etcd.isFull]).toEqual(['a=1', true]);
    etcd.isFull = false;
    put('a', '3');
    expect(range('a')).toBe('a=3');
  });

  it('tells a watch what happened from its revision on, in order, until it ends or goes deaf', () => {
    const { etcd, put } = scene();
    const first = put('a', '1');
    const told: string[] = [];
    const watch = (from: number) =>
      etcd.watch({
        ...{ key: 'a', end: 'b', from },
        changed: ({ key, revision }) => told.push(`${key} ${revision}`),
        ended: (why) => told.push(why),
      });
    watch(first);
    put('c', '1');
    put('a', '2');
    expect(told).toEqual([`a ${first}`, `a ${first + 2}`]);
    etcd.breakWatches(1, 'deafen');
    put('a', '3');
    watch(first + 4);
    etcd.breakWatches(1, 'end');
    put('a', '4');
    expect(told.slice(2)).toEqual(['the member was stopped']);
  });

  it('goes back to a backup with its revisions and leases, whatever was written since', () => {
    const { etcd, put, range, grant, pass } = scene();
    put('a', '1', grant());
    const { revision } = etcd.store;
    const restore = etcd.backup();
    put('a', '2');
    put('b', '3');
    restore(false);
    expect([range('a', 'z'), etcd.store.revision, etcd.cluster]).toEqual(['a=1', revision, 2]);
    pass(2_600);
    expect(range('a', 'z')).toBe('');
  });

  it('goes back to each of two backups as it was made, also to the later one after the earlier one', () => {
    const { etcd, put, range, grant } = scene();
    put('a', '1', grant());
    const restoreFirst = etcd.backup();
    put('b', '2', grant());
    const restoreSecond = etcd.backup();
    restoreFirst(true);
    expect(range('a', 'z')).toBe('a=1');
    put('c', '3');
    put('d', '4');
    restoreSecond(true);
    expect(range('a', 'z')).toBe('a=1 b=2');
    expect(etcd.revoke(etcd.store.at('b')?.lease ?? '', 'test')).toMatchObject({ kind: 'done' });
    expect(range('a', 'z')).toBe('a=1');
  });
});
