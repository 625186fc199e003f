import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Key, keyHash } from '../../../runtime/keys/hash.ts';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { RangeSet } from '../../../runtime/keys/range-set.ts';
import { instant } from '../../../runtime/time.ts';
import { HALVES, half, type Lease, LOWER, mapBench, UPPER, whole } from '../testing/map-bench.ts';
import { type LeasedMapOptions, resolveLeasedMap } from './leased-map-options.ts';

describe('state that is kept with its lease', () => {
  it('is there while the key is held, and under a number that continues the first', () => {
    const { map, hold, lease } = mapBench<{ count: number }>();
    const state = map.get(hold()) ?? map.set(hold(), { count: 0 });
    state.count += 1;
    expect(map.get(hold())).toBe(state);
    lease(whole(8, 5));
    expect(map.get(hold())).toEqual({ count: 1 });
  });

  it('is gone when somebody else can have held the key, and does not come back', () => {
    const { map, hold, lease } = mapBench();
    map.set(hold(), 'old');
    lease(whole(9));
    expect(map.get(hold())).toBeUndefined();
    map.set(hold('bob'), 'new');
    expect([map.get(hold()), map.get(hold('bob')), map.size]).toEqual([undefined, 'new', 1]);
  });

  it('is not written under the next lease by work that has lost its own', () => {
    const { map, hold, lease } = mapBench();
    const late = hold();
    lease(whole(9));
    const ifVersion = undefined;
    for (const use of [
      () => map.set(late, 'a'),
      () => map.get(late),
      () => map.delete(late),
      () => map.touch(late),
      () => map.versionOf(late),
      () => map.replace(late, 'a', { ifVersion }),
    ])
      expect(use).toThrow(
        expect.objectContaining({ code: 'LEASE_LOST', details: { key: late.key, number: 5 } }),
      );
    expect(map.get(hold())).toBeUndefined();
  });

  it('can be deleted', () => {
    const { map, hold } = mapBench();
    for (const key of ['alice', 'bob']) map.set(hold(key), 'here');
    expect([map.delete(hold('alice')), map.delete(hold('alice')), map.size]).toEqual([true, false, 1]);
  });

  it('is forgotten with the tenure of its keys, and not with an earlier one', () => {
    const { map, hold, lease } = mapBench();
    map.set(hold(), 'here');
    map.forget([whole(4)]);
    expect(map.get(hold())).toBe('here');
    lease(whole(9, 5));
    map.forget([whole(9)]);
    expect([map.get(hold()), map.size]).toEqual([undefined, 0]);
  });

  it('stays when a part of the keys is lost, and only that part is gone when it returns', () => {
    const { map, hold, lease, pass } = mapBench();
    for (const key of [...LOWER, ...UPPER]) map.set(hold(key), key);
    lease(half(0, 5));
    map.forget([half(1, 5)]);
    expect(LOWER.map((key) => map.get(hold(key)))).toEqual(LOWER);
    lease(half(0, 5), half(1, 9));
    expect(UPPER.map((key) => map.get(hold(key)))).toEqual(UPPER.map(() => undefined));
    map.set(hold(UPPER[0]), 'new');
    expect([map.get(hold(UPPER[0])), map.get(hold(UPPER[1]))]).toEqual(['new', undefined]);
    pass(10);
    expect(map.size).toBe(LOWER.length + 1);
  });

  it('is found although its keys were split into ranges, and joined to others, since', () => {
    const { map, hold, lease } = mapBench();
    lease(half(0, 5), half(1, 6));
    for (const key of [...LOWER, ...UPPER]) map.set(hold(key), key);
    lease(half(0, 8, 5), half(1, 8, 6));
    expect([...LOWER, ...UPPER].map((key) => map.get(hold(key)))).toEqual([...LOWER, ...UPPER]);
  });

  it('is of a text, or of its position, as the key was given', () => {
    const { map, hold } = mapBench();
    map.set(hold(keyHash('alice')), 'position');
    expect([map.get(hold('alice')), map.get(hold(keyHash('alice')))]).toEqual([undefined, 'position']);
  });

  it('is freed when the owner closes', () => {
    const { map, hold, clock } = mapBench({ ttlMs: 1_000 });
    map.set(hold(), 'here');
    map.close();
    expect([map.size, clock.due.length]).toEqual([0, 0]);
  });

  it('is never what another owner can have changed, whatever is lost, split and continued', () => {
    const places = [0n, RING_SIZE / 4n, RING_SIZE / 2n, (3n * RING_SIZE) / 4n, RING_SIZE];
    const keys = places.slice(0, 4).flatMap((start) => [start, start + 1n]);
    const step = fc.oneof(
      fc.record({ do: fc.constant('set' as const), key: fc.nat(keys.length - 1) }),
      fc.record({ do: fc.constant('lose' as const), place: fc.nat(3), isTold: fc.boolean() }),
      fc.record({ do: fc.constant('renumber' as const), place: fc.nat(3) }),
      fc.record({ do: fc.constant('join' as const) }),
      fc.record({ do: fc.constant('pass' as const) }),
    );
    fc.assert(
      fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
        const { map, hold, lease, pass } = mapBench();
        let number = 5;
        const rows = places.slice(0, 4).map((start, place) => ({
          ...{ start, end: places[place + 1] ?? RING_SIZE, number, since: number },
        }));
        const model = new Map<bigint, string>();
        /** Neighbours of one tenure are one piece of the owner, or not. */
        const tell = (isJoined: boolean): void => {
          const pieces: Lease[] = [];
          for (const row of rows) {
            const last = pieces.at(-1);
            if (isJoined && last?.since === row.since && last.number === row.number)
              pieces[pieces.length - 1] = { ...last, end: row.end };
            else pieces.push({ ...row });
          }
          lease(...pieces);
        };
        tell(false);
        for (const [index, each] of steps.entries()) {
          if (each.do === 'set') {
            const key = keys[each.key] as bigint;
            map.set(hold(key), `value ${index}`);
            model.set(key, `value ${index}`);
          } else if (each.do === 'pass') pass(10);
          else if (each.do === 'join') tell(true);
          else {
            number += 1;
            const row = rows[each.place] as Lease;
            if (each.do === 'lose') {
              for (const key of keys) if (row.start <= key && key < row.end) model.delete(key);
              if (each.isTold) map.forget([{ ...row }]);
            }
            rows[each.place] = { ...row, number, since: each.do === 'lose' ? number : row.since };
            tell(false);
          }
          expect(keys.map((key) => map.get(hold(key)))).toEqual(keys.map((key) => model.get(key)));
        }
      }),
    );
  });
});

