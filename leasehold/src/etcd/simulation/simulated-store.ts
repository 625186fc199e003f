/**
 * etcd's data in a simulated world: keys with all their versions, revisions, and transactions.
 *
 * Every transaction that changes something has one revision, one above the last. An earlier version of a key can be
 * read until compacted. Nothing here is left to chance or to time.
 */

import type {
  EtcdAnswer,
  EtcdCompare,
  EtcdKeyValue,
  EtcdOperation,
  EtcdRange,
  EtcdRangeResult,
  EtcdRefusalReason,
  EtcdTransaction,
  EtcdTransactionResult,
} from '../client.ts';
import { sameBytes } from '../values.ts';

/** The effect of one transaction on one key. */
export interface Change {
  readonly key: string;
  /** Undefined: deleted. */
  readonly value: Uint8Array | undefined;
  readonly createRevision: number;
  readonly lease: string;
  readonly revision: number;
}

/** As etcd comes: `--max-request-bytes`, `--max-txn-ops`. */
const REQUEST_BYTES_MAX = 1.5 * 2 ** 20;
const OPERATIONS_MAX = 128;

export const refused = (reason: EtcdRefusalReason, message: string = reason): EtcdAnswer<never> => ({
  kind: 'refused',
  refusal: { reason, message },
});

/** In etcd's words, as a real client passes them on: before or after the write, nobody can tell. */
export const noSpace = (): EtcdAnswer<never> => {
  const message = 'mvcc: database space exceeded';
  return { kind: 'unknown', why: message, refusal: { reason: 'no-space', message } };
};

/** For puts: there is room; there is none; this put crosses the quota, and is carried out and refused. */
export type Room = 'enough' | 'none' | 'crossed';

export const done = <T>(value: T): EtcdAnswer<T> => ({ kind: 'done', value });

export class SimulatedStore {
  #revision = 1;
  #compacted = 0;
  /** Of each key, oldest first. */
  readonly #versions = new Map<string, Change[]>();
  /** All that ever were, in order, and those that there are. */
  #keys: string[] = [];
  #liveKeys: string[] = [];
  /** In order of their revisions. */
  #changes: Change[] = [];
  readonly #isLease: (lease: string) => boolean;

  /** `isLease` says which leases there are. */
  constructor(isLease: (lease: string) => boolean) {
    this.#isLease = isLease;
  }

  get revision(): number {
    return this.#revision;
  }

  /** Earlier ones cannot be read. */
  get compacted(): number {
    return this.#compacted;
  }

  compact(revision: number): void {
    this.#compacted = Math.max(this.#compacted, Math.min(revision, this.#revision));
  }

  at(key: string, revision: number = this.#revision): EtcdKeyValue | undefined {
    const versions = this.#versions.get(key);
    const version = versions?.findLast((each) => each.revision <= revision);
    if (version?.value === undefined) return undefined;
    const { value, createRevision, lease } = version;
    return { key, value, createRevision, modRevision: version.revision, lease };
  }

