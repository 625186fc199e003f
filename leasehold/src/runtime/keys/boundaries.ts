/**
 * Which row of a table does a position fall into? Asked once for every message, so it has to cost
 * nothing to speak of, at 10 rows or at 30,000.
 *
 * A binary search over 6,400 rows takes 13 steps, each a branch the processor cannot foresee: 60
 * ns. But boundaries tend to lie evenly, and then the top bits of a position nearly tell the row.
 * So the ring is cut into equal slots, two or more for each row unless there are very many, and for
 * each slot it is written down which row goes on just before it:
 *
 *     rows    ├─── 0 ───┼─ 1 ─┼────────── 2 ──────────┼── 3 ──┤
 *     slots   ├─────┼─────┼─────┼─────┼─────┼─────┼─────┼─────┤   by the top bits
 *     jump    0     0     1     2     2     2     2     3     3
 *
 * A position in slot s falls into a row from `jump[s]` to `jump[s + 1]`, both included. Mostly
 * that is one row, or two. If boundaries crowd into one slot, there are many, and a binary search
 * between the two finds the right one; so the worst case is the search one would have had anyway.
 *
 * With two rows to choose from, where the second starts is needed as well. The slot is known, so only
 * how far into it is written down, in the bits that the jump leaves free. Both come with one access
 * to memory; with many rows, that is what a look-up costs, and it costs less the more slots a
 * line of the processor's cache has:
 *
 *     bits of a position    │ slot │      how far into it       │ low word
 *     32 bits for a slot    │ jump │ where the last row starts  │
 *
 * There are at least as many slots as rows, so a jump takes no more bits than a slot.
 *
 * Boundaries never change once built, and tables that differ in their values only share them.
 */

import { AssertionError, assert } from '../assert.ts';
import { highOf, lowOf, type Hash, hashOf, RING_SIZE } from './position.ts';

/** More than one slot for each row only up to here: 4 MB of them. */
const MOST_SLOT_BITS = 20;

export class Boundaries {
  /** A single row, the whole ring. */
  static readonly none: Boundaries = new Boundaries(new Uint32Array(1), new Uint32Array(1));

  readonly size: number;
  readonly #highs: Uint32Array;
  readonly #lows: Uint32Array;
  /** How far to shift the high word of a position to the right to get its slot. */
  readonly #slotShift: number;
  /** A word for each slot, and a last jump, to the last row. */
  readonly #slots: Int32Array;

  /** Where each row starts, as two words each, ascending from zero. They are kept, not copied. */
  constructor(highs: Uint32Array, lows: Uint32Array) {
    this.size = highs.length;
    this.#highs = highs;
    this.#lows = lows;
    const slotBits = slotBitsFor(highs.length);
    this.#slotShift = 32 - slotBits;
    this.#slots = slotsOf(highs, slotBits);
  }

  static of(starts: readonly Hash[]): Boundaries {
    assert(starts.length > 0 && starts[0] === 0n, 'the first row must start at 0');
    const highs = new Uint32Array(starts.length);
    const lows = new Uint32Array(starts.length);
    let previous = -1n;
    for (const [row, start] of starts.entries()) {
      if (start <= previous || start >= RING_SIZE) {
        throw new AssertionError(`row ${row} starts at ${start}, after ${previous}`);
      }
      highs[row] = highOf(start);
      lows[row] = lowOf(start);
      previous = start;
    }
    return new Boundaries(highs, lows);
  }

  /**
   * The row that a position falls into, the position given as two words. Allocates nothing.
   *
   * With one row or two to choose from, the sign of a difference chooses instead of a branch, for
   * the processor would guess wrong half the time. If it is zero, which is rare, the low words
   * decide and we search. `| 0` tells the engine that a number is a whole one with 32 bits, where it
   * would otherwise reckon with fractions on the way to the row.
   */
  rowOf(high: number, low: number): number {
    const slots = this.#slots;
    const shift = this.#slotShift;
    const slot = (high >>> shift) | 0;
    const entry = slots[slot] as number;
    const first = (entry >>> shift) | 0;
    const last = ((slots[slot + 1] as number) >>> shift) | 0;
    const offsets = ~(-1 << shift);
    const difference = ((high & offsets) - (entry & offsets)) | 0;
    if (last - first <= 1 && difference !== 0) return (last + (difference >> 31)) | 0;
    return this.#search(high, low, first, last);
  }

  #search(high: number, low: number, from: number, to: number): number {
    let first = from;
    let last = to;
    while (first < last) {
      const middle = (first + last + 1) >> 1;
      const start = this.#highs[middle] as number;
      if (start < high || (start === high && (this.#lows[middle] as number) <= low)) {
        first = middle;
      } else {
        last = middle - 1;
      }
    }
    return first | 0;
  }

  rowAt(position: Hash): number {
    return this.rowOf(highOf(position), lowOf(position));
  }

  startOf(row: number): Hash {
    this.checkRow(row);
    return hashOf(this.#highs[row] as number, this.#lows[row] as number);
  }

  startsAt(row: number, position: Hash): boolean {
    return this.#highs[row] === highOf(position) && this.#lows[row] === lowOf(position);
  }

  endsAt(row: number, end: bigint): boolean {
    return row === this.size - 1 ? end === RING_SIZE : this.startsAt(row + 1, end);
  }

  /** Where the next row starts, or 2^64. */
  endOf(row: number): bigint {
    this.checkRow(row);
    return row === this.size - 1 ? RING_SIZE : this.startOf(row + 1);
  }

  checkRow(row: number): void {
    if (row < 0 || row >= this.size) throw new AssertionError(`no row ${row} among ${this.size}`);
  }

  /** Copies rows from `from` up to `to`, left out, into other arrays at `at`. */
  copyRows(from: number, to: number, highs: Uint32Array, lows: Uint32Array, at: number): void {
    highs.set(this.#highs.subarray(from, to), at);
    lows.set(this.#lows.subarray(from, to), at);
  }
}

/** Two slots or more for every row, so that most slots have one or none of the boundaries; at least one. */
function slotBitsFor(rows: number): number {
  const rowBits = 32 - Math.clz32(rows - 1);
  return Math.max(rowBits, Math.min(rowBits + 1, MOST_SLOT_BITS));
}

function slotsOf(highs: Uint32Array, slotBits: number): Int32Array {
  const count = 2 ** slotBits;
  const shift = 32 - slotBits;
  const offsets = 2 ** shift - 1;
  const slots = new Int32Array(count + 1);
  // Where each row starts is written into the slot, and its number into the jump of the slot after,
  // where a later row may replace an earlier one. Then every jump takes the greatest row seen so far;
  // the greater of two numbers is chosen without a branch, which would be guessed wrong half the time.
  // Where no row starts, zero is left, which every position in the slot lies behind.
  for (let row = 1; row < highs.length; row += 1) {
    const start = highs[row] as number;
    const slot = start >>> shift;
    slots[slot] = ((slots[slot] as number) & ~offsets) | (start & offsets);
    slots[slot + 1] = row << shift;
  }
  let greatest = 0;
  for (let slot = 0; slot <= count; slot += 1) {
    const entry = slots[slot] as number;
    const gain = (entry >>> shift) - greatest;
    greatest += gain & ~(gain >> 31);
    slots[slot] = (greatest << shift) | (entry & offsets);
  }
  return slots;
}
