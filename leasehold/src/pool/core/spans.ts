/**
 * Lists of spans in order: cutting them, matching them, and asking whether they cover another.
 */

import type { Span } from '../../runtime/keys/range.ts';
import type { NumberedSpan } from './messages.ts';

/** The parts of these spans between two positions. Owners can have thousands of spans, so it looks only at those. */
export function clipSpans<T extends Span>(spans: readonly T[], start: bigint, end: bigint): readonly T[] {
  const parts: T[] = [];
  for (let index = firstEndingAfter(spans, start); index < spans.length; index += 1) {
    const span = spans[index] as T;
    if (span.start >= end) break;
    const isWhole = span.start >= start && span.end <= end;
    const [from, to] = [span.start > start ? span.start : start, span.end < end ? span.end : end];
    parts.push(isWhole ? span : { ...span, start: from, end: to });
  }
  return parts;
}

/** Whether these pieces, in order, cover a span, and all under its number. */
export function covers(pieces: readonly NumberedSpan[], span: NumberedSpan): boolean {
  let at = span.start;
  for (let index = firstEndingAfter(pieces, span.start); at < span.end; index += 1) {
    const piece = pieces[index];
    if (piece === undefined || piece.start > at || piece.number !== span.number) return false;
    at = piece.end;
  }
  return true;
}

/**
 * The parts of these pieces that lie in a row of the same number. Both lists are in order and without overlaps, so one pass
 * over both is enough. It must be: the sender of a report chooses how many pieces there are.
 */
export function partsWithin<T extends NumberedSpan>(
  pieces: readonly T[],
  rows: readonly NumberedSpan[],
): readonly T[] {
  const parts: T[] = [];
  let first = 0;
  for (const piece of pieces) {
    while ((rows[first]?.end ?? piece.end) <= piece.start) first += 1;
    for (let index = first; ; index += 1) {
      const row = rows[index];
      if (row === undefined || row.start >= piece.end) break;
      if (row.number === piece.number) parts.push(...clipSpans([piece], row.start, row.end));
    }
  }
  return parts;
}

/** The index of the first of these spans, in order, that ends after a position. */
function firstEndingAfter(spans: readonly Span[], position: bigint): number {
  let low = 0;
  let high = spans.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((spans[middle]?.end ?? 0n) <= position) low = middle + 1;
    else high = middle;
  }
  return low;
}
