/**
 * From the arguments of a client to a command within the bounds, and from a result to an outcome.
 *
 * A command is made of copies. In the process of a replica the command itself enters the log, while other replicas get its bytes. If
 * the caller could change a value afterwards, or pass something that has no bytes of its own (half a surrogate pair, a fraction as a
 * revision), replicas would apply different commands, or write a journal that cannot be read. So whatever the wire would
 * change or refuse is refused here, before anything is sent, at clients over TCP as well.
 */

import { invalidKey, invalidOption, LONGEST_KEY } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import { checkOptionNames, type OptionNames } from '../../runtime/option-names.ts';
import { isWellFormed } from '../../runtime/text-option.ts';
import { copyOf } from './copies.ts';
import type { CallOptions } from '../../runtime/handle.ts';
import { type Action, type Command, type Condition, transaction } from '../core/operation.ts';
import type { ReadMode } from '../core/reads.ts';
import type { Found, Result } from '../core/result.ts';
import { sessionExpired, tooLarge } from '../core/errors.ts';
import { CALL_FRAME_BYTES_MAX, PARTS_MAX, SLOT_MAX, VALUE_BYTES_MAX } from '../wire/bounds.ts';
import { type Call, decodeCalls, encodeCalls, type Reply } from '../wire/calls.ts';
import type {
  Expected,
  GivenAction,
  GivenCondition,
  Outcome,
  ReadOptions,
  StepDownOptions,
} from './client-types.ts';

const encoder = new TextEncoder();

/** The bytes of a value, which are nobody else's. */
export function bytesOf(value: Uint8Array | string): Uint8Array {
  if (typeof value === 'string') {
    if (isWellFormed(value)) return encoder.encode(value);
    throw invalidOption('value', value, 'a text must have no half of a surrogate pair; give bytes');
  }
  if (value instanceof Uint8Array) return new Uint8Array(value);
  throw invalidOption('value', value, 'it must be a text or a Uint8Array');
}

export function conditionOf(key: string, expected: Expected): GivenCondition {
  if (expected === 'absent') return { key, is: 'absent' };
  if (isObject(expected)) {
    if ('revision' in expected) return { key, is: 'revision', revision: expected.revision };
    if ('value' in expected) return { key, is: 'value', value: expected.value };
  }
  throw invalidOption('expected', expected, "it must be 'absent', { revision } or { value }");
}

const isObject = (value: unknown): value is object => typeof value === 'object' && value !== null;

/** @throws {InvalidArgumentError} */
export function checkList<T>(option: string, list: readonly T[]): readonly T[] {
  if (Array.isArray(list)) return list;
  throw invalidOption(option, list, 'it must be a list');
}

/** A key with its value. */
export function checkPair<P extends readonly [string, unknown]>(option: string, pair: P): P {
  if (Array.isArray(pair) && pair.length === 2) return pair;
  throw invalidOption(option, pair, 'each must be a pair of a key and a value');
}

export function checkObject<T>(option: string, value: T): T {
  if (isObject(value)) return value;
  throw invalidOption(option, value, 'each must be an object');
}

/** The name of a replica, or a storage id. */
export function checkName(name: unknown): void {
  if (typeof name !== 'string' || name === '')
    throw invalidOption('name', name, 'it must be the name of a replica, or its storage id');
}

/** Its tables are checked as a replica does ({@link checkCall}). */
export function checkPlacement<P>(placement: P): P {
  if (isObject(placement) && 'mode' in placement) return placement;
  const rule = "it must be 'all', 'leader' or 'automatic', or an object with a mode and tables";
  throw invalidOption('readers', placement, rule);
}

const CALL_OPTIONS: OptionNames<CallOptions> = { signal: true, timeoutMs: true };
const READ_OPTIONS: OptionNames<ReadOptions> = { ...CALL_OPTIONS, mode: true };
const STEP_DOWN_OPTIONS: OptionNames<StepDownOptions> = { ...CALL_OPTIONS, to: true };
const timeout = is.from(0);

/** Of a call without options; these need no check. */
export const NO_OPTIONS: Readonly<ReadOptions> = {};

/** @throws {InvalidArgumentError} */
export function checkCallOptions(options: CallOptions, known: OptionNames<CallOptions> = CALL_OPTIONS): void {
  if (options === NO_OPTIONS) return;
  checkOptionNames('', options, known);
  if (options.signal !== undefined) is.signal.check('signal', options.signal);
  if (options.timeoutMs !== undefined) timeout.check('timeoutMs', options.timeoutMs);
}

