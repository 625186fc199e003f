import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../runtime/assert.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import { RingTable } from '../../runtime/keys/ring-table.ts';
import type { TableRow } from './messages.ts';
import { clipSpans } from './spans.ts';
import { PoolTable, type Row, type TableRecord } from './table.ts';

// Places are told in sixteenths of the ring.
const at = (sixteenth: number): bigint => BigInt(sixteenth) * (RING_SIZE / 16n);
const span = (start: number, end: number): Span => ({ start: at(start), end: at(end) });

const join = (incarnation: string, proof?: string): TableRecord => ({
  kind: 'join',
  member: { incarnation, name: incarnation, url: `http://${incarnation}`, proof },
});
const leave = (incarnation: string): TableRecord => ({ kind: 'leave', incarnation, why: 'expired' });
const grant = (incarnation: string, ...spans: Span[]): TableRecord => ({ kind: 'grant', incarnation, spans });
const move = (incarnation: string, ...spans: Span[]): TableRecord => ({
  ...{ kind: 'move', incarnation, spans },
  ticket: 't',
});
const free = (...spans: Span[]): TableRecord => ({ kind: 'free', spans });
const renumber = (...spans: Span[]): TableRecord => ({ kind: 'renumber', spans });
const merge = (...spans: Span[]): TableRecord => ({ kind: 'merge', spans });

/** The table after these commits, each at its position. */
const after = (...commits: readonly (readonly [position: number, ...records: TableRecord[]])[]): PoolTable =>
  commits.reduce((table, [position, ...records]) => table.apply(records, position), PoolTable.empty);

/** `0-8 a #2 lost 0 changed 2`, and what the number continues, if anything. */
const show = (row: Row): string => {
  const place = ({ start, end }: Span): string => `${start / at(1)}-${end / at(1)}`;
  const continues = row.continues.map((old) => ` ${place(old)}#${old.number}`).join('');
  const line = `${place(row)} ${row.owner ?? 'nobody'} #${row.number} lost ${row.lostAt} changed ${row.changedAt}`;
  return continues === '' ? line : `${line} continues${continues}`;
};
const shown = (table: PoolTable): string[] => table.rows.map(show);

const owned = after([1, join('a'), join('b')], [2, grant('a', span(0, 8))], [3, grant('b', span(8, 16))]);

describe('a lease table', () => {
  it('begins as one row that nobody owns and that never lost anything', () => {
    expect(shown(PoolTable.empty)).toEqual(['0-16 nobody #0 lost 0 changed 0']);
  });

  it('is not changed by what is applied to it: the table after that is another', () => {
    const before = shown(owned);
    owned.apply([leave('a'), free(span(8, 12))], 9);
    expect(shown(owned)).toEqual(before);
  });

  it('knows its members, since when, and whose death a proof would prove', () => {
    const table = after([1, join('a', 'digest')], [4, join('b')]);
    expect([...table.members.values()].map(({ incarnation, joinedAt }) => [incarnation, joinedAt])).toEqual([
      ['a', 1],
      ['b', 4],
    ]);
    expect([table.hasProof('digest'), table.hasProof('other')]).toEqual([true, false]);
    expect(table.apply([leave('a')], 5).hasProof('digest')).toBe(false);
  });

  it('says what a member owns, in order', () => {
    expect(
      owned
        .apply([free(span(2, 4))], 4)
        .rowsOf('a')
        .map(show),
    ).toEqual(['0-2 a #2 lost 0 changed 2', '4-8 a #2 lost 0 changed 2']);
    expect(owned.rowsOf('c')).toEqual([]);
  });
});

