import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { LogBatch, LogStart } from '../../log/log.ts';
import { AssertionError } from '../../runtime/assert.ts';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import type { Span } from '../../runtime/keys/range.ts';
import {
  type Batch,
  decodeBatch,
  decodeSnapshot,
  encodeBatch,
  encodeSnapshot,
  ManagerState,
} from './state.ts';
import type { PoolTable, TableRecord } from './table.ts';

const unreadable: Error = expect.objectContaining({ name: 'StorageError', code: 'UNREADABLE_LOG' });

const LAST = RING_SIZE - 1n;
const POOLS = ['presence', 'presence', 'presence', '__proto__', '7'];
const OWNERS = ['a.1', 'b "quoted"\n', '__proto__'];

const choices = fc.array(
  fc.record({
    pool: fc.constantFrom(...POOLS),
    kind: fc.constantFrom('leave', 'free', 'grant', 'grant', 'grant', 'renumber', 'merge', 'move', 'nothing'),
    owner: fc.constantFrom(...OWNERS),
    cut: fc.oneof(fc.constantFrom(1n, LAST), fc.bigInt({ min: 1n, max: LAST })),
    proof: fc.constantFrom(undefined, 'digest'),
  }),
  { maxLength: 30 },
);
type Choice = typeof choices extends fc.Arbitrary<readonly (infer T)[]> ? T : never;

/** A record that can follow this table, made of a choice; none if the choice does not fit. */
function recordFor({ kind, owner, cut, proof }: Choice, table: PoolTable): TableRecord[] {
  if (kind !== 'nothing' && !table.members.has(owner))
    return [
      { kind: 'join', member: { incarnation: owner, name: `name of ${owner}`, url: 'http://é', proof } },
    ];
  const below = (rows: readonly Span[]): Span[] =>
    rows.filter(({ start }) => start < cut).map(({ start, end }) => ({ start, end: end < cut ? end : cut }));
  const owned = below(table.rows.filter((row) => row.owner !== undefined));
  const unowned = below(table.rows.filter((row) => row.owner === undefined));
  switch (kind) {
    case 'leave':
      return [{ kind, incarnation: owner, why: 'certified' }];
    case 'grant':
      return unowned.length > 0 ? [{ kind, incarnation: owner, spans: unowned }] : [];
    case 'move':
      return owned.length > 0 ? [{ kind, incarnation: owner, spans: owned, ticket: 't' }] : [];
    case 'free':
    case 'renumber':
      return owned.length > 0 ? [{ kind, spans: owned }] : [];
    case 'merge': {
      const rows = table.rowsOf(owner);
      const pair = rows.findIndex((row, index) => row.end === rows[index + 1]?.start);
      const [one, other] = [rows[pair], rows[pair + 1]];
      return pair >= 0 && one && other ? [{ kind, spans: [{ start: one.start, end: other.end }] }] : [];
    }
    default:
      return [];
  }
}

/** A log that a leader could have written, with gaps between its positions. */
function logOf(list: readonly Choice[]): {
  readonly batches: (LogBatch & { batch: Batch })[];
  readonly end: ManagerState;
} {
  const batches: (LogBatch & { batch: Batch })[] = [];
  let state = ManagerState.empty;
  for (const [index, choice] of list.entries()) {
    const position = state.position + 1 + (index % 3);
    const records = recordFor(choice, state.pool(choice.pool));
    const pools = records.length === 0 ? [] : [{ pool: choice.pool, records }];
    const batch: Batch = {
      term: 1 + Math.floor(index / 4),
      leader: `m${index % 2}`,
      takeoverMs: 1_000 * index,
      pools,
    };
    batches.push({ position, bytes: encodeBatch(batch), batch });
    state = state.apply(position, batch);
  }
  return { batches, end: state };
}

