/**
 * A place on the ring of keys.
 *
 * The ring has 2^64 positions. A number cannot count that far exactly, so a position is a bigint wherever people or
 * protocols handle positions, and a pair of unsigned 32-bit numbers, `high` and `low`, wherever speed matters: one
 * operation on a bigint costs as much as a whole look-up in a table of thousands of rows. This file is the only
 * crossing between the two.
 *
 * The crossing is a piece of memory seen both ways: written as one 64-bit integer and read as two of 32 bits, or the
 * reverse. The crossing needs no arithmetic and makes no bigints in between. Which of the two words is the high one
 * depends on the machine, and is found once, at load.
 */

import { invalidOption } from '../errors.ts';

/** In [0, 2^64). */
export type Hash = bigint;

export const RING_SIZE: bigint = 1n << 64n;

const whole = new BigUint64Array(1);
const halves = new Uint32Array(whole.buffer);

whole[0] = 1n;
const LOW = halves[0] === 1 ? 0 : 1;
const HIGH = 1 - LOW;

/** The position `high * 2^32 + low`, of two unsigned 32-bit numbers. */
export function hashOf(high: number, low: number): Hash {
  halves[HIGH] = high;
  halves[LOW] = low;
  return whole[0] as bigint;
}

/** The upper 32 bits, in [0, 2^32). */
export function highOf(position: Hash): number {
  whole[0] = position;
  return halves[HIGH] as number;
}

/** The lower 32 bits, in [0, 2^32). */
export function lowOf(position: Hash): number {
  whole[0] = position;
  return halves[LOW] as number;
}

/**
 * The same position, if valid.
 *
 * The crossing above takes any bigint modulo 2^64, so a position from outside must pass here
 * first, or 2^64 would silently be taken for 0.
 *
 * @throws {InvalidArgumentError} if the position lies outside [0, 2^64)
 */
export function checkHash(position: Hash): Hash {
  if (position >= 0n && position < RING_SIZE) return position;
  throw invalidOption('position', position, 'it must be in [0, 2^64)');
}

/** As 16 hexadecimal digits, so that positions sort as text the way they do on the ring. */
export const formatHash = (position: Hash): string => checkHash(position).toString(16).padStart(16, '0');

/**
 * Reads the text of {@link formatHash}; capitals are allowed, fewer digits are not.
 *
 * @throws {InvalidArgumentError} if the text is anything but 16 hexadecimal digits
 */
export function parseHash(text: string): Hash {
  if (/^[0-9a-f]{16}$/i.test(text)) return BigInt(`0x${text}`);
  throw invalidOption('position', `"${text}"`, 'it must be 16 hexadecimal digits');
}
