import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import type { DrainProgress } from './drain.ts';
import { HALF, LEFT, type MovingBench, movingOwner } from './moving-script.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

/** The one ticket of the whole ring is carried out, and the table has it. */
async function moveAll(bench: MovingBench): Promise<void> {
  bench.order({ targets: 1 });
  bench.caughtUp();
  await turn();
  bench.acknowledged();
  bench.tell({ spans: [], targets: 1 });
  bench.tell({ spans: [], admitted: false });
}

describe('a drain', () => {
  it('ends the owner once everything has moved, and nothing was lost', async () => {
    const bench = movingOwner();
    const progress: DrainProgress[] = [];
    const draining = bench.owner.drain({ onProgress: (news) => progress.push(news) });
    await turn();
    expect(bench.report()).toMatchObject({ intent: 'draining', leaving: false });
    bench.carrier.sent = { items: 3, bytes: 300 };
    await moveAll(bench);
    expect(await draining).toEqual({ moved: 1, lost: 0 });
    expect(bench.closed).toEqual([true]);
    await turn();
    expect(progress.at(-1)).toMatchObject({
      ...{ ranges: 1, moved: 1, lost: 0, items: 3, bytes: 300, secondsLeft: undefined, waitsFor: undefined },
    });
    await expect(bench.owner.drain()).rejects.toMatchObject({ code: 'CLOSED' });
  });

  it('leaves at once if no owner could take the keys, and counts what is lost', async () => {
    const bench = movingOwner();
    const startedAt = bench.runtime.now();
    const draining = bench.owner.drain();
    await turn();
    bench.tell({ targets: 0 });
    await turn();
    await turn();
    expect(bench.report().leaving).toBe(true);
    expect(bench.runtime.now()).toBe(startedAt);
    bench.tell({ spans: [], admitted: false });
    expect(await draining).toEqual({ moved: 0, lost: 1 });
  });

  it('waits for such an owner until its end, if it is to stay, then throws and serves on', async () => {
    const bench = movingOwner();
    const draining = bench.owner.drain({ timeoutMs: 3_000, otherwise: 'stay' });
    const failed = expect(draining).rejects.toMatchObject({
      ...{ name: 'UnavailableError', code: 'NOT_DRAINED', retryable: true },
      details: { progress: { ranges: 1, moved: 0, lost: 0, waitsFor: 'target' } },
    });
    await turn();
    bench.tell({ targets: 0 });
    bench.runtime.pass(2_900);
    bench.tell({ targets: 0 });
    expect(bench.owner.status().intent).toBe('draining');
    bench.runtime.pass(100);
    await failed;
    expect(bench.owner.status()).toMatchObject({ intent: 'stay', isReady: true });
    expect(bench.owner.check(LEFT)).toBe(5);
    expect(bench.report().intent).toBe('stay');
  });

  it('neither aborts work nor lets go of anything, if it is to stay', async () => {
    const bench = movingOwner();
    let [isAborted, finish] = [false, (): void => {}];
    const working = bench.owner.guard(LEFT, ({ signal }) => {
      signal.addEventListener('abort', () => (isAborted = true));
      return new Promise<string>((resolve) => (finish = () => resolve('done')));
    });
    const draining = bench.owner.drain({ timeoutMs: 1_000, otherwise: 'stay' });
    const failed = expect(draining).rejects.toMatchObject({
      details: { progress: { ranges: 1, moved: 0, lost: 0 } },
    });
    await turn();
    bench.order({ targets: 1 });
    bench.caughtUp();
    await turn();
    bench.runtime.pass(99);
    await turn();
    expect(isAborted).toBe(false);
    bench.runtime.pass(901);
    await failed;
    finish();
    expect(await working).toBe('done');
    expect(isAborted).toBe(false);
    expect(bench.owner.check(LEFT)).toBe(5);
  });

  it('is over when the owner is closed, although no Manager answers', async () => {
    const bench = movingOwner();
    const draining = bench.owner.drain({ timeoutMs: 600_000 });
    await turn();
    bench.tell({ targets: 1 });
    const closed = bench.owner.close();
    for (let second = 0; second < 60; second += 1) {
      bench.runtime.pass(1_000);
      await turn();
    }
    await closed;
    expect(await draining).toEqual({ moved: 0, lost: 1 });
  });

  it('releases what is left at its end, and tells of the loss', async () => {
    const lost: unknown[] = [];
    const bench = movingOwner({ onLost: (ranges) => lost.push(ranges) });
    const draining = bench.owner.drain({ timeoutMs: 3_000 });
    await turn();
    bench.tell({ targets: 1 });
    bench.runtime.pass(3_000);
    await turn();
    await turn();
    bench.tell({ spans: [], admitted: false });
    expect(await draining).toEqual({ moved: 0, lost: 1 });
    expect(lost).toHaveLength(1);
  });

  it('is taken back by its signal, with its reason, and the owner serves on', async () => {
    const bench = movingOwner();
    const stop = new AbortController();
    const draining = bench.owner.drain({ signal: stop.signal });
    const failed = expect(draining).rejects.toThrow('changed my mind');
    await turn();
    stop.abort(new Error('changed my mind'));
    await failed;
    expect(bench.owner.status().intent).toBe('stay');
    await expect(bench.owner.drain({ signal: stop.signal })).rejects.toThrow('changed my mind');
    expect(bench.owner.status().intent).toBe('stay');
  });

  it('is one drain, however often it is asked for: the earlier end counts, and losing before staying', async () => {
    const bench = movingOwner();
    const first = bench.owner.drain({ timeoutMs: 60_000, otherwise: 'stay' });
    await turn();
    bench.tell({ targets: 1 });
    const second = bench.owner.drain({ timeoutMs: 1_000, otherwise: 'lose' });
    bench.runtime.pass(1_000);
    await turn();
    await turn();
    bench.tell({ spans: [], admitted: false });
    expect(await Promise.all([first, second])).toEqual([
      { moved: 0, lost: 1 },
      { moved: 0, lost: 1 },
    ]);
  });

  it('counts a range as moved once all of it has, and one in part as lost', async () => {
    const bench = movingOwner();
    const draining = bench.owner.drain({ timeoutMs: 2_000 });
    await turn();
    const half = { start: 0n, end: HALF, number: 5 };
    const rest = { start: HALF, end: RING_SIZE, number: 5 };
    const move = { ...half, ticket: 't', to: 'b.1', toName: 'b', address: 'x:1' };
    bench.tell({ spans: [half, rest], moves: [move], targets: 1 });
    bench.caughtUp();
    await turn();
    bench.acknowledged();
    bench.tell({ spans: [rest], targets: 1 });
    bench.runtime.pass(2_000);
    await turn();
    await turn();
    bench.tell({ spans: [], admitted: false });
    expect(await draining).toEqual({ moved: 0, lost: 1 });
  });

  it('says what it waits for, at most every 100 ms', async () => {
    const bench = movingOwner();
    const waits: DrainProgress['waitsFor'][] = [];
    const draining = bench.owner.drain({ onProgress: ({ waitsFor }) => waits.push(waitsFor) });
    const settled = draining.catch(() => {});
    await turn();
    bench.tell({ targets: 1 });
    bench.runtime.pass(100);
    await turn();
    expect(waits).toEqual(['target']);
    bench.order({ targets: 1 });
    bench.runtime.pass(100);
    await turn();
    expect(waits).toEqual(['target', undefined]);
    let finish = (): void => {};
    const working = bench.owner.guard(LEFT, () => new Promise<void>((resolve) => (finish = resolve)));
    bench.caughtUp();
    await turn();
    bench.runtime.pass(99);
    bench.runtime.pass(1);
    await turn();
    expect(waits.at(-1)).toBe('work');
    bench.runtime.pass(7_000);
    await turn();
    expect(waits.at(-1)).toBe('manager');
    finish();
    await working.catch(() => {});
    bench.runtime.pass(1_000);
    await turn();
    await turn();
    bench.tell({ spans: [], admitted: false });
    await settled;
  });

  it.each([
    ['disposing', (owner: AsyncDisposable) => owner[Symbol.asyncDispose]()],
    ['closing', (owner: { close(): Promise<void> }) => owner.close()],
  ] as const)('is what %s does, bounded by its time', async (_, end) => {
    const bench = movingOwner({}, { drainTimeoutMs: 4_000 });
    const disposed = end(bench.owner);
    await turn();
    expect(bench.report()).toMatchObject({ intent: 'draining', leaving: false });
    await moveAll(bench);
    await disposed;
    expect(bench.closed).toEqual([true]);
  });

  it('refuses options that are none, before anything begins', async () => {
    const { owner } = movingOwner();
    await expect(owner.drain({ otherwise: 'perhaps' as 'lose' })).rejects.toMatchObject({
      code: 'INVALID_OPTION',
    });
    await expect(owner.drain({ timeoutMs: 0 })).rejects.toMatchObject({ code: 'INVALID_OPTION' });
    expect(owner.status().intent).toBe('stay');
  });
});