const facts = (state: ManagerState): unknown => ({
  position: state.position,
  leaderRecord: state.leaderRecord,
  pools: new Map(
    [...state.pools].map(([name, { rows, members, changedAt }]) => [name, { rows, members, changedAt }]),
  ),
});
const start = (parts: Partial<LogStart>): LogStart => ({
  history: 'h',
  snapshot: undefined,
  batches: [],
  floor: 0,
  ...parts,
});

describe('a batch in the log', () => {
  it('is read as it was written', () => {
    fc.assert(
      fc.property(choices, (list) => {
        for (const { bytes, batch } of logOf(list).batches) expect(decodeBatch(bytes)).toEqual(batch);
      }),
      { numRuns: 150 },
    );
  });

  it('may say nothing but who leads: then all who follow learn of the term', () => {
    const opening: Batch = { term: 7, leader: 'm1', takeoverMs: 12_000, pools: [] };
    const state = ManagerState.empty.apply(3, decodeBatch(encodeBatch(opening)));
    expect([state.position, state.leaderRecord, state.pools.size]).toEqual([
      3,
      { term: 7, leader: 'm1', takeoverMs: 12_000 },
      0,
    ]);
  });

  it('can be read by people', () => {
    const bytes = encodeBatch({
      term: 2,
      leader: 'm1',
      takeoverMs: 12_000,
      pools: [{ pool: 'presence', records: [{ kind: 'free', spans: [{ start: 255n, end: RING_SIZE }] }] }],
    });
    expect(new TextDecoder().decode(bytes)).toBe(
      '{"format":1,"term":2,"leader":"m1","takeoverMs":12000,"pools":{"presence":[["free",[["ff","10000000000000000"]]]]}}',
    );
  });

  it('is applied at a later position than everything before it', () => {
    const batch: Batch = { term: 1, leader: 'm', takeoverMs: 0, pools: [] };
    const state = ManagerState.empty.apply(5, batch);
    expect(() => state.apply(5, batch)).toThrow(AssertionError);
    expect(() => state.apply(4, batch)).toThrow('batch 4 applied at 5');
  });
});

describe('a snapshot', () => {
  it('is read as it was written, down to what each number continues', () => {
    fc.assert(
      fc.property(choices, (list) => {
        const { end } = logOf(list);
        expect(facts(decodeSnapshot(end.position, encodeSnapshot(end)))).toEqual(facts(end));
      }),
      { numRuns: 150 },
    );
  });

  it('stands for the batches before it, wherever it was taken', () => {
    fc.assert(
      fc.property(choices, fc.nat(), (list, pick) => {
        const { batches, end } = logOf(list);
        const upTo = pick % (batches.length + 1);
        const taken = ManagerState.replay(start({ batches: batches.slice(0, upTo) }));
        const snapshot = { position: taken.position, bytes: encodeSnapshot(taken) };
        expect(facts(ManagerState.replay(start({ batches })))).toEqual(facts(end));
        expect(facts(ManagerState.replay(start({ snapshot, batches: batches.slice(upTo) })))).toEqual(
          facts(end),
        );
      }),
      { numRuns: 150 },
    );
  });
});

