/** Arguments and results of a client. */

import type { CallOptions, Status } from '../../runtime/handle.ts';
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

/** An entry that was read, and how the answer was found. */
export interface ReadEntry extends Entry {
  /** How the read was served: `local`, `held`, `leader`, `quorum`, `log`, or `weak` if that was asked for. */
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

/** Which answers will do: the newest, or any that a replica has. */
export interface ReadOptions extends CallOptions {
  /**
   * `best`: linearizable, in the fastest way. `quorum`: trusts no clock. `log`: goes through the log. `weak`: the value at
   * this server, however old.
   *
   * @default 'best'
   */
  mode?: ReadMode | undefined;
}

export interface StepDownOptions extends CallOptions {
  /** The member that is to lead, by name or storage id. @default the member that has most of the log */
  to?: string | undefined;
}

/** What became of a transaction: done, or the entries that were found instead. */
export type Outcome =
  /** All conditions held. `found` has the results of the gets. */
  | { readonly isDone: true; readonly revision: number; readonly found: readonly Entry[] }
  /** A condition did not hold, and nothing was written. `found` has the keys of all conditions. */
  | { readonly isDone: false; readonly found: readonly Entry[] };

/** What a compare-and-set expects to find: a value, a revision, or no entry. */
export type Expected = 'absent' | { readonly revision: number } | { readonly value: Uint8Array | string };

/** How a client is. */
export interface ClientStatus extends Status {
  readonly module: 'quorum';
  readonly role: 'client';
  /** The address of the replica that is asked at present; undefined within the process of a replica. */
  readonly server: string | undefined;
  /** There is a connection. A client without one makes it when something is asked. */
  readonly isConnected: boolean;
  /** Calls without an answer. */
  readonly waiting: number;
  readonly watches: number;
}
