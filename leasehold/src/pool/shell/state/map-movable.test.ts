import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Key } from '../../../runtime/keys/hash.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { instant } from '../../../runtime/time.ts';
import { HALVES, half, LOWER, mapBench, UPPER, whole } from '../testing/map-bench.ts';
import type { LeasedMapOptions } from './leased-map-options.ts';
import type { MapItem, MapStage } from './map-movable.ts';
import type { ItemCodec } from './movable.ts';

const { signal } = new AbortController();
const ALL = RangeSet.everything;
const LOW = RangeSet.of([HALVES[0]]);
const HIGH = RangeSet.of([HALVES[1]]);
const [a = '', b = '', c = '', d = ''] = LOWER;

type Bench<T> = ReturnType<typeof mapBench<T>>;

/** An owner that holds everything under 5, and another one that holds nothing. */
function pair<T = string>(options: LeasedMapOptions<T> = {}, atTarget = options) {
  const [source, target] = [mapBench<T>(options, 'carts'), mapBench<T>(atTarget, 'carts')];
  target.lease();
  return { source, target };
}

async function all<Item>(batches: AsyncIterable<readonly Item[]>, between = (): void => {}): Promise<Item[]> {
  const items: Item[] = [];
  for await (const batch of batches) {
    items.push(...batch);
    between();
  }
  return items;
}

/** As over a wire. */
function carry<T>(from: Bench<T>, to: Bench<T>, stage: MapStage<T>, items: readonly MapItem<T>[]): void {
  const bytes = items.map((item) => from.map.movable.codec.encode(item));
  stage.add(bytes.map((each) => to.map.movable.codec.decode(each)));
}

/** The whole of a move of these keys, which the target gets under 9. */
async function move<T>(
  { source, target }: { source: Bench<T>; target: Bench<T> },
  keys = ALL,
): Promise<void> {
  const stage = target.map.movable.stage(keys);
  carry(source, target, stage, await all(source.map.movable.snapshot(keys, signal)));
  carry(source, target, stage, source.map.movable.changes(keys));
  source.lease();
  target.lease(whole(9));
  stage.commit(keys, 9);
  source.map.movable.done(keys, true);
}

const entriesOf = <T>({ map }: Bench<T>): (readonly [Key, T])[] =>
  [...map.entries()].sort(([one], [other]) => (one < other ? -1 : 1));

