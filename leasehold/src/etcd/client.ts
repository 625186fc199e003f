/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The log's requests to etcd, in etcd's own terms and no more of them than needed. A real cluster is behind
 * `gateway/`, a simulated one in `simulation/`; the log cannot tell them apart.
 *
 * A request is answered once, and never from within the call. The answer is one of three, because a
 * caller must do three different things:
 *
 *     done      etcd says so
 *     refused   surely without effect, and to ask again at once would be refused again
 *     unknown   sent, perhaps carried out, perhaps yet to be: the answer was lost, late, or no answer
 *
 * One kind of unknown outcome will not change any more: etcd has refused, but perhaps after the write (see
 * `gateway/refusals.ts`). A read after such an answer finds out.
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
      /** Carried out or not, the outcome is final; the refusal came before or after the write. */
      readonly refusal?: EtcdRefusal | undefined;
    };

/**
 * Why etcd refused a request:
 *
 *  - `denied`: wrong credentials, or not enough rights
 *  - `no-space`: the database is full; etcd accepts no writes until an operator makes room. This very transaction may
 *    have been carried out
 *  - `too-large`: the request is larger than the limit
 *  - `compacted`: the revision that was asked for is no longer kept
 *  - `no-lease`: there is no such lease (any more)
 *  - `divided`: the endpoints belong to different clusters
 *  - `unavailable`: no leader, or overloaded, and the request was not begun
 *  - `other`: anything else, in etcd's own words
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
  /** '0' if the key is under no lease. */
  readonly lease: string;
}

export interface EtcdRange {
  readonly key: string;
  /** All keys from `key` to before this; undefined: only that one. */
  readonly end?: string | undefined;
  /** No more than so many, in order of their keys. */
  readonly limit?: number | undefined;
  /** The contents at that revision; undefined: now, linearizably. */
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
  /** The result of each `get`, in order. */
  readonly found: readonly (EtcdKeyValue | undefined)[];
}

export interface EtcdWatchEvents {
  /** A put, or a deletion (then the value is undefined), in order of revisions. */
  changed(key: string, value: Uint8Array | undefined, revision: number): void;
  /** Comes once, last: begin another from where this one ended. Not after disposal. */
  ended(why: string, compacted: boolean): void;
}

/** One member of the cluster, in its own words. */
export interface EtcdMemberHealth {
  readonly endpoint: string;
  readonly reachable: boolean;
  /** Why the member is unhealthy, or the member's complaint. */
  readonly complaint: string | undefined;
  /** The member has raised the alarm that the database has no room, and refuses every write. */
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
  /** Asks each endpoint for its health. */
  health(timeoutMs: number, answer: (members: readonly EtcdMemberHealth[]) => void): void;
}
