/**
 * The limits of single values, and of the number of items.
 */

import { Flaw } from '../../runtime/msgpack/flaw.ts';
import { hasControls } from '../../runtime/printable.ts';

/** The longest name of anything: pool, owner, incarnation, look-up, history, proof. In UTF-16 units, as `length` counts. */
export const LONGEST_NAME = 256;
export const LONGEST_URL = 2_048;
export const LONGEST_SECRET = 512;
export const LONGEST_SENTENCE = 4_096;
/** Spans that one owner can hold, or have released. */
export const MOST_SPANS = 100_000;
/** Rows that the table of one pool can have. */
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

/**
 * Text that a user chooses and that others read on terminals and in logs. A Manager accepts no other text; text that
 * an older Manager accepted is in the log, and is read from there and by look-ups unchanged.
 */
const chosen =
  (read: Read<string>): Read<string> =>
  (value) => {
    const text = read(value);
    if (!hasControls(text)) return text;
    throw new Flaw('must have no control or invisible characters in it');
  };
export const chosenName: Read<string> = chosen(name);
export const chosenUrl: Read<string> = chosen(url);

export const secret: Read<string> = text(LONGEST_SECRET);
export const sentence: Read<string> = text(LONGEST_SENTENCE);

const hexadecimal =
  (bytes: number): Read<string> =>
  (value) => {
    if (typeof value === 'string' && value.length === 2 * bytes && /^[0-9a-f]*$/.test(value)) return value;
    throw new Flaw(`must be ${2 * bytes} hexadecimal digits`);
  };
export const stamp: Read<string> = hexadecimal(16);
export const publicKey: Read<string> = hexadecimal(32);
export const signature: Read<string> = hexadecimal(64);

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
