/**
 * Forms: how a type looks as bytes, declared once. A form writes a value, reads the value back and has samples of it, so the three cannot
 * drift apart.
 *
 *     const member = record<Member>({ seat: whole, storage: text(128) });
 *     encode(member, { seat: 0, storage: 'a~1' });      seat, length, 'a~1'
 *     decode(member, frame);                            the same, or a MalformedMessageError
 *     member.samples();                                 members with the extreme and the common values of both fields
 *
 * A reader believes nothing. Numbers are whole and below 2^53, or below a bound of their own, texts are UTF-8 within their bounds, and a list has as many
 * items as bytes arrived for: nothing is reserved on the word of a peer. Fields have no names on the wire, so a form
 * that changes is another version of the protocol and of the disk format. `envelope.ts` has fields with names.
 *
 * Every form has at least one sample, and a form made of forms has each sample of each part in one of its own. The samples of two fields that
 * lie side by side are shifted against each other, so fields that change places are noticed. What a new message needs for the tests and the
 * fuzzer is therefore there as soon as the message is declared.
 */

import { assert } from '../assert.ts';
import { ByteReader, ByteWriter } from '../msgpack/bytes.ts';
import { Flaw, inside, refusing } from '../msgpack/flaw.ts';

/** `Source` is what the form reads from: bytes, or the value that an envelope has for a key. */
export interface Form<T, Source = ByteReader> {
  write(writer: ByteWriter, value: T): void;
  /** @throws {Flaw} */
  read(source: Source): T;
  /** Values that keep every rule. Made anew at each call, as only tests and the fuzzer call this. */
  samples(): readonly T[];
  /** Of a form that is written by hand: the form whose bytes these must be, which a test compares. */
  readonly declared?: Form<T, Source>;
}

/** A whole number from 0 below 2^53. */
export const whole: Form<number> = {
  write: (writer, value) => writer.varint(value),
  read: (reader) => reader.varint(),
  samples: () => [0, 300, 2 ** 53 - 1],
};

/** A whole number from 0 to `largest`. */
export const wholeUpTo = (largest: number): Form<number> => ({
  write: (writer, value) => writer.varint(value),
  read: (reader) => {
    const value = reader.varint();
    if (value > largest) throw new Flaw(`must be at most ${largest}`);
    return value;
  },
  samples: () => [...new Set([0, Math.min(7, largest), largest])],
});

/** A whole number of either sign: 0, -1, 1, -2, … as 0, 1, 2, 3, … */
export const integer: Form<number> = {
  write: (writer, value) => writer.varint(value < 0 ? -2 * value - 1 : 2 * value),
  read: (reader) => {
    const code = reader.varint();
    return code % 2 === 0 ? code / 2 : -(code + 1) / 2;
  },
  samples: () => [0, -1, 1, -300, 2 ** 40],
};

/** A whole number, or infinity. */
export const wholeOrInfinite: Form<number> = {
  write: (writer, value) => writer.varint(value === Number.POSITIVE_INFINITY ? 0 : value + 1),
  read: (reader) => {
    const code = reader.varint();
    return code === 0 ? Number.POSITIVE_INFINITY : code - 1;
  },
  samples: () => [Number.POSITIVE_INFINITY, 0, 300],
};

/** 32 bits. */
export const uint32: Form<number> = {
  write: (writer, value) => writer.uint32(value),
  read: (reader) => reader.uint32(),
  samples: () => [0, 1, 2 ** 32 - 1],
};

/** Any number, as 64 bits. Together with {@link checked}: what is not allowed, such as NaN, is refused there. */
export const double: Form<number> = {
  write: (writer, value) => writer.float64(value),
  read: (reader) => reader.float64() + 0,
  samples: () => [0, 0.5, 1, 5, 1_700_000_000_000.25, Number.POSITIVE_INFINITY],
};

