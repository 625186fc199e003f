import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { ManagerState } from '../../core/state.ts';
import type { TableRecord } from '../../core/table.ts';
import { changesBetween, MOST_RANGES_NAMED, reasonsIn } from './events.ts';
import { addressOf } from './source-script.ts';

const QUARTER = RING_SIZE / 4n;
const span = (from: number, to: number): { start: bigint; end: bigint } => ({
  start: BigInt(from) * QUARTER,
  end: BigInt(to) * QUARTER,
});
const join = (name: string): TableRecord => ({
  kind: 'join',
  member: { ...addressOf(name), proof: 'a secret digest' },
});
const grant = (name: string, from: number, to: number): TableRecord => ({
  kind: 'grant',
  incarnation: `${name}.1`,
  spans: [span(from, to)],
});
const batchOf = (records: readonly TableRecord[]) => ({
  term: 1,
  leader: 'm1',
  takeoverMs: 1,
  pools: [{ pool: 'p', records }],
});
const commit = (state: ManagerState, ...records: readonly TableRecord[]): ManagerState =>
  state.apply(state.position + 1, batchOf(records));
const start = commit(commit(ManagerState.empty, join('a'), join('b')), grant('a', 0, 2), grant('b', 2, 4));

/** One line an event: the kind, the owner, how many spans, how much. */
const told = (before: ManagerState, after: ManagerState, ...records: TableRecord[]): string[] =>
  changesBetween(before, after, reasonsIn([batchOf(records)])).map((event) => {
    if (event.kind === 'pool.removed') return 'removed';
    const who = event.owner?.name ?? 'nobody';
    const from = event.kind === 'pool.moved' ? `${event.from.name} to ` : '';
    const extent = 'spans' in event ? ` ${event.spans} of ${event.sharePercent} %` : '';
    return `${event.kind.slice('pool.'.length)} ${from}${who}${event.kind === 'pool.left' ? ` ${event.why}` : ''}${extent}`;
  });

