import fc from 'fast-check';
import { pack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../../runtime/errors.ts';
import type { Changes, ToManager, Update } from '../core/messages.ts';
import { encode } from '../../runtime/wire/form.ts';
import { decodeFromManager, decodeToManager, encodeMessage } from './messages.ts';
import { type FieldName, KEYS } from './keys.ts';
import * as moveLists from './move-lists.ts';
import * as lists from './packed-lists.ts';
import { LONGEST_NAME, LONGEST_SECRET, LONGEST_URL, MOST_ROWS, MOST_SPANS } from './rules.ts';
import {
  certificate,
  certified,
  changes,
  notLeader,
  probe,
  prove,
  refused,
  report,
  role,
  snapshot,
  sync,
  update,
} from './samples.ts';

/** Fields by the names that we have for them; what has a field has fields itself. */
interface Fields {
  readonly [name: string]: unknown;
}

const { held, letGo, transfer, moving, receiving, handed } = report;
const { moves, incoming, arrived } = update;
const fields = {
  report: {
    ...{ ...report, held: encode(lists.held, held), letGo: encode(lists.letGo, letGo) },
    transfer: { ...transfer, names: encode(moveLists.movables, transfer?.names ?? []) },
    moving: encode(moveLists.moving, moving ?? []),
    receiving: encode(moveLists.receiving, receiving ?? []),
    handed: encode(moveLists.handed, handed ?? []),
  },
  sync,
  certificate,
  update: {
    ...{ ...update, spans: encode(lists.granted, update.spans) },
    moves: encode(moveLists.moves, moves ?? []),
    incoming: encode(moveLists.incoming, incoming ?? []),
    arrived: encode(moveLists.arrived, arrived ?? []),
  },
  changes: { ...changes, rows: encode(lists.rows, changes.rows) },
  certified,
};

type Decode = (frame: Uint8Array) => unknown;

const SAMPLES: Readonly<Record<string, { decode: Decode; fields: Fields; message: object }>> = {
  report: { decode: decodeToManager, fields: { ...fields.report }, message: report },
  sync: { decode: decodeToManager, fields: { ...sync }, message: sync },
  certificate: { decode: decodeToManager, fields: { ...certificate }, message: certificate },
  update: { decode: decodeFromManager, fields: { ...fields.update }, message: update },
  changes: { decode: decodeFromManager, fields: { ...fields.changes }, message: changes },
  certified: { decode: decodeFromManager, fields: { ...certified }, message: certified },
  refused: { decode: decodeFromManager, fields: { ...refused }, message: refused },
  prove: { decode: decodeToManager, fields: { ...prove }, message: prove },
  probe: { decode: decodeToManager, fields: { ...probe }, message: probe },
  notLeader: {
    decode: decodeFromManager,
    fields: { ...notLeader, kind: 'elsewhere' },
    message: notLeader,
  },
  role: { decode: decodeFromManager, fields: { ...role }, message: role },
};

/** The frame that a peer with a MessagePack library of its own would send. */
function frameOf(value: Fields): Uint8Array {
  const renamed = (fields: Fields): Fields =>
    Object.fromEntries(
      Object.entries(fields)
        .filter(([, value]) => value !== undefined)
        .map(([name, value]) => [keyOf(name), isMap(value) ? renamed(value) : value]),
    );
  return pack(renamed(value));
}

const keyOf = (name: string): string => (Object.hasOwn(KEYS, name) ? KEYS[name as FieldName] : name);

const isMap = (value: unknown): value is Fields =>
  typeof value === 'object' && value !== null && Object.getPrototypeOf(value) === Object.prototype;

/**
 * What each field takes, written down a second time: the fields as they are in the samples, and
 * what is allowed there of everything one could put instead.
 */
const isText =
  (longest: number) =>
  (value: unknown): boolean =>
    typeof value === 'string' && value.length >= 1 && value.length <= longest;
const isName = isText(256);
const isUrl = isText(2048);
const isCount = (value: unknown): boolean =>
  typeof value === 'number' && value >= 0 && Math.floor(value) === value && value < 2 ** 53;
const isDuration = (value: unknown): boolean =>
  typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY;
/** 16 bytes in hexadecimal. */
const isStamp = (value: unknown): boolean => typeof value === 'string' && /^[0-9a-f]{32}$/.test(value);
const isFlag = (value: unknown): boolean => value === true || value === false;
const never = (): boolean => false;
const orNothing =
  (allowed: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || value === null || allowed(value);
/** Packed: `00` is no items; a table has no owners and no rows. */
const isEmptyList = (value: unknown): boolean => value instanceof Uint8Array && value.join() === '0';
const isEmptyTable = (value: unknown): boolean => value instanceof Uint8Array && value.join() === '0,0';

const FIELDS: Readonly<Record<string, (value: unknown) => boolean>> = {
  'report.kind': never,
  'report.pool': isName,
  'report.incarnation': isName,
  'report.name': isName,
  'report.url': isUrl,
  'report.proof': orNothing(isName),
  'report.sequence': isCount,
  'report.wantsAnswer': isFlag,
  'report.heard': orNothing(never),
  'report.heard.term': isCount,
  'report.heard.sequence': isCount,
  'report.seen': orNothing(never),
  'report.seen.history': isName,
  'report.seen.term': isCount,
  'report.seen.position': isCount,
  'report.seen.stamp': orNothing(isStamp),
  'report.held': isEmptyList,
  'report.letGo': isEmptyList,
  'report.transfer': orNothing(never),
  'report.transfer.address': isUrl,
  'report.transfer.names': isEmptyList,
  'report.intent': orNothing(never),
  'report.moving': orNothing(isEmptyList),
  'report.receiving': orNothing(isEmptyList),
  'report.handed': orNothing(isEmptyList),
  'report.leaving': isFlag,
  'report.load': (value) => typeof value === 'number' && value >= 0 && value < Infinity,
  'sync.kind': never,
  'sync.pool': isName,
  'sync.lookup': isName,
  'sync.sequence': isCount,
  'sync.seen': orNothing(never),
  'sync.seen.history': isName,
  'sync.seen.term': isCount,
  'sync.seen.position': isCount,
  'sync.seen.stamp': orNothing(isStamp),
  'prove.kind': never,
  'prove.pool': isName,
  'prove.incarnation': isName,
  'prove.key': (value) => typeof value === 'string' && /^[0-9a-f]{64}$/.test(value),
  'prove.signature': (value) => typeof value === 'string' && /^[0-9a-f]{128}$/.test(value),
  'probe.kind': never,
  'probe.asker': isName,
  'probe.round': isCount,
  'notLeader.kind': never,
  'notLeader.pool': isName,
  'notLeader.incarnation': isName,
  'notLeader.term': isCount,
  'notLeader.leader': isName,
  'role.kind': never,
  'role.asker': isName,
  'role.round': isCount,
  'role.leads': orNothing(never),
  'role.leads.history': isName,
  'role.leads.term': isCount,
  'role.leads.leader': isName,
  'role.leads.holdMs': isDuration,
  'role.leads.isLogShared': isFlag,
  'certificate.kind': never,
  'certificate.secret': isText(512),
  'update.kind': never,
  'update.pool': isName,
  'update.incarnation': isName,
  'update.history': isName,
  'update.term': isCount,
  'update.sequence': isCount,
  'update.position': isCount,
  'update.stamp': orNothing(isStamp),
  'update.acknowledges': isCount,
  'update.leaseMs': isDuration,
  'update.pace': never,
  'update.pace.renewEveryMs': isDuration,
  'update.pace.retryMs': isDuration,
  'update.pace.revokeTimeoutMs': isDuration,
  'update.pace.suspensionToleranceMs': isDuration,
  'update.admitted': isFlag,
  'update.spans': isEmptyList,
  'update.moves': orNothing(isEmptyList),
  'update.incoming': orNothing(isEmptyList),
  'update.arrived': orNothing(isEmptyList),
  'update.asked': orNothing(never),
  'update.targets': orNothing(isCount),
  'changes.kind': never,
  'changes.pool': isName,
  'changes.history': isName,
  'changes.term': isCount,
  // From 0 on, the rows would have to be all there are.
  'changes.from': (value) => isCount(value) && (value as number) <= 70_000 && value !== 0,
  'changes.stamp': orNothing(isStamp),
  'changes.to': (value) => isCount(value) && (value as number) >= 69_990,
  'changes.rows': isEmptyTable,
  'changes.answers': orNothing(never),
  'changes.answers.lookup': isName,
  'changes.answers.sequence': isCount,
  'changes.pace': orNothing(never),
  'changes.pace.syncEveryMs': isDuration,
  'changes.pace.staleAfterMs': isDuration,
  'changes.pace.retryMs': isDuration,
  'certified.kind': never,
  'certified.proof': isName,
  'refused.kind': never,
  'refused.pool': isName,
  'refused.asker': isName,
  'refused.code': isName,
  'refused.message': isText(4_096),
  'refused.retryable': isFlag,
};

const INSTEAD: readonly unknown[] = [
  ...[undefined, null, true, false],
  ...[-1, -0.5, 0, 1, 1.5, 70_001, 2 ** 53 - 1, 2 ** 53, 1e300, Number.NaN, Infinity, -Infinity],
  ...[
    '',
    'x',
    '1',
    '__proto__',
    'af'.repeat(16),
    'AF'.repeat(16),
    'xy'.repeat(16),
    ...[256, 257, 512, 513, 2048, 2049].map((length) => 'x'.repeat(length)),
  ],
  ...[{}, { length: 0 }, Uint8Array.of(), Uint8Array.of(0), Uint8Array.of(0, 0), Uint8Array.of(1)],
];

/** What MessagePack has and we do not. */
const NOT_OURS: readonly unknown[] = [[], [1], new Date(0), new Set([1]), /x/];

type Steps = readonly string[];

/** Every place in the fields: `heard.term` as `['heard', 'term']`. */
function* placesIn(value: unknown, at: Steps = []): Generator<Steps> {
  if (!isMap(value)) return;
  for (const step of Object.keys(value)) {
    yield [...at, step];
    yield* placesIn(value[step], [...at, step]);
  }
}

const replaced = (value: Fields, [step = '', ...rest]: Steps, by: unknown): Fields => ({
  ...value,
  [step]: rest.length === 0 ? by : replaced(value[step] as Fields, rest, by),
});

function refusal(decode: Decode, frame: Uint8Array): MalformedMessageError | undefined {
  try {
    decode(frame);
    return undefined;
  } catch (error) {
    if (error instanceof MalformedMessageError) return error;
    throw error;
  }
}

describe('a message of every kind', () => {
  it.each(Object.entries(SAMPLES))('%s: is read as it was written', (_, { decode, fields, message }) => {
    expect(decode(frameOf(fields))).toStrictEqual(message);
  });

  it('may leave out what is optional', () => {
    const { proof, heard, seen, ...bare } = fields.report;
    expect([proof, heard, seen]).not.toContain(undefined);
    expect(decodeToManager(frameOf(bare))).toStrictEqual({
      ...report,
      proof: undefined,
      heard: undefined,
      seen: undefined,
    });
    expect(decodeFromManager(frameOf({ ...fields.changes, answers: null }))).toStrictEqual({
      ...changes,
      answers: undefined,
    });
  });

  it('may have its fields in any order', () => {
    for (const { decode, fields, message } of Object.values(SAMPLES)) {
      expect(decode(frameOf(Object.fromEntries(Object.entries(fields).reverse())))).toStrictEqual(message);
    }
  });

  it('is refused by the other side', () => {
    for (const { decode, fields } of Object.values(SAMPLES)) {
      const other = decode === decodeToManager ? decodeFromManager : decodeToManager;
      expect(refusal(other, frameOf(fields))?.path).toBe('kind');
    }
  });

  it('is refused if it is no map at all', () => {
    for (const value of [null, true, 1, 'report', [report.kind], Uint8Array.of(1)]) {
      expect(refusal(decodeToManager, pack(value))?.message).toBe(
        'malformed message: the message must be a map',
      );
    }
    expect(refusal(decodeToManager, Uint8Array.of())?.message).toBe(
      'malformed message: the message ends too early',
    );
  });
});

describe('a field of a message', () => {
  it('is in the table of this test, whatever message it belongs to', () => {
    const there = Object.entries(SAMPLES).flatMap(([kind, { fields }]) =>
      [...placesIn(fields)].map((steps) => [kind, ...steps].join('.')),
    );
    expect(there.sort()).toEqual(Object.keys(FIELDS).sort());
  });

  it.each(Object.entries(SAMPLES))(
    '%s: is refused by name if it is anything else',
    (kind, { decode, fields }) => {
      for (const steps of placesIn(fields)) {
        for (const instead of INSTEAD) {
          const allowed = FIELDS[[kind, ...steps].join('.')]?.(instead);
          const error = refusal(decode, frameOf(replaced(fields, steps, instead)));
          const what = `${steps.join('.')} = ${String(instead)}`;
          if (allowed) expect(error, what).toBeUndefined();
          else expect(error?.path ?? 'accepted', what).toMatch(blames(steps, instead));
        }
      }
    },
  );

  it('is refused if it is of a type that messages do not have', () => {
    for (const { decode, fields } of Object.values(SAMPLES)) {
      for (const steps of placesIn(fields)) {
        for (const instead of NOT_OURS) {
          expect(refusal(decode, frameOf(replaced(fields, steps, instead)))?.path).toBe('the message');
        }
      }
    }
  });

  it.each([
    ['report', 'pool'],
    ['report', 'name'],
    ['report', 'url'],
    ['sync', 'pool'],
  ] as const)('%s: is refused if its %s would do something to a terminal', (kind, field) => {
    const error = refusal(decodeToManager, frameOf({ ...fields[kind], [field]: 'a\x1b[2J\u202e' }));
    expect(error?.message).toBe(
      `malformed message: ${field} must have no control or invisible characters in it`,
    );
  });

  it('is refused with path, rule and code', () => {
    const error = refusal(decodeFromManager, frameOf({ ...fields.update, leaseMs: 0 }));
    expect(error).toMatchObject({ code: 'MALFORMED_MESSAGE', retryable: false, path: 'leaseMs' });
    expect(error?.message).toBe('malformed message: leaseMs must be a positive number of milliseconds');
  });
});

/**
 * A bad order of two numbers is blamed at the later; missing rows, at the rows; and a map within a map
 * within a map is not even read.
 */
function blames(steps: Steps, instead: unknown): RegExp {
  if (steps.length > 1 && isMap(instead)) return /^the message$/;
  if (steps.join() === 'from') return instead === 0 ? /^rows$/ : /^(from|to)$/;
  return new RegExp(`^${steps.join('\\.')}(\\W.*)?$`);
}

describe('the changes of a table', () => {
  const refused = (message: Changes) => refusal(decodeFromManager, encodeMessage(message));

  it('go forward', () => {
    expect(refused({ ...changes, from: 9, to: 9 })).toBeUndefined();
    expect(refused({ ...changes, from: 10, to: 9 })?.message).toBe(
      'malformed message: to must not be below from',
    );
  });

  it('have every row of the ring if they begin at 0', () => {
    const [first, second, third] = snapshot.rows as [...Changes['rows']] & { length: 3 };
    const rows = (...rows: (Changes['rows'][number] | undefined)[]) =>
      refused({ ...snapshot, rows: rows.filter((row) => row !== undefined) })?.message;
    const rule = 'malformed message: rows must cover the ring, because from is 0';
    expect(rows(first, second, third)).toBeUndefined();
    expect([rows(), rows(first, second), rows(second, third), rows(first, third)]).toEqual(
      Array(4).fill(rule),
    );
  });
});

describe('a list of spans', () => {
  const held = (...spans: readonly (readonly [bigint, bigint])[]) => {
    const list = spans.map(([start, end]) => ({ start, end, number: 1 }));
    return refusal(decodeToManager, encodeMessage({ ...report, held: list }))?.message;
  };

  it('is blamed by the place of its first flaw', () => {
    expect(held([0n, 1n], [4n, 4n])).toBe('malformed message: held[1].end must be above start');
    const spans: Update['spans'] = [
      { start: 0n, end: 9n, number: 1, recalled: false, continues: [{ start: 5n, end: 4n, number: 0 }] },
    ];
    expect(refusal(decodeFromManager, encodeMessage({ ...update, spans }))?.message).toBe(
      'malformed message: spans[0].continues[0].end must be above start',
    );
  });
});

describe('a field that a newer peer adds', () => {
  it('is left behind, wherever it is', () => {
    for (const { decode, fields, message } of Object.values(SAMPLES)) {
      for (const steps of [[], ...placesIn(fields)]) {
        const value = steps.reduce<unknown>((part, step) => (part as Fields)[step], fields);
        if (!isMap(value)) continue;
        const extended = { ...value, extra: 1, constructor: 2, toString: 'no' };
        const whole = steps.length === 0 ? extended : replaced(fields, steps, extended);
        expect(decode(frameOf(whole))).toStrictEqual(message);
      }
    }
  });

  it('does not reach the prototype of anything', () => {
    for (const { decode, fields, message } of Object.values(SAMPLES)) {
      const poison: [string, unknown] = ['__proto__', new Map([['polluted', true]])];
      const renamed = Object.entries(fields).map(([name, value]): [string, unknown] => [
        keyOf(name),
        isMap(value) ? new Map(Object.entries(value).map(([name, value]) => [keyOf(name), value])) : value,
      ]);
      const decoded = decode(pack(new Map([poison, ...renamed]))) as Record<string, unknown>;
      expect(decoded).toStrictEqual(message);
      expect(Object.getPrototypeOf(decoded)).toBe(Object.prototype);
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    }
  });

  it('cannot choose a kind by what every object has', () => {
    for (const kind of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(refusal(decodeToManager, frameOf({ ...fields.report, kind }))?.path).toBe('kind');
      expect(refusal(decodeFromManager, frameOf({ ...fields.update, kind }))?.path).toBe('kind');
    }
  });
});

describe('the longest texts and lists', () => {
  it('are those that the documentation gives', () => {
    expect([LONGEST_NAME, LONGEST_URL, LONGEST_SECRET]).toEqual([256, 2_048, 512]);
    expect([MOST_SPANS, MOST_ROWS]).toEqual([100_000, 1_000_000]);
  });

  it('are counted in UTF-16 units, as JavaScript does, and not in bytes', () => {
    const secret = (text: string): ToManager => ({ kind: 'certificate', secret: text });
    expect(refusal(decodeToManager, encodeMessage(secret('€'.repeat(512))))).toBeUndefined();
    expect(refusal(decodeToManager, encodeMessage(secret('😀'.repeat(256))))).toBeUndefined();
    expect(refusal(decodeToManager, encodeMessage(secret('😀'.repeat(257))))?.path).toBe('secret');
  });
});

describe('anything at all', () => {
  it('is either a message or refused, and never anything else', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(SAMPLES)),
        fc.oneof(fc.jsonValue(), fc.uint8Array(), fc.date(), fc.double()),
        fc.nat(),
        ({ decode, fields }, value, at) => {
          refusal(decode, pack(value));
          const places = [...placesIn(fields)];
          refusal(decode, frameOf(replaced(fields, places[at % places.length] ?? [], value)));
        },
      ),
      { numRuns: 500 },
    );
  });
});
