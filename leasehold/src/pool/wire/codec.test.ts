import { Buffer } from 'node:buffer';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../runtime/keys/position.ts';
import type {
  Certificate,
  Certified,
  Changes,
  FromManager,
  GrantedSpan,
  Intent,
  LetGo,
  NumberedSpan,
  Refused,
  Report,
  Seen,
  Sync,
  TableRow,
  TicketSpan,
  ToGate,
  Update,
} from '../core/messages.ts';
import { clientCodec, managerCodec, POOL_PROTOCOL } from './codec.ts';
import * as forms from './messages.ts';
import { encodeMessage } from './messages.ts';
import { assert } from '../../runtime/assert.ts';
import { hasControls } from '../../runtime/printable.ts';
import { wholePayload } from '../../runtime/codec.ts';
import { fuzzCodec } from './fuzz.ts';
import { changes, FROM_MANAGER, report, snapshot, TO_MANAGER } from './samples.ts';

/** So many rows that lie end to end. */
function rowsOf(count: number): readonly TableRow[] {
  const owner = { incarnation: 'a.1', name: 'a', url: 'http://a' };
  const step = RING_SIZE / BigInt(count);
  return Array.from({ length: count }, (_, index) => ({
    start: BigInt(index) * step,
    end: index === count - 1 ? RING_SIZE : BigInt(index + 1) * step,
    owner: index % 7 === 0 ? undefined : owner,
    number: index,
    lostAt: index % 3,
  }));
}

const toManager = (message: ToGate): ToGate => managerCodec.decode(encodeMessage(message));
const fromManager = (message: FromManager): FromManager => clientCodec.decode(encodeMessage(message));

// Everything that a message may be.

const record = <T>(model: { [Field in keyof T]: fc.Arbitrary<T[Field]> }): fc.Arbitrary<T> =>
  fc.record<T>(model, { noNullPrototype: true });

const text = (longest: number): fc.Arbitrary<string> =>
  fc.oneof(
    fc.string({ minLength: 1, maxLength: 40, unit: 'grapheme' }).filter(({ length }) => length <= longest),
    fc.constantFrom(
      'x',
      '\u0000',
      '__proto__',
      '\ufeffx',
      'é',
      '😀',
      'x'.repeat(longest),
      '€'.repeat(longest),
    ),
  );
const name = text(256);
const url = text(2_048);
const count = fc.oneof(
  fc.maxSafeNat(),
  fc.nat(300),
  fc.constantFrom(0, 127, 128, 255, 256, 65_535, 65_536, 2 ** 31, 2 ** 32 - 1, 2 ** 32, 2 ** 49, 2 ** 53 - 1),
);
const load = fc
  .oneof(count, fc.double({ min: 0, max: Number.MAX_VALUE, noNaN: true }))
  .map((value) => value + 0);
const optional = <T>(value: fc.Arbitrary<T>): fc.Arbitrary<T | undefined> =>
  fc.option(value, { nil: undefined });
const place = fc.oneof(
  fc.bigInt({ min: 0n, max: RING_SIZE }),
  fc.constantFrom(0n, 1n, RING_SIZE / 2n, RING_SIZE - 1n, RING_SIZE),
);

/** Spans in order, some end to end, some apart. */
const spans = <T>(
  rest: fc.Arbitrary<T>,
  maxLength = 6,
): fc.Arbitrary<(T & { start: bigint; end: bigint })[]> =>
  fc
    .tuple(fc.uniqueArray(place, { maxLength: 2 * maxLength }), fc.array(fc.tuple(rest, fc.boolean())))
    .map(([places, rests]) => {
      const sorted = places.sort((one, other) => (one < other ? -1 : 1));
      const list: (T & { start: bigint; end: bigint })[] = [];
      let at = 0;
      for (const [rest, apart] of rests) {
        if (apart) at += 1;
        const [start, end] = [sorted[at], sorted[at + 1]];
        if (start === undefined || end === undefined) break;
        list.push({ start, end, ...rest });
        at += 1;
      }
      return list;
    });

