import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../runtime/errors.ts';
import { RING_SIZE } from '../runtime/keys/position.ts';
import {
  decodeFromManager,
  decodeToManager,
  LONGEST_NAME,
  LONGEST_SECRET,
  LONGEST_URL,
  MOST_ROWS,
  MOST_SPANS,
} from './decode.ts';
import type { Certificate, Certified, Changes, Report, Sync, Update } from './messages.ts';

const HALF = RING_SIZE / 2n;

// One message of every kind, with every optional field present and two items in every list.
const report: Report = {
  kind: 'report',
  pool: 'presence',
  incarnation: 'a.1',
  name: 'a',
  url: 'http://a',
  proof: 'digest',
  sequence: 4,
  wantsAnswer: true,
  heard: { term: 2, sequence: 3 },
  seen: { history: 'h', term: 2, position: 9 },
  held: [
    { start: 0n, end: 4n, number: 1 },
    { start: 4n, end: 8n, number: 2 },
  ],
  letGo: [
    { start: 10n, end: 12n, number: 1, how: 'released' },
    { start: 14n, end: RING_SIZE, number: 1, how: 'lapsed' },
  ],
  leaving: false,
  load: 0.5,
};
const sync: Sync = {
  kind: 'sync',
  pool: 'presence',
  lookup: 'l.1',
  sequence: 1,
  seen: { history: 'h', term: 2, position: 9 },
};
const certificate: Certificate = { kind: 'certificate', secret: 'hush' };
const update: Update = {
  kind: 'update',
  pool: 'presence',
  incarnation: 'a.1',
  history: 'h',
  term: 2,
  sequence: 3,
  position: 9,
  acknowledges: 4,
  leaseMs: 9_000,
  admitted: true,
  spans: [
    { start: 0n, end: 4n, number: 9, recalled: false, continues: [] },
    {
      start: 4n,
      end: 8n,
      number: 2,
      recalled: true,
      continues: [
        { start: 4n, end: 6n, number: 1 },
        { start: 6n, end: 8n, number: 0 },
      ],
    },
  ],
};
const changes: Changes = {
  kind: 'changes',
  pool: 'presence',
  history: 'h',
  term: 2,
  from: 5,
  to: 9,
  rows: [
    {
      start: 0n,
      end: HALF,
      owner: { incarnation: 'a.1', name: 'a', url: 'http://a' },
      number: 9,
      lostAt: 5,
    },
    { start: HALF, end: RING_SIZE, owner: undefined, number: 0, lostAt: 0 },
  ],
  answers: { lookup: 'l.1', sequence: 1 },
};
const certified: Certified = { kind: 'certified', proof: 'digest' };

const SAMPLES: Readonly<Record<string, { decode: (value: unknown) => unknown; sample: object }>> = {
  report: { decode: decodeToManager, sample: report },
  sync: { decode: decodeToManager, sample: sync },
  certificate: { decode: decodeToManager, sample: certificate },
  update: { decode: decodeFromManager, sample: update },
  changes: { decode: decodeFromManager, sample: changes },
  certified: { decode: decodeFromManager, sample: certified },
};

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
const isFlag = (value: unknown): boolean => value === true || value === false;
const isList = (value: unknown): boolean => Array.isArray(value) && value.length === 0;
const never = (): boolean => false;
const orNothing =
  (allowed: (value: unknown) => boolean) =>
  (value: unknown): boolean =>
    value === undefined || value === null || allowed(value);
