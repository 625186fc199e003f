/**
 * Forms: how a type looks as bytes, said once. A form both writes and reads a value, so the two cannot drift apart.
 *
 *     const member = record<Member>({ seat: whole, storage: text(128) });
 *     member.write(writer, { seat: 0, storage: 'a~1' });      seat, length, 'a~1'
 *     member.read(reader);                                    the same, or a Flaw
 *
 * A reader believes nothing. Numbers are whole and below 2^53, or below a bound of their own, texts are UTF-8 within their bounds, and a list has as many
 * items as bytes arrived for: nothing is reserved on the word of a peer. Fields have no names on the wire, so a form
 * that changes is another version of the protocol and of the disk format.
 */

import type { ByteReader, ByteWriter } from '../../runtime/msgpack/bytes.ts';
import { Flaw, inside } from '../../runtime/msgpack/flaw.ts';

export interface Form<T> {
  write(writer: ByteWriter, value: T): void;
  /** @throws {Flaw} */
  read(reader: ByteReader): T;
}

/** A whole number from 0 below 2^53. */
export const whole: Form<number> = {
  write: (writer, value) => writer.varint(value),
  read: (reader) => reader.varint(),
};

/** A whole number from 0 to `largest`. */
export const wholeUpTo = (largest: number): Form<number> => ({
  write: (writer, value) => writer.varint(value),
  read: (reader) => {
    const value = reader.varint();
    if (value > largest) throw new Flaw(`must be at most ${largest}`);
    return value;
  },
});

/** A whole number of either sign: 0, -1, 1, -2, … as 0, 1, 2, 3, … */
export const integer: Form<number> = {
  write: (writer, value) => writer.varint(value < 0 ? -2 * value - 1 : 2 * value),
  read: (reader) => {
    const code = reader.varint();
    return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
  },
};

/** A whole number, or infinity. */
export const wholeOrInfinite: Form<number> = {
  write: (writer, value) => writer.varint(value === Number.POSITIVE_INFINITY ? 0 : value + 1),
  read: (reader) => {
    const code = reader.varint();
    return code === 0 ? Number.POSITIVE_INFINITY : code - 1;
  },
};

/** A number from 0 to `largest`, with a fraction. */
export const upTo = (largest: number, unit = ''): Form<number> => ({
  write: (writer, value) => writer.float64(value),
  read: (reader) => {
    const value = reader.float64();
    if (value >= 0 && value <= largest) return value + 0;
    throw new Flaw(`must be a number${unit}, from 0 to ${largest}`);
  },
});

/** A number of milliseconds, from 0 to `longest`. */
export const milliseconds = (longest: number): Form<number> => upTo(longest, ' of milliseconds');

export const flag: Form<boolean> = {
  write: (writer, value) => writer.uint8(value ? 1 : 0),
  read: (reader) => {
    const value = reader.uint8();
    if (value > 1) throw new Flaw('must be 0 or 1');
    return value === 1;
  },
};

export const text = (longestBytes: number): Form<string> => ({
  write: (writer, value) => writer.text(value, (length) => writer.varint(length)),
  read: (reader) => {
    const length = reader.varint();
    if (length > longestBytes) throw new Flaw(`must have at most ${longestBytes} bytes`);
    return reader.text(length);
  },
});

/** Copied, so that a value does not keep the whole packet in memory. */
export const bytes = (longest: number): Form<Uint8Array> => ({
  write: (writer, value) => {
    writer.varint(value.length);
    writer.bytes(value);
  },
  read: (reader) => {
    const length = reader.varint();
    if (length > longest) throw new Flaw(`must have at most ${longest} bytes`);
    return new Uint8Array(reader.bytes(length));
  },
});

export const optional = <T>(form: Form<T>): Form<T | undefined> => ({
  write: (writer, value) => {
    flag.write(writer, value !== undefined);
    if (value !== undefined) form.write(writer, value);
  },
  read: (reader) => (flag.read(reader) ? form.read(reader) : undefined),
});

export const list = <T>(form: Form<T>, longest: number = Number.POSITIVE_INFINITY): Form<readonly T[]> => ({
  write: (writer, values) => {
    writer.varint(values.length);
    for (const value of values) form.write(writer, value);
  },
  read: (reader) => {
    const length = reader.varint();
    if (length > reader.left) throw new Flaw(`cannot have ${length} items in ${reader.left} bytes`);
    if (length > longest) throw new Flaw(`must have at most ${longest} items`);
    const values: T[] = [];
    try {
      while (values.length < length) values.push(form.read(reader));
    } catch (error) {
      throw inside(`[${values.length}]`, error);
    }
    return values;
  },
});