describe('a bare key', () => {
  it.each(['alice', 5n, undefined, null, {}])(
    'is not what guard hands to the work, and is refused with the cure: %s',
    (given) => {
      const { map } = mapBench();
      for (const use of [() => map.get(given as never), () => map.set(given as never, 'a')])
        expect(use).toThrow(
          expect.objectContaining({
            code: 'INVALID_KEY',
            message: expect.stringContaining(
              'guard(key, (held) => map.get(held)); without a lease: map.peek(key)',
            ),
          }),
        );
    },
  );

  it('is not what is said of work on a key that is none', () => {
    const { map, hold } = mapBench();
    expect(() => map.get({ ...hold(), key: 7 as never })).toThrow('number is not a key');
  });
});

describe('a time to live', () => {
  it('ends an entry so long after it was set or touched last', () => {
    const { map, hold, clock } = mapBench({ ttlMs: 100 });
    map.set(hold('alice'), 'a');
    map.set(hold('bob'), 'b');
    clock.now = instant(1_099);
    expect([map.touch(hold('bob')), map.touch(hold('carol'))]).toEqual([true, false]);
    clock.now = instant(1_100);
    expect([map.get(hold('alice')), map.touch(hold('alice')), map.delete(hold('alice'))]).toEqual([
      undefined,
      false,
      false,
    ]);
    expect(map.get(hold('bob'))).toBe('b');
    clock.now = instant(1_199);
    expect([map.get(hold('bob')), map.peek('bob'), [...map.entries()]]).toEqual([undefined, undefined, []]);
  });

  it('frees the memory of an entry that is not asked for any more, in slices', () => {
    const { map, hold, pass } = mapBench({ ttlMs: 160 });
    for (let index = 0; index < 5_000; index += 1) map.set(hold(`key ${index}`), 'a');
    pass(159);
    expect(map.size).toBe(5_000);
    pass(1);
    expect(map.size).toBe(3_000);
    pass(2);
    expect(map.size).toBe(0);
    map.set(hold(), 'again');
    pass(170);
    expect(map.size).toBe(0);
  });

  it('sets no timer while there is no entry', () => {
    const { map, hold, pass, clock } = mapBench({ ttlMs: 160 });
    map.set(hold(), 'a');
    pass(10_000);
    expect(clock.due).toEqual([]);
  });
});