/** The samples' spans are such that nothing but what is there fits. */
const isStart = never;
const isEnd = never;

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
  'report.held': isList,
  'report.held[]': never,
  'report.held[].start': isStart,
  'report.held[].end': isEnd,
  'report.held[].number': isCount,
  'report.letGo': isList,
  'report.letGo[]': never,
  'report.letGo[].start': isStart,
  'report.letGo[].end': isEnd,
  'report.letGo[].number': isCount,
  'report.letGo[].how': never,
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
  'certificate.kind': never,
  'certificate.secret': isText(512),
  'update.kind': never,
  'update.pool': isName,
  'update.incarnation': isName,
  'update.history': isName,
  'update.term': isCount,
  'update.sequence': isCount,
  'update.position': isCount,
  'update.acknowledges': isCount,
  'update.leaseMs': (value) => typeof value === 'number' && value > 0 && value < Infinity,
  'update.admitted': isFlag,
  'update.spans': isList,
  'update.spans[]': never,
  'update.spans[].start': isStart,
  'update.spans[].end': isEnd,
  'update.spans[].number': isCount,
  'update.spans[].recalled': isFlag,
  'update.spans[].continues': isList,
  'update.spans[].continues[]': never,
  'update.spans[].continues[].start': isStart,
  'update.spans[].continues[].end': isEnd,
  'update.spans[].continues[].number': isCount,
  'changes.kind': never,
  'changes.pool': isName,
  'changes.history': isName,
  'changes.term': isCount,
  'changes.from': (value) => isCount(value) && (value as number) <= 9,
  'changes.to': (value) => isCount(value) && (value as number) >= 5,
  'changes.rows': isList,
  'changes.rows[]': never,
  'changes.rows[].start': isStart,
  'changes.rows[].end': isEnd,
  'changes.rows[].owner': orNothing(never),
  'changes.rows[].owner.incarnation': isName,
  'changes.rows[].owner.name': isName,
  'changes.rows[].owner.url': isUrl,
  'changes.rows[].number': isCount,
  'changes.rows[].lostAt': isCount,
  'changes.answers': orNothing(never),
  'changes.answers.lookup': isName,
  'changes.answers.sequence': isCount,
  'certified.kind': never,
  'certified.proof': isName,
};

const INSTEAD: readonly unknown[] = [
  ...[undefined, null, true, false, Symbol('s'), () => 1],
  ...[-1, -0.5, 0, 1, 1.5, 2 ** 53 - 1, 2 ** 53, 1e300, Number.NaN, Infinity, -Infinity],
  ...['', 'x', '1', '__proto__', ...[256, 257, 512, 513, 2048, 2049].map((length) => 'x'.repeat(length))],
  ...[{}, [], [undefined], [[]], [{}], { length: 0 }, new Map(), new Uint8Array(4), new Date(0)],
  ...[-1n, RING_SIZE + 1n, 2n ** 70n],
];

type Step = string | number;

/** Every place in a value: `held[1].number` as `['held', 1, 'number']`. */
function* placesIn(value: unknown, at: readonly Step[] = []): Generator<readonly Step[]> {
  if (typeof value !== 'object' || value === null) return;
  const steps: readonly Step[] = Array.isArray(value) ? [...value.keys()] : Object.keys(value);
  for (const step of steps) {
    yield [...at, step];
    yield* placesIn((value as Record<Step, unknown>)[step], [...at, step]);
  }
}

function replaced(value: unknown, [step, ...rest]: readonly Step[], by: unknown): unknown {
  if (step === undefined) return by;
  const copy = Array.isArray(value) ? [...value] : { ...(value as object) };
  (copy as Record<Step, unknown>)[step] = replaced((value as Record<Step, unknown>)[step], rest, by);
  return copy;
}

function pathOf(steps: readonly Step[]): string {
  return steps
    .map((step) => (typeof step === 'number' ? `[${step}]` : `.${step}`))
    .join('')
    .slice(1);
}

const fieldOf = (kind: string, steps: readonly Step[]): string =>
  `${kind}.${pathOf(steps)}`.replace(/\[\d+\]/g, '[]');

function refusal(decode: (value: unknown) => unknown, value: unknown): MalformedMessageError | undefined {
  try {
    decode(value);
    return undefined;
  } catch (error) {
    if (error instanceof MalformedMessageError) return error;
    throw error;
  }
}

describe('a message of every kind', () => {
  it.each(Object.entries(SAMPLES))('%s: is read as it was written', (_, { decode, sample }) => {
    expect(decode(sample)).toStrictEqual(sample);
  });

  it('may leave out what is optional', () => {
    const { proof, heard, seen, ...bare } = report;
    expect([proof, heard, seen]).not.toContain(undefined);
    expect(decodeToManager(bare)).toStrictEqual({
      ...report,
      proof: undefined,
      heard: undefined,
      seen: undefined,
    });
    expect(decodeFromManager({ ...changes, answers: null })).toStrictEqual({
      ...changes,
      answers: undefined,
    });
  });

  it('is a new object throughout, so that whoever has the old one cannot change it', () => {
    for (const { decode, sample } of Object.values(SAMPLES)) {
      const message = decode(sample);
      for (const steps of [[], ...placesIn(sample)]) {
        const [theirs, ours] = [sample, message].map((whole) =>
          steps.reduce<unknown>((value, step) => (value as Record<Step, unknown>)[step], whole),
        );
        if (typeof theirs === 'object' && theirs !== null) expect(ours).not.toBe(theirs);
      }
    }
  });

  it('is refused by the other side', () => {
    for (const { decode, sample } of Object.values(SAMPLES)) {
      const other = decode === decodeToManager ? decodeFromManager : decodeToManager;
      expect(refusal(other, sample)?.path).toBe('kind');
    }
  });

  it('is refused if it is no object at all', () => {
    for (const value of INSTEAD.filter((value) => typeof value !== 'object' || Array.isArray(value))) {
      expect(refusal(decodeToManager, value)?.message).toBe(
        'malformed message: the message must be an object',
      );
    }
  });
});

