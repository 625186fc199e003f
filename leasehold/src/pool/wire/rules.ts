/**
 * What single values must be, and how much of anything there can be.
 */

import { Flaw } from '../../runtime/msgpack/flaw.ts';

/** The longest name of anything: pool, owner, incarnation, look-up, history, proof. In UTF-16 units, as `length` counts. */
export const LONGEST_NAME = 256;
export const LONGEST_URL = 2_048;
export const LONGEST_SECRET = 512;
export const LONGEST_SENTENCE = 4_096;
/** What one owner can hold, or have let go of, in pieces. */
export const MOST_SPANS = 100_000;
/** What one pool's table can have. */
export const MOST_ROWS = 1_000_000;

/** Takes a value over, or throws a {@link Flaw}. */
export type Read<T> = (value: unknown) => T;

const text =
  (longest: number): Read<string> =>
  (value) => {
    if (typeof value === 'string' && value !== '' && value.length <= longest) return value;
    throw new Flaw(`must be a text of 1 to ${longest} characters`);
  };
export const name: Read<string> = text(LONGEST_NAME);
export const url: Read<string> = text(LONGEST_URL);
export const secret: Read<string> = text(LONGEST_SECRET);
export const sentence: Read<string> = text(LONGEST_SENTENCE);

export function count(value: unknown): number {
  if (Number.isSafeInteger(value) && (value as number) >= 0) return value as number;
  throw new Flaw('must be a whole number from 0');
}

export function duration(value: unknown): number {
  if (typeof value === 'number' && value > 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new Flaw('must be a positive number of milliseconds');
}

export function load(value: unknown): number {
  if (typeof value === 'number' && value >= 0 && value < Number.POSITIVE_INFINITY) return value;
  throw new Flaw('must be a number from 0');
}

export function yesOrNo(value: unknown): boolean {
  if (typeof value === 'boolean') return value;
  throw new Flaw('must be true or false');
}

export const optional =
  <T>(read: Read<T>): Read<T | undefined> =>
  (value) =>
    value === undefined ? undefined : read(value);
