/**
 * From the arguments of a client to a command within the bounds, and from a result to an outcome.
 *
 * A command is made of copies. In the process of a replica the command itself enters the log, while other replicas get its bytes. If
 * the caller could change a value afterwards, or pass something that has no bytes of its own (half a surrogate pair, a fraction as a
 * revision), replicas would apply different commands, or write a journal that cannot be read. So whatever the wire would
 * change or refuse is refused here, before anything is sent, at clients over TCP as well.
 */

import { InvalidKeyError, InvalidOptionError, LONGEST_KEY } from '../../runtime/errors.ts';
import { isWellFormed } from '../../runtime/text-option.ts';
import { copyOf } from './copies.ts';
import { type Action, type Command, type Condition, transaction } from '../core/operation.ts';
import type { ReadMode } from '../core/reads.ts';
import type { Found, Result } from '../core/result.ts';
import { OutcomeUnknownError, TooLargeError } from '../errors.ts';
import { CALL_FRAME_BYTES_MAX, PARTS_MAX, VALUE_BYTES_MAX } from '../wire/bounds.ts';
import { type Call, decodeCalls, encodeCalls, type Reply } from '../wire/calls.ts';
import type { Expected, GivenAction, GivenCondition, Outcome } from './client-types.ts';

const encoder = new TextEncoder();

/** The bytes of a value, which are nobody else's. */
export function bytesOf(value: Uint8Array | string): Uint8Array {
  if (typeof value === 'string') return encoder.encode(value);
  if (value instanceof Uint8Array) return new Uint8Array(value);
  throw new InvalidOptionError('value', value, 'it must be a text or a Uint8Array');
}

export function conditionOf(key: string, expected: Expected): GivenCondition {
  if (expected === 'absent') return { key, is: 'absent' };
  if ('revision' in expected) return { key, is: 'revision', revision: expected.revision };
  return { key, is: 'value', value: expected.value };
}

export function checkKey(key: unknown): string {
  if (typeof key !== 'string' || key.length > LONGEST_KEY || !isWellFormed(key))
    throw new InvalidKeyError(key);
  return key;
}

const MODES: readonly ReadMode[] = ['best', 'quorum', 'log', 'stale'];

function checkMode(mode: ReadMode = 'best'): ReadMode {
  if (MODES.includes(mode)) return mode;
  throw new InvalidOptionError('mode', mode, `it must be one of ${MODES.join(', ')}`);
}

export function readCall(keys: readonly string[], given: ReadMode | undefined): (id: number) => Call {
  const mode = checkMode(given);
  return (id) => ({ kind: 'read', id, mode, keys });
}

/** Reads of one key each. */
export function readEachCall(keys: readonly string[], given: ReadMode | undefined): (id: number) => Call {
  const mode = checkMode(given);
  return (id) => ({ kind: 'read-each', id, mode, keys });
}

/** A position of the log, or a revision. */
export function checkWhole(option: string, value: number): number {
  if (Number.isSafeInteger(value) && value >= 0) return value;
  throw new InvalidOptionError(option, value, 'it must be a whole number of at least 0');
}

export function checkTransaction(
  conditions: readonly GivenCondition[],
  actions: readonly GivenAction[],
): Command {
  const parts = conditions.length + actions.length;
  if (parts > PARTS_MAX) throw new TooLargeError('the number of conditions and actions', parts, PARTS_MAX);
  let bytes = 0;
  const checked = <Part extends Condition | Action>(part: Part): Part => {
    const length = 'value' in part ? part.value.length : 0;
    if (length > VALUE_BYTES_MAX)
      throw new TooLargeError(`the value of ${JSON.stringify(part.key)} in bytes`, length, VALUE_BYTES_MAX);
    bytes += length + 3 * part.key.length;
    return part;
  };
  const command = transaction(
    conditions.map((condition) => checked(checkCondition(condition))),
    actions.map((action) => checked(checkAction(action))),
  );
  const most = CALL_FRAME_BYTES_MAX / 2;
  if (bytes > most) throw new TooLargeError('the transaction in bytes', bytes, most);
  return command;
}

function checkCondition(given: GivenCondition): Condition {
  const key = checkKey(given.key);
  switch (given.is) {
    case 'absent':
      return { key, is: 'absent' };
    case 'revision':
      return { key, is: 'revision', revision: checkWhole('revision', given.revision) };
    case 'value':
      return { key, is: 'value', value: bytesOf(given.value) };
    default:
      throw new InvalidOptionError('is', (given as Condition).is, 'it must be absent, revision or value');
  }
}

function checkAction(given: GivenAction): Action {
  const key = checkKey(given.key);
  switch (given.do) {
    case 'get':
      return { do: 'get', key };
    case 'put':
      return { do: 'put', key, value: bytesOf(given.value) };
    case 'delete':
      return { do: 'delete', key };
    default:
      throw new InvalidOptionError('do', (given as Action).do, 'it must be get, put or delete');
  }
}

/** Refuses a call that a replica would refuse to read: for calls that are seldom made. */
export function checkCall<C extends Call>(option: string, value: unknown, call: C): C {
  try {
    return decodeCalls(encodeCalls([call]))[0] as C;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw new InvalidOptionError(option, value, `a replica would not take it: ${why}`);
  }
}

/** The reply with values that are the caller's own: in the process of a replica they are those of its state. */
export function ownReply(reply: Reply): Reply {
  if ('found' in reply) return { ...reply, found: reply.found.map(ownFound) };
  if (reply.kind !== 'answer') return reply;
  const { answer } = reply;
  if (answer.kind === 'read') return { ...reply, answer: { ...answer, found: answer.found.map(ownFound) } };
  if (answer.kind === 'result') return { ...reply, answer: { ...answer, result: ownResult(answer.result) } };
  return reply;
}

function ownResult(result: Result): Result {
  if (result.kind === 'duplicate') return { ...result, of: ownResult(result.of) };
  return 'found' in result ? { ...result, found: result.found.map(ownFound) } : result;
}

function ownFound({ key, value, revision }: Found): Found {
  return { key, value: value && copyOf(value), revision };
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