describe('a field of a message', () => {
  it('is in the table of this test, whatever message it belongs to', () => {
    const there = Object.entries(SAMPLES).flatMap(([kind, { sample }]) =>
      [...placesIn(sample)].map((steps) => fieldOf(kind, steps)),
    );
    expect([...new Set(there)].sort()).toEqual(Object.keys(FIELDS).sort());
  });

  it.each(Object.entries(SAMPLES))(
    '%s: is refused by name if it is anything else',
    (kind, { decode, sample }) => {
      for (const steps of placesIn(sample)) {
        for (const instead of INSTEAD) {
          const allowed = FIELDS[fieldOf(kind, steps)]?.(instead);
          const error = refusal(decode, replaced(sample, steps, instead));
          if (allowed) expect(error, `${pathOf(steps)} = ${String(instead)}`).toBeUndefined();
          else expect(error?.path ?? 'accepted', String(instead)).toMatch(blames(steps));
        }
      }
    },
  );

  it('is refused with path, rule and code', () => {
    const spans = [...update.spans, { ...update.spans[0], start: 8n, end: 9n, number: 1.5 }];
    const error = refusal(decodeFromManager, { ...update, spans });
    expect(error).toMatchObject({ code: 'MALFORMED_MESSAGE', retryable: false, path: 'spans[2].number' });
    expect(error?.message).toBe('malformed message: spans[2].number must be a whole number from 0');
  });
});

/** A bad list is blamed at the list or at its first item; a bad order of two numbers, at the later. */
function blames(steps: readonly Step[]): RegExp {
  const path = pathOf(steps).replace(/[.[\]]/g, '\\$&');
  return path === 'from' ? /^(from|to)$/ : new RegExp(`^${path}(\\W.*)?$`);
}

describe('a list of spans', () => {
  const held = (...spans: readonly (readonly [bigint, bigint])[]) =>
    refusal(decodeToManager, { ...report, held: spans.map(([start, end]) => ({ start, end, number: 1 })) })
      ?.message;

  it('may be empty, may touch, and may go up to 2^64', () => {
    expect(held()).toBeUndefined();
    expect(held([0n, 1n], [1n, 2n], [5n, RING_SIZE])).toBeUndefined();
  });

  it('has no empty and no backward span', () => {
    expect(held([0n, 1n], [4n, 4n])).toBe('malformed message: held[1].end must be above start');
    expect(held([4n, 3n])).toBe('malformed message: held[0].end must be above start');
    expect(held([RING_SIZE, RING_SIZE])).toBe('malformed message: held[0].end must be above start');
  });

  it('ascends and does not overlap', () => {
    const rule = 'must not be below the end of the one before';
    expect(held([0n, 4n], [3n, 5n])).toBe(`malformed message: held[1].start ${rule}`);
    expect(held([4n, 5n], [0n, 1n])).toBe(`malformed message: held[1].start ${rule}`);
  });

  it('is accepted exactly when its spans are what they should be', () => {
    const edges = fc
      .bigInt({ min: -1n, max: 9n })
      .map((n) => (n === 9n ? RING_SIZE + 1n : n * (RING_SIZE / 8n)));
    fc.assert(
      fc.property(fc.array(fc.tuple(edges, edges), { maxLength: 3 }), (spans) => {
        const flat = spans.flat();
        const good =
          flat.every((edge) => edge >= 0n && edge <= RING_SIZE) &&
          spans.every(([start, end], index) => start < end && start >= (spans[index - 1]?.[1] ?? 0n));
        expect(held(...spans) === undefined).toBe(good);
      }),
      { numRuns: 300 },
    );
  });

  it('is measured before it is walked', () => {
    const path = (value: unknown) => refusal(decodeToManager, { ...report, held: value })?.message;
    expect(path(new Array(MOST_SPANS + 1))).toBe('malformed message: held must have at most 100000 items');
    expect(path(new Array(2 ** 32 - 1))).toBe('malformed message: held must have at most 100000 items');
    expect(refusal(decodeFromManager, { ...changes, rows: new Array(MOST_ROWS + 1) })?.path).toBe('rows');
    expect(refusal(decodeFromManager, { ...changes, rows: new Array(MOST_ROWS) })?.path).toBe('rows[0]');
  });
});

