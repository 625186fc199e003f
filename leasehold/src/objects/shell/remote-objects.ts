/** The objects of a kind, as callers have them: `get(key)` has a function for each call and read, and each returns a promise. */

import { keyHash } from '../../runtime/keys/hash.ts';
import type { Hash } from '../../runtime/keys/position.ts';
import { invalidKey } from '../../runtime/errors.ts';
import * as is from '../../runtime/option-kinds.ts';
import {
  type OptionTable,
  optional,
  or,
  type ResolvedOptions,
  resolveOptions,
} from '../../runtime/option-table.ts';
import { definitionOf } from '../core/define-object.ts';
import type { AnyKind, ObjectCallOptions, Objects, Remote } from '../core/define-object.ts';
import { encodePlain } from '../wire/plain-data.ts';

const TIMEOUT_MS = 10_000;

/** @internal */
export const OBJECT_CALL_OPTIONS: OptionTable<ObjectCallOptions, 'timeoutMs' | 'idempotent'> = {
  timeoutMs: or(TIMEOUT_MS, is.timeLimit),
  signal: optional(is.signal),
  idempotent: or(false, is.flag),
};

const USUAL: ResolvedOptions<ObjectCallOptions, 'timeoutMs' | 'idempotent'> = resolveOptions(
  '',
  {},
  OBJECT_CALL_OPTIONS,
);

/** A call with its arguments as bytes. */
export interface AskedCall {
  readonly kind: string;
  readonly key: string;
  readonly position: Hash;
  readonly name: string;
  readonly isRead: boolean;
  readonly args: Uint8Array;
  readonly timeoutMs: number;
  readonly signal: AbortSignal | undefined;
  readonly isIdempotent: boolean;
}

/** What calls go through. */
export interface Switchboard {
  ask(call: AskedCall): Promise<unknown>;
  evict(kind: string, key: string, position: Hash): boolean;
  sizeOf(kind: string): number;
}

export class RemoteObjects<K extends AnyKind> implements Objects<K> {
  readonly #kind: string;
  readonly #names: readonly { readonly name: string; readonly isRead: boolean }[];
  readonly #switchboard: Switchboard;

  constructor(kind: K, switchboard: Switchboard) {
    const { name, calls, reads } = definitionOf(kind);
    this.#kind = name;
    this.#names = [
      ...Object.keys(calls).map((each) => ({ name: each, isRead: false })),
      ...Object.keys(reads).map((each) => ({ name: each, isRead: true })),
    ];
    this.#switchboard = switchboard;
  }

  get size(): number {
    return this.#switchboard.sizeOf(this.#kind);
  }

  get(key: string, options?: ObjectCallOptions): Remote<K> {
    const {
      timeoutMs,
      signal,
      idempotent: isIdempotent,
    } = options === undefined ? USUAL : resolveOptions('', options, OBJECT_CALL_OPTIONS);
    const [kind, position] = [this.#kind, positionOf(key)];
    const remote: Record<string, (...args: readonly unknown[]) => Promise<unknown>> = {};
    for (const { name, isRead } of this.#names)
      remote[name] = async (...given) => {
        const args = encodePlain('args', given);
        return this.#switchboard.ask({
          ...{ kind, key, position, name, isRead, args, timeoutMs, signal, isIdempotent },
        });
      };
    return Object.freeze(remote) as Remote<K>;
  }

  async evict(key: string): Promise<boolean> {
    return this.#switchboard.evict(this.#kind, key, positionOf(key));
  }
}

/** Keys of objects are texts: a bare position has no text to give to the handlers. */
function positionOf(key: string): Hash {
  if (typeof key !== 'string') throw invalidKey(key);
  return keyHash(key);
}