describe('a grant', () => {
  it('gives keys to a member under the number of its position, and loses nothing', () => {
    expect(shown(owned)).toEqual(['0-8 a #2 lost 0 changed 2', '8-16 b #3 lost 0 changed 3']);
  });

  it('keeps the memory of when the keys were last lost', () => {
    const table = owned.apply([free(span(0, 8))], 5).apply([grant('b', span(0, 8))], 6);
    expect(shown(table)[0]).toBe('0-8 b #6 lost 5 changed 6');
  });

  it('cannot be of owned keys, nor to an owner that is no member', () => {
    expect(() => owned.apply([grant('b', span(0, 1))], 4)).toThrow(AssertionError);
    expect(() => PoolTable.empty.apply([grant('x', span(0, 1))], 4)).toThrow(
      'granted to an owner that is no member, at 4',
    );
  });
});

describe('keys that become free', () => {
  it('are lost there and then, and keep their number', () => {
    expect(shown(owned.apply([free(span(0, 8))], 5))[0]).toBe('0-8 nobody #2 lost 5 changed 5');
  });

  it('are cut out of their row, and the rest of it has not changed', () => {
    expect(shown(owned.apply([free(span(2, 4), span(6, 10))], 5))).toEqual([
      '0-2 a #2 lost 0 changed 2',
      '2-4 nobody #2 lost 5 changed 5',
      '4-6 a #2 lost 0 changed 2',
      '6-8 nobody #2 lost 5 changed 5',
      '8-10 nobody #3 lost 5 changed 5',
      '10-16 b #3 lost 0 changed 3',
    ]);
  });

  it('cannot be freed twice', () => {
    expect(() => owned.apply([free(span(0, 4)), free(span(3, 5))], 5)).toThrow('freed twice at 5');
  });

  it('are those of everybody, when several leave one after the other', () => {
    const three = owned.apply([join('c'), free(span(4, 6)), grant('c', span(4, 6))], 4);
    const table = three.apply([leave('a'), leave('b'), grant('c', span(0, 4)), leave('c')], 5);
    expect(shown(table)).toEqual([
      '0-4 nobody #5 lost 5 changed 5',
      '4-6 nobody #4 lost 5 changed 5',
      '6-8 nobody #2 lost 5 changed 5',
      '8-16 nobody #3 lost 5 changed 5',
    ]);
    expect(table.members.size).toBe(0);
  });

  it('are all that a member owned, when it leaves', () => {
    const table = owned.apply([leave('a')], 5);
    expect(shown(table)).toEqual(['0-8 nobody #2 lost 5 changed 5', '8-16 b #3 lost 0 changed 3']);
    expect([...table.members.keys()]).toEqual(['b']);
  });

  it('can be granted again in the same commit: lost and owned at one position', () => {
    const table = owned.apply([leave('a'), grant('b', span(0, 8))], 5);
    expect(shown(table)[0]).toBe('0-8 b #5 lost 5 changed 5');
  });
});

describe('a new number for the same owner', () => {
  it('says which number it continues, and loses nothing', () => {
    expect(shown(owned.apply([renumber(span(0, 4))], 5))).toEqual([
      '0-4 a #5 lost 0 changed 5 continues 0-4#2',
      '4-8 a #2 lost 0 changed 2',
      '8-16 b #3 lost 0 changed 3',
    ]);
  });

  it('says only the number just before, not the whole line', () => {
    const table = owned.apply([renumber(span(0, 8))], 5).apply([renumber(span(0, 8))], 6);
    expect(shown(table)[0]).toBe('0-8 a #6 lost 0 changed 6 continues 0-8#5');
  });

  it('keeps saying it for every part when the row is split', () => {
    const table = owned.apply([renumber(span(0, 8))], 5).apply([free(span(2, 4))], 6);
    expect(shown(table).slice(0, 3)).toEqual([
      '0-2 a #5 lost 0 changed 5 continues 0-2#2',
      '2-4 nobody #5 lost 6 changed 6',
      '4-8 a #5 lost 0 changed 5 continues 4-8#2',
    ]);
  });

  it('is not for keys that nobody owns', () => {
    expect(() => PoolTable.empty.apply([renumber(span(0, 4))], 5)).toThrow('renumbered at 5');
  });
});