/** A number from 0 to `largest`, with a fraction. */
export const upTo = (largest: number, unit = ''): Form<number> => ({
  write: (writer, value) => writer.float64(value),
  read: (reader) => {
    const value = reader.float64();
    if (value >= 0 && value <= largest) return value + 0;
    throw new Flaw(`must be a number${unit}, from 0 to ${largest}`);
  },
  samples: () => [0, Math.min(1.5, largest), largest],
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
  samples: () => [false, true],
};

/** Texts that were found to be difficult, as far as a bound allows them. */
export const textSamples = (isAllowed: (text: string) => boolean): readonly string[] =>
  ['k', '', '__proto__', '\ufeffx', 'é😀'].filter(isAllowed);

export const text = (longestBytes: number): Form<string> => ({
  write: (writer, value) => writer.text(value, (length) => writer.varint(length)),
  read: (reader) => {
    const length = reader.varint();
    if (length > longestBytes) throw new Flaw(`must have at most ${longestBytes} bytes`);
    return reader.text(length);
  },
  samples: () => textSamples((sample) => 3 * sample.length <= longestBytes),
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
  samples: () => [Uint8Array.of(118), new Uint8Array()],
});

export const optional = <T>(form: Form<T>): Form<T | undefined> => ({
  write: (writer, value) => {
    flag.write(writer, value !== undefined);
    if (value !== undefined) form.write(writer, value);
  },
  read: (reader) => (flag.read(reader) ? form.read(reader) : undefined),
  samples: () => [...form.samples(), undefined],
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
  samples: () => [form.samples().slice(0, longest), []],
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
      samples: () => {
        const values = value.samples();
        return key.samples().map((each, place) => [each, values[place % values.length] as Value]);
      },
    },
    longest,
  );
  return mapped(
    pairs,
    (entries: ReadonlyMap<Key, Value>) => [...entries],
    (read) => new Map(read),
  );
};

/** One of a few words, as its place among them. */
export const word = <T extends string>(...words: readonly T[]): Form<T> => ({
  write: (writer, value) => writer.uint8(words.indexOf(value)),
  read: (reader) => {
    const found = words[reader.uint8()];
    if (found === undefined) throw new Flaw(`must be one of ${words.join(', ')}`);
    return found;
  },
  samples: () => words,
});

/** A form for each field. */
export type Fields<T, Source = ByteReader> = { readonly [Name in keyof T]-?: Form<T[Name], Source> };

interface Part {
  readonly name: string;
  readonly form: Form<unknown>;
}

const partsOf = (fields: object): readonly Part[] =>
  Object.entries<Form<unknown>>(fields as Readonly<Record<string, Form<unknown>>>).map(([name, form]) => ({
    name,
    form,
  }));

/** The fields one after the other, in the order in which they are given here. */
export const record = <T extends object>(fields: Fields<T>): Form<T> => {
  const parts = partsOf(fields);
  return {
    write: (writer, value) => {
      const given = value as Readonly<Record<string, unknown>>;
      for (const { name, form } of parts) form.write(writer, given[name]);
    },
    read: (reader) => readInto({}, parts, reader) as T,
    samples: () => recordSamples({}, parts) as T[],
  };
};

/** Every sample of every field is in a record, and a field has not the same sample as the field before. */
export function recordSamples(
  constant: object,
  parts: readonly { readonly name: string; readonly form: Pick<Form<unknown>, 'samples'> }[],
): object[] {
  const columns = parts.map(({ name, form }) => [name, form.samples()] as const);
  const most = Math.max(1, ...columns.map(([, samples]) => samples.length));
  return Array.from({ length: most }, (_, row) => ({
    ...constant,
    ...Object.fromEntries(
      columns.map(([name, samples], column) => [name, samples[(row + column) % samples.length]]),
    ),
  }));
}

type Tagged<Tag extends string> = { readonly [Name in Tag]: string };

/** The fields of each variant besides the tag. */
export type Variants<T extends Tagged<Tag>, Tag extends string, Source = ByteReader> = {
  readonly [Name in T[Tag]]: Fields<Omit<Extract<T, { readonly [Key in Tag]: Name }>, Tag>, Source>;
};

export type ByHand<T> = Pick<Form<T>, 'write' | 'read'>;

/**
 * A form that is written and read by hand, because its values travel by the thousand: an object that is made with all of its fields at once
 * costs a fraction of one that a loop fills field by field. The declared form still says what the bytes are.
 */
export const byHand = <T>(declared: Form<T>, { write, read }: ByHand<T>): Form<T> => ({
  write,
  read,
  samples: () => declared.samples(),
  declared,
});

/** Variants whose fields are written and read by hand. */
export type WrittenOut<T extends Tagged<Tag>, Tag extends string> = {
  readonly [Name in T[Tag]]?: ByHand<Extract<T, { readonly [Key in Tag]: Name }>>;
};