/** Pairs of a key and a value. */
export const map = <Key, Value>(
  key: Form<Key>,
  value: Form<Value>,
  longest: number = Number.POSITIVE_INFINITY,
): Form<ReadonlyMap<Key, Value>> => {
  const pairs = list<readonly [Key, Value]>(
    {
      write: (writer, pair) => {
        key.write(writer, pair[0]);
        value.write(writer, pair[1]);
      },
      read: (reader) => [key.read(reader), value.read(reader)],
    },
    longest,
  );
  return {
    write: (writer, entries) => pairs.write(writer, [...entries]),
    read: (reader) => new Map(pairs.read(reader)),
  };
};

/** One of a few words, as its place among them. */
export const word = <T extends string>(...words: readonly T[]): Form<T> => ({
  write: (writer, value) => writer.uint8(words.indexOf(value)),
  read: (reader) => {
    const found = words[reader.uint8()];
    if (found === undefined) throw new Flaw(`must be one of ${words.join(', ')}`);
    return found;
  },
});

type Fields<T> = { readonly [Name in keyof T]-?: Form<T[Name]> };

/** The fields one after the other, in the order in which they are given here. */
export const record = <T extends object>(fields: Fields<T>): Form<T> => {
  const parts = Object.entries(fields) as [keyof T & string, Form<unknown>][];
  return {
    write: (writer, value) => {
      for (const [name, form] of parts) form.write(writer, value[name]);
    },
    read: (reader) => readInto({}, parts, reader) as T,
  };
};

type Tagged<Tag extends string> = { readonly [Name in Tag]: string };
type Variants<T extends Tagged<Tag>, Tag extends string> = {
  readonly [Name in T[Tag]]: Fields<Omit<Extract<T, { readonly [Key in Tag]: Name }>, Tag>>;
};

/** Variants whose fields are written and read by hand, because they travel by the thousand (`hot.ts`). */
export type WrittenOut<T extends Tagged<Tag>, Tag extends string> = {
  readonly [Name in T[Tag]]?: Form<Extract<T, { readonly [Key in Tag]: Name }>>;
};

/** The place of the variant among those given here, then its fields. */
export const union = <Tag extends string, T extends Tagged<Tag>>(
  tag: Tag,
  variants: Variants<T, Tag>,
  writtenOut: WrittenOut<T, Tag> = {},
): Form<T> => {
  const kinds = Object.keys(variants);
  const places = new Map(kinds.map((kind, place) => [kind, place]));
  const forms = Object.values(variants).map(
    (fields) => Object.entries(fields as Fields<object>) as [string, Form<unknown>][],
  );
  const byHand = kinds.map((kind) => (writtenOut as Readonly<Record<string, Form<T> | undefined>>)[kind]);
  return {
    write: (writer, value) => {
      const place = places.get(value[tag]) as number;
      writer.uint8(place);
      const hand = byHand[place];
      if (hand !== undefined) {
        hand.write(writer, value);
        return;
      }
      const fields = value as Readonly<Record<string, unknown>>;
      for (const [name, form] of forms[place] as [string, Form<unknown>][]) form.write(writer, fields[name]);
    },
    read: (reader) => {
      const place = reader.uint8();
      const parts = forms[place];
      if (parts === undefined) throw new Flaw(`is of kind ${place}, which does not exist`);
      const hand = byHand[place];
      if (hand !== undefined) return hand.read(reader);
      return readInto({ [tag]: kinds[place] }, parts, reader) as T;
    },
  };
};

function readInto(
  target: Record<string, unknown>,
  parts: readonly [string, Form<unknown>][],
  reader: ByteReader,
): object {
  let reading = '';
  try {
    for (const [name, form] of parts) {
      reading = name;
      target[name] = form.read(reader);
    }
  } catch (error) {
    throw inside(reading, error);
  }
  return target;
}

/** A form for another type: `open` after reading, `close` before writing. */
export const mapped = <Wire, T>(
  form: Form<Wire>,
  close: (value: T) => Wire,
  open: (wire: Wire) => T,
): Form<T> => ({
  write: (writer, value) => form.write(writer, close(value)),
  read: (reader) => open(form.read(reader)),
});