describe('a full map', () => {
  it('refuses an entry more, and says what to do', () => {
    const { map, hold } = mapBench({ maxEntries: 2 }, 'visits');
    for (const key of ['alice', 'bob', 'alice']) map.set(hold(key), 'a');
    expect(() => map.set(hold('carol'), 'c')).toThrow(
      expect.objectContaining({
        ...{ code: 'FULL', retryable: true, isOutcomeKnown: true },
        message: expect.stringContaining('the leased map "visits" is full, with 2 entries'),
      }),
    );
    expect([map.get(hold('carol')), map.set(hold('bob'), 'b'), map.size]).toEqual([undefined, 'b', 2]);
  });

  it('refuses values beyond its size, and one that would not fit into an empty map otherwise', () => {
    const { map, hold } = mapBench({ maxBytes: 10, sizeOf: (value: string) => value.length });
    map.set(hold('alice'), '123456');
    expect(() => map.set(hold('bob'), '12345')).toThrow(expect.objectContaining({ code: 'FULL' }));
    expect(() => map.set(hold('bob'), '12345678901')).toThrow(
      expect.objectContaining({ code: 'TOO_LARGE', retryable: false }),
    );
    map.set(hold('alice'), '1234567890');
    map.delete(hold('alice'));
    for (const key of ['bob', 'carol']) map.set(hold(key), '12345');
    expect(map.size).toBe(2);
  });

  it.each([Number.NaN, -1, 'many'])('refuses a value whose size is said to be %s', (bytes) => {
    const { map, hold } = mapBench({ maxBytes: 10, sizeOf: () => bytes as number });
    expect(() => map.set(hold(), 'a')).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
    expect(map.size).toBe(0);
  });

  it('counts neither what has ended nor what is lost', () => {
    const { map, hold, clock, lease } = mapBench({ maxEntries: 2, ttlMs: 100 });
    map.set(hold(UPPER[0]), 'a');
    map.set(hold(LOWER[0]), 'a');
    clock.now = instant(1_100);
    for (const key of LOWER.slice(1, 3)) map.set(hold(key), 'b');
    expect(map.size).toBe(2);
    map.delete(hold(LOWER[1]));
    map.set(hold(UPPER[0]), 'c');
    lease(half(0, 5));
    map.forget([half(1, 5)]);
    map.set(hold(LOWER[3]), 'd');
    expect([map.size, map.get(hold(LOWER[2]))]).toEqual([2, 'b']);
  });

  it('can evict what was set or touched longest ago, wherever it lies', () => {
    const { map, hold, lease } = mapBench({ maxEntries: 3, whenFull: 'evict' });
    lease(half(0, 5), half(1, 6));
    const [a, b, c, d, e] = [LOWER[0], UPPER[0], LOWER[1], UPPER[1], LOWER[2]];
    for (const key of [a, b, c]) map.set(hold(key), 'v');
    map.touch(hold(a));
    map.set(hold(d), 'v');
    map.set(hold(e), 'v');
    expect([a, b, c, d, e].map((key) => map.get(hold(key)))).toEqual(['v', undefined, undefined, 'v', 'v']);
  });

  it('evicts as many as make room for a large value, itself too', () => {
    const sizeOf = (value: string): number => value.length;
    const { map, hold } = mapBench({ maxBytes: 10, sizeOf, whenFull: 'evict' });
    for (const key of ['alice', 'bob', 'carol']) map.set(hold(key), '123');
    map.set(hold('alice'), '1234567');
    expect(['alice', 'bob', 'carol'].map((key) => map.get(hold(key)))).toEqual(['1234567', undefined, '123']);
  });

  it('evicts in the order of use, as a list of all entries by their use would have it', () => {
    const step = fc.record({ key: fc.nat(11), isTouch: fc.boolean(), isDelete: fc.boolean() });
    fc.assert(
      fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
        const { map, hold, lease } = mapBench({ maxEntries: 4, whenFull: 'evict' });
        lease(half(0, 5), half(1, 6));
        const keys = [...LOWER.slice(0, 6), ...UPPER.slice(0, 6)];
        let model: string[] = [];
        for (const { key: index, isTouch, isDelete } of steps) {
          const key = keys[index] as string;
          const isThere = model.includes(key);
          model = model.filter((other) => other !== key);
          if (isDelete) map.delete(hold(key));
          else if (isTouch) map.touch(hold(key));
          else map.set(hold(key), key);
          if (!isDelete && (isThere || !isTouch)) model.push(key);
          model = model.slice(-4);
          expect([...map.entries()].map(([each]) => each).sort()).toEqual([...model].sort());
        }
      }),
    );
  });
});