describe('a map that moves', () => {
  it('has at the target what it had at the source, with the versions', async () => {
    const both = pair();
    const { source, target } = both;
    for (const key of LOWER) source.map.set(source.hold(key), `${key} here`);
    const versions = LOWER.map((key) => source.map.versionOf(source.hold(key)));
    await move(both);
    expect(LOWER.map((key) => target.map.get(target.hold(key)))).toEqual(LOWER.map((key) => `${key} here`));
    expect(LOWER.map((key) => target.map.versionOf(target.hold(key)))).toEqual(versions);
    expect([source.map.size, target.map.size]).toEqual([0, LOWER.length]);
    expect(target.map.replace(target.hold(a), 'next', { ifVersion: versions[0] })).toBe(true);
    expect(versions).not.toContain(target.map.versionOf(target.hold(a)));
  });

  it('is served by the source until the freeze, and shows nothing at the target before the commit', async () => {
    const { source, target } = pair();
    for (const key of [a, b]) source.map.set(source.hold(key), 'old');
    const items = await all(source.map.movable.snapshot(ALL, signal));
    const stage = target.map.movable.stage(ALL);
    carry(source, target, stage, items);
    source.map.set(source.hold(a), 'new');
    source.map.delete(source.hold(b));
    expect([source.map.get(source.hold(a)), source.map.peek(b)]).toEqual(['new', undefined]);
    target.lease(whole(9));
    expect([target.map.get(target.hold(a)), target.map.peek(a), entriesOf(target)]).toEqual([
      undefined,
      undefined,
      [],
    ]);
    carry(source, target, stage, source.map.movable.changes(ALL));
    stage.commit(ALL, 9);
    expect([target.map.peek(a), entriesOf(target)]).toEqual([
      { value: 'new', isCurrent: true },
      [[a, 'new']],
    ]);
  });

  it('takes a value although arrivals fill the map, if it drops the oldest when it is full; and no second one', async () => {
    const { source, target } = pair({ maxEntries: 2, whenFull: 'evict' });
    for (const key of [a, b]) source.map.set(source.hold(key), 'moves');
    target.lease(half(1, 5));
    const stage = target.map.movable.stage(LOW);
    carry(source, target, stage, await all(source.map.movable.snapshot(LOW, signal)));
    const [one = '', another = ''] = UPPER;
    for (const key of [one, another]) target.map.set(target.hold(key), 'set');
    expect(target.map.size).toBe(3);
    expect([one, another].map((key) => target.map.get(target.hold(key)))).toEqual([undefined, 'set']);
  });

  it('forgets the keys that moved, also when others of the same snapshot came back before', async () => {
    const { source } = pair();
    const [upper = ''] = UPPER;
    for (const key of [a, upper]) source.map.set(source.hold(key), 'here');
    await all(source.map.movable.snapshot(ALL, signal));
    source.lease(half(0, 7, 5));
    source.map.movable.done(LOW, false);
    expect(source.map.peek(upper)?.value).toBe('here');
    source.map.movable.done(HIGH, true);
    expect([source.map.peek(upper), source.map.get(source.hold(a))]).toEqual([undefined, 'here']);
  });

  it('notes changes from the call of snapshot on, before the first item is read', async () => {
    const { source } = pair({ ttlMs: 1_000 });
    for (const key of [a, b, c, d]) source.map.set(source.hold(key), 'old');
    const batches = source.map.movable.snapshot(ALL, signal);
    source.map.set(source.hold(a), 'new');
    source.map.delete(source.hold(b));
    source.map.touch(source.hold(c));
    expect((await all(batches)).map(([key]) => key)).toEqual([d]);
    expect(source.map.movable.changes(ALL).map((item) => item.slice(0, 2))).toEqual([
      [a, 'new'],
      [b],
      [c, 'old'],
    ]);
    expect(source.map.movable.changes(ALL)).toEqual([]);
  });

  it('ends its snapshot although every entry is put at the end while it is read', async () => {
    const { source } = pair({ ttlMs: 1_000 });
    const keys = Array.from({ length: 6_000 }, (_, index) => `many ${index}`);
    for (const key of keys) source.map.set(source.hold(key), 'old');
    let batches = 0;
    const items = await all(source.map.movable.snapshot(ALL, signal), () => {
      batches += 1;
      if (batches > 100) throw new Error('the snapshot does not end');
      for (const key of keys) source.map.set(source.hold(key), 'new');
    });
    const read = [...items, ...source.map.movable.changes(ALL)].map(([key]) => key);
    expect(new Set(read)).toEqual(new Set(keys));
  });

  it('moves a part of its keys, and serves the rest', async () => {
    const both = pair();
    const { source, target } = both;
    for (const key of [...LOWER, ...UPPER]) source.map.set(source.hold(key), key);
    const stage = target.map.movable.stage(LOW);
    carry(source, target, stage, await all(source.map.movable.snapshot(LOW, signal)));
    source.map.set(source.hold(UPPER[0]), 'not of this move');
    carry(source, target, stage, source.map.movable.changes(LOW));
    source.lease(half(1, 5));
    target.lease(half(0, 9));
    stage.commit(LOW, 9);
    source.map.movable.done(LOW, true);
    source.pass(10);
    expect(entriesOf(target).map(([key]) => key)).toEqual([...LOWER].sort());
    expect(entriesOf(source).map(([key]) => key)).toEqual([...UPPER].sort());
    expect([source.map.size, target.map.size]).toEqual([UPPER.length, LOWER.length]);
  });

  it('stays as it was if the keys do not move', async () => {
    const { source, target } = pair();
    for (const key of LOWER) source.map.set(source.hold(key), key);
    const stage = target.map.movable.stage(ALL);
    carry(source, target, stage, await all(source.map.movable.snapshot(ALL, signal)));
    expect(target.map.size).toBe(LOWER.length);
    stage.discard();
    source.map.movable.done(ALL, false);
    expect([source.map.size, target.map.size]).toEqual([LOWER.length, 0]);
    expect(source.map.get(source.hold(a))).toBe(a);
    expect(() => source.map.movable.changes(ALL)).toThrow(expect.objectContaining({ code: 'SNAPSHOT_OVER' }));
  });

  it('takes nothing of an earlier tenure along, and leaves nothing of one at the target', async () => {
    const both = pair();
    const { source, target } = both;
    target.lease(whole(3));
    for (const key of [a, d]) target.map.set(target.hold(key), 'long ago');
    target.lease();
    for (const key of [a, b, c]) source.map.set(source.hold(key), 'lost');
    source.lease(whole(7));
    source.map.set(source.hold(b), 'kept');
    await move(both);
    expect(entriesOf(target)).toEqual([[b, 'kept']]);
    expect([target.map.get(target.hold(a)), target.map.get(target.hold(d)), target.map.size]).toEqual([
      undefined,
      undefined,
      1,
    ]);
  });

  it('takes no entry along of keys that were lost and have returned, although it is not swept yet', async () => {
    const both = pair();
    const { source, target } = both;
    for (const key of [...LOWER, ...UPPER]) source.map.set(source.hold(key), key);
    source.map.forget([half(1, 5)]);
    source.lease(half(0, 5), half(1, 7));
    expect(source.map.size).toBe(LOWER.length + UPPER.length);
    await move(both);
    expect(entriesOf(target).map(([key]) => key)).toEqual([...LOWER].sort());
  });

  it('takes the sets of a tenure whose entries nobody has asked for yet', async () => {
    const both = pair();
    const { source, target } = both;
    const items = all(source.map.movable.snapshot(ALL, signal));
    source.map.set(source.hold(a), 'the first of all');
    const stage = target.map.movable.stage(ALL);
    carry(source, target, stage, await items);
    carry(source, target, stage, source.map.movable.changes(ALL));
    target.lease(whole(9));
    stage.commit(ALL, 9);
    expect(entriesOf(target)).toEqual([[a, 'the first of all']]);
  });

  it('fails if the keys were lost meanwhile, and drops nothing of the next tenure', async () => {
    const { source } = pair();
    for (const key of [a, b]) source.map.set(source.hold(key), 'old');
    await all(source.map.movable.snapshot(ALL, signal));
    source.map.set(source.hold(a), 'changed');
    source.map.forget([whole(5)]);
    source.lease(whole(8));
    expect(() => source.map.movable.changes(ALL)).toThrow(expect.objectContaining({ code: 'SNAPSHOT_OVER' }));
    source.map.set(source.hold(a), 'new');
    source.map.movable.done(ALL, true);
    expect(entriesOf(source)).toEqual([[a, 'new']]);
  });

  it('fails if the keys were lost meanwhile without a word, and are held again', async () => {
    const { source } = pair();
    for (const key of [a, b]) source.map.set(source.hold(key), 'old');
    await all(source.map.movable.snapshot(ALL, signal));
    source.lease(whole(8));
    source.map.set(source.hold(a), 'new');
    expect(() => source.map.movable.changes(ALL)).toThrow(expect.objectContaining({ code: 'SNAPSHOT_OVER' }));
  });

  it('reads several ranges side by side, and a later snapshot takes the place of an earlier one', async () => {
    const { source } = pair();
    for (const key of [...LOWER, ...UPPER]) source.map.set(source.hold(key), 'old');
    const [low, high] = [source.map.movable.snapshot(LOW, signal), source.map.movable.snapshot(HIGH, signal)];
    const again = source.map.movable.snapshot(LOW, signal);
    source.map.set(source.hold(a), 'new');
    await expect(all(low)).rejects.toThrow(expect.objectContaining({ code: 'SNAPSHOT_OVER' }));
    expect((await all(high)).length).toBe(UPPER.length);
    expect((await all(again)).length).toBe(LOWER.length - 1);
    expect(source.map.movable.changes(LOW).map(([key]) => key)).toEqual([a]);
    expect(source.map.movable.changes(HIGH)).toEqual([]);
  });

  it('comes under several numbers, or in a part only, as the grant says', async () => {
    const { source, target } = pair({ maxBytes: 10_000, sizeOf: () => 10 });
    for (const key of [...LOWER, ...UPPER]) source.map.set(source.hold(key), key);
    const items = await all(source.map.movable.snapshot(ALL, signal));
    const [first, second] = [target.map.movable.stage(ALL), target.map.movable.stage(ALL)];
    for (const stage of [first, second]) carry(source, target, stage, items);
    target.lease(half(0, 9), half(1, 11));
    first.commit(LOW, 9);
    first.commit(HIGH, 11);
    second.discard();
    expect(entriesOf(target).map(([key]) => key)).toEqual([...LOWER, ...UPPER].sort());
    expect(target.map.size).toBe(40);
    target.map.forget([half(0, 9)]);
    target.pass(10);
    expect([target.map.size, target.map.get(target.hold(UPPER[0]))]).toEqual([UPPER.length, UPPER[0]]);

    const other = pair().target;
    const part = other.map.movable.stage(ALL);
    carry(source, other, part, items);
    other.lease(half(1, 11));
    part.commit(HIGH, 11);
    other.pass(10);
    expect([other.map.size, entriesOf(other).length]).toEqual([UPPER.length, UPPER.length]);
  });
});

