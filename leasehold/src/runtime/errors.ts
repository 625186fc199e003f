/**
 * The errors that every module may throw. A module adds further errors beside the module's protocol.
 */

import { printable } from './printable.ts';

/**
 * Everything the toolkit throws on purpose. `code` is the contract; the message is for people, and fit for a terminal:
 * repeated words of others are escaped.
 */
export abstract class LeaseholdError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(printable(message), options);
  }

  abstract readonly code: string;
  /** True when the same call, made again later without change, may succeed. */
  abstract readonly retryable: boolean;
}

/** Is the error one of ours, or of another copy of this package in the same process? */
export const isCoded = (
  error: unknown,
): error is Error & { readonly code: string; readonly retryable: boolean } =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  'retryable' in error &&
  typeof error.retryable === 'boolean';

/** An option breaks a rule. Thrown at construction, before anything has started. */
export class InvalidOptionError extends LeaseholdError {
  override readonly name = 'InvalidOptionError';
  readonly code = 'INVALID_OPTION';
  readonly retryable = false;
  readonly option: string;
  readonly value: unknown;
  readonly rule: string;

  constructor(option: string, value: unknown, rule: string) {
    super(`option ${option} is ${String(value) || 'empty'}, but ${rule}`);
    this.option = option;
    this.value = value;
    this.rule = rule;
  }
}

/**
 * A key is neither a string of at most 4,096 characters nor a position in [0, 2^64). Nothing was done.
 *
 * Numbers are not taken as keys, because a program that passes `7` here and `'7'` there, or `7` and `7n`, would ask
 * for different places of the ring without noticing.
 */
export class InvalidKeyError extends LeaseholdError {
  override readonly name = 'InvalidKeyError';
  readonly code = 'INVALID_KEY';
  readonly retryable = false;
  readonly key: unknown;

  constructor(key: unknown) {
    super(whyNoKey(key));
    this.key = key;
  }
}

function whyNoKey(key: unknown): string {
  const rule = 'a key is a string, or a position: a bigint in [0, 2^64)';
  if (typeof key === 'string' && key.length <= LONGEST_KEY)
    return 'a key must be well-formed Unicode, and this one has half of a surrogate pair: other processes would read another key';
  if (typeof key === 'string')
    return `a key of ${key.length} characters is too long: at most ${LONGEST_KEY}; use a digest of it as the key`;
  if (typeof key === 'bigint') return `${key} is not a key: ${rule}`;
  const advice = typeof key === 'number' ? `; pass String(id), here '${key}'` : '';
  return `${key === null ? 'null' : typeof key} is not a key: ${rule}${advice}`;
}

/** In UTF-16 units, as `length` counts. */
export const LONGEST_KEY = 4_096;

/**
 * A peer sent something that is not a message of this protocol. Nothing was changed; close the connection of that
 * message.
 */
export class MalformedMessageError extends LeaseholdError {
  override readonly name = 'MalformedMessageError';
  readonly code = 'MALFORMED_MESSAGE';
  readonly retryable = false;
  /** Where in the message, as `rows[3].number`. */
  readonly path: string;

  constructor(path: string, rule: string, options?: ErrorOptions) {
    super(`malformed message: ${path} ${rule}`, options);
    this.path = path;
  }
}
