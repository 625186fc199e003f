/**
 * Stretches of the ring.
 *
 * There are two ways to speak of one. A {@link Range} lives on the ring: it goes from `start` up
 * to `end` and leaves `end` out, and if that leads past the highest position it goes on from 0.
 * A {@link Span} lives on the line from 0 to 2^64, where nothing wraps around and everything can
 * be sorted.
 *
 *     range  [c, a)   ──┤a         c├──      on the ring, in one piece across zero
 *     spans  [0, a)   ──┤                    on the line, in two
 *            [c, 2^64)             ├──
 *
 * People use ranges. Tables, sets and messages use spans, get them by {@link unroll}, and go
 * back by {@link roll}.
 *
 * An empty range does not exist: a range that ends where it starts has gone all the way round.
 * So `wholeRing` has no special form, and "nothing" is a list with no ranges in it, not a range
 * that someone must remember to treat differently.
 */

import { assert } from '../assert.ts';
import { invalidOption } from '../errors.ts';
import { checkHash, formatHash, type Hash, RING_SIZE } from './position.ts';

/** On the ring, `end` left out. Wraps around when `end <= start`; whole when they are equal. */
export interface Range {
  readonly start: Hash;
  readonly end: Hash;
}

/** On the line, `end` left out: `0 <= start < end <= 2^64`. */
export interface Span {
  readonly start: bigint;
  readonly end: bigint;
}

export const wholeRing: Range = { start: 0n, end: 0n };

export const contains = ({ start, end }: Range, position: Hash): boolean =>
  start < end ? start <= position && position < end : start <= position || position < end;

/** How many positions it has, from 1 to 2^64. */
export const sizeOf = ({ start, end }: Range): bigint =>
  start < end ? end - start : RING_SIZE - start + end;

/** Two stretches of a ring that meet at all meet where one of them starts. */
export const intersects = (one: Range, other: Range): boolean =>
  contains(one, other.start) || contains(other, one.start);

/**
 * The same positions on the line: one piece or two, in ascending order. A span may be given as
 * well and is returned as it is.
 *
 * @throws {InvalidArgumentError} if an end lies outside the ring
 */
export function unroll({ start, end }: Range | Span): Span[] {
  checkHash(start);
  if (end < 0n || end > RING_SIZE) {
    throw invalidOption('end', end, 'a range must end in [0, 2^64]');
  }
  if (start < end) return [{ start, end }];
  const upper = { start, end: RING_SIZE };
  return end === 0n ? [upper] : [{ start: 0n, end }, upper];
}

/** The fewest ranges with the same positions, by ascending start; one across zero comes last. */
export function roll(spans: Iterable<Span>): Range[] {
  const ranges: Range[] = merge(spans).map(({ start, end }) => ({ start, end: end % RING_SIZE }));
  const first = ranges[0];
  const last = ranges.at(-1);
  if (first?.start !== 0n || last?.end !== 0n) return ranges;
  return [...ranges.slice(1, -1), { start: last.start, end: first.end }];
}

/** The fewest spans with the same positions, ascending: those that overlap or touch are joined. */
export function merge(spans: Iterable<Span>): Span[] {
  const merged: Span[] = [];
  let open: { start: bigint; end: bigint } | undefined;
  for (const { start, end } of [...spans].sort(byStart)) {
    assert(0n <= start && start < end && end <= RING_SIZE, `no span: ${start} to ${end}`);
    if (open !== undefined && start <= open.end) {
      if (end > open.end) open.end = end;
    } else {
      open = { start, end };
      merged.push(open);
    }
  }
  return merged;
}

const byStart = (one: Span, other: Span): number =>
  one.start < other.start ? -1 : one.start > other.start ? 1 : 0;

/**
 * `[3f00000000000000, 8a00000000000000)`. A span that ends at 2^64 reads as the range that ends
 * at 0, which has the same positions.
 */
export const formatRange = ({ start, end }: Range | Span): string =>
  `[${formatHash(start)}, ${formatHash(end === RING_SIZE ? 0n : end)})`;
