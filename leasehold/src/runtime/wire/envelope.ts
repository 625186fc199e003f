/**
 * Forms of messages whose fields have names: a MessagePack map, which any language reads and to which a later version can add fields.
 *
 *     const KEYS = { kind: 'k', pool: 'p', sequence: 's', held: 'h' };
 *     const message = messages<Message>(KEYS, { report: { pool: text(256), sequence: count, held: packed(spans) } });
 *     encodeEnvelope(message, value);                   { k: 'report', p: …, s: …, h: … }
 *     decodeEnvelope(message, frame);                   the same, or a MalformedMessageError
 *
 * The frame is first read as a map of values (`../msgpack/msgpack.ts`), because fields come in any order and the kind decides what the others
 * are; then every field is taken from the map:
 *
 *     frame ──readMap──► map of values ──read──► message ──► core
 *               │                        │
 *               └───────────┬────────────┘
 *                           └─ MalformedMessageError: the core has not been called,
 *                              so nothing has changed; close the connection
 *
 * A message that passes is a new object with the declared fields. No part of the frame is kept, no property is looked up by a name that a peer
 * chose, and every other key is passed over. An optional field is missing when absent or nil. A long list is *packed*: bytes, which a form
 * without names reads (`form.ts`).
 */

import { assert } from '../assert.ts';
import type { Payload } from '../codec.ts';
import { ByteReader, ByteWriter } from '../msgpack/bytes.ts';
import { Flaw, inside, refusing } from '../msgpack/flaw.ts';
import {
  LONGEST_KEY,
  MOST_ENTRIES,
  readMap,
  type Value,
  writeBytesHead,
  writeFlag,
  writeNumber,
  writeText,
} from '../msgpack/msgpack.ts';
import { type Fields, type Form, recordSamples, textSamples, type Variants } from './form.ts';

/** The form of one value of an envelope. */
export type Entry<T> = Form<T, Value>;

/** What the fields of a message are called on the wire. A name means the same wherever it occurs. */
export type Keys<T> = { readonly [Name in keyof T]-?: string };

/** In UTF-16 units, as `length` counts. */
export const text = (longest: number): Entry<string> => ({
  write: writeText,
  read: (value) => {
    if (typeof value === 'string' && value !== '' && value.length <= longest) return value;
    throw new Flaw(`must be a text of 1 to ${longest} characters`);
  },
  samples: () => [
    ...textSamples((sample) => sample !== '' && sample.length <= longest),
    'x'.repeat(Math.min(longest, 40)),
  ],
});

export const hexadecimal = (bytes: number): Entry<string> => ({
  write: writeText,
  read: (value) => {
    if (typeof value === 'string' && value.length === 2 * bytes && /^[0-9a-f]*$/.test(value)) return value;
    throw new Flaw(`must be ${2 * bytes} hexadecimal digits`);
  },
  samples: () => ['0f'.repeat(bytes), 'a9'.repeat(bytes)],
});

const number = (
  rule: string,
  isAllowed: (value: number) => boolean,
  samples: readonly number[],
): Entry<number> => ({
  write: writeNumber,
  read: (value) => {
    if (typeof value === 'number' && isAllowed(value)) return value + 0; // No minus zero.
    throw new Flaw(rule);
  },
  samples: () => samples,
});

export const count: Entry<number> = number(
  'must be a whole number from 0',
  (value) => Number.isSafeInteger(value) && value >= 0,
  [7, 0, 300, 70_000, 2 ** 53 - 1],
);
export const duration: Entry<number> = number(
  'must be a positive number of milliseconds',
  (value) => value > 0 && value < Number.POSITIVE_INFINITY,
  [1_500, 0.25, Number.MAX_VALUE],
);
export const notNegative: Entry<number> = number(
  'must be a number from 0',
  (value) => value >= 0 && value < Number.POSITIVE_INFINITY,
  [0.5, 0, 2 ** 40],
);

export const flag: Entry<boolean> = {
  write: writeFlag,
  read: (value) => {
    if (typeof value === 'boolean') return value;
    throw new Flaw('must be true or false');
  },
  samples: () => [false, true],
};

interface Optional<T> extends Entry<T | undefined> {
  /** An absent field has no key either. */
  readonly isOptional: true;
}