const stamp = fc.stringMatching(/^[0-9a-f]{32}$/);
const seen: fc.Arbitrary<Seen> = record({
  history: name,
  term: count,
  position: count,
  stamp: optional(stamp),
});
const numbered: fc.Arbitrary<NumberedSpan[]> = spans(record({ number: count }));
const letGo: fc.Arbitrary<LetGo[]> = spans(
  record({ number: count, how: fc.constantFrom('released' as const, 'lapsed' as const) }),
);
const granted: fc.Arbitrary<GrantedSpan[]> = spans(
  record({ number: count, recalled: fc.boolean(), continues: numbered }),
);
const owners = fc.array(record({ incarnation: name, name, url }), { maxLength: 3 });
const rows: fc.Arbitrary<TableRow[]> = fc
  .tuple(owners, spans(record({ number: count, lostAt: count, owner: fc.nat(3) })))
  .map(([some, list]) => list.map(({ owner, ...row }) => ({ ...row, owner: some[owner] })));

const label = text(200);
const intent = fc.constantFrom<Intent>('stay', 'cordoned', 'draining');
/** Moves, each with these facts. */
const tickets = <T>(rest: fc.Arbitrary<T>): fc.Arbitrary<(T & TicketSpan)[]> =>
  spans(
    fc.tuple(rest, record({ number: count, ticket: label })).map(([one, other]) => ({ ...one, ...other })),
    3,
  );

/** A Manager takes no names that do something to a terminal. */
const isReadable = (chosen: string): boolean => !hasControls(chosen);
const chosenName = name.filter(isReadable);
const reports: fc.Arbitrary<Report> = record({
  kind: fc.constant('report' as const),
  pool: chosenName,
  incarnation: name,
  name: chosenName,
  url: url.filter(isReadable),
  proof: optional(name),
  sequence: count,
  wantsAnswer: fc.boolean(),
  heard: optional(record({ term: count, sequence: count })),
  seen: optional(seen),
  held: numbered,
  letGo,
  leaving: fc.boolean(),
  load,
  transfer: optional(
    record({
      address: url,
      names: fc.array(record({ name: label, version: count, reads: fc.array(count, { maxLength: 3 }) }), {
        maxLength: 3,
      }),
    }),
  ),
  intent: optional(intent),
  moving: optional(tickets(record({ to: label, bytes: count }))),
  receiving: optional(tickets(record({ from: label, digest: optional(label) }))),
  handed: optional(tickets(record({ to: label, digest: label, bytes: count }))),
});
const syncs: fc.Arbitrary<Sync> = record({
  kind: fc.constant('sync' as const),
  pool: chosenName,
  lookup: name,
  sequence: count,
  seen: optional(seen),
});
const certificates: fc.Arbitrary<Certificate> = record({
  kind: fc.constant('certificate' as const),
  secret: text(512),
});
const duration = load.filter((value) => value > 0);
const updates: fc.Arbitrary<Update> = record({
  kind: fc.constant('update' as const),
  pool: name,
  incarnation: name,
  history: name,
  term: count,
  sequence: count,
  position: count,
  stamp: optional(stamp),
  acknowledges: count,
  leaseMs: duration,
  pace: record({
    renewEveryMs: duration,
    retryMs: duration,
    revokeTimeoutMs: duration,
    suspensionToleranceMs: duration,
  }),
  admitted: fc.boolean(),
  spans: granted,
  moves: optional(tickets(record({ to: label, toName: label, address: label }))),
  incoming: optional(tickets(record({ from: label, fromName: label }))),
  arrived: optional(tickets(record({}))),
  asked: optional(intent),
  targets: optional(count),
});
const someChanges: fc.Arbitrary<Changes> = record({
  kind: fc.constant('changes' as const),
  pool: name,
  history: name,
  term: count,
  from: count,
  to: count,
  stamp: optional(stamp),
  rows,
  answers: optional(record({ lookup: name, sequence: count })),
  pace: optional(record({ syncEveryMs: duration, staleAfterMs: duration, retryMs: duration })),
}).map(({ from, to, ...rest }) => ({
  ...rest,
  from: Math.max(1, Math.min(from, to)),
  to: Math.max(1, from, to),
}));
const certifieds: fc.Arbitrary<Certified> = record({
  kind: fc.constant('certified' as const),
  proof: name,
});

