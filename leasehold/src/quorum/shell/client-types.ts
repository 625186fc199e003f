/** Arguments and results of a client. */

import type { Served } from '../core/answer.ts';
import type { ReadMode } from '../core/reads.ts';

/** A key with the value that was found. */
export interface Entry {
  readonly key: string;
  /** Undefined if the key is not there. */
  readonly value: Uint8Array | undefined;
  /** The write that this is of, for a condition; 0 if the key is not there. */
  readonly revision: number;
}

export interface ReadEntry extends Entry {
  /** How the read was served: `local`, `held`, `leader`, `quorum`, `log`, or `stale` if that was asked for. */
  readonly served: Served;
  /** A watch that begins here misses nothing. */
  readonly position: number;
}

/** A value that a client gives: a text stands for its UTF-8. */
export type Given = Uint8Array | string;

export type GivenCondition =
  | { readonly key: string; readonly is: 'absent' }
  | { readonly key: string; readonly is: 'revision'; readonly revision: number }
  | { readonly key: string; readonly is: 'value'; readonly value: Given };

export type GivenAction =
  | { readonly do: 'get'; readonly key: string }
  | { readonly do: 'put'; readonly key: string; readonly value: Given }
  | { readonly do: 'delete'; readonly key: string };

export interface CallOptions {
  /** Ends the wait; a write may take effect all the same. */
  signal?: AbortSignal | undefined;
  /** How long to wait for an answer, in milliseconds. @default 10_000 */
  timeoutMs?: number | undefined;
}

export interface ReadOptions extends CallOptions {
  /**
   * `best`: linearizable, in the fastest way. `quorum`: trusts no clock. `log`: goes through the log. `stale`: the value at
   * this server, however old.
   *
   * @default 'best'
   */
  mode?: ReadMode | undefined;
}

export type Outcome =
  /** All conditions held. `found` has the results of the gets. */
  | { readonly isDone: true; readonly revision: number; readonly found: readonly Entry[] }
  /** A condition did not hold, and nothing was written. `found` has the keys of all conditions. */
  | { readonly isDone: false; readonly found: readonly Entry[] };

export type Expected = 'absent' | { readonly revision: number } | { readonly value: Uint8Array | string };