describe('changes between two states', () => {
  it('are none when nothing was committed, and none of a pool that was not touched', () => {
    expect(changesBetween(start, start)).toEqual([]);
    const elsewhere = start.apply(9, { ...batchOf([]), pools: [{ pool: 'q', records: [join('c')] }] });
    expect(changesBetween(start, elsewhere)).toMatchObject([{ kind: 'pool.joined', pool: 'q' }]);
  });

  it('tell who joined and what was granted, added up by owner', () => {
    expect(told(ManagerState.empty, start)).toEqual([
      'joined a',
      'joined b',
      'granted a 1 of 50 %',
      'granted b 1 of 50 %',
    ]);
  });

  it('tell who left, why, and that what it had is lost', () => {
    const leave: TableRecord = { kind: 'leave', incarnation: 'a.1', why: 'certified' };
    expect(told(start, commit(start, leave), leave)).toEqual(['left a certified', 'lost a 1 of 50 %']);
  });

  it('do not guess why somebody left', () => {
    const after = commit(start, { kind: 'leave', incarnation: 'a.1', why: 'expired' });
    expect(changesBetween(start, after)[0]).toMatchObject({ kind: 'pool.left', why: 'unknown' });
  });

  it('tell a hand-over that kept the state from one that did not', () => {
    const moved = commit(start, { kind: 'move', incarnation: 'b.1', spans: [span(1, 2)], ticket: 't' });
    expect(told(start, moved)).toEqual(['moved a to b 1 of 25 %']);
    const taken = commit(commit(start, { kind: 'free', spans: [span(1, 2)] }), grant('b', 1, 2));
    expect(told(start, taken)).toEqual(['lost a 1 of 25 %', 'granted b 1 of 25 %']);
  });

  it('tell what an operator has ordered, each time it changes', () => {
    const ordered = commit(start, { kind: 'order', incarnation: 'a.1', order: 'cordoned' });
    const back = commit(ordered, { kind: 'order', incarnation: 'a.1', order: undefined });
    const orders = [start, ordered, back, back].map((state, index, all) =>
      changesBetween(all[index - 1] ?? ManagerState.empty, state).flatMap((event) =>
        event.kind === 'pool.ordered' ? [[event.owner.name, event.order]] : [],
      ),
    );
    expect(orders).toEqual([[], [['a', 'cordoned']], [['a', null]], []]);
  });

  it('tell that a pool was removed, and nothing of keys that nobody had', () => {
    const left = commit(
      start,
      ...(['a.1', 'b.1'] as const).map(
        (incarnation) => ({ kind: 'leave', incarnation, why: 'left' }) as const,
      ),
    );
    expect(told(left, commit(left, { kind: 'remove' }))).toEqual(['removed']);
    const elsewhere = left.apply(9, {
      ...batchOf([]),
      pools: [{ pool: 'q', records: [{ kind: 'remove' }] }],
    });
    expect(told(left, elsewhere)).toEqual([]);
  });

  it('tell what its owner gave back itself from what is gone with it', () => {
    const isPlanned = (...records: TableRecord[]): unknown => {
      const changes = changesBetween(start, commit(start, ...records), reasonsIn([batchOf(records)]));
      return changes.flatMap((event) => (event.kind === 'pool.lost' ? [event.isPlanned] : []));
    };
    expect(isPlanned({ kind: 'free', spans: [span(1, 2)] })).toEqual([true]);
    expect(isPlanned({ kind: 'leave', incarnation: 'a.1', why: 'left' })).toEqual([true]);
    for (const why of ['expired', 'certified', 'recovered'] as const)
      expect(isPlanned({ kind: 'leave', incarnation: 'a.1', why })).toEqual([false]);
  });

  it('tell a loss although the same owner has the keys again, or somebody had them only in between', () => {
    const again = commit(commit(start, { kind: 'free', spans: [span(0, 1)] }), grant('a', 0, 1));
    expect(told(start, again)).toEqual(['lost a 1 of 25 %', 'granted a 1 of 25 %']);
    const empty = commit(ManagerState.empty, join('a'));
    const between = commit(commit(empty, grant('a', 0, 1)), { kind: 'free', spans: [span(0, 1)] });
    expect(told(empty, between)).toEqual(['lost nobody 1 of 25 %']);
  });

  it('say nothing of numbers that continue others', () => {
    expect(told(start, commit(start, { kind: 'renumber', spans: [span(0, 1)] }))).toEqual([]);
  });

  it('never show what would prove a death', () => {
    expect(JSON.stringify(changesBetween(ManagerState.empty, start))).not.toContain('secret');
  });

  it('name the first few ranges and count all', () => {
    const spans = Array.from({ length: 20 }, (_, index) => {
      const at = (RING_SIZE / 40n) * BigInt(2 * index);
      return { start: at, end: at + RING_SIZE / 40n };
    });
    const before = commit(ManagerState.empty, join('a'));
    const [event] = changesBetween(before, commit(before, { kind: 'grant', incarnation: 'a.1', spans }));
    expect(event).toMatchObject({ spans: 20, sharePercent: 50 });
    expect(event).toHaveProperty('ranges.length', MOST_RANGES_NAMED);
  });

  it('write a range to the end of the ring as one that ends at 0', () => {
    const [, , , event] = changesBetween(ManagerState.empty, start);
    expect(event).toHaveProperty('ranges', [{ start: '8000000000000000', end: '0000000000000000' }]);
  });

  it('add up to what the owners have, whatever lies between', () => {
    const step = fc.tuple(fc.integer({ min: 0, max: 15 }), fc.constantFrom('a', 'b', undefined));
    fc.assert(
      fc.property(fc.array(step, { minLength: 1, maxLength: 20 }), (steps) => {
        let state = commit(ManagerState.empty, join('a'), join('b'));
        const before = state;
        for (const [sixteenth, name] of steps) {
          const at = (RING_SIZE / 16n) * BigInt(sixteenth);
          const spans = [{ start: at, end: at + RING_SIZE / 16n }];
          const isOwned = state.pool('p').rows.some((row) => row.start <= at && at < row.end && row.owner);
          if (isOwned) state = commit(state, { kind: 'free', spans });
          if (name !== undefined) state = commit(state, { kind: 'grant', incarnation: `${name}.1`, spans });
        }
        const granted = changesBetween(before, state).filter(({ kind }) => kind === 'pool.granted');
        const owned = state.pool('p').rows.filter(({ owner }) => owner !== undefined);
        const share = owned.reduce((sum, row) => sum + Number(row.end - row.start) / Number(RING_SIZE), 0);
        const sum = granted.reduce(
          (all, event) => all + ('sharePercent' in event ? event.sharePercent : 0),
          0,
        );
        expect(sum).toBeCloseTo(share * 100, 5);
      }),
      { numRuns: 100 },
    );
  });
});