  /** Those that there are. */
  keysIn(key: string, end: string): readonly string[] {
    return slice(this.#liveKeys, key, end);
  }

  changesFrom(revision: number): readonly Change[] {
    return this.#changes.slice(1 + this.#changes.findLastIndex((change) => change.revision < revision));
  }

  range({ key, end, limit = Number.POSITIVE_INFINITY, revision }: EtcdRange): EtcdAnswer<EtcdRangeResult> {
    const at = revision ?? this.#revision;
    if (at < this.#compacted) return refused('compacted', 'required revision has been compacted');
    if (at > this.#revision) return refused('other', 'required revision is a future revision');
    const keys =
      end === undefined ? [key] : slice(at < this.#revision ? this.#keys : this.#liveKeys, key, end);
    const found = keys.flatMap((each) => this.at(each, at) ?? []);
    return done({ revision: this.#revision, keyValues: found.slice(0, limit), more: found.length > limit });
  }

  /** `changed` gets the changes, if any. */
  transact(
    transaction: EtcdTransaction,
    room: Room,
    changed: (changes: readonly Change[]) => void,
  ): EtcdAnswer<EtcdTransactionResult> {
    const { compare, success, failure } = transaction;
    if (Math.max(compare.length, success.length, failure.length) > OPERATIONS_MAX)
      return refused('other', 'too many operations in txn request');
    if (bytesOf(transaction) > REQUEST_BYTES_MAX) return refused('too-large', 'request is too large');
    const puts = [...success, ...failure].some((operation) => operation.do === 'put');
    if (room === 'none' && puts) return noSpace();
    const succeeded = compare.every((each) => this.#holds(each));
    const operations = succeeded ? success : failure;
    const isOrphan = (operation: EtcdOperation): boolean =>
      operation.do === 'put' && operation.lease !== undefined && !this.#isLease(operation.lease);
    if (operations.some(isOrphan)) return refused('no-lease', 'requested lease not found');
    const found = operations.flatMap((operation) => (operation.do === 'get' ? [this.at(operation.key)] : []));
    const changes = this.write(operations);
    if (changes.length > 0) changed(changes);
    if (room === 'crossed' && puts) return noSpace();
    return done({ succeeded, revision: this.#revision, found });
  }

  /** Carries out puts and deletions, all at one revision. */
  write(operations: readonly EtcdOperation[]): readonly Change[] {
    const revision = this.#revision + 1;
    const changes: Change[] = [];
    for (const operation of operations) {
      if (operation.do === 'put') {
        const { key, value, lease = '0' } = operation;
        const createRevision = this.at(key)?.createRevision ?? revision;
        changes.push({ key, value, createRevision, lease, revision });
      } else if (operation.do === 'delete') {
        const { key, end } = operation;
        const keys = end === undefined ? [key] : this.keysIn(key, end);
        for (const each of keys.filter((one) => this.at(one) !== undefined))
          changes.push({ key: each, value: undefined, createRevision: 0, lease: '0', revision });
      }
    }
    for (const change of changes) this.#record(change);
    return changes;
  }

  /**
   * A copy of everything, to go back to later, or to put into another store. Another backup may be put back in between,
   * and the revisions after that are other ones.
   */
  backup(): (into?: SimulatedStore) => void {
    const [revision, compacted, changes, keys] = [
      this.#revision,
      this.#compacted,
      [...this.#changes],
      [...this.#keys],
    ];
    const versions = [...this.#versions].map(([key, all]) => [key, [...all]] as const);
    return (into = this) => {
      into.#revision = revision;
      into.#compacted = compacted;
      into.#changes = [...changes];
      into.#keys = [...keys];
      into.#versions.clear();
      for (const [key, all] of versions) into.#versions.set(key, [...all]);
      into.#liveKeys = keys.filter((key) => into.at(key) !== undefined);
    };
  }

  #holds(compare: EtcdCompare): boolean {
    const found = this.at(compare.key);
    if ('value' in compare) return found !== undefined && sameBytes(found.value, compare.value);
    if ('createRevision' in compare) return (found?.createRevision ?? 0) === compare.createRevision;
    return (found?.modRevision ?? 0) === compare.modRevision;
  }

  #record(change: Change): void {
    this.#revision = change.revision;
    this.#changes.push(change);
    const { key, value } = change;
    const versions = this.#versions.get(key);
    const isLive = versions?.at(-1)?.value !== undefined;
    if (versions !== undefined) versions.push(change);
    else {
      this.#versions.set(key, [change]);
      this.#keys.splice(placeOf(this.#keys, key), 0, key);
    }
    if (isLive === (value !== undefined)) return;
    this.#liveKeys.splice(placeOf(this.#liveKeys, key), isLive ? 1 : 0, ...(isLive ? [] : [key]));
  }
}

const slice = (keys: readonly string[], key: string, end: string): readonly string[] =>
  keys.slice(placeOf(keys, key), placeOf(keys, end));

/** The first place whose key is not below this one. */
function placeOf(keys: readonly string[], key: string): number {
  let [low, high] = [0, keys.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((keys[middle] as string) < key) low = middle + 1;
    else high = middle;
  }
  return low;
}

const bytesOf = ({ compare, success, failure }: EtcdTransaction): number =>
  [...compare, ...success, ...failure].reduce(
    (sum, each) => sum + each.key.length + ('value' in each ? each.value.length : 0),
    0,
  );
