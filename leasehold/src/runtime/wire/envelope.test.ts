import { Buffer } from 'node:buffer';
import { pack, unpack } from 'msgpackr';
import { describe, expect, it } from 'vitest';
import { type Codec, wholePayload } from '../codec.ts';
import { MalformedMessageError } from '../errors.ts';
import { Flaw } from '../msgpack/flaw.ts';
import {
  count,
  decodeEnvelope,
  duration,
  encodeEnvelope,
  type Entry,
  flag,
  hexadecimal,
  map,
  messages,
  notNegative,
  optional,
  packed,
  packedOnce,
  text,
} from './envelope.ts';
import { type Form, list, whole } from './form.ts';
import { envelopeSubject, fuzz, TELLING_ENVELOPE } from './fuzz.ts';

interface Seen {
  readonly term: number;
  readonly stamp: string | undefined;
}
type Message =
  | { readonly kind: 'ping' }
  | {
      readonly kind: 'say';
      readonly name: string;
      readonly from: number;
      readonly to: number;
      readonly seen: Seen | undefined;
      readonly rows: readonly number[];
    };

const KEYS = {
  ...{ kind: 'k', name: 'n', from: 'fr', to: 'to' },
  ...{ seen: 'sn', term: 't', stamp: 'st', rows: 'r' },
};
const seen = map<Seen>(KEYS, { term: count, stamp: optional(hexadecimal(2)) });
const message: Entry<Message> = messages<Message>(
  KEYS,
  {
    ping: {},
    say: { name: text(9), from: count, to: count, seen: optional(seen), rows: packedOnce(list(whole)) },
  },
  {
    spelt: { ping: 'hello' },
    rules: {
      say: ({ from, to }) => {
        if (to < from) throw new Flaw('must not be below from', 'to');
      },
    },
    samples: { say: (sample) => ({ ...sample, to: Math.max(sample.from, sample.to) }) },
  },
);
const codec: Codec<Message, Message> = {
  encode: (value) => encodeEnvelope(message, value),
  decode: (frame) => decodeEnvelope(message, frame),
};
const SAY: Message = {
  kind: 'say',
  name: 'a',
  from: 1,
  to: 2,
  seen: { term: 3, stamp: '00ff' },
  rows: [7, 300],
};
const FIELDS = { k: 'say', n: 'a', fr: 1, to: 2, sn: { t: 3, st: '00ff' }, r: Buffer.of(2, 7, 0xac, 2) };

const refusal = (fields: object): string => {
  try {
    return JSON.stringify(codec.decode(pack(fields)));
  } catch (error) {
    if (error instanceof MalformedMessageError) return error.message.replace('malformed message: ', '');
    throw error;
  }
};