/** The place of the variant among those given here, then its fields. */
export const union = <Tag extends string, T extends Tagged<Tag>>(
  tag: Tag,
  variants: Variants<T, Tag>,
  writtenOut?: WrittenOut<T, Tag>,
): Form<T> => {
  const kinds = Object.keys(variants);
  const places = new Map(kinds.map((kind, place) => [kind, place]));
  const forms = Object.values<object>(variants).map(partsOf);
  const hands = kinds.map((kind) => (writtenOut as Readonly<Record<string, ByHand<T>>> | undefined)?.[kind]);
  return {
    write: (writer, value) => {
      const place = places.get(value[tag]) as number;
      writer.uint8(place);
      const hand = hands[place];
      if (hand !== undefined) {
        hand.write(writer, value);
        return;
      }
      const fields = value as Readonly<Record<string, unknown>>;
      for (const { name, form } of forms[place] as readonly Part[]) form.write(writer, fields[name]);
    },
    read: (reader) => {
      const place = reader.uint8();
      const parts = forms[place];
      if (parts === undefined) throw new Flaw(`is of kind ${place}, which does not exist`);
      const hand = hands[place];
      if (hand !== undefined) return hand.read(reader);
      return readInto({ [tag]: kinds[place] }, parts, reader) as T;
    },
    samples: () =>
      kinds.flatMap((kind, place) => recordSamples({ [tag]: kind }, forms[place] as readonly Part[]) as T[]),
    ...(writtenOut !== undefined && { declared: union(tag, variants) }),
  };
};

function readInto(target: Record<string, unknown>, parts: readonly Part[], reader: ByteReader): object {
  let reading = '';
  try {
    for (const { name, form } of parts) {
      reading = name;
      target[name] = form.read(reader);
    }
  } catch (error) {
    throw inside(reading, error);
  }
  return target;
}

/** Reads one field of a form that is written by hand, so that a flaw has the same path as in a declared form. */
export function field<T>(name: string, form: Pick<Form<T>, 'read'>, reader: ByteReader): T {
  try {
    return form.read(reader);
  } catch (error) {
    throw inside(name, error);
  }
}

/** A form for another type: `open` after reading, `close` before writing. A sample that `open` refuses is left out. */
export const mapped = <Wire, T, Source = ByteReader>(
  form: Form<Wire, Source>,
  close: (value: T) => Wire,
  open: (wire: Wire) => T,
): Form<T, Source> => ({
  write: (writer, value) => form.write(writer, close(value)),
  read: (source) => open(form.read(source)),
  samples: () => opened(form, open),
});

/** The same form with one more rule, which takes a value over or throws a {@link Flaw}. A writer is trusted to keep the rule. */
export const ruled = <T, Source = ByteReader>(
  form: Form<T, Source>,
  rule: (value: T) => T,
): Form<T, Source> => ({
  write: form.write,
  read: (source) => rule(form.read(source)),
  samples: () => opened(form, rule),
});

/** The same form with one more rule, told by its words. */
export function checked<T, Source = ByteReader>(
  form: Form<T, Source>,
  isAllowed: (value: T) => boolean,
  rule: string,
): Form<T, Source> {
  return ruled(form, (value) => {
    if (isAllowed(value)) return value;
    throw new Flaw(rule);
  });
}

function opened<Wire, T>(form: Pick<Form<Wire>, 'samples'>, open: (wire: Wire) => T): readonly T[] {
  const samples = form.samples().flatMap((wire) => {
    try {
      return [open(wire)];
    } catch (error) {
      if (error instanceof Flaw) return [];
      throw error;
    }
  });
  assert(samples.length > 0, 'a rule allows one of the samples');
  return samples;
}

/** The same form with these samples, where those of its parts break a rule between the parts. */
export const withSamples = <T, Source = ByteReader>(
  form: Form<T, Source>,
  samples: () => readonly T[],
): Form<T, Source> => ({ ...form, samples });

// A form does not wait, and encodes nothing else meanwhile: one writer is enough.
const writer = new ByteWriter();

/** The bytes of a value; nothing of a value that cannot be written is left for the next. */
export function encode<T>(form: Form<T>, value: T): Uint8Array {
  try {
    form.write(writer, value);
    return writer.take();
  } finally {
    writer.clear();
  }
}

/** @throws {MalformedMessageError} and nothing else */
export function decode<T>(form: Form<T>, frame: Uint8Array): T {
  return refusing(() => {
    const reader = new ByteReader(frame);
    const value = form.read(reader);
    reader.finish();
    return value;
  });
}
