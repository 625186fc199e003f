/**
 * What the log contains, and what a client can ask for.
 *
 * Every command on keys is one transaction: conditions, and operations that are carried out if all conditions hold. A get, a
 * put, a delete and a compare-and-set are transactions with one part. That leaves one rule for conflicts: two entries
 * conflict if one *may write* a key that the other touches, whether its conditions hold or not, because commits are
 * judged before anything is applied.
 *
 * A *revision* names one request in the log: its slot and its place in the slot's batch. Revisions are the versions of
 * values and the ids of sessions. Slots alone would not do: two writes of one key in one batch would have the same
 * version, and a compare-and-set could overwrite what its client has never seen.
 */

import type { ProposedConfiguration } from './configuration.ts';

export type Value = Uint8Array;

/** slot × {@link BATCH_MAX} + place in the batch. */
export type Revision = number;

/** The most requests that one slot may hold. */
export const BATCH_MAX = 4_096;

export const revisionOf = (slot: number, place: number): Revision => slot * BATCH_MAX + place;

export const slotOf = (revision: Revision): number => Math.floor(revision / BATCH_MAX);

/** The highest revision that an entry of this slot can have. */
export const lastRevisionOf = (slot: number): Revision => revisionOf(slot, BATCH_MAX - 1);

/** What must hold for a transaction to be done. */
export type Condition =
  | { readonly key: string; readonly is: 'absent' }
  | { readonly key: string; readonly is: 'revision'; readonly revision: Revision }
  | { readonly key: string; readonly is: 'value'; readonly value: Value };

/** A change of one key in a transaction. */
export type Action =
  | { readonly do: 'get'; readonly key: string }
  | { readonly do: 'put'; readonly key: string; readonly value: Value }
  | { readonly do: 'delete'; readonly key: string };

export type Command =
  | {
      readonly kind: 'transaction';
      readonly conditions: readonly Condition[];
      readonly actions: readonly Action[];
    }
  | { readonly kind: 'open-session' }
  | { readonly kind: 'expire-session'; readonly session: Revision };

export const get = (key: string): Command => transaction([], [{ do: 'get', key }]);
export const put = (key: string, value: Value): Command => transaction([], [{ do: 'put', key, value }]);
export const remove = (key: string): Command => transaction([], [{ do: 'delete', key }]);
export const compareAndSet = (condition: Condition, value: Value): Command =>
  transaction([condition], [{ do: 'put', key: condition.key, value }]);
export const transaction = (conditions: readonly Condition[], actions: readonly Action[]): Command => ({
  kind: 'transaction',
  conditions,
  actions,
});

/** No session: for commands that write nothing, and so may be carried out twice. */
export const NO_SESSION: Revision = 0;

/** One command of one client, on its way through the log. */
export interface Request {
  readonly session: Revision;
  /** Counted by the client, from 1, within its session. */
  readonly number: number;
  /** The client has the answers to all of its requests below this number, and will not repeat them. */
  readonly answeredBelow: number;
  readonly command: Command;
  /** The replica that took the request and answers it, its life, and the number that this life gave to the request. */
  readonly origin: string;
  readonly life: number;
  readonly id: number;
}

export type Operation =
  | { readonly kind: 'configuration'; readonly configuration: ProposedConfiguration }
  | {
      readonly kind: 'batch';
      readonly requests: readonly Request[];
      readonly keys: TouchedKeys;
      /** The rough size of the keys and values. */
      readonly bytes: number;
    };

/** What a batch may read and write. Sets without duplicates, computed once. */
export interface TouchedKeys {
  readonly written: readonly string[];
  readonly read: readonly string[];
}

export const NO_KEYS: TouchedKeys = { written: [], read: [] };

export const batch = (requests: readonly Request[]): Operation => ({
  kind: 'batch',
  requests,
  keys: touchedBy(requests.map(({ command }) => command)),
  bytes: requests.reduce((sum, { command }) => sum + bytesOf(command), 0),
});

/** The size of a request without keys and values. */
const REQUEST_BYTES = 64;

/** The rough size of a command. Limits are counted in these bytes. */
export function bytesOf(command: Command): number {
  if (command.kind !== 'transaction') return REQUEST_BYTES;
  let bytes = REQUEST_BYTES;
  for (const part of command.conditions)
    bytes += part.key.length + (part.is === 'value' ? part.value.length : 0);
  for (const part of command.actions) bytes += part.key.length + (part.do === 'put' ? part.value.length : 0);
  return bytes;
}

export const keysOf = (operation: Operation): TouchedKeys =>
  operation.kind === 'batch' ? operation.keys : NO_KEYS;

export function touchedBy(commands: readonly Command[]): TouchedKeys {
  const written = new Set<string>();
  const read = new Set<string>();
  for (const command of commands) {
    if (command.kind !== 'transaction') continue;
    for (const { key } of command.conditions) read.add(key);
    for (const action of command.actions) (action.do === 'get' ? read : written).add(action.key);
  }
  return { written: [...written], read: [...read] };
}

/** Whether the command can be carried out twice without harm. */
export const isReadOnly = (command: Command): boolean =>
  command.kind === 'transaction' && command.actions.every((action) => action.do === 'get');

/** Whether two replicas have the same in a slot. Bytes that were sent and received are equal in every part. */
export const isSameOperation = (a: Operation, b: Operation): boolean => a === b || isSame(a, b);

function isSame(a: unknown, b: unknown): boolean {
  if (Object.is(a, b)) return true;
  if (typeof a !== 'object' || typeof b !== 'object' || a === null || b === null) return false;
  if (a instanceof Uint8Array && b instanceof Uint8Array)
    return a.length === b.length && a.every((byte, at) => byte === b[at]);
  if (a instanceof Map && b instanceof Map) return isSame([...a], [...b]);
  const names = new Set([...Object.keys(a), ...Object.keys(b)]);
  for (const name of names) if (!isSame(a[name as never], b[name as never])) return false;
  return true;
}