describe('time of entries that move', () => {
  it('goes on where it was, whatever the clocks of the two processes say', async () => {
    const both = pair({ ttlMs: 1_000 });
    const { source, target } = both;
    target.clock.now = instant(70_000_000);
    source.map.set(source.hold(a), 'old');
    source.pass(400);
    source.map.set(source.hold(b), 'young');
    await move(both);
    target.pass(599);
    expect(entriesOf(target)).toEqual(
      [
        [a, 'old'],
        [b, 'young'],
      ].sort(),
    );
    target.pass(1);
    expect(entriesOf(target)).toEqual([[b, 'young']]);
    target.pass(400);
    expect(entriesOf(target)).toEqual([]);
    target.pass(100);
    expect(target.map.size).toBe(0);
  });

  it('is not begun anew by what another process says, nor longer than the own limit', async () => {
    const both = pair<string>({ ttlMs: 1_000 }, { ttlMs: 300 });
    const { source, target } = both;
    source.map.set(source.hold(a), 'here');
    await move(both);
    target.pass(300);
    expect(entriesOf(target)).toEqual([]);
  });

  it('is that of the target if the source had none', async () => {
    const both = pair<string>({}, { ttlMs: 300 });
    const { source, target } = both;
    source.map.set(source.hold(a), 'here');
    await move(both);
    target.pass(299);
    expect(entriesOf(target).length).toBe(1);
    target.pass(1);
    expect(entriesOf(target)).toEqual([]);
  });

  it('ends an entry for good: what ended at the source is a deletion at the target', async () => {
    const { source, target } = pair({ ttlMs: 1_000 });
    for (const key of [a, b]) source.map.set(source.hold(key), 'old');
    const items = all(source.map.movable.snapshot(ALL, signal));
    const stage = target.map.movable.stage(ALL);
    carry(source, target, stage, await items);
    source.clock.now = instant(source.clock.now + 1_000);
    expect(source.map.peek(a)).toBeUndefined();
    const last = source.map.movable.changes(ALL);
    expect(last).toEqual([[a], [b]]);
    carry(source, target, stage, last);
    target.lease(whole(9));
    stage.commit(ALL, 9);
    expect([entriesOf(target), target.map.size]).toEqual([[], 0]);
  });

  it('keeps the order in which entries end, also of two tenures that move at once', async () => {
    const both = pair({ ttlMs: 1_000, maxEntries: 4, whenFull: 'evict' });
    const { source, target } = both;
    source.lease(half(0, 5), half(1, 6));
    source.map.set(source.hold(UPPER[0]), 'first');
    source.pass(10);
    source.map.set(source.hold(LOWER[0]), 'second');
    source.pass(10);
    source.map.set(source.hold(LOWER[1]), 'third');
    await move(both);
    for (const key of LOWER.slice(2, 5)) target.map.set(target.hold(key), 'new');
    expect(
      entriesOf(target)
        .map(([, value]) => value)
        .sort(),
    ).toEqual(['new', 'new', 'new', 'third']);
  });
});

