/**
 * Two ordered lists of spans, walked together: what an owner has, and what it hears that it has.
 */

import type { Span } from '../../../runtime/keys/range.ts';

/** Walks two ordered lists of disjoint spans together, once for every stretch between edges. */
export function eachStretch<A extends Span, B extends Span>(
  ones: readonly A[],
  others: readonly B[],
  visit: (stretch: Span, one: A | undefined, other: B | undefined) => void,
): void {
  let [i, j] = [0, 0];
  let at = 0n;
  for (;;) {
    while ((ones[i]?.end ?? -1n) <= at && i < ones.length) i += 1;
    while ((others[j]?.end ?? -1n) <= at && j < others.length) j += 1;
    const one = ones[i];
    const other = others[j];
    if (one === undefined && other === undefined) return;
    const start = lesser(
      one === undefined ? undefined : greater(one.start, at),
      other === undefined ? undefined : greater(other.start, at),
    );
    const inOne = one !== undefined && one.start <= start;
    const inOther = other !== undefined && other.start <= start;
    const end = lesser(one && (inOne ? one.end : one.start), other && (inOther ? other.end : other.start));
    visit({ start, end }, inOne ? one : undefined, inOther ? other : undefined);
    at = end;
  }
}

const greater = (a: bigint, b: bigint): bigint => (a > b ? a : b);

function lesser(a: bigint | undefined, b: bigint | undefined): bigint {
  if (a === undefined) return b ?? 0n;
  return b === undefined || a < b ? a : b;
}