describe('a move', () => {
  it('changes owner and number without a loss', () => {
    expect(shown(owned.apply([move('b', span(0, 4))], 5))).toEqual([
      '0-4 b #5 lost 0 changed 5',
      '4-8 a #2 lost 0 changed 2',
      '8-16 b #3 lost 0 changed 3',
    ]);
  });

  it('is of owned keys, to a member', () => {
    expect(() => owned.apply([free(span(0, 8)), move('b', span(0, 8))], 5)).toThrow('moved at 5');
    expect(() => owned.apply([move('x', span(0, 8))], 5)).toThrow(
      'moved to an owner that is no member, at 5',
    );
  });
});

describe('a merge', () => {
  const split = owned.apply([free(span(0, 4))], 5).apply([grant('a', span(0, 4))], 6);

  it('of rows with different numbers has a new one, which continues each', () => {
    expect(shown(split.apply([merge(span(0, 8))], 7))[0]).toBe(
      '0-8 a #7 lost 5 changed 7 continues 0-4#6 4-8#2',
    );
  });

  it('of rows with one number keeps it, and what it continued', () => {
    const table = owned
      .apply([renumber(span(0, 8))], 5)
      .apply([free(span(2, 4))], 6)
      .apply([grant('a', span(2, 4))], 7)
      .apply([renumber(span(0, 2), span(2, 4), span(4, 8))], 8)
      .apply([merge(span(0, 8))], 9);
    expect(shown(table)[0]).toBe('0-8 a #8 lost 6 changed 9 continues 0-2#5 2-4#7 4-8#5');
  });

  it('has lost when the last of its parts did: one loss too many is told, none too few', () => {
    const table = split.apply([free(span(6, 8))], 8).apply([grant('a', span(6, 8))], 9);
    expect(shown(table.apply([merge(span(0, 8))], 10))[0]).toContain('lost 8');
  });

  it('is of one owner, of whole rows, and not of what nobody owns', () => {
    expect(() => owned.apply([merge(span(0, 16))], 5)).toThrow("two owners' rows");
    expect(() => owned.apply([merge(span(0, 4))], 5)).toThrow('merge across a row at 5');
    expect(() => split.apply([free(span(0, 8)), merge(span(0, 8))], 7)).toThrow('merge of unowned rows at 7');
  });
});

describe('spans of a record', () => {
  it('come in order and do not overlap, or the program is wrong', () => {
    expect(() => owned.apply([renumber(span(4, 6), span(0, 2))], 5)).toThrow(AssertionError);
    expect(() => owned.apply([free(span(0, 4), span(2, 6))], 5)).toThrow(AssertionError);
    expect(() => owned.apply([free({ start: RING_SIZE, end: RING_SIZE + 1n })], 5)).toThrow(AssertionError);
  });

  it('are clipped to what lies inside', () => {
    const spans = [span(0, 4), span(6, 8), span(10, 12)];
    expect(clipSpans(spans, at(2), at(11))).toEqual([span(2, 4), span(6, 8), span(10, 11)]);
    expect(clipSpans(spans, at(4), at(6))).toEqual([]);
  });
});

// From here on: any sequence of records that a leader could commit, against a model that knows
// sixteen keys and nothing of rows.

interface Model {
  owner: string | undefined;
  number: number;
  lostAt: number;
}
interface History {
  readonly tables: readonly PoolTable[];
  readonly models: readonly (readonly Model[])[];
}

const OWNERS = ['a', 'b', 'c'];
const sixteenths = [...Array(16).keys()];
const choices = fc.array(
  fc.record({
    kind: fc.constantFrom('join', 'leave', 'free', 'grant', 'renumber', 'merge', 'move'),
    owner: fc.constantFrom(...OWNERS),
    keys: fc.array(fc.boolean(), { minLength: 16, maxLength: 16 }),
    sameCommit: fc.boolean(),
  }),
  { minLength: 1, maxLength: 25 },
);
type Choice = typeof choices extends fc.Arbitrary<readonly (infer T)[]> ? T : never;

