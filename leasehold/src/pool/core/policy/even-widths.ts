/**
 * Evens out how much of the ring each owner has: a pool whose keys stay where they are would otherwise give an owner that comes nothing.
 *
 * Keys go from the owner with the most of the ring to the owner with the least, as long as one of the two is more than a tenth away from the mean.
 * Each step moves no more than brings one of the two to the mean. So nothing goes back again, the sum of the steps is the least that evens the pool
 * out, and a pool that is even to a tenth is left alone: an owner that comes or goes begins it anew, and noise does not.
 *
 * Whole rows move where they fit. Where only a part fits, a row is cut, unless its new owner has many rows already: a table has to be gone through.
 * An owner with more rows than that, after others have left, has its neighbouring rows joined.
 *
 * Without memory: what is on its way counts as if it had arrived, so the next answer goes on where this one ends. How much may be moved at a time is the
 * caller's business (`budget`).
 */

import type { Balance, Placement } from './policy.ts';

/** How far from the mean is still even, as a part of the mean. */
const EVEN_WITHIN = 10n;
/** Above so many rows an owner is given no part of a row. */
export const MOST_ROWS = 96;
/** Steps of one answer: more would wait for their turn anyway. */
const MOST_STEPS = 64;

interface Share {
  readonly incarnation: string;
  readonly pieces: Placement[];
  width: bigint;
}

/** @param owners those that take keys; what lies at others stays there */
export function evenWidths(
  placements: readonly Placement[],
  owners: readonly string[],
  { budget, canTake }: Balance,
): readonly Placement[] {
  const shares = new Map(
    owners.map((incarnation) => [incarnation, { incarnation, pieces: [], width: 0n } as Share]),
  );
  const rest: Placement[] = [];
  let total = 0n;
  for (const placed of placements) {
    const share = shares.get(placed.incarnation);
    if (share === undefined) {
      rest.push(placed);
      continue;
    }
    share.pieces.push(placed);
    share.width += widthOf(placed);
    total += widthOf(placed);
  }
  if (shares.size < 2) return placements;
  const mean = total / BigInt(shares.size);
  let hasChanged = false;
  let left = budget;
  for (let steps = 0; steps < MOST_STEPS && left > 0n; steps += 1) {
    const step = nextStep([...shares.values()], mean, left, canTake);
    if (step === undefined) break;
    left -= step;
    hasChanged = true;
  }
  for (const share of shares.values()) if (share.pieces.length > MOST_ROWS && join(share)) hasChanged = true;
  if (!hasChanged) return placements; // The usual answer, at every decision.
  return [...rest, ...[...shares.values()].flatMap(({ pieces }) => pieces)].sort(byPlace);
}

/** Moves one piece, and returns its width. */
function nextStep(
  shares: readonly Share[],
  mean: bigint,
  budget: bigint,
  canTake: Balance['canTake'],
): bigint | undefined {
  const margin = mean / EVEN_WITHIN;
  const sources = shares.filter(({ width }) => width > mean).sort((a, b) => order(b, a));
  const targets = shares.filter(({ width }) => width < mean).sort(order);
  for (const source of sources)
    for (const target of targets) {
      if (source.width <= mean + margin && target.width >= mean - margin) break; // Of the further ones, too.
      if (!canTake(source.incarnation, target.incarnation)) continue;
      const piece = pieceOf(source, target, least(least(source.width - mean, mean - target.width), budget));
      if (piece === undefined) continue;
      give(source, target, piece);
      return widthOf(piece);
    }
  return undefined;
}

/** The largest whole row that fits; or, if that is less than half of what should move, a part of a row. */
function pieceOf(source: Share, target: Share, wanted: bigint): Placement | undefined {
  if (wanted <= 0n || target.pieces.length >= MOST_ROWS) return undefined;
  let fit: Placement | undefined;
  let widest: Placement | undefined;
  for (const piece of source.pieces) {
    const width = widthOf(piece);
    if (width <= wanted && (fit === undefined || width > widthOf(fit))) fit = piece;
    if (widest === undefined || width > widthOf(widest)) widest = piece;
  }
  const isEnough = fit !== undefined && 2n * widthOf(fit) >= wanted;
  if (isEnough || widest === undefined || widthOf(widest) <= wanted) return fit;
  return { ...widest, start: widest.end - wanted };
}

function give(source: Share, target: Share, piece: Placement): void {
  const index = source.pieces.findIndex(({ end }) => end === piece.end);
  const cut = source.pieces[index];
  if (cut === undefined) return;
  if (cut.start < piece.start) source.pieces[index] = { ...cut, end: piece.start };
  else source.pieces.splice(index, 1);
  target.pieces.push({ ...piece, incarnation: target.incarnation });
  source.width -= widthOf(piece);
  target.width += widthOf(piece);
}

/** Neighbours become one; false if there are none. */
function join({ pieces }: Share): boolean {
  const sorted = pieces.splice(0).sort(byPlace);
  for (const piece of sorted) {
    const last = pieces.at(-1);
    if (last?.end === piece.start) pieces[pieces.length - 1] = { ...last, end: piece.end };
    else pieces.push(piece);
  }
  return pieces.length < sorted.length;
}

const widthOf = ({ start, end }: Placement): bigint => end - start;
const least = (one: bigint, other: bigint): bigint => (one < other ? one : other);
const byPlace = (one: Placement, other: Placement): number => (one.start < other.start ? -1 : 1);
/** By width, then by incarnation, so that the answer does not depend on the order of the members. */
function order(one: Share, other: Share): number {
  if (one.width !== other.width) return one.width < other.width ? -1 : 1;
  return one.incarnation < other.incarnation ? -1 : 1;
}
