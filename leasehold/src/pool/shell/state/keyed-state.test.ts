import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { keyHash } from '../../../runtime/keys/hash.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { type KeyedItem, keyedState } from './keyed-state.ts';

const LOWER = RangeSet.of([{ start: 0n, end: RING_SIZE / 2n }]);
const UPPER = RangeSet.of([{ start: RING_SIZE / 2n, end: RING_SIZE }]);
const ALL = RangeSet.everything;
const KEYS = Array.from({ length: 40 }, (_, index) => `key-${index}`);
const isLower = (key: string): boolean => keyHash(key) < RING_SIZE / 2n;
const IN_LOWER = KEYS.filter(isLower);
const IN_UPPER = KEYS.filter((key) => !isLower(key));

/** An application that keeps its state in a `Map`, and says what it changes. */
function application(keys: readonly string[] = []) {
  const map = new Map(keys.map((key) => [key, `${key} at first`]));
  const state = keyedState<string>({
    *entries(wanted) {
      for (const entry of map) if (wanted.has(entry[0])) yield entry;
    },
    read: (key) => map.get(key),
    write: (key, value) => map.set(key, value),
    forget: (gone) => {
      for (const key of map.keys()) if (gone.has(key)) map.delete(key);
    },
  });
  const set = (key: string, value: string): void => {
    map.delete(key);
    map.set(key, value);
    state.touched(key);
  };
  const remove = (key: string): void => {
    map.delete(key);
    state.touched(key);
  };
  return { map, state, set, remove };
}

const { signal } = new AbortController();

async function all<Item>(batches: AsyncIterable<readonly Item[]>, between = (): void => {}): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) {
    items.push(...batch);
    between();
  }
  return items;
}

describe('a snapshot of keyed state', () => {
  it('has each entry of its keys once, and no other', async () => {
    const { state } = application(KEYS);
    const items = await all(state.snapshot(LOWER, signal));
    expect(items).toEqual(IN_LOWER.map((key) => [key, `${key} at first`]));
  });

  it('notes changes from its call on, before the first item is read', async () => {
    const { state, set } = application(KEYS);
    const batches = state.snapshot(ALL, signal);
    set('key-3', 'changed');
    expect((await all(batches)).some(([key]) => key === 'key-3')).toBe(false);
    expect(state.changes(ALL)).toEqual([['key-3', 'changed']]);
  });

  it('ends although an entry is put at the end for each that is read', async () => {
    const many = Array.from({ length: 5_000 }, (_, index) => `many-${index}`);
    const { state, set, map } = application(many);
    let batches = 0;
    const items = await all(state.snapshot(ALL, signal), () => {
      batches += 1;
      if (batches > 1_000) throw new Error('the snapshot does not end');
      for (const key of [...map.keys()].slice(0, 700)) set(key, 'again');
    });
    const read = new Map<string, string | undefined>([...items, ...state.changes(ALL)]);
    expect(items.length).toBeLessThanOrEqual(many.length);
    expect(new Map([...read].sort())).toEqual(new Map([...map].sort()));
  });

  it('fails as the application fails, and when it is given up', async () => {
    const state = keyedState<string>({
      entries: () => {
        throw new RangeError('no');
      },
      ...{ read: () => undefined, write: () => {}, forget: () => {} },
    });
    await expect(all(state.snapshot(ALL, signal))).rejects.toThrow(RangeError);
    const given = application(KEYS);
    await expect(all(given.state.snapshot(ALL, AbortSignal.abort(new Error('up'))))).rejects.toThrow('up');
  });

  it('takes the place of an earlier one of the same keys, which never looks whole', async () => {
    const { state, set } = application(KEYS);
    const earlier = state.snapshot(ALL, signal);
    const later = state.snapshot(ALL, signal);
    set('key-1', 'new');
    await expect(all(earlier)).rejects.toThrow(expect.objectContaining({ code: 'SNAPSHOT_OVER' }));
    expect((await all(later)).length).toBe(KEYS.length - 1);
    expect(state.changes(ALL)).toEqual([['key-1', 'new']]);
  });

  it('goes on beside one of other keys, each with changes of its own', async () => {
    const { state, set } = application(KEYS);
    const [lower, upper] = [state.snapshot(LOWER, signal), state.snapshot(UPPER, signal)];
    await all(lower);
    const [low = '', high = ''] = [IN_LOWER[0], IN_UPPER[0]];
    for (const key of [low, high]) set(key, 'new');
    expect(state.changes(LOWER)).toEqual([[low, 'new']]);
    state.done(LOWER, false);
    expect((await all(upper)).length).toBe(IN_UPPER.length - 1);
    expect(state.changes(UPPER)).toEqual([[high, 'new']]);
  });
});

