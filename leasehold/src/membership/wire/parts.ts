/** The forms of single values, of which all messages of a group are made. */

import { type Instant, instant } from '../../runtime/time.ts';
import {
  checked,
  double,
  type Form,
  mapped,
  milliseconds,
  record,
  text,
  wholeUpTo,
} from '../../runtime/wire/form.ts';
import type { Incarnation } from '../core/incarnation.ts';
import {
  CHANNEL_BYTES_MAX,
  DIGEST_BYTES_MAX,
  HOLD_MS_MAX,
  NAME_CHARACTERS_MAX,
  NUMBER_MAX,
  VIEW_ID_BYTES_MAX,
} from './bounds.ts';

const wordsUpTo = (bytesMax: number): Form<string> =>
  checked(text(bytesMax), (words) => words !== '', `must be a text of 1 to ${bytesMax} bytes`);

/** A character takes at most three bytes for each of its UTF-16 units. */
export const name: Form<string> = checked(
  wordsUpTo(3 * NAME_CHARACTERS_MAX),
  (words) => words.length <= NAME_CHARACTERS_MAX,
  `must be a name of at most ${NAME_CHARACTERS_MAX} characters`,
);
export const viewId: Form<string> = wordsUpTo(VIEW_ID_BYTES_MAX);
export const digest: Form<string> = wordsUpTo(DIGEST_BYTES_MAX);
export const channel: Form<string> = wordsUpTo(CHANNEL_BYTES_MAX);

/** Something that is counted on from. */
export const number: Form<number> = wholeUpTo(NUMBER_MAX);

/** A reading of the sender's own clock. */
export const stamp: Form<Instant> = mapped(
  checked(double, Number.isFinite, 'must be a finite time'),
  (value: Instant) => value,
  instant,
);

export const duration: Form<number> = milliseconds(HOLD_MS_MAX);

export const incarnation: Form<Incarnation> = record<Incarnation>({ startedMs: number, nonce: number });

/** A list in which each name is once. */
export const sortedByName = <Item extends { readonly name: string }>(
  items: Form<readonly Item[]>,
): Form<readonly Item[]> => {
  const inOrder = checked(items, isSorted, 'must be sorted by name, each name once');
  return {
    ...inOrder,
    samples: () => {
      const [all = []] = items.samples();
      const byName = new Map(all.map((item) => [item.name, item]));
      const sorted = [...byName.values()].toSorted((one, other) => (one.name < other.name ? -1 : 1));
      return [sorted, sorted.slice(0, 1), []];
    },
  };
};

const isSorted = (items: readonly { readonly name: string }[]): boolean =>
  items.every(({ name: own }, index) => {
    const before = items[index - 1];
    return before === undefined || before.name < own;
  });
