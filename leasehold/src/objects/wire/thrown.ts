/**
 * What a handler threw, as plain data, and as an error again at the caller.
 *
 * Name, message and own plain fields cross (`code`, `retryable` and the application's own), the stack does not: it names files of another
 * process. What cannot be written as plain data is left out, because an error that is too rich must not hide that there was one.
 *
 * An error of this toolkit that leaves a handler crosses with `retryable: false`. It said that a call *of the handler* did nothing; the handler
 * itself has run, and what it changed stays. A caller that repeats what is retryable would run it again.
 */

import {
  ClosedError,
  InUseError,
  InvalidArgumentError,
  isCoded,
  LeaseholdError,
  LeaseLostError,
  NotOwnerError,
  OutcomeUnknownError,
  RefusedError,
  StorageError,
  UnavailableError,
} from '../../runtime/errors.ts';
import type { Answer } from '../core/messages.ts';
import { CALL_BYTES_MAX, decodePlain, encodePlain } from './plain-data.ts';

const CLASSES = {
  InvalidArgumentError,
  NotOwnerError,
  LeaseLostError,
  UnavailableError,
  OutcomeUnknownError,
  InUseError,
  RefusedError,
  ClosedError,
  StorageError,
} as const;

/** A text that is longer would not be read. */
const MESSAGE_MAX = 4_096;
/** For name, message and what frames them. */
const FIELDS_BYTES_MAX = CALL_BYTES_MAX / 2;

interface Thrown {
  readonly name: string;
  readonly message: string;
  readonly fields: Readonly<Record<string, unknown>>;
  /** Of this toolkit. */
  readonly isCoded: boolean;
}

export const valueAnswer = (value: unknown): Answer => ({
  isError: false,
  bytes: encodePlain('result', value),
});

export const errorAnswer = (error: unknown): Answer => ({
  isError: true,
  bytes: encodePlain('error', asPlain(error)),
});

function asPlain(error: unknown): Thrown {
  if (!(error instanceof Error)) {
    const message = `a handler threw ${typeof error === 'string' ? `'${cut(error)}'` : `a value of type ${typeof error}`}, which is no Error`;
    return { name: 'Error', message, fields: { code: 'NOT_AN_ERROR', retryable: false }, isCoded: false };
  }
  if (isCoded(error)) {
    const { code, isOutcomeKnown, details } = error;
    const fields = { code, isOutcomeKnown, module: error.module, details: plainFields(details) };
    return { name: error.name, message: cut(error.message), fields, isCoded: true };
  }
  return { name: cut(error.name), message: cut(error.message), fields: plainFields(error), isCoded: false };
}

/** A cut may leave half of a surrogate pair, which the encoder replaces. */
const cut = (text: string): string =>
  new TextDecoder().decode(new TextEncoder().encode(String(text).slice(0, MESSAGE_MAX)));

const LEFT_OUT = new Set(['name', 'message', 'stack', 'cause']);

function plainFields(from: object): Readonly<Record<string, unknown>> {
  const fields: Record<string, unknown> = {};
  let bytes = 0;
  for (const [name, value] of Object.entries(from)) {
    const length = LEFT_OUT.has(name) ? undefined : lengthOf({ [name]: value });
    if (length === undefined || (bytes += length) > FIELDS_BYTES_MAX) continue;
    fields[name] = value;
  }
  return fields;
}

/** As plain data; undefined if it is none. */
function lengthOf(value: object): number | undefined {
  try {
    return encodePlain('field', value, FIELDS_BYTES_MAX).length;
  } catch {
    return undefined; // What cannot cross is left out, as the head says.
  }
}

/** The value, or the error to throw. */
export function readAnswer({
  isError,
  bytes,
}: Answer): { readonly value: unknown } | { readonly error: Error } {
  const plain = decodePlain(bytes);
  return isError ? { error: asError(plain as Thrown) } : { value: plain };
}

function asError({ name, message, fields, isCoded: isOurs }: Thrown): Error {
  if (!isOurs) {
    const error = new Error(message);
    if (name !== 'Error')
      Object.defineProperty(error, 'name', { value: name, configurable: true, writable: true });
    return Object.assign(error, fields);
  }
  const { code, isOutcomeKnown, module, details } = fields as {
    readonly code: string;
    readonly isOutcomeKnown: boolean;
    readonly module: LeaseholdError['module'];
    readonly details: LeaseholdError['details'];
  };
  const Class = Object.hasOwn(CLASSES, name) ? CLASSES[name as keyof typeof CLASSES] : LeaseholdError;
  return new Class(code, message, { module, details, retryable: false, isOutcomeKnown });
}