describe('an envelope', () => {
  it('is a map that any MessagePack library reads and writes, with the declared keys', () => {
    expect(unpack(wholePayload(codec.encode(SAY)))).toEqual(FIELDS);
    expect(codec.decode(pack(FIELDS))).toStrictEqual(SAY);
    expect(unpack(wholePayload(codec.encode({ kind: 'ping' })))).toEqual({ k: 'hello' });
  });

  it('reads each sample as it was written, and has samples of every kind', () => {
    const samples = message.samples();
    expect(new Set(samples.map(({ kind }) => kind))).toEqual(new Set(['ping', 'say']));
    for (const sample of samples) {
      expect(codec.decode(wholePayload(codec.encode(sample)))).toStrictEqual(sample);
    }
  });

  it('has no key for an optional field without a value, and reads nil as absent', () => {
    const bare: Message = { ...SAY, seen: undefined };
    expect(Object.keys(unpack(wholePayload(codec.encode(bare))) as object)).not.toContain('sn');
    expect(codec.decode(pack({ ...FIELDS, sn: null }))).toStrictEqual(bare);
  });

  it('passes over fields that it does not know, and fields of another kind', () => {
    expect(codec.decode(pack({ ...FIELDS, extra: 1, sn: { ...FIELDS.sn, more: 'x' } }))).toStrictEqual(SAY);
    expect(codec.decode(pack({ ...FIELDS, k: 'hello' }))).toStrictEqual({ kind: 'ping' });
  });

  it.each<[string, object, string]>([
    ['a field that is missing', { k: 'say' }, 'name must be a text of 1 to 9 characters'],
    ['a field of another type', { ...FIELDS, fr: '1' }, 'from must be a whole number from 0'],
    ['a map of another type', { ...FIELDS, sn: 3 }, 'seen must be a map'],
    ['a flaw within a map', { ...FIELDS, sn: { t: -1 } }, 'seen.term must be a whole number from 0'],
    [
      'a digest of another length',
      { ...FIELDS, sn: { t: 1, st: '00' } },
      'seen.stamp must be 4 hexadecimal digits',
    ],
    ['a list that is not packed', { ...FIELDS, r: 'no' }, 'rows must be packed bytes'],
    ['a flaw within packed bytes', { ...FIELDS, r: Buffer.of(1, 0x80) }, 'rows[0] ends too early'],
    ['packed bytes that go on', { ...FIELDS, r: Buffer.of(0, 0) }, 'rows has 1 bytes too many'],
    ['fields that contradict each other', { ...FIELDS, fr: 3 }, 'to must not be below from'],
    ['a kind that there is not', { ...FIELDS, k: 'ping' }, 'kind must be hello or say'],
    ['a kind that every object has', { ...FIELDS, k: 'toString' }, 'kind must be hello or say'],
    ['no kind', { n: 'a' }, 'kind must be a text of 1 to 256 characters'],
    ['a list', [1], 'the message must be a map'],
  ])('refuses %s, and says where', (_, fields, rule) => {
    expect(refusal(fields)).toBe(rule);
  });

  it.each<[string, Entry<number>, readonly unknown[], readonly unknown[]]>([
    ['a count', count, [0, 2 ** 53 - 1], [-1, 0.5, 2 ** 53, Number.NaN, '1']],
    ['a duration', duration, [0.1, Number.MAX_VALUE], [0, -1, Number.NaN, Number.POSITIVE_INFINITY, true]],
    ['a number', notNegative, [0, 0.5], [-0.5, Number.NaN, Number.POSITIVE_INFINITY, undefined]],
  ])('takes %s only within its bounds', (_, entry, good, bad) => {
    for (const value of good) expect(entry.read(value as number)).toBe(value);
    for (const value of bad) expect(() => entry.read(value as number)).toThrow(Flaw);
  });

  it('reads no number as minus zero, so that a value has one form', () => {
    for (const entry of [count, notNegative]) expect(Object.is(entry.read(-0), 0)).toBe(true);
  });

  it('leaves nothing of a message that cannot be written for the next', () => {
    const long = Array.from({ length: 5_000 }, () => 1);
    const broken = { ...SAY, rows: [...long, null] } as unknown as Message;
    expect(() => codec.encode({ ...SAY, name: 5 } as unknown as Message)).toThrow();
    expect(() => codec.encode({ ...broken, rows: null } as unknown as Message)).toThrow(TypeError);
    expect(codec.decode(wholePayload(codec.encode(SAY)))).toStrictEqual(SAY);
    expect(() => codec.encode({ kind: 'none' } as unknown as Message)).toThrow(
      'a message has a declared kind',
    );
  });

  it('has more than fifteen fields if it must', () => {
    const names = Array.from({ length: 20 }, (_, place) => `field${place}`);
    const keys = Object.fromEntries(names.map((name) => [name, name]));
    const wide = messages<{ kind: 'wide' } & Record<string, boolean>>(
      { ...keys, kind: 'k' },
      { wide: Object.fromEntries(names.map((name) => [name, flag])) },
    );
    for (const sample of wide.samples()) {
      const frame = wholePayload(encodeEnvelope(wide, sample));
      expect(Object.keys(unpack(frame) as object)).toHaveLength(21);
      expect(decodeEnvelope(wide, frame)).toStrictEqual(sample);
    }
  });

  it.each<[string, () => unknown, string]>([
    [
      'two fields with one key',
      () => map({ a: 'x', b: 'x' }, { a: flag, b: flag }),
      'no two fields have one key',
    ],
    ['a field without a key', () => map({ a: '' }, { a: flag }), 'a field has a key that a reader takes'],
  ])('cannot be declared with %s', (_, declare, rule) => {
    expect(declare).toThrow(rule);
  });

  it('survives damaged bytes', () => {
    const { accepted, refused } = fuzz([envelopeSubject(message)], 5_000, 1, TELLING_ENVELOPE);
    // Such a small message is mostly heads and keys, so most damages are refused.
    expect(accepted).toBeGreaterThan(100);
    expect(refused).toBeGreaterThan(2_000);
  });
});

describe('a list that many frames have', () => {
  const counted: { writes: number } & Form<readonly number[]> = {
    ...list(whole),
    writes: 0,
    write: (writer, items) => {
      counted.writes += 1;
      list(whole).write(writer, items);
    },
  };
  interface Table {
    readonly to: number;
    readonly rows: readonly number[];
  }
  const table = map<Table>(KEYS, { to: count, rows: packedOnce(counted) });

  it('is packed once, and if it is long it is not copied', () => {
    const rows = Array.from({ length: 5_000 }, (_, place) => place);
    const [first, second] = [1, 2].map((to) => encodeEnvelope(table, { to, rows }));
    expect(counted.writes).toBe(1);
    if (first === undefined || !('tail' in first)) return expect.unreachable();
    expect(second).toHaveProperty('tail', first.tail);
    expect(unpack(wholePayload(first))).toMatchObject({ to: 1 });
  });

  it('is in the frame itself if it is short', () => {
    expect(encodeEnvelope(table, { to: 1, rows: [1] })).toBeInstanceOf(Uint8Array);
  });

  it('must be the last of its message, also within a map, and the only one', () => {
    const early = map<{ rows: readonly number[]; to: number }>(KEYS, {
      rows: packedOnce(counted),
      to: count,
    });
    const inner = map<{ rows: readonly number[] }>(KEYS, { rows: packedOnce(counted) });
    const around = map<{ seen: { rows: readonly number[] }; to: number }>(KEYS, { seen: inner, to: count });
    const twice = map<{ rows: readonly number[]; seen: { rows: readonly number[] } }>(KEYS, {
      rows: packedOnce(counted),
      seen: inner,
    });
    const rule = 'a shared list is the last field of its message';
    for (const sample of early.samples()) expect(() => encodeEnvelope(early, sample)).toThrow(rule);
    for (const sample of around.samples()) expect(() => encodeEnvelope(around, sample)).toThrow(rule);
    for (const sample of twice.samples())
      expect(() => encodeEnvelope(twice, sample)).toThrow('one shared list');
  });

  it('is another list if it is another object, also with the same items', () => {
    const before = counted.writes;
    const same = packed(counted);
    expect(same.samples()).toEqual(counted.samples());
    for (const rows of [
      [1, 2],
      [1, 2],
    ])
      encodeEnvelope(table, { to: 1, rows });
    expect(counted.writes).toBe(before + 2);
  });
});