describe('a map without room for what arrives', () => {
  it('says so before anything is shown, and counts what is staged', () => {
    const { source, target } = pair<string>({}, { maxEntries: 2 });
    target.lease(half(1, 3));
    target.map.set(target.hold(UPPER[0]), 'mine');
    const stage = target.map.movable.stage(LOW);
    carry(source, target, stage, [[a, 'a', 5, 1, undefined]]);
    const full = expect.objectContaining({ code: 'FULL', retryable: true });
    expect(() => stage.add([[b, 'b', 5, 2, undefined]])).toThrow(full);
    expect(() => target.map.set(target.hold(UPPER[1]), 'mine too')).toThrow(full);
    stage.add([[a, 'again', 5, 3, undefined]]);
    stage.discard();
    target.map.set(target.hold(UPPER[1]), 'mine too');
    expect([target.map.size, entriesOf(target).length]).toEqual([2, 2]);
  });

  it('measures values itself, and refuses one that is too large for it', () => {
    const sizeOf = (value: string): number => value.length;
    const { target } = pair<string>({}, { maxBytes: 10, sizeOf });
    const stage = target.map.movable.stage(ALL);
    stage.add([[a, '123456', 5, 1, undefined]]);
    expect(() => stage.add([[b, '12345', 5, 2, undefined]])).toThrow(
      expect.objectContaining({ code: 'FULL' }),
    );
    expect(() => stage.add([[c, '12345678901', 5, 2, undefined]])).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE' }),
    );
    stage.add([[a], [b, '1234567890', 5, 2, undefined]]);
    expect(target.map.size).toBe(1);
  });

  it('evicts its oldest entries, if it evicts, and none that arrive', () => {
    const { target } = pair<string>({}, { maxEntries: 2, whenFull: 'evict' });
    target.lease(half(1, 3));
    for (const key of UPPER.slice(0, 2)) target.map.set(target.hold(key), 'mine');
    const stage = target.map.movable.stage(LOW);
    stage.add([
      [a, 'a', 5, 1, undefined],
      [b, 'b', 5, 2, undefined],
    ]);
    expect(() => stage.add([[c, 'c', 5, 3, undefined]])).toThrow(expect.objectContaining({ code: 'FULL' }));
    target.lease(half(0, 9), half(1, 3));
    stage.commit(LOW, 9);
    expect(entriesOf(target).map(([key]) => key)).toEqual([a, b].sort());
    target.map.set(target.hold(c), 'new');
    expect(entriesOf(target).map(([key]) => key)).toEqual([b, c].sort());
  });
});

