import { describe, expect, it } from 'vitest';
import { MalformedMessageError } from '../errors.ts';
import {
  byHand,
  bytes,
  checked,
  decode,
  double,
  encode,
  flag,
  type Form,
  integer,
  list,
  map,
  mapped,
  milliseconds,
  optional,
  record,
  text,
  uint32,
  union,
  whole,
  wholeOrInfinite,
  wholeUpTo,
  withSamples,
  word,
} from './form.ts';
import { fuzz, subject, subjectOf } from './fuzz.ts';

interface Leaf {
  readonly number: number;
  readonly isNew: boolean;
  readonly isOld: boolean;
  readonly name: string | undefined;
}
type Shape =
  | { readonly kind: 'circle'; readonly radius: number }
  | { readonly kind: 'none' }
  | { readonly kind: 'many'; readonly leaves: readonly Leaf[]; readonly at: ReadonlyMap<string, number> };

const leaf: Form<Leaf> = record<Leaf>({
  ...{ number: integer, isNew: flag, isOld: flag },
  name: optional(text(8)),
});
const shape: Form<Shape> = union<'kind', Shape>('kind', {
  circle: { radius: milliseconds(100) },
  none: {},
  many: { leaves: list(leaf, 4), at: map(text(8), wholeUpTo(5)) },
});
const even: Form<number> = checked(whole, (value) => value % 2 === 0, 'must be even');
const FORMS = {
  ...{ whole, integer, wholeOrInfinite, uint32, flag, leaf, shape, even },
  ...{ text: text(300), bytes: bytes(3), optional: optional(flag), word: word('a', 'b'), list: list(even) },
};

const refusal = (form: Form<unknown>, ...given: readonly number[]): string => {
  try {
    return JSON.stringify(decode(form, Uint8Array.from(given)));
  } catch (error) {
    if (error instanceof MalformedMessageError) return error.message;
    throw error;
  }
};

describe('a form', () => {
  it.each(Object.entries(FORMS))('reads each of its samples as it was written: %s', (_, given) => {
    const form = given as Form<unknown>;
    expect(form.samples().length).toBeGreaterThan(0);
    for (const sample of form.samples()) expect(decode(form, encode(form, sample))).toStrictEqual(sample);
  });

  it('has each sample of each field and of each variant among its own', () => {
    for (const value of integer.samples())
      expect(leaf.samples().map(({ number }) => number)).toContain(value);
    expect(leaf.samples().map(({ name }) => name)).toContain(undefined);
    expect(new Set(shape.samples().map(({ kind }) => kind))).toEqual(new Set(['circle', 'none', 'many']));
    expect(shape.samples()).toContainEqual({
      kind: 'many',
      leaves: leaf.samples().slice(0, 4),
      at: new Map(),
    });
  });

  it('has a sample in which two neighbours of one kind differ, so that their order is noticed', () => {
    expect(leaf.samples().some(({ isNew, isOld }) => isNew !== isOld)).toBe(true);
    const swapped = record<Leaf>({ number: integer, isOld: flag, isNew: flag, name: optional(text(8)) });
    const crossed = leaf.samples().map((sample) => decode(swapped, encode(leaf, sample)));
    expect(crossed).not.toEqual(leaf.samples());
  });

  it('leaves out the samples that a further rule refuses, and has to be given some if none is left', () => {
    expect(even.samples()).toEqual([0, 300]);
    const never = checked(flag, () => false, 'must not be');
    expect(() => never.samples()).toThrow('a rule allows one of the samples');
    expect(withSamples(never, () => [true]).samples()).toEqual([true]);
  });

  it.each<[string, Form<unknown>, number[], string]>([
    ['a number beyond its bound', wholeUpTo(5) as Form<unknown>, [6], 'the message must be at most 5'],
    ['a number that breaks a rule', even as Form<unknown>, [3], 'the message must be even'],
    ['a flag of neither value', flag as Form<unknown>, [2], 'the message must be 0 or 1'],
    ['a word that there is not', word('a', 'b') as Form<unknown>, [2], 'the message must be one of a, b'],
    ['a long text', text(2) as Form<unknown>, [3, 97, 97, 97], 'the message must have at most 2 bytes'],
    ['long bytes', bytes(2) as Form<unknown>, [3, 0, 0, 0], 'the message must have at most 2 bytes'],
    [
      'a kind that there is not',
      shape as Form<unknown>,
      [3],
      'the message is of kind 3, which does not exist',
    ],
    ['a long list', shape as Form<unknown>, [2, 5, 0, 0, 0, 0, 0], 'leaves must have at most 4 items'],
    ['a list that ends early', shape as Form<unknown>, [2, 9, 0, 0], 'leaves cannot have 9 items in 2 bytes'],
    ['a flaw far inside', shape as Form<unknown>, [2, 1, 0, 1, 7], 'leaves[0].isOld must be 0 or 1'],
    ['bytes behind the end', flag as Form<unknown>, [1, 0], 'the message has 1 bytes too many'],
  ])('refuses %s, and says where', (_, form, given, message) => {
    expect(refusal(form, ...given)).toBe(`malformed message: ${message}`);
  });

  it('reads no number as minus zero, so that a value has one form', () => {
    const minusZero = [0x80, 0, 0, 0, 0, 0, 0, 0];
    for (const form of [double, milliseconds(1)]) {
      expect(Object.is(decode(form, Uint8Array.from(minusZero)), 0)).toBe(true);
    }
  });

  it('leaves nothing of a value that cannot be written for the next', () => {
    expect(() => encode(leaf, { number: 1, isNew: true, isOld: true, name: null as never })).toThrow(
      TypeError,
    );
    expect([...encode(flag, true)]).toEqual([1]);
  });
});

describe('a fuzzer', () => {
  it('finds a writer that forgets a field, before anything is damaged', () => {
    const forgetful = byHand(record<{ a: number; b: number }>({ a: whole, b: whole }), {
      write: (writer, { a }) => {
        writer.varint(a);
        writer.varint(0);
      },
      read: (reader) => ({ a: reader.varint(), b: reader.varint() }),
    });
    expect(() => subjectOf(forgetful)).toThrow('read back as something else');
  });

  it('names the run, the seed and the bytes of a reader that fails by another error than a refusal', () => {
    const fragile = mapped(
      wholeUpTo(200),
      (value: number) => value,
      (value) => {
        if (value === 1) throw new RangeError('of no use');
        return value;
      },
    );
    const given = subject(
      [0, 7],
      (value) => encode(fragile, value),
      (read) => decode(fragile, read),
    );
    expect(() => fuzz([given], 10_000, 1)).toThrow(/^run \d+ of seed 1: 01/);
  });

  it('finds a reader that takes two frames for one value, if the value does not stay the same', () => {
    const rounded = { ...whole, read: (reader: Parameters<typeof whole.read>[0]) => reader.varint() + 0.5 };
    expect(() => subjectOf(rounded)).toThrow('read back as something else');
  });

  it('plays the same inputs for the same seed', () => {
    const subjects = [subjectOf(shape), subjectOf(leaf)];
    const { accepted, refused } = fuzz(subjects, 5_000, 3);
    expect(fuzz(subjects, 5_000, 3)).toEqual({ accepted, refused });
    expect(accepted).toBeGreaterThan(200);
    expect(refused).toBeGreaterThan(1_000);
  });
});