/** @throws {InvalidArgumentError} */
export const checkReadOptions = (options: ReadOptions): void => checkCallOptions(options, READ_OPTIONS);

/** @throws {InvalidArgumentError} */
export function checkStepDownOptions(options: StepDownOptions): void {
  checkCallOptions(options, STEP_DOWN_OPTIONS);
  if (options.to !== undefined) checkName(options.to);
}

export function checkKey(key: unknown): string {
  if (typeof key !== 'string' || key.length > LONGEST_KEY || !isWellFormed(key)) throw invalidKey(key);
  return key;
}

/** The keys of one call. */
export function checkKeys(keys: readonly string[]): void {
  let most = 0;
  for (const key of checkList('keys', keys)) most += BYTES_PER_CHARACTER * checkKey(key).length;
  if (most <= CALL_BYTES_MAX) return;
  const bytes = keys.reduce((sum, key) => sum + encoder.encode(key).length, 0);
  if (bytes > CALL_BYTES_MAX) throw tooLarge('the length of all keys in bytes', bytes, CALL_BYTES_MAX);
}

/** At most so many in UTF-8 for one of UTF-16. */
const BYTES_PER_CHARACTER = 3;

/** One call fits into a frame with room to spare. */
const CALL_BYTES_MAX = CALL_FRAME_BYTES_MAX / 2;

const MODES: readonly ReadMode[] = ['best', 'quorum', 'log', 'weak'];

function checkMode(mode: ReadMode = 'best'): ReadMode {
  if (MODES.includes(mode)) return mode;
  throw invalidOption('mode', mode, `it must be one of ${MODES.join(', ')}`);
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
  throw invalidOption(option, value, 'it must be a whole number of at least 0');
}

/** A position of the log that can be reached. */
export function checkPosition(option: string, value: number): void {
  if (checkWhole(option, value) > SLOT_MAX)
    throw invalidOption(option, value, 'it must be a position that a read or a watch named');
}

export function checkTransaction(
  conditions: readonly GivenCondition[],
  actions: readonly GivenAction[],
): Command {
  const parts = checkList('conditions', conditions).length + checkList('actions', actions).length;
  if (parts > PARTS_MAX) throw tooLarge('the number of conditions and actions', parts, PARTS_MAX);
  let bytes = 0;
  const checked = <Part extends Condition | Action>(part: Part): Part => {
    const length = 'value' in part ? part.value.length : 0;
    if (length > VALUE_BYTES_MAX)
      throw tooLarge(`the value of ${JSON.stringify(part.key)} in bytes`, length, VALUE_BYTES_MAX);
    bytes += length + BYTES_PER_CHARACTER * part.key.length;
    return part;
  };
  const command = transaction(
    conditions.map((condition) => checked(checkCondition(condition))),
    actions.map((action) => checked(checkAction(action))),
  );
  if (bytes > CALL_BYTES_MAX) throw tooLarge('the transaction in bytes', bytes, CALL_BYTES_MAX);
  return command;
}

function checkCondition(given: GivenCondition): Condition {
  const key = checkKey(checkObject('conditions', given).key);
  switch (given.is) {
    case 'absent':
      return { key, is: 'absent' };
    case 'revision':
      return { key, is: 'revision', revision: checkWhole('revision', given.revision) };
    case 'value':
      return { key, is: 'value', value: bytesOf(given.value) };
    default:
      throw invalidOption('is', (given as Condition).is, 'it must be absent, revision or value');
  }
}

function checkAction(given: GivenAction): Action {
  const key = checkKey(checkObject('actions', given).key);
  switch (given.do) {
    case 'get':
      return { do: 'get', key };
    case 'put':
      return { do: 'put', key, value: bytesOf(given.value) };
    case 'delete':
      return { do: 'delete', key };
    default:
      throw invalidOption('do', (given as Action).do, 'it must be get, put or delete');
  }
}

/** Refuses a call that a replica would refuse to read: for calls that are seldom made. */
export function checkCall<C extends Call>(option: string, value: unknown, call: C): C {
  try {
    return decodeCalls(encodeCalls([call]))[0] as C;
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    throw invalidOption(option, value, `a replica would not take it: ${why}`);
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
      throw sessionExpired();
  }
}