describe('items of a map', () => {
  it('that would not arrive as they left are refused with their key', () => {
    const { source } = pair<unknown>();
    expect(() => source.map.movable.codec.encode(['room-7', new (class Room {})(), 5, 1, undefined])).toThrow(
      expect.objectContaining({
        code: 'INVALID_ITEM',
        message: expect.stringContaining('"room-7": value is an instance of Room'),
      }),
    );
  });

  it('have values by the codec of the map, which reads an older form too', async () => {
    interface Cart {
      readonly lines: readonly string[];
    }
    const text = (bytes: Uint8Array): string => new TextDecoder().decode(bytes);
    const older: ItemCodec<Cart> = {
      encode: ({ lines }) => new TextEncoder().encode(lines.join(' ')),
      decode: (bytes) => ({ lines: text(bytes).split(' ') }),
    };
    const newer: ItemCodec<Cart> = {
      encode: (cart) => new TextEncoder().encode(JSON.stringify(cart)),
      decode: (bytes) =>
        text(bytes).startsWith('{') ? (JSON.parse(text(bytes)) as Cart) : older.decode(bytes),
    };
    const both = pair<Cart>({ codec: older }, { codec: newer, version: 2, reads: [1] });
    const { source, target } = both;
    expect([source.map.movable.version, source.map.movable.reads]).toEqual([1, undefined]);
    expect([target.map.movable.version, target.map.movable.reads]).toEqual([2, [1]]);
    source.map.set(source.hold(a), { lines: ['pear', 'plum'] });
    source.map.set(source.hold(b), { lines: ['fig'] });
    const batches = source.map.movable.snapshot(ALL, signal);
    source.map.delete(source.hold(b));
    const stage = target.map.movable.stage(ALL);
    carry(source, target, stage, await all(batches));
    carry(source, target, stage, source.map.movable.changes(ALL));
    target.lease(whole(9));
    stage.commit(ALL, 9);
    expect(entriesOf(target)).toEqual([[a, { lines: ['pear', 'plum'] }]]);
  });

  it.each([
    ['no list', { key: a }],
    ['a key that is a number', [7]],
    ['a key that does not move', [UPPER[0]]],
    ['a version that is no number', [a, 'value', 'x', 1, undefined]],
    ['a count below 0', [a, 'value', 5, -1, undefined]],
    ['a time that is a text', [a, 'value', 5, 1, 'soon']],
    ['a time that is none', [a, 'value', 5, 1, Number.NaN]],
  ])('are checked where they arrive: %s', (_, item) => {
    const stage = pair().target.map.movable.stage(LOW);
    expect(() => stage.add([item as never])).toThrow(expect.objectContaining({ code: 'MALFORMED_MESSAGE' }));
  });

  it('are frozen in development, as those that are set', async () => {
    const both = pair<{ lines: string[] }>();
    const { source, target } = both;
    source.map.set(source.hold(a), { lines: [] });
    await move(both);
    expect(() => target.map.get(target.hold(a))?.lines.push('b')).toThrow(TypeError);
  });
});