describe('changes of keyed state', () => {
  it('are told once, with the last touched last, and deletions too', async () => {
    const { state, set, remove } = application(KEYS);
    await all(state.snapshot(ALL, signal));
    for (const key of ['key-1', 'key-2', 'key-1']) set(key, 'x');
    remove('key-3');
    expect(state.changes(ALL)).toEqual([
      ['key-2', 'x'],
      ['key-1', 'x'],
      ['key-3', undefined],
    ]);
    expect(state.changes(ALL)).toEqual([]);
  });

  it('are refused without a snapshot, and after it is done', async () => {
    const { state } = application(KEYS);
    const over = expect.objectContaining({ code: 'SNAPSHOT_OVER' });
    expect(() => state.changes(ALL)).toThrow(over);
    const batches = state.snapshot(ALL, signal);
    expect(() => state.changes(LOWER)).toThrow(over);
    state.done(ALL, false);
    expect(() => state.changes(ALL)).toThrow(over);
    await expect(all(batches)).rejects.toThrow(over);
  });

  it('are of texts', () => {
    expect(() => application().state.touched(7 as never)).toThrow(
      expect.objectContaining({ code: 'INVALID_KEY' }),
    );
  });
});

describe('keys that have moved', () => {
  it('are forgotten at the source, and those that stay are not', async () => {
    const { state, map } = application(KEYS);
    await all(state.snapshot(LOWER, signal));
    state.done(LOWER, true);
    expect([...map.keys()]).toEqual(IN_UPPER);
  });

  it('are written at the target at the commit, and not before', () => {
    const target = application(IN_UPPER);
    const stage = target.state.stage(LOWER);
    void stage.add([
      ['key-a', '1'],
      ['key-b', '2'],
    ]);
    void stage.add([
      ['key-a', '3'],
      ['key-b', undefined],
    ]);
    expect([...target.map.keys()]).toEqual(IN_UPPER);
    stage.commit(ALL, 9);
    expect([...target.map]).toEqual([['key-a', '3']]);
  });

  it('take the place of what the target kept from an earlier time', () => {
    const target = application(KEYS);
    const stage = target.state.stage(LOWER);
    void stage.add([[IN_LOWER[0] ?? '', 'moved']]);
    stage.commit(LOWER, 9);
    expect([...target.map.keys()]).toEqual([...IN_UPPER, IN_LOWER[0]]);
  });

  it('leave nothing if they do not come', () => {
    const target = application();
    const stage = target.state.stage(LOWER);
    void stage.add([['key-a', '1']]);
    stage.discard();
    expect(() => stage.commit(LOWER, 9)).toThrow();
    expect(target.map.size).toBe(0);
  });

  it('are at the target what they were at the source, whatever changed between batches', async () => {
    const step = fc.record({ key: fc.nat(KEYS.length - 1), isRemoved: fc.boolean() });
    const rounds = fc.array(fc.array(step, { maxLength: 12 }), { minLength: 1, maxLength: 6 });
    await fc.assert(
      fc.asyncProperty(fc.subarray(KEYS), rounds, async (keys, [meanwhile = [], ...after]) => {
        const [source, target] = [application(keys), application()];
        let values = 0;
        const change = (steps: readonly { key: number; isRemoved: boolean }[]): void => {
          for (const { key, isRemoved } of steps)
            if (isRemoved) source.remove(KEYS[key] as string);
            else source.set(KEYS[key] as string, `value ${(values += 1)}`);
        };
        const stage = target.state.stage(LOWER);
        const batches = source.state.snapshot(LOWER, signal);
        change(meanwhile.slice(0, 6));
        for await (const batch of batches) {
          void stage.add(batch);
          change(meanwhile.slice(6));
        }
        for (const steps of after) {
          void stage.add(source.state.changes(LOWER));
          change(steps);
        }
        const last: readonly KeyedItem<string>[] = source.state.changes(LOWER);
        void stage.add(last);
        stage.commit(LOWER, 9);
        const expected = [...source.map].filter(([key]) => isLower(key));
        expect([...target.map].sort()).toEqual(expected.sort());
        source.state.done(LOWER, true);
        expect([...source.map.keys()].filter(isLower)).toEqual([]);
      }),
    );
  });
});