/** The spans of runs of sixteenths. */
function runs(keys: readonly boolean[]): Span[] {
  const spans: Span[] = [];
  for (const key of sixteenths) {
    if (!keys[key]) continue;
    const last = spans.at(-1);
    if (last?.end === at(key)) spans[spans.length - 1] = { start: last.start, end: at(key + 1) };
    else spans.push(span(key, key + 1));
  }
  return spans;
}

/** Carries out what can be of a choice, in the table and in the model. */
function commit(choice: Choice, table: PoolTable, model: Model[], position: number): PoolTable {
  const { owner, kind } = choice;
  const member = table.members.has(owner);
  const change = (
    fits: (key: Model) => boolean,
    make: (spans: Span[]) => TableRecord,
    then: (key: Model) => Partial<Model>,
  ): PoolTable => {
    const chosen = model.map((key, index) => (choice.keys[index] ?? false) && fits(key));
    const spans = runs(chosen);
    if (spans.length === 0) return table;
    for (const [index, key] of model.entries()) if (chosen[index]) Object.assign(key, then(key));
    return table.apply([make(spans)], position);
  };
  switch (kind) {
    case 'join':
      return member ? table : table.apply([join(owner)], position);
    case 'leave':
      if (!member) return table;
      for (const key of model)
        if (key.owner === owner) Object.assign(key, { owner: undefined, lostAt: position });
      return table.apply([leave(owner)], position);
    case 'free':
      return change(
        ({ owner }) => owner !== undefined,
        (spans) => free(...spans),
        () => ({
          owner: undefined,
          lostAt: position,
        }),
      );
    case 'grant':
      if (!member) return table;
      return change(
        (key) => key.owner === undefined,
        (spans) => grant(owner, ...spans),
        () => ({
          owner,
          number: position,
        }),
      );
    case 'renumber':
      return change(
        ({ owner }) => owner !== undefined,
        (spans) => renumber(...spans),
        () => ({
          number: position,
        }),
      );
    case 'move':
      if (!member) return table;
      return change(
        ({ owner }) => owner !== undefined,
        (spans) => move(owner, ...spans),
        () => ({
          owner,
          number: position,
        }),
      );
    default:
      return mergeWhatTouches(table, model, position);
  }
}

/** Every run of rows with one owner becomes one row. */
function mergeWhatTouches(table: PoolTable, model: Model[], position: number): PoolTable {
  const spans: { start: bigint; end: bigint; owner: string | undefined }[] = [];
  for (const { start, end, owner } of table.rows) {
    const last = spans.at(-1);
    if (last !== undefined && last.owner === owner) last.end = end;
    else spans.push({ start, end, owner });
  }
  const merged = spans.filter(({ owner }) => owner !== undefined);
  if (merged.length === 0) return table;
  for (const { start, end } of merged) {
    const keys = model.filter((_, key) => at(key) >= start && at(key) < end);
    const lostAt = Math.max(...keys.map((key) => key.lostAt));
    const numbers = new Set(keys.map(({ number }) => number));
    for (const key of keys)
      Object.assign(key, { lostAt, number: numbers.size === 1 ? key.number : position });
  }
  return table.apply([merge(...merged.map(({ start, end }) => ({ start, end })))], position);
}

/** Tables and models after every commit; index = position. */
function play(list: readonly Choice[]): History {
  let table = PoolTable.empty;
  let model: Model[] = sixteenths.map(() => ({ owner: undefined, number: 0, lostAt: 0 }));
  const history = { tables: [table], models: [model] };
  let position = 1;
  for (const choice of list) {
    model = model.map((key) => ({ ...key }));
    table = commit(choice, table, model, position);
    history.tables[position] = table;
    history.models[position] = model;
    if (!choice.sameCommit) {
      position += 1;
      history.tables[position] = table;
      history.models[position] = model;
    }
  }
  return history;
}

const rowAt = (rows: readonly Row[], position: bigint): Row | undefined =>
  rows.find(({ start, end }) => start <= position && position < end);