describe('a source that is used while it moves', () => {
  it('and its target have the same entries in the end, in the order in which they end', async () => {
    const keys = [...LOWER.slice(0, 8), ...UPPER.slice(0, 3)];
    const step = fc.record({
      do: fc.constantFrom('set', 'set', 'delete', 'touch', 'pass', 'look'),
      key: fc.nat(keys.length - 1),
    });
    const rounds = fc.array(fc.array(step, { maxLength: 15 }), { minLength: 2, maxLength: 6 });
    const settings = fc.constantFrom<LeasedMapOptions<string>>(
      {},
      { ttlMs: 50 },
      { maxEntries: 5, whenFull: 'evict' },
      { ttlMs: 50, maxEntries: 6, whenFull: 'evict' },
    );
    await fc.assert(
      fc.asyncProperty(
        settings,
        rounds,
        fc.boolean(),
        async (options, [before = [], ...after], isOneTenure) => {
          const { source, target } = pair(options, { ...options, maxEntries: undefined });
          if (!isOneTenure) source.lease(half(0, 5), half(1, 6));
          let values = 0;
          const play = (steps: readonly { do: string; key: number }[]): void => {
            for (const { do: what, key: index } of steps) {
              const held = source.hold(keys[index]);
              if (what === 'set') source.map.set(held, `value ${(values += 1)}`);
              else if (what === 'delete') source.map.delete(held);
              else if (what === 'touch') source.map.touch(held);
              else if (what === 'look') source.map.get(held);
              else {
                source.pass(7);
                target.pass(7);
              }
            }
          };
          const moving = isOneTenure ? LOW : ALL;
          play(before);
          const stage = target.map.movable.stage(moving);
          const batches = source.map.movable.snapshot(moving, signal);
          for (const steps of after) {
            play(steps);
            if (steps === after[0]) carry(source, target, stage, await all(batches));
            carry(source, target, stage, source.map.movable.changes(moving));
          }
          const expected = entriesOf(source).filter(([key]) => moving.has(key));
          const versions = expected.map(([key]) => source.map.versionOf(source.hold(key)));
          source.lease();
          target.lease(whole(9));
          stage.commit(moving, 9);
          source.map.movable.done(moving, true);
          expect(entriesOf(target)).toEqual(expected);
          expect(expected.map(([key]) => target.map.versionOf(target.hold(key)))).toEqual(versions);
          if (options.ttlMs === undefined) return;
          for (let turn = 0; turn < 10; turn += 1) {
            target.pass(7);
            target.map.set(target.hold(d), 'later');
          }
          expect(entriesOf(target)).toEqual([[d, 'later']]);
          target.pass(200);
          expect(target.map.size).toBe(0);
        },
      ),
    );
  });
});