export const optional = <T>(entry: Entry<T>): Optional<T> => ({
  write: (into, value) => {
    if (value !== undefined) entry.write(into, value);
  },
  read: (value) => (value === undefined ? undefined : entry.read(value)),
  samples: () => [...entry.samples(), undefined],
  isOptional: true,
});

/** Bytes within the envelope, in a form without names. */
export const packed = <T>(form: Form<T>): Entry<T> => ({
  write: (into, value) => {
    form.write(contents, value);
    writeBytesHead(into, contents.length);
    contents.drainInto(into);
  },
  read: (value) => readPacked(form, value),
  samples: () => form.samples(),
});

/** Bytes of a list that are fewer are cheaper to copy than to send apart. */
const SHARED_BYTES = 4_096;

/**
 * Bytes within the envelope that many frames have: they are packed once for each list, for as long as the list itself is kept, and long ones
 * are not even copied into the frames. So this is the last field of its message.
 */
export function packedOnce<Item>(form: Form<readonly Item[]>): Entry<readonly Item[]> {
  const known = new WeakMap<readonly Item[], Uint8Array>();
  const packAnew = (items: readonly Item[]): Uint8Array => {
    form.write(contents, items);
    return contents.take();
  };
  let none: Uint8Array | undefined;
  const pack = (items: readonly Item[]): Uint8Array => {
    if (items.length === 0) return (none ??= packAnew(items));
    let bytes = known.get(items);
    if (bytes === undefined) known.set(items, (bytes = packAnew(items)));
    return bytes;
  };
  return {
    write: (into, items) => {
      assert(lastEnd === undefined, 'a message has one shared list');
      const bytes = pack(items);
      writeBytesHead(into, bytes.length);
      if (bytes.length >= SHARED_BYTES) tail = bytes;
      else into.bytes(bytes);
      lastEnd = into.length;
    },
    read: (value) => readPacked(form, value),
    samples: () => form.samples(),
  };
}

function readPacked<T>(form: Form<T>, value: Value): T {
  if (!(value instanceof Uint8Array)) throw new Flaw('must be packed bytes');
  const reader = new ByteReader(value);
  const read = form.read(reader);
  reader.finish();
  return read;
}

/** A map within the envelope. */
export function map<T extends object>(keys: Keys<T>, fields: Fields<T, Value>): Entry<T> {
  const parts = partsOf(keys, fields);
  return {
    write: (into, value) => {
      const head = writeMapHead(into, parts.length);
      writeFields(into, head, 0, parts, value);
    },
    read: (value) => {
      if (value instanceof Map) return readFields({}, parts, value) as T;
      throw new Flaw('must be a map');
    },
    samples: () => recordSamples({}, parts) as T[],
  };
}

interface Kind {
  readonly kind: string;
}

interface Exceptions<T extends Kind> {
  /** Kinds that have another name on the wire. */
  readonly spelt?: { readonly [Name in T['kind']]?: string };
  /** Rules between the fields of one kind. Each throws a {@link Flaw}. */
  readonly rules?: { readonly [Name in T['kind']]?: (message: Extract<T, { readonly kind: Name }>) => void };
  /** Changes a sample of a kind that has such a rule, so that the sample keeps the rule. */
  readonly samples?: {
    readonly [Name in T['kind']]?: (sample: Extract<T, { readonly kind: Name }>) => T;
  };
}

/** The whole envelope: which kind of message it is, and the fields of that kind. */
export function messages<T extends Kind>(
  keys: Keys<Kind>,
  kinds: Variants<T, 'kind', Value>,
  exceptions: Exceptions<T> = {},
): Entry<T> {
  const spelt: Readonly<Record<string, string | undefined>> = exceptions.spelt ?? {};
  const rules = (exceptions.rules ?? {}) as Readonly<Record<string, ((message: T) => void) | undefined>>;
  const changes = (exceptions.samples ?? {}) as Readonly<Record<string, ((sample: T) => T) | undefined>>;
  const variants = Object.entries<object>(kinds).map(([kind, fields]) => ({
    kind,
    wire: spelt[kind] ?? kind,
    parts: partsOf(keys as Keys<object>, fields as Fields<object, Value>),
    rule: rules[kind],
  }));
  const byKind = new Map(variants.map((each) => [each.kind, each]));
  const byWire = new Map(variants.map((each) => [each.wire, each]));
  const names = [...byWire.keys()];
  const oneOf = `must be ${[names.slice(0, -1).join(', '), names.at(-1)].filter(Boolean).join(' or ')}`;
  const name = text(256);
  return {
    write: (into, message) => {
      const found = byKind.get(message.kind);
      assert(found !== undefined, 'a message has a declared kind');
      const head = writeMapHead(into, found.parts.length + 1);
      writeText(into, keys.kind);
      writeText(into, found.wire);
      writeFields(into, head, 1, found.parts, message);
    },
    read: (value) => {
      if (!(value instanceof Map)) throw new Flaw('must be a map');
      const found = byWire.get(inField('kind', name, value.get(keys.kind)));
      if (found === undefined) throw new Flaw(oneOf, 'kind');
      const message = readFields({ kind: found.kind }, found.parts, value) as T;
      found.rule?.(message);
      return message;
    },
    samples: () =>
      variants.flatMap(({ kind, parts }) => {
        const samples = recordSamples({ kind }, parts) as T[];
        const change = changes[kind];
        return change === undefined ? samples : samples.map(change);
      }),
  };
}

