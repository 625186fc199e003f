import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { PagedList, PagedListDraft } from './paged-list.ts';

const contents = <V>(list: PagedList<V>): V[] =>
  Array.from({ length: list.size }, (_, index) => list.at(index));

/** Lengths on both sides of where pages end. */
const lengths = fc.oneof(
  fc.constantFrom(0, 1, 31, 32, 33, 63, 64, 65, 511, 512, 513),
  fc.integer({ min: 0, max: 1_000 }),
);
const numbersUpTo = (length: number): number[] => Array.from({ length }, (_, index) => index);

describe('a paged list', () => {
  it('has the values it was made of', () => {
    fc.assert(
      fc.property(lengths, (length) => {
        expect(contents(PagedList.of(numbersUpTo(length)))).toEqual(numbersUpTo(length));
      }),
    );
  });

  it('has a next version with other values, and stays as it was', () => {
    fc.assert(
      fc.property(lengths, fc.array(fc.nat({ max: 999 })), (length, anywhere) => {
        const list = PagedList.of(numbersUpTo(length));
        const indexes = anywhere.filter((index) => index < length);
        const expected = numbersUpTo(length);
        for (const index of indexes) expected[index] = -index;

        const next = list.with(
          indexes,
          indexes.map((index) => -index),
        );
        expect(contents(next)).toEqual(expected);
        expect(contents(list)).toEqual(numbersUpTo(length));
      }),
    );
  });

  it('is put together from single values and parts of another list', () => {
    const steps = fc.array(fc.oneof(fc.constant(undefined), fc.tuple(lengths, lengths)), { maxLength: 8 });
    fc.assert(
      fc.property(steps, (parts) => {
        const source = PagedList.of(numbersUpTo(1_000));
        const draft = new PagedListDraft<number>();
        const expected: number[] = [];
        for (const part of parts) {
          if (part === undefined) {
            draft.add(-1);
            expected.push(-1);
          } else {
            draft.copy(source, part[0], part[1]);
            expected.push(...numbersUpTo(1_000).slice(part[0], part[1]));
          }
        }
        expect(draft.size).toBe(expected.length);
        expect(contents(draft.finish())).toEqual(expected);
        expect(contents(source)).toEqual(numbersUpTo(1_000));
      }),
    );
  });

  it.each([32_767, 32_768, 65_535, 65_536, 100_000])('may be %i long, with larger pages', (length) => {
    const list = PagedList.of(numbersUpTo(length));
    expect(contents(list)).toEqual(numbersUpTo(length));
    const next = list.with([0, length - 1], [-1, -2]);
    expect([next.at(0), next.at(1), next.at(length - 2), next.at(length - 1)]).toEqual([
      -1,
      1,
      length - 2,
      -2,
    ]);
    expect([list.at(0), list.at(length - 1)]).toEqual([0, length - 1]);
  });

  it.each([
    [1_000, 100_000],
    [100_000, 1_000],
    [70_000, 200_000],
  ])(
    'of %i values is copied into one expected to have %i, whose pages are of another size',
    (has, expected) => {
      const source = PagedList.of(numbersUpTo(has));
      const draft = new PagedListDraft<number>(expected);
      draft.add(-1);
      draft.copy(source, 5, has);
      draft.copy(source, 0, 77);
      const all = [-1, ...numbersUpTo(has).slice(5), ...numbersUpTo(77)];
      expect(contents(draft.finish())).toEqual(all);
      expect(contents(source)).toEqual(numbersUpTo(has));
    },
  );
});