describe('any sequence of records', () => {
  it('does to every key what the table of records says', () => {
    fc.assert(
      fc.property(choices, (list) => {
        const { tables, models } = play(list);
        for (const [position, table] of tables.entries()) {
          const seen = sixteenths.map((key) => {
            const row = rowAt(table.rows, at(key));
            return { owner: row?.owner, number: row?.number, lostAt: row?.lostAt };
          });
          expect(seen).toEqual(models[position]);
        }
      }),
      { numRuns: 300 },
    );
  });

  it('leaves rows that cover the ring once, in order, with members for owners and no later positions', () => {
    fc.assert(
      fc.property(choices, (list) => {
        for (const [position, { rows, members }] of play(list).tables.entries()) {
          expect(rows[0]?.start).toBe(0n);
          expect(rows.at(-1)?.end).toBe(RING_SIZE);
          for (const [index, row] of rows.entries()) {
            expect(row.end).toBe(rows[index + 1]?.start ?? RING_SIZE);
            expect(row.end > row.start).toBe(true);
            expect(row.owner === undefined || members.has(row.owner)).toBe(true);
            expect(Math.max(row.number, row.lostAt, row.changedAt)).toBeLessThanOrEqual(position);
          }
        }
      }),
      { numRuns: 200 },
    );
  });

  it('leaves every continued number inside its row, one that was its owner’s just before', () => {
    fc.assert(
      fc.property(choices, (list) => {
        const { tables } = play(list);
        for (const row of tables.at(-1)?.rows ?? []) {
          for (const old of row.continues) {
            expect(old.start >= row.start && old.end <= row.end && old.number <= row.number).toBe(true);
          }
        }
      }),
      { numRuns: 100 },
    );
  });
});

describe('a reader at an earlier position', () => {
  /** The look-up's way: the rows it is told are laid over the ones it has. */
  const overlay = (table: RingTable<TableRow | undefined>, rows: readonly TableRow[]) =>
    table.overlay(rows.map((row) => ({ start: row.start, end: row.end, value: row })));
  const facts = (row: TableRow | undefined) => [row?.owner?.incarnation, row?.number, row?.lostAt];

  it('has, with what changed since, the same rows as one that starts now, and misses no loss', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (list, pick) => {
        const { tables, models } = play(list);
        const last = tables.length - 1;
        const from = pick % (last + 1);
        const [old, now] = [tables[from] ?? PoolTable.empty, tables[last] ?? PoolTable.empty];
        const empty = RingTable.whole<TableRow | undefined>(undefined);
        const told = now.changedSince(from);
        const whole = overlay(empty, now.changedSince(0));
        const patched =
          from === 0 ? overlay(empty, told) : overlay(overlay(empty, old.changedSince(0)), told);
        for (const key of sixteenths) {
          expect(facts(patched.findAt(at(key)))).toEqual(facts(whole.findAt(at(key))));
          // Every loss on the way, also one that was granted, lost and granted again since.
          const lost = models.slice(from + 1).some((model, index) => model[key]?.lostAt === from + 1 + index);
          const heard = told.some(
            ({ start, end, lostAt }) => start <= at(key) && at(key) < end && lostAt > from,
          );
          if (lost) expect(heard).toBe(true);
        }
      }),
      { numRuns: 400 },
    );
  });

  it('is told nothing of rows that have not changed', () => {
    const table = owned.apply([free(span(2, 4))], 5);
    expect(table.changedSince(4).map(({ start, end }) => ({ start, end }))).toEqual([span(2, 4)]);
    expect(table.changedSince(5)).toEqual([]);
    expect(table.changedSince(0)).toHaveLength(4);
  });

  it('is told where the owner is, not who could prove its death', () => {
    const table = after([1, join('a', 'digest'), grant('a', span(0, 16))]);
    expect(table.changedSince(0)[0]?.owner).toStrictEqual({ incarnation: 'a', name: 'a', url: 'http://a' });
  });
});