describe('the changes of a table', () => {
  it('go forward', () => {
    expect(decodeFromManager({ ...changes, from: 9, to: 9 })).toMatchObject({ from: 9, to: 9 });
    expect(refusal(decodeFromManager, { ...changes, from: 10 })?.message).toBe(
      'malformed message: to must not be below from',
    );
  });

  it('have every row of the ring if they begin at 0', () => {
    const [first, second] = changes.rows;
    const rows = (...some: unknown[]) =>
      refusal(decodeFromManager, { ...changes, from: 0, rows: some })?.path;
    expect(rows(first, second)).toBeUndefined();
    expect([rows(), rows(first), rows(second)]).toEqual(['rows', 'rows', 'rows']);
    expect(rows(first, { ...second, start: HALF + 1n })).toBe('rows');
  });
});

describe('what a peer adds', () => {
  it('is left behind, wherever it is', () => {
    for (const { decode, sample } of Object.values(SAMPLES)) {
      for (const steps of placesIn(sample)) {
        const value = steps.reduce<unknown>((part, step) => (part as Record<Step, unknown>)[step], sample);
        if (typeof value !== 'object' || value === null || Array.isArray(value)) continue;
        expect(decode(replaced(sample, steps, { ...value, extra: 1, constructor: 2 }))).toStrictEqual(sample);
      }
      expect(decode({ ...sample, extra: { deep: true }, toString: 'no' })).toStrictEqual(sample);
    }
  });

  it('does not reach the prototype of anything', () => {
    for (const { decode, sample } of Object.values(SAMPLES)) {
      // As JSON.parse makes it: `__proto__` as a property of its own.
      const poisoned = { ...sample };
      const poison = { value: { polluted: true }, enumerable: true, configurable: true, writable: true };
      Object.defineProperty(poisoned, '__proto__', poison);
      const message = decode(poisoned) as Record<string, unknown>;
      expect(message).toStrictEqual(sample);
      expect(Object.getPrototypeOf(message)).toBe(Object.prototype);
      expect(message['polluted']).toBeUndefined();
      expect(({} as Record<string, unknown>)['polluted']).toBeUndefined();
    }
  });

  it('is not taken from a prototype either', () => {
    expect(refusal(decodeToManager, Object.create(certificate))?.path).toBe('kind');
    const inherited = Object.assign(Object.create({ secret: 'inherited' }), { kind: 'certificate' });
    expect(refusal(decodeToManager, inherited)?.path).toBe('secret');
    expect(decodeToManager(Object.assign(Object.create(null), certificate))).toStrictEqual(certificate);
  });

  it('cannot choose a kind by what every object has', () => {
    for (const kind of ['__proto__', 'constructor', 'toString', 'hasOwnProperty']) {
      expect(refusal(decodeToManager, { ...report, kind })?.path).toBe('kind');
      expect(refusal(decodeFromManager, { ...update, kind })?.path).toBe('kind');
    }
  });
});

describe('the longest texts', () => {
  it('are those that the documentation gives', () => {
    expect([LONGEST_NAME, LONGEST_URL, LONGEST_SECRET]).toEqual([256, 2_048, 512]);
    expect([MOST_SPANS, MOST_ROWS]).toEqual([100_000, 1_000_000]);
  });
});

describe('anything at all', () => {
  it('is either a message or refused, and never anything else', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...Object.values(SAMPLES)),
        fc.anything(),
        fc.nat(),
        ({ decode, sample }, value, at) => {
          refusal(decode, value);
          const places = [...placesIn(sample)];
          refusal(decode, replaced(sample, places[at % places.length] ?? [], value));
        },
      ),
      { numRuns: 500 },
    );
  });
});
