/// <reference lib="esnext.disposable" preserve="true" />

/**
 * What the log asks of etcd, in etcd's own terms and no more of them than it needs. A real cluster is
 * behind `gateway/`, a simulated one in `simulation/`; the log cannot tell them apart.
 *
 * A request is answered once, and never from within the call. The answer is one of three, because a
 * caller must do three different things:
 *
 *     done      etcd says so
 *     refused   surely without effect, and to ask again at once would be refused again
 *     unknown   sent, perhaps carried out, perhaps yet to be: the answer was lost, late, or no answer
 *
 * Of what is unknown one kind will not change any more: etcd has refused, but it may have done so after the deed
 * (see `gateway/refusals.ts`). Whoever reads after such an answer finds out.
 *
 * Positions of the store's history (`revision`) and identities of leases stay as etcd gives them: a
 * revision fits a number, a lease is a text of digits.
 */

export type EtcdAnswer<T> =
  | { readonly kind: 'done'; readonly value: T }
  | { readonly kind: 'refused'; readonly refusal: EtcdRefusal }
  | {
      readonly kind: 'unknown';
      readonly why: string;
      /** Carried out or not, it will not be any more; it was refused with this, before or after. */
      readonly refusal?: EtcdRefusal | undefined;
    };

/**
 * Why etcd did not do as it was asked:
 *
 *  - `denied`: wrong credentials, or not enough rights
 *  - `no-space`: its database is full; it takes nothing more until an operator makes room. It may have taken this
 *    very transaction
 *  - `too-large`: the request is larger than it takes
 *  - `compacted`: the revision that was asked for is no longer kept
 *  - `no-lease`: there is no such lease (any more)
 *  - `divided`: the endpoints belong to different clusters
 *  - `unavailable`: it has no leader, or is overloaded, and has not begun
 *  - `other`: anything else, in its own words
 */
export type EtcdRefusalReason =
  | 'denied'
  | 'no-space'
  | 'too-large'
  | 'compacted'
  | 'no-lease'
  | 'divided'
  | 'unavailable'
  | 'other';

export interface EtcdRefusal {
  readonly reason: EtcdRefusalReason;
  /** In etcd's words. */
  readonly message: string;
}

export interface EtcdKeyValue {
  readonly key: string;
  readonly value: Uint8Array;
  readonly createRevision: number;
  readonly modRevision: number;
  /** '0' if it is under none. */
  readonly lease: string;
}

export interface EtcdRange {
  readonly key: string;
  /** All keys from `key` to before this; undefined: only that one. */
  readonly end?: string | undefined;
  /** No more than so many, in order of their keys. */
  readonly limit?: number | undefined;
  /** As it was then; undefined: now, linearizably. */
  readonly revision?: number | undefined;
}

export interface EtcdRangeResult {
  readonly revision: number;
  readonly keyValues: readonly EtcdKeyValue[];
  /** There are more than the limit. */
  readonly more: boolean;
}

export type EtcdCompare =
  | { readonly key: string; readonly createRevision: number }
  | { readonly key: string; readonly modRevision: number }
  /** Equal, byte by byte; a key that is not there is equal to nothing. */
  | { readonly key: string; readonly value: Uint8Array };

export type EtcdOperation =
  | {
      readonly do: 'put';
      readonly key: string;
      readonly value: Uint8Array;
      readonly lease?: string | undefined;
    }
  | { readonly do: 'delete'; readonly key: string; readonly end?: string | undefined }
  | { readonly do: 'get'; readonly key: string };

export interface EtcdTransaction {
  /** If all hold (a key that is not there has revisions 0), `success` is done; else `failure`. */
  readonly compare: readonly EtcdCompare[];
  readonly success: readonly EtcdOperation[];
  readonly failure: readonly EtcdOperation[];
}

export interface EtcdTransactionResult {
  readonly succeeded: boolean;
  readonly revision: number;
  /** What each `get` found, in their order. */
  readonly found: readonly (EtcdKeyValue | undefined)[];
}

export interface EtcdWatchEvents {
  /** A put, or a deletion (then the value is undefined), in order of revisions. */
  changed(key: string, value: Uint8Array | undefined, revision: number): void;
  /** Comes once, last: begin another from where this one ended. Not after it was disposed. */
  ended(why: string, compacted: boolean): void;
}

/** One member of the cluster, as it sees itself. */
export interface EtcdMemberHealth {
  readonly endpoint: string;
  readonly reachable: boolean;
  /** Why it is not, or what it complains of. */
  readonly complaint: string | undefined;
  /** It has raised the alarm that its database has no room, and refuses whatever writes. */
  readonly isFull: boolean;
  readonly version: string | undefined;
  readonly databaseBytes: number | undefined;
  readonly isLeader: boolean;
}

export interface EtcdClient {
  /** Tries one endpoint after the other until one answers or `timeoutMs` has passed. */
  grant(
    ttlSeconds: number,
    timeoutMs: number,
    answer: (answer: EtcdAnswer<{ lease: string; ttlSeconds: number }>) => void,
  ): void;
  /** `ttlSeconds` is 0 if the lease is gone. */
  keepAlive(
    lease: string,
    timeoutMs: number,
    answer: (answer: EtcdAnswer<{ ttlSeconds: number }>) => void,
  ): void;
  revoke(lease: string, timeoutMs: number, answer: (answer: EtcdAnswer<undefined>) => void): void;
  transact(
    transaction: EtcdTransaction,
    timeoutMs: number,
    answer: (answer: EtcdAnswer<EtcdTransactionResult>) => void,
  ): void;
  range(range: EtcdRange, timeoutMs: number, answer: (answer: EtcdAnswer<EtcdRangeResult>) => void): void;
  /** Of the keys from `key` to before `end`, from this revision on. */
  watch(key: string, end: string, fromRevision: number, events: EtcdWatchEvents): Disposable;
  /** Asks each endpoint how it is. */
  health(timeoutMs: number, answer: (members: readonly EtcdMemberHealth[]) => void): void;
}