describe('the version of an entry', () => {
  it('changes with each set, not with a touch, and allows a change by comparison', () => {
    const { map, hold } = mapBench({ ttlMs: 1_000 });
    expect(map.versionOf(hold())).toBeUndefined();
    expect(map.replace(hold(), 'first', { ifVersion: undefined })).toBe(true);
    const first = map.versionOf(hold());
    map.touch(hold());
    expect(map.versionOf(hold())).toBe(first);
    expect(map.replace(hold(), 'second', { ifVersion: first })).toBe(true);
    expect(map.replace(hold(), 'third', { ifVersion: first })).toBe(false);
    expect(map.replace(hold(), 'third', { ifVersion: undefined })).toBe(false);
    expect(map.get(hold())).toBe('second');
  });

  it('does not return after a loss, nor in another process', () => {
    const versions = [5, 9, 12].flatMap((number) => {
      const { map, hold, lease } = mapBench();
      lease(whole(number));
      return ['a', 'b'].map((value) => (map.set(hold(), value), map.versionOf(hold())));
    });
    expect(new Set(versions).size).toBe(6);
  });
});

describe('all entries', () => {
  it('are those of keys that are served, or of some of them', () => {
    const { map, hold, lease } = mapBench();
    for (const key of [...LOWER, ...UPPER]) map.set(hold(key), key);
    const named = (keys?: RangeSet): Key[] => [...map.entries(keys)].map(([key]) => key).sort();
    expect(named()).toEqual([...LOWER, ...UPPER].sort());
    expect(named(RangeSet.of([HALVES[0]]))).toEqual([...LOWER].sort());
    lease(half(1, 5));
    expect(named()).toEqual([...UPPER].sort());
    lease(half(1, 9));
    expect(named()).toEqual([]);
  });

  it('come once each although they are set meanwhile', () => {
    const { map, hold } = mapBench({ ttlMs: 1_000 });
    for (const key of LOWER) map.set(hold(key), 'old');
    const seen: Key[] = [];
    for (const [key] of map.entries()) {
      seen.push(key);
      map.set(hold(key), 'new');
    }
    expect(seen.sort()).toEqual([...LOWER].sort());
  });
});

describe('a peek', () => {
  it('shows what is in memory without a lease, and says whether it is current', () => {
    const { map, hold, lease } = mapBench();
    map.set(hold(), 'here');
    expect(map.peek('alice')).toEqual({ value: 'here', isCurrent: true });
    lease();
    expect(map.peek('alice')).toEqual({ value: 'here', isCurrent: false });
    lease(whole(9));
    expect(map.peek('alice')).toEqual({ value: 'here', isCurrent: false });
    map.forget([whole(5)]);
    expect([map.peek('alice'), map.peek(3n)]).toEqual([undefined, undefined]);
    expect(() => map.peek(7 as never)).toThrow(expect.objectContaining({ code: 'INVALID_KEY' }));
  });
});

describe('values in development', () => {
  it('are frozen with all that they are made of, if the map has a name', () => {
    const { map, hold } = mapBench<{ lines: string[]; seen: Set<string>; next?: unknown }>({}, 'notes');
    const value = map.set(hold(), { lines: ['a'], seen: new Set() });
    expect(() => value.lines.push('b')).toThrow(TypeError);
    value.seen.add('b');
    expect(map.get(hold())).toEqual({ lines: ['a'], seen: new Set(['b']) });
  });
});

describe('options of a map', () => {
  it.each([
    [{ ttlMs: 0 }, 'ttlMs'],
    [{ maxEntries: 1.5 }, 'maxEntries'],
    [{ maxBytes: 10 }, 'maxBytes'],
    [{ sizeOf: () => 1 }, 'sizeOf'],
    [{ whenFull: 'throw' as 'refuse' }, 'whenFull'],
    [{ ttl: 3 } as LeasedMapOptions<string>, 'ttl'],
    [{ version: 2 }, 'in a map with a name'],
    [{ reads: [1] }, 'in a map with a name'],
  ])('that are wrong are refused: %j', (options, name) => {
    expect(() => resolveLeasedMap(undefined, options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(name) }),
    );
  });

  it.each([
    [{ version: 0 }, 'version'],
    [{ reads: [1.5] }, 'reads'],
    [{ reads: 1 as never }, 'reads'],
    [{ codec: { encode: () => new Uint8Array() } as never }, 'codec'],
  ])('of moves that are wrong are refused: %j', (options, name) => {
    expect(() => resolveLeasedMap('carts', options)).toThrow(
      expect.objectContaining({ code: 'INVALID_OPTION', message: expect.stringContaining(name) }),
    );
  });

  it('have a name without control characters, of at most 256', () => {
    for (const name of ['', 'a\nb', 'a'.repeat(257), 3 as never])
      expect(() => resolveLeasedMap(name, {})).toThrow(expect.objectContaining({ code: 'INVALID_OPTION' }));
  });
});