describe('a member that is silent', () => {
  const member = { incarnation: 'a.1', name: 'a', url: 'http://a', proof: undefined };
  const leaderRecord = { term: 1, leader: 'm', takeoverMs: 0 };
  const batchOf = (...records: TableRecord[]): Batch => ({
    ...leaderRecord,
    pools: [{ pool: 'p', records }],
  });
  const joined = ManagerState.empty.apply(1, batchOf({ kind: 'join', member }));
  const silent = batchOf({ kind: 'silent', incarnations: ['a.1'], silentMs: 2_500 });
  const heard = batchOf({ kind: 'heard', incarnations: ['a.1', 'b.1'] });
  const silentMs = (state: ManagerState) => state.pool('p').members.get('a.1')?.silentMs;

  it('is so until it is heard, in batches and in snapshots', () => {
    const after = joined.apply(2, decodeBatch(encodeBatch(silent)));
    expect(silentMs(decodeSnapshot(2, encodeSnapshot(after)))).toBe(2_500);
    const again = after.apply(3, decodeBatch(encodeBatch(heard)));
    expect(silentMs(again)).toBeUndefined();
    expect(again.pool('p').members.size).toBe(1);
  });

  it('makes a snapshot one that earlier versions refuse, because they would renew it without a word', () => {
    const formatOf = (state: ManagerState) =>
      JSON.parse(new TextDecoder().decode(encodeSnapshot(state))).format;
    const after = joined.apply(2, silent);
    expect([formatOf(joined), formatOf(after), formatOf(after.apply(3, heard))]).toEqual([1, 2, 1]);
  });

  it('is silent for a time, or nothing is read', () => {
    for (const wrong of ['"long"', '-1', 'null']) {
      const text = new TextDecoder().decode(encodeBatch(silent)).replace('2500', wrong);
      expect(() => decodeBatch(new TextEncoder().encode(text))).toThrow(unreadable);
    }
  });
});

describe('the state of a Manager', () => {
  it('is empty before anything is committed, and a pool nobody joined is one unowned row', () => {
    const state = ManagerState.replay(start({}));
    expect([state.position, state.term]).toEqual([0, 0]);
    expect(state.pool('unheard-of').rows).toHaveLength(1);
    expect(state.pools.size).toBe(0);
  });
});

const join = (name: string): TableRecord => ({
  kind: 'join',
  member: { incarnation: name, name, url: `http://${name}`, proof: undefined },
});
const batch = (pool: string, ...records: readonly TableRecord[]): Batch => ({
  ...{ term: 1, leader: 'm', takeoverMs: 1 },
  pools: [{ pool, records }],
});

describe('a pool that was removed', () => {
  const joined = ManagerState.empty.apply(3, batch('p', join('a')));
  const removed = joined
    .apply(4, batch('p', { kind: 'leave', incarnation: 'a', why: 'left' }))
    .apply(7, batch('p', { kind: 'remove' }));

  it('is gone, and its keys were lost then, for look-ups that did not hear of it', () => {
    expect([...removed.pools.keys()]).toEqual([]);
    expect(removed.pool('p').changedSince(5)).toMatchObject([
      { start: 0n, end: RING_SIZE, owner: undefined, lostAt: 7 },
    ]);
    expect(removed.pool('p').changedSince(7)).toEqual([]);
  });

  it('begins anew with that loss', () => {
    const again = removed.apply(9, batch('p', join('b')));
    expect(again.pool('p').changedSince(5)).toMatchObject([{ lostAt: 7 }]);
  });

  it('stays removed in a snapshot, which a version without removals refuses', () => {
    const bytes = encodeSnapshot(removed);
    expect(JSON.parse(new TextDecoder().decode(bytes))).toMatchObject({ format: 2, removedAt: 7, pools: {} });
    const read = decodeSnapshot(7, bytes);
    expect(read.removedAt).toBe(7);
    expect(read.pool('p').changedSince(5)).toMatchObject([{ lostAt: 7 }]);
    expect(JSON.parse(new TextDecoder().decode(encodeSnapshot(joined)))).toMatchObject({ format: 1 });
  });

  it('is read from a batch as it was written', () => {
    expect(decodeBatch(encodeBatch(batch('p', { kind: 'remove' }))).pools).toEqual([
      { pool: 'p', records: [{ kind: 'remove' }] },
    ]);
  });
});