const refusals: fc.Arbitrary<Refused> = record({
  kind: fc.constant('refused' as const),
  pool: name,
  asker: name,
  code: name,
  message: text(4_096),
  retryable: fc.boolean(),
});

describe('a message', () => {
  it('of every kind is read as it was written', () => {
    for (const message of [...forms.toManager.samples(), ...Object.values(TO_MANAGER)])
      expect(toManager(message)).toStrictEqual(message);
    for (const message of [...forms.fromManager.samples(), ...Object.values(FROM_MANAGER)])
      expect(fromManager(message)).toStrictEqual(message);
  });

  it('to a Manager is read as it was written, whatever is in it', () => {
    fc.assert(
      fc.property(fc.oneof(reports, reports, syncs, certificates), (message) => {
        expect(toManager(message)).toStrictEqual(message);
      }),
      { numRuns: 400 },
    );
  });

  it('from a Manager is read as it was written, whatever is in it', () => {
    fc.assert(
      fc.property(fc.oneof(updates, someChanges, certifieds, refusals), (message) => {
        expect(fromManager(message)).toStrictEqual(message);
      }),
      { numRuns: 400 },
    );
  });

  it('with a whole table is read as it was written', () => {
    const many = rowsOf(20_000);
    expect(fromManager({ ...snapshot, rows: many })).toStrictEqual({ ...snapshot, rows: many });
  });

  it('does not keep the frame it came in', () => {
    const frame = Uint8Array.from(encodeMessage(changes));
    const message = clientCodec.decode(frame);
    frame.fill(0);
    expect(message).toStrictEqual(changes);
  });

  it('is read wherever in memory its frame lies', () => {
    const frame = encodeMessage(report);
    const memory = new Uint8Array(frame.length + 7);
    memory.set(frame, 3);
    expect(managerCodec.decode(memory.subarray(3, 3 + frame.length))).toStrictEqual(report);
  });

  it('that cannot be written leaves nothing behind for the next', () => {
    const broken = { ...report, letGo: [{ start: 'no', end: 1n, number: 1 }] } as unknown as Report;
    expect(() => clientCodec.encode(broken)).toThrow(SyntaxError);
    expect(toManager({ ...report })).toStrictEqual(report);
  });
});

describe('encoding', () => {
  it('is done once for one message, however many it goes to', () => {
    const push: Changes = { ...changes, answers: undefined };
    expect(managerCodec.encode(push)).toBe(managerCodec.encode(push));
    expect(managerCodec.encode({ ...push })).not.toBe(managerCodec.encode(push));
  });

  it('packs the rows of a table once for all look-ups, and puts them last', () => {
    const table = { ...snapshot, rows: rowsOf(1_000) };
    const [one, other] = [1, 2].map((sequence) =>
      managerCodec.encode({ ...table, answers: { lookup: 'l', sequence } }),
    );
    assert(one !== undefined && 'tail' in one && other !== undefined && 'tail' in other, 'it has a tail');
    expect(one.tail).toBe(other.tail);
    expect(one.head).not.toEqual(other.head);
    expect(one.head.length).toBeLessThan(200);
    expect(clientCodec.decode(wholePayload(other))).toStrictEqual({
      ...table,
      answers: { lookup: 'l', sequence: 2 },
    });
  });

  it('names an owner once, however many rows it has', () => {
    const frame = Buffer.from(encodeMessage(snapshot)).toString('latin1');
    expect(frame.split('http://a')).toHaveLength(2);
  });
});

describe('the protocol', () => {
  it('has a name and its first version', () => {
    expect(POOL_PROTOCOL).toEqual({ name: 'leasehold-pool', version: 3, oldest: 3 });
  });
});

describe('bytes that no honest peer sends', () => {
  it('are refused, or are a message; 20,000 times (npm run fuzz tries more)', () => {
    const { accepted, refused } = fuzzCodec(20_000, 1);
    expect(accepted + refused).toBe(20_000);
    // Were everything refused at once, little would have been tried.
    expect(accepted).toBeGreaterThan(500);
    expect(refused).toBeGreaterThan(10_000);
  });
});