interface NamedPart {
  readonly name: string;
  readonly key: string;
  readonly form: Entry<unknown>;
  readonly isOptional: boolean;
}

function partsOf<T extends object>(keys: Keys<T>, fields: Fields<T, Value>): readonly NamedPart[] {
  const parts = Object.entries<Entry<unknown>>(fields).map(([name, form]) => ({
    name,
    key: (keys as Readonly<Record<string, string>>)[name] ?? '',
    form,
    isOptional: 'isOptional' in form,
  }));
  assert(parts.length < MOST_ENTRIES, 'a message has no more fields than a reader takes');
  assert(new Set(parts.map(({ key }) => key)).size === parts.length, 'no two fields have one key');
  for (const { key } of parts) {
    assert(key !== '' && key.length <= LONGEST_KEY, 'a field has a key that a reader takes');
  }
  return parts;
}

/** Of a map with at most so many entries: the place where {@link writeFields} writes how many there are. */
function writeMapHead(into: ByteWriter, most: number): number {
  if (most > FEW) into.uint16(0xde00);
  into.uint8(0);
  return into.length - 1;
}

/** A map of at most so many entries has its count in its first byte. */
const FEW = 15;

function writeFields(
  into: ByteWriter,
  head: number,
  before: number,
  parts: readonly NamedPart[],
  value: object,
): void {
  const given = value as Readonly<Record<string, unknown>>;
  let entries = before;
  for (const { name, key, form, isOptional } of parts) {
    const field = given[name];
    if (isOptional && field === undefined) continue;
    writeText(into, key);
    form.write(into, field);
    entries += 1;
  }
  into.patch(head, parts.length + before > FEW ? entries : 0x80 | entries);
}

function readFields(
  target: Record<string, unknown>,
  parts: readonly NamedPart[],
  values: ReadonlyMap<string, Value>,
): object {
  let reading = '';
  try {
    for (const part of parts) {
      reading = part.name;
      target[part.name] = part.form.read(values.get(part.key));
    }
  } catch (error) {
    throw inside(reading, error);
  }
  return target;
}

function inField<T>(name: string, entry: Entry<T>, value: Value): T {
  try {
    return entry.read(value);
  } catch (error) {
    throw inside(name, error);
  }
}

// Nothing here waits in between, so one of each is enough.
const writer = new ByteWriter();
/** Of what is packed. */
const contents = new ByteWriter();
/** Shared bytes that end the present frame. */
let tail: Uint8Array | undefined;
/** Where a shared list ended in the present frame, without its tail. Nothing may come behind. */
let lastEnd: number | undefined;

/** The bytes of a message. Long lists are shared with other frames: do not change them. */
export function encodeEnvelope<T>(form: Entry<T>, message: T): Payload {
  // Leftovers of a message that could not be written.
  writer.clear();
  contents.clear();
  tail = undefined;
  lastEnd = undefined;
  form.write(writer, message);
  assert(
    lastEnd === undefined || lastEnd === writer.length,
    'a shared list is the last field of its message',
  );
  const head = writer.take();
  return tail === undefined ? head : { head, tail };
}

/** @throws {MalformedMessageError} and nothing else */
export const decodeEnvelope = <T>(form: Entry<T>, frame: Uint8Array): T =>
  refusing(() => {
    const reader = new ByteReader(frame);
    const values = readMap(reader);
    reader.finish();
    return form.read(values);
  });