describe('a pool whose keys move', () => {
  const joined = ManagerState.empty.apply(1, batch('p', join('a'), join('b')));
  const whole = [{ start: 0n, end: RING_SIZE }];
  const moving = joined
    .apply(2, batch('p', { kind: 'grant', incarnation: 'a', spans: whole }, { kind: 'moves' }))
    .apply(3, batch('p', { kind: 'move', incarnation: 'b', spans: whole, ticket: 'm.1.1' }));

  it('remembers by which ticket keys came, in batches and in snapshots that earlier versions refuse', () => {
    const bytes = encodeSnapshot(moving);
    expect(JSON.parse(new TextDecoder().decode(bytes))).toMatchObject({ format: 3 });
    for (const state of [moving, decodeSnapshot(3, bytes)]) {
      expect(state.pool('p').hasMoves).toBe(true);
      expect(state.pool('p').rows).toMatchObject([{ owner: 'b', number: 3, ticket: 'm.1.1' }]);
    }
  });

  it('forgets the ticket with the next number', () => {
    const renumbered = moving.apply(4, batch('p', { kind: 'renumber', spans: whole }));
    expect(renumbered.pool('p').rows).toMatchObject([{ number: 4, ticket: undefined }]);
  });

  it('keeps the ticket of each part of a row that is cut', () => {
    const half = [{ start: 0n, end: RING_SIZE / 2n }];
    const cut = moving.apply(4, batch('p', { kind: 'free', spans: half }));
    expect(cut.pool('p').rows).toMatchObject([{ ticket: undefined }, { number: 3, ticket: 'm.1.1' }]);
  });

  it('is not read from a move without a ticket', () => {
    const bytes = encodeBatch(batch('p', { kind: 'move', incarnation: 'b', spans: whole, ticket: '' }));
    expect(() => decodeBatch(bytes)).toThrow('the log holds a move without a ticket');
  });
});

describe('an order to a member', () => {
  const joined = ManagerState.empty.apply(1, batch('p', join('a'), join('b')));
  const ordered = joined.apply(2, batch('p', { kind: 'order', incarnation: 'a', order: 'emptying' }));
  const orders = (state: ManagerState) => [...state.pool('p').members.values()].map(({ order }) => order);
  const formatOf = (state: ManagerState) =>
    JSON.parse(new TextDecoder().decode(encodeSnapshot(state))).format;

  it('stands until another one, or until the process has left', () => {
    expect(orders(ordered)).toEqual(['emptying', undefined]);
    const back = ordered.apply(3, batch('p', { kind: 'order', incarnation: 'a', order: undefined }));
    expect(orders(back)).toEqual([undefined, undefined]);
    const again = ordered
      .apply(3, batch('p', { kind: 'leave', incarnation: 'a', why: 'left' }))
      .apply(4, batch('p', join('a')));
    expect(orders(again)).toEqual([undefined, undefined]);
  });

  it('is read from batches and snapshots as it was written, and earlier versions refuse both', () => {
    expect(orders(decodeSnapshot(2, encodeSnapshot(ordered)))).toEqual(['emptying', undefined]);
    expect([formatOf(joined), formatOf(ordered)]).toEqual([1, 3]);
    for (const order of ['cordoned', 'emptying', 'released', undefined] as const) {
      const written = batch('p', { kind: 'order', incarnation: 'a', order });
      expect(decodeBatch(encodeBatch(written)).pools).toEqual(written.pools);
    }
  });

  it('to one that is no member changes nothing', () => {
    const other = joined.apply(2, batch('p', { kind: 'order', incarnation: 'c', order: 'cordoned' }));
    expect(orders(other)).toEqual([undefined, undefined]);
  });

  it('of a later version is not taken for none', () => {
    const text = '{"format":1,"term":1,"leader":"m","takeoverMs":1,"pools":{"p":[["order","a","painted"]]}}';
    expect(() => decodeBatch(new TextEncoder().encode(text))).toThrow('the log holds an order "painted"');
  });
});

