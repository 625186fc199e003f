/**
 * The pieces of an owner, laid out for the two checks.
 *
 * A check is made for every message, often twice. To read it off the pieces, one would go from the
 * table to a page of it, to the piece, to the number in which the engine keeps its end: each of them
 * somewhere else in memory, and each known only when the one before has come. So the facts that the checks
 * need stands here in columns, a row for each piece and for each gap between pieces:
 *
 *     row             0         1         2         3         4
 *     piece           none      serving   revoking  lapsed    none
 *     served until    never     9,200     never     never     never     may I begin?
 *     used until      never     9,200     8,700     never     never     may I finish?
 *     number          0         7         7         5         0
 *     since           0         4         7         5         0
 *
 * Which phases count for which check is settled when a row is written; a row that is not held ends before
 * every instant, and a check only compares.
 *
 * This is a copy, and must never say more than the pieces. A piece that is let go of, or changes its
 * number, becomes another piece, and other pieces get an index of their own in the same step. The only
 * thing that changes in place is the end of a piece that is held, and it only moves on: until
 * {@link LeaseIndex.extend} has copied it, the index ends too early, never too late.
 */

import type { Boundaries } from '../../../runtime/keys/boundaries.ts';
import { RingTable } from '../../../runtime/keys/ring-table.ts';
import type { Instant } from '../../../runtime/time.ts';
import type { Piece } from './piece.ts';

const NEVER = Number.NEGATIVE_INFINITY;

export class LeaseIndex {
  readonly #table: RingTable<Piece | undefined>;
  readonly #boundaries: Boundaries;
  readonly #servedUntil: Float64Array;
  readonly #usedUntil: Float64Array;
  readonly #numbers: Float64Array;
  readonly #since: Float64Array;

  /** The pieces must ascend and not overlap. */
  constructor(pieces: readonly Piece[]) {
    this.#table = RingTable.whole<Piece | undefined>(undefined).overlay(
      pieces.map((piece) => ({ start: piece.start, end: piece.end, value: piece })),
    );
    this.#boundaries = this.#table.boundaries;
    const rows = this.#table.size;
    this.#servedUntil = new Float64Array(rows).fill(NEVER);
    this.#usedUntil = new Float64Array(rows).fill(NEVER);
    this.#numbers = new Float64Array(rows);
    this.#since = new Float64Array(rows);
    for (let row = 0; row < rows; row += 1) {
      const piece = this.#table.valueAt(row);
      if (piece === undefined) continue;
      this.#numbers[row] = piece.number;
      this.#since[row] = piece.since;
    }
    this.extend();
  }

  /** Takes over where the leases of the same pieces end. */
  extend(): void {
    for (let row = 0; row < this.#table.size; row += 1) {
      const piece = this.#table.valueAt(row);
      if (piece === undefined) continue;
      const { phase, until } = piece;
      // Before a move the checks pass until the freeze, and its last changes are read then.
      const isServed = phase === 'serving' || phase === 'stopping';
      if (isServed) this.#servedUntil[row] = until;
      // Being given back is still being held: work under way may finish.
      if (isServed || phase === 'revoking') this.#usedUntil[row] = until;
    }
  }

  /** The piece at a position, held or not. */
  find(high: number, low: number): Piece | undefined {
    return this.#table.find(high, low);
  }

  /** The number under which the keys at this position may be acted for now; undefined: not ours. */
  numberAt(high: number, low: number, now: Instant): number | undefined {
    const row = this.#boundaries.rowOf(high, low);
    return now < (this.#servedUntil[row] as number) ? this.#numbers[row] : undefined;
  }

  /** True if it is held now and nobody else can have held it since it was held under `number`. */
  isHeld(high: number, low: number, number: number, now: Instant): boolean {
    return this.heldSince(high, low, number, now) !== undefined;
  }

  /** If so, the first number of that unbroken tenure. */
  heldSince(high: number, low: number, number: number, now: Instant): number | undefined {
    const row = this.#boundaries.rowOf(high, low);
    if (!(now < (this.#usedUntil[row] as number))) return undefined;
    const since = this.#since[row] as number;
    return since <= number && number <= (this.#numbers[row] as number) ? since : undefined;
  }
}
