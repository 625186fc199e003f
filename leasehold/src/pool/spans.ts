/**
 * Lists of spans in order: cutting them, and asking whether they cover another.
 */

import type { Span } from '../runtime/keys/range.ts';
import type { NumberedSpan } from './messages.ts';

/** The parts of these spans between two positions. */
export function clipSpans<T extends Span>(spans: readonly T[], start: bigint, end: bigint): readonly T[] {
  return spans.flatMap((span) => {
    if (span.end <= start || span.start >= end) return [];
    if (span.start >= start && span.end <= end) return [span];
    return [
      { ...span, start: span.start > start ? span.start : start, end: span.end < end ? span.end : end },
    ];
  });
}

/** Whether these pieces, in order, cover a span, and all under its number. */
export function covers(pieces: readonly NumberedSpan[], span: NumberedSpan): boolean {
  let low = 0;
  let high = pieces.length;
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((pieces[middle]?.end ?? 0n) <= span.start) low = middle + 1;
    else high = middle;
  }
  let at = span.start;
  for (let index = low; at < span.end; index += 1) {
    const piece = pieces[index];
    if (piece === undefined || piece.start > at || piece.number !== span.number) return false;
    at = piece.end;
  }
  return true;
}
