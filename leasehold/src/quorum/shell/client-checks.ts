/** From the arguments of a client to a command within the bounds, and from a result to an outcome. */

import { InvalidKeyError, LONGEST_KEY } from '../../runtime/errors.ts';
import { type Action, type Command, type Condition, transaction } from '../core/operation.ts';
import type { Result } from '../core/result.ts';
import { OutcomeUnknownError, TooLargeError } from '../errors.ts';
import { CALL_FRAME_BYTES_MAX, PARTS_MAX, VALUE_BYTES_MAX } from '../wire/bounds.ts';
import type { Expected, Outcome } from './client-types.ts';

const encoder = new TextEncoder();
export const bytesOf = (value: Uint8Array | string): Uint8Array =>
  typeof value === 'string' ? encoder.encode(value) : value;

export function conditionOf(key: string, expected: Expected): Condition {
  if (expected === 'absent') return { key, is: 'absent' };
  if ('revision' in expected) return { key, is: 'revision', revision: expected.revision };
  return { key, is: 'value', value: bytesOf(expected.value) };
}

export function checkKey(key: unknown): string {
  if (typeof key !== 'string' || key.length > LONGEST_KEY) throw new InvalidKeyError(key);
  return key;
}

export function checkTransaction(conditions: readonly Condition[], actions: readonly Action[]): Command {
  const parts = conditions.length + actions.length;
  if (parts > PARTS_MAX) throw new TooLargeError('the number of conditions and actions', parts, PARTS_MAX);
  let bytes = 0;
  for (const part of [...conditions, ...actions]) {
    checkKey(part.key);
    const value = 'value' in part ? part.value : undefined;
    const length = value?.length ?? 0;
    if (length > VALUE_BYTES_MAX)
      throw new TooLargeError(`the value of ${JSON.stringify(part.key)} in bytes`, length, VALUE_BYTES_MAX);
    bytes += length + 3 * part.key.length;
  }
  const most = CALL_FRAME_BYTES_MAX / 2;
  if (bytes > most) throw new TooLargeError('the transaction in bytes', bytes, most);
  return transaction(conditions, actions);
}

export function outcomeOf(result: Result): Outcome {
  switch (result.kind) {
    case 'done':
      return { isDone: true, revision: result.revision, found: result.found };
    case 'unmet':
      return { isDone: false, found: result.found };
    case 'duplicate':
      return outcomeOf(result.of);
    default:
      throw new OutcomeUnknownError();
  }
}
