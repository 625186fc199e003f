/**
 * Every error that the toolkit throws on purpose: nine classes, **one for each decision of a caller**, and a `code` for each case.
 *
 *     class                   decision                                     retryable   outcome known
 *     InvalidArgumentError    mend the program                             no          yes
 *     NotOwnerError           send the request to another owner            yes         yes
 *     LeaseLostError          discard the result                           no          no
 *     UnavailableError        try later                                    yes         yes
 *     OutcomeUnknownError     look whether it was done                     no          no
 *     InUseError              wait, or take another name, key or port      yes         yes
 *     RefusedError            mend settings or rights                      no          yes
 *     ClosedError             begin anew                                   no          yes
 *     StorageError            have a person look                           no          yes
 *
 * `retryable` says that nothing was done and that the same call, made again later, may succeed. So `retryable` implies
 * `isOutcomeKnown`, which the constructor enforces: a program that repeats every retryable call never does anything twice.
 * A single error may differ from its class (a `TIMEOUT` of a setting that time does not mend), never from that implication.
 *
 * A class per case would make each caller name dozens of classes for nine decisions; a class for all would make each caller
 * read codes. What a case adds (which member, until when) stands in `details`, as plain data.
 */

import { assert } from './assert.ts';
import { printable } from './printable.ts';

/** The module that threw, as in imports, commands, paths and metrics. */
export type Module =
  | 'pool'
  | 'manager'
  | 'flease'
  | 'quorum'
  | 'membership'
  | 'ratelimit'
  | 'objects'
  | 'gateway';

export type ErrorDetails = Readonly<Record<string, unknown>>;

/** What a single error adds to its code and message. */
export interface ErrorFacts extends ErrorOptions {
  readonly module?: Module | undefined;
  readonly details?: ErrorDetails;
  /** Default: as usual for the class; false if the outcome is unknown. */
  readonly retryable?: boolean;
  /** Default: as usual for the class. */
  readonly isOutcomeKnown?: boolean;
}

interface Usual {
  readonly retryable: boolean;
  readonly isOutcomeKnown: boolean;
}

const FINAL: Usual = { retryable: false, isOutcomeKnown: true };
const RETRYABLE: Usual = { retryable: true, isOutcomeKnown: true };
const UNKNOWN: Usual = { retryable: false, isOutcomeKnown: false };

/**
 * What all errors of the toolkit have in common. `code` is the contract; the message is for people, and fit for a terminal:
 * repeated words of other processes are escaped.
 */
export class LeaseholdError extends Error {
  readonly code: string;
  /** Undefined: of no single module, as for connections and options. */
  readonly module: Module | undefined;
  /** Nothing was done, and the same call, made again later, may succeed. Implies `isOutcomeKnown`. */
  readonly retryable: boolean;
  /** False: it may have been done. */
  readonly isOutcomeKnown: boolean;
  /** What programs may want to know of this case. */
  readonly details: ErrorDetails;

  constructor(code: string, message: string, facts: ErrorFacts = {}, usual: Usual = FINAL) {
    super(printable(message), 'cause' in facts ? { cause: facts.cause } : undefined);
    this.code = code;
    this.module = facts.module;
    this.isOutcomeKnown = facts.isOutcomeKnown ?? usual.isOutcomeKnown;
    this.retryable = facts.retryable ?? (usual.retryable && this.isOutcomeKnown);
    this.details = facts.details ?? {};
    assert(
      this.isOutcomeKnown || !this.retryable,
      `${code} is retryable, but its outcome is unknown: a repeat might do the same work twice`,
    );
  }
}

/** The program is wrong: an option, a key, an order of calls. Nothing was done. */
export class InvalidArgumentError extends LeaseholdError {
  override readonly name = 'InvalidArgumentError';
}

/** This process is not, or no longer, the owner. Nothing was done; send the request to the present owner. */
export class NotOwnerError extends LeaseholdError {
  override readonly name = 'NotOwnerError';

  constructor(code: string, message: string, facts?: ErrorFacts) {
    super(code, message, facts, RETRYABLE);
  }
}

/** The work began under a lease that cannot be shown to have lasted. Discard the result; what was written elsewhere may stand. */
export class LeaseLostError extends LeaseholdError {
  override readonly name = 'LeaseLostError';

  constructor(code: string, message: string, facts?: ErrorFacts) {
    super(code, message, facts, UNKNOWN);
  }
}

/** Not now. Nothing was done; try later. */
export class UnavailableError extends LeaseholdError {
  override readonly name = 'UnavailableError';

  constructor(code: string, message: string, facts?: ErrorFacts) {
    super(code, message, facts, RETRYABLE);
  }
}

