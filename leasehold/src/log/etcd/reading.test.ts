import { describe, expect, it } from 'vitest';
import type { EtcdClient } from '../../etcd/client.ts';
import { contents, QuietEtcd, Standing } from './simulation/quiet-etcd.ts';

/** A log of small batches and then of large ones, and a client that says how it was asked for pages. */
function scene({ small, large, bytesInTime }: { small: number; large: number; bytesInTime: number }) {
  const bench = new QuietEtcd();
  const [a, b] = [bench.machine('a'), bench.machine('b')];
  const leader = new Standing(bench, a, bench.open(a), 'a.1').elected();
  for (let position = 1; position <= small; position++) leader.append(position, 'x');
  for (let position = 1; position <= large; position++) leader.append(small + position, 'y'.repeat(100_000));
  leader.leading.resign();
  const pages: number[] = [];
  /** What is larger does not come in time. */
  const client: EtcdClient = {
    ...b.client,
    range: (range, timeoutMs, hear) =>
      b.client.range(range, timeoutMs, (answer) => {
        const found = answer.kind === 'done' ? answer.value.keyValues : [];
        const bytes = found.reduce((sum, { value }) => sum + value.length, 0);
        if (bytes > bytesInTime) return hear({ kind: 'unknown', why: 'no answer in time' });
        pages.push(found.length);
        hear(answer);
      }),
  };
  const next = new Standing(bench, b, bench.open(b, { client }), 'b.1').elected();
  return { pages, read: contents(next.leading.start).length };
}

const lengthOf = (small: number, large: number): number =>
  Array.from(
    { length: small + large },
    (_, place) => `${place + 1} ${place < small ? 'x' : 'y'.repeat(100_000)}`,
  ).join(' ').length;

describe('a page of the log', () => {
  it('is larger than the one before, but not by much: what comes next may be larger', () => {
    const { pages, read } = scene({ small: 12, large: 60, bytesInTime: 5_000_000 });
    expect(pages).toEqual([8, 28 + 4, 28, 4]);
    expect(read).toBe(lengthOf(12, 60));
  });

  it('that does not come in time is asked for by half, down to a single key', () => {
    const { pages, read } = scene({ small: 2, large: 30, bytesInTime: 150_000 });
    expect(Math.max(...pages)).toBeLessThanOrEqual(3);
    expect(read).toBe(lengthOf(2, 30));
  });
});