describe('a state that this version cannot read', () => {
  const bytesOf = (text: string): Uint8Array => new TextEncoder().encode(text);
  const readers: readonly ((bytes: Uint8Array) => unknown)[] = [
    decodeBatch,
    (bytes) => decodeSnapshot(1, bytes),
  ];

  it('is bytes that are not JSON', () => {
    for (const read of readers) {
      expect(() => read(new Uint8Array([0xff, 0, 7]))).toThrow(unreadable);
      expect(() => read(bytesOf('{"format":1,'))).toThrow('the log holds bytes that are not JSON');
      expect(() => read(bytesOf(''))).toThrow(unreadable);
    }
  });

  it('is another format, and the error says which', () => {
    for (const read of readers) {
      expect(() => read(bytesOf('{"format":9}'))).toThrow('the log holds format 9, and this version reads 1');
      expect(() => read(bytesOf('null'))).toThrow('format undefined');
      expect(() => read(bytesOf('[]'))).toThrow(unreadable);
    }
  });

  it('is a record of a kind that was not known yet', () => {
    const bytes = bytesOf(
      '{"format":1,"term":1,"leader":"m","takeoverMs":1,"pools":{"p":[["teleport",[]]]}}',
    );
    expect(() => decodeBatch(bytes)).toThrow('the log holds a record of kind teleport');
  });

  it('is damaged, though it is JSON and of the right format', () => {
    const leaderRecord = '"format":1,"term":1,"leader":"m","takeoverMs":1';
    const damaged = ['', ',"pools":null', ',"pools":{"p":null}', ',"pools":{"p":"rows"}'];
    for (const read of readers)
      for (const rest of damaged)
        expect(() => read(bytesOf(`{${leaderRecord}${rest}}`)), rest).toThrow(unreadable);

    const records = ['null', '[]', '["join"]', '["join",null]', '["grant","a"]', '["free",[["0"]]]'];
    const spans = ['["0","no hexadecimal"]', '["-1","2"]', '["","2"]', 'null'];
    for (const record of [...records, ...spans.map((span) => `["free",[${span}]]`)])
      expect(() => decodeBatch(bytesOf(`{${leaderRecord},"pools":{"p":[${record}]}}`)), record).toThrow(
        unreadable,
      );

    const rows = ['null', '[]', '["ff","a",1,0,1]', '["x",null,0,0,0,[]]', '["ff",null,0,0,0,[["0","1"],7]]'];
    for (const row of rows) {
      const pool = `{"changedAt":1,"members":[],"rows":[${row}]}`;
      expect(() => decodeSnapshot(1, bytesOf(`{${leaderRecord},"pools":{"p":${pool}}}`)), row).toThrow(
        unreadable,
      );
    }
    const noMembers = '{"changedAt":1,"rows":[]}';
    expect(() => decodeSnapshot(1, bytesOf(`{${leaderRecord},"pools":{"p":${noMembers}}}`))).toThrow(
      unreadable,
    );
  });

  it('does not say who wrote it, or how long to wait for that one’s leases', () => {
    const leaderRecords = [
      '',
      '"term":1,"leader":"m",',
      '"term":1,"takeoverMs":1,',
      '"leader":"m","takeoverMs":1,',
      '"term":"1","leader":"m","takeoverMs":1,',
      '"term":1,"leader":"m","takeoverMs":null,',
    ];
    for (const read of readers)
      for (const leaderRecord of leaderRecords)
        expect(() => read(bytesOf(`{"format":1,${leaderRecord}"pools":{}}`)), leaderRecord).toThrow(
          unreadable,
        );
  });

  it('names the flaw in an error', () => {
    let thrown: unknown;
    try {
      decodeBatch(bytesOf('{"format":1,"term":1,"leader":"m","takeoverMs":1}'));
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toMatchObject({ message: 'the log holds something damaged of format 1' });
    expect((thrown as Error).cause).toBeInstanceOf(TypeError);
  });

  it('is no reason to try again without a newer version', () => {
    expect(() => decodeBatch(bytesOf(''))).toThrow(expect.objectContaining({ retryable: false }));
  });
});