/** It may have been done. Look before the next step. */
export class OutcomeUnknownError extends LeaseholdError {
  override readonly name = 'OutcomeUnknownError';

  constructor(code: string, message: string, facts?: ErrorFacts) {
    super(code, message, facts, UNKNOWN);
  }
}

/** Another process has the name, the key, the port or the file. Nothing was done; wait, or take another. */
export class InUseError extends LeaseholdError {
  override readonly name = 'InUseError';

  constructor(code: string, message: string, facts?: ErrorFacts) {
    super(code, message, facts, RETRYABLE);
  }
}

/** Another process refuses this one, or its own settings, rights or platform do. Nothing was done, and time does not mend it. */
export class RefusedError extends LeaseholdError {
  override readonly name = 'RefusedError';
}

/** The handle is closed, or its member was removed for good. Begin anew. */
export class ClosedError extends LeaseholdError {
  override readonly name = 'ClosedError';
}

/** A store failed, or holds something else than was written. A person must look. */
export class StorageError extends LeaseholdError {
  override readonly name = 'StorageError';
}

/** A class of one case, as errors were before the nine. */
export abstract class SingleError extends LeaseholdError {
  abstract override readonly code: string;
  abstract override readonly retryable: boolean;

  constructor(message: string, options?: ErrorOptions) {
    super('', message, options);
  }
}

/** Is the error one of ours, or of another copy of this package in the same process? */
export const isCoded = (error: unknown): error is LeaseholdError =>
  error instanceof Error &&
  'code' in error &&
  typeof error.code === 'string' &&
  'retryable' in error &&
  typeof error.retryable === 'boolean' &&
  'isOutcomeKnown' in error &&
  typeof error.isOutcomeKnown === 'boolean';

/** What every channel tells of an error: HTTP answers, `--json`, messages to other processes. */
export const errorFields = ({
  code,
  message,
  retryable,
  isOutcomeKnown,
}: LeaseholdError): {
  readonly code: string;
  readonly message: string;
  readonly retryable: boolean;
  readonly isOutcomeKnown: boolean;
} => ({ code, message, retryable, isOutcomeKnown });

const TOKEN = /lh1\.[\w-]+/g;

/** For values that people gave, in errors, which are logged: a token may have been given for a path, or for another option. */
export const withoutTokens = (text: string): string => text.replace(TOKEN, 'lh1.…');

/** Also of an object without a prototype, or whose `toString` throws. */
function textOf(value: unknown): string {
  try {
    return String(value);
  } catch {
    return typeof value;
  }
}

/** An option breaks a rule. To be thrown before anything has started. `details` has `option`, `value` and `rule`. */
export function invalidOption(
  option: string,
  value: unknown,
  rule: string,
  code: BrokenRule['code'] = 'INVALID_OPTION',
): InvalidArgumentError {
  const text = textOf(value);
  const shown = withoutTokens(text);
  const details = { option, value: shown === text ? value : shown, rule };
  return new InvalidArgumentError(code, `option ${option} is ${shown || 'empty'}, but ${rule}`, {
    details,
  });
}

export interface BrokenRule {
  /** `NO_TOKEN`: a port beyond this machine without encryption. */
  readonly code: 'INVALID_OPTION' | 'NO_TOKEN';
  readonly option: string;
  readonly value: unknown;
  readonly rule: string;
}

/** For code that says the rule again, about an option of its own; undefined: another error. */
export function brokenRule(error: unknown): BrokenRule | undefined {
  if (!(error instanceof InvalidArgumentError)) return undefined;
  const { code } = error;
  if (code !== 'INVALID_OPTION' && code !== 'NO_TOKEN') return undefined;
  const { option, value, rule } = error.details;
  return { code, option: String(option), value, rule: String(rule) };
}

/**
 * A key is neither a string of at most 4,096 characters nor a position in [0, 2^64). `details` has the `key`.
 *
 * Numbers are not taken as keys, because a program that passes `7` here and `'7'` there, or `7` and `7n`, would ask
 * for different places of the ring without noticing.
 */
export const invalidKey = (key: unknown): InvalidArgumentError =>
  new InvalidArgumentError('INVALID_KEY', whyNoKey(key), { details: { key } });

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
 * message. Callers never see it: it is the reason for which a connection ends. For those who write a protocol.
 */
export class MalformedMessageError extends LeaseholdError {
  override readonly name = 'MalformedMessageError';
  /** Where in the message, as `rows[3].number`. */
  readonly path: string;

  constructor(path: string, rule: string, options?: ErrorOptions) {
    super('MALFORMED_MESSAGE', `malformed message: ${path} ${rule}`, options);
    this.path = path;
  }
}
