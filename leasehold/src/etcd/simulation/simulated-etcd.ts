/// <reference lib="esnext.disposable" preserve="true" />

/**
 * A cluster of etcd in a simulated world: as strict as the real one, and no kinder.
 *
 *  - A lease outlives its time by up to half a second. When etcd's own leader changes, all leases begin anew, or one
 *    is ended early; while there is no majority none ends.
 *  - A stopped member that does not know of its replacement goes on saying that leases are alive ({@link
 *    SimulatedEtcd.goStale}).
 *  - Watches end, or go deaf without a word.
 *  - The cluster can have no majority, forget old revisions, and be restored from a backup.
 *  - On becoming full the cluster carries out one more transaction, and says that there is no room.
 *
 * Requests come through a client (`simulated-client.ts`), which loses, delays and gives up.
 */

import type { Random } from '../../sim/random.ts';
import type { World } from '../../sim/world.ts';
import type {
  EtcdAnswer,
  EtcdRange,
  EtcdRangeResult,
  EtcdTransaction,
  EtcdTransactionResult,
} from '../client.ts';
import { type Change, done, refused, type Room, SimulatedStore } from './simulated-store.ts';

/** The cause of a change: a client asked, or a lease ended. */
export type Cause =
  | { readonly by: 'request'; readonly who: string }
  /** `misled`: the owner was told that the lease is alive, by a member that did not ask the leader. */
  | { readonly by: 'expiry'; readonly misled: boolean }
  | { readonly by: 'early-end' }
  | { readonly by: 'revocation'; readonly who: string };

interface Lease {
  readonly id: string;
  readonly ttlMs: number;
  expiresAtMs: number;
  misled: boolean;
}

export interface WatchOptions {
  readonly key: string;
  readonly end: string;
  readonly from: number;
  /** Told at the instant of the change; the watch adds the delay. */
  changed(change: Change): void;
  ended(why: string, compacted: boolean): void;
}

/** What distinguishes one world's etcd from the next. */
export interface SimulatedEtcdOptions {
  /** How long every lease lasts, whatever a client asks for: for worlds whose leases are shorter than etcd's. */
  readonly leaseMs?: number | undefined;
  /** By how much a lease outlives its time, at most. @default 500 */
  readonly lateMs?: number | undefined;
}

const LATE_MS = 500;

export class SimulatedEtcd {
  readonly #world: World;
  readonly #options: SimulatedEtcdOptions;
  readonly #random: Random;
  readonly #leases = new Map<string, Lease>();
  readonly store: SimulatedStore = new SimulatedStore((lease) => this.#leases.has(lease));
  readonly #watches = new Set<Watch>();
  #leasesGranted = 0;
  #cluster = 1;
  #restores = 0;
  #isDown = false;
  /** The beliefs of a replaced member, and the client of that member; undefined if there is none. */
  #stale: { readonly who: string; readonly ttls: ReadonlyMap<string, number> } | undefined;
  /** Members pass keep-alives on by a way of their own, and that is cut. */
  losesKeepAlives = false;
  /** No lease is shorter, for any request. */
  ttlSecondsMin = 0;
  /** Every put is refused. */
  isFull = false;
  /** The next put is carried out and refused; from then on the cluster is full. */
  isAboutToBeFull = false;
  /** The probability that a single put is refused: certainly without effect, or in the words of a full etcd. */
  refuseChance = 0;
  /** Transactions that put something are carried out, and their answers do not come. */
  withholdsOutcomes = false;
  /** Told of every transaction at the instant before the cluster carries it out. */
  onTransact: (transaction: EtcdTransaction, who: string) => void = () => {};
  /** Told of every range at the instant before the cluster reads it. */
  onRange: (range: EtcdRange, who: string) => void = () => {};
  /** Told of every change at the instant of the change. */
  onChange: (changes: readonly Change[], cause: Cause) => void = () => {};

  constructor(world: World, options: SimulatedEtcdOptions = {}) {
    this.#world = world;
    this.#options = options;
    this.#random = world.random.fork('etcd');
  }

  /** The identity of the cluster. */
  get cluster(): number {
    return this.#cluster;
  }

  /** How often the cluster was restored from a backup. */
  get restores(): number {
    return this.#restores;
  }

  /** While true there is no majority: nothing is carried out, and no lease ends. */
  get isDown(): boolean {
    return this.#isDown;
  }

  set isDown(down: boolean) {
    if (this.#isDown && !down) this.#renewAll();
    this.#isDown = down;
  }

  grant(ttlSeconds: number): EtcdAnswer<{ lease: string; ttlSeconds: number }> {
    this.#leasesGranted += 1;
    const id = String(7_587_000_000_000 + this.#leasesGranted);
    const { leaseMs } = this.#options;
    const granted = leaseMs === undefined ? Math.max(ttlSeconds, this.ttlSecondsMin) : leaseMs / 1_000;
    const ttlMs = leaseMs ?? granted * 1_000;
    const lease = { id, ttlMs, expiresAtMs: this.#world.trueMs + ttlMs, misled: false };
    this.#leases.set(id, lease);
    this.#expireLater(lease);
    return done({ lease: id, ttlSeconds: granted });
  }

  keepAlive(id: string, who: string): EtcdAnswer<{ ttlSeconds: number }> {
    const lease = this.#leases.get(id);
    const staleTtlMs = this.#stale?.who === who ? this.#stale.ttls.get(id) : undefined;
    if (staleTtlMs !== undefined) {
      if (lease !== undefined) lease.misled = true;
      return done({ ttlSeconds: staleTtlMs / 1_000 });
    }
    if (lease === undefined) return done({ ttlSeconds: 0 });
    lease.expiresAtMs = this.#world.trueMs + lease.ttlMs;
    lease.misled = false;
    return done({ ttlSeconds: lease.ttlMs / 1_000 });
  }

  revoke(id: string, who: string): EtcdAnswer<undefined> {
    if (!this.#leases.has(id)) return refused('no-lease', 'requested lease not found');
    this.#end(id, { by: 'revocation', who });
    return done(undefined);
  }

  transact(transaction: EtcdTransaction, who: string): EtcdAnswer<EtcdTransactionResult> {
    this.onTransact(transaction, who);
    const puts = transaction.success.some((operation) => operation.do === 'put');
    const isUnlucky = puts && this.#random.chance(this.refuseChance);
    if (isUnlucky && this.#random.chance(0.3)) return refused('too-large', 'request is too large');
    const room = puts ? this.#room(isUnlucky) : 'enough';
    return this.store.transact(transaction, room, (changes) => this.#tell(changes, { by: 'request', who }));
  }

  range(range: EtcdRange, who: string): EtcdAnswer<EtcdRangeResult> {
    this.onRange(range, who);
    return this.store.range(range);
  }

  watch(options: WatchOptions): Watch {
    const watch = new Watch(options, () => this.#watches.delete(watch));
    if (options.from <= this.store.compacted) {
      watch.end('required revision has been compacted', true);
      return watch;
    }
    this.#watches.add(watch);
    for (const change of this.store.changesFrom(options.from)) watch.tell(change);
    return watch;
  }

  /** Ends these watches, or makes them deaf. */
  breakWatches(chance: number, how: 'end' | 'deafen'): void {
    for (const watch of [...this.#watches]) {
      if (!this.#random.chance(chance)) continue;
      if (how === 'deafen') watch.isDeaf = true;
      else watch.end('the member was stopped', false);
    }
  }

  /** etcd's own leader changes: leases begin anew, and one or the other is ended early. */
  changeLeader(endEarlyChance: number): void {
    this.#renewAll();
    for (const id of [...this.#leases.keys()])
      if (this.#random.chance(endEarlyChance)) this.#end(id, { by: 'early-end' });
  }

  /** The lease of a key is ended early, and with the lease the key. */
  endLeaseOf(key: string): void {
    const lease = this.store.at(key)?.lease;
    if (lease !== undefined && this.#leases.has(lease)) this.#end(lease, { by: 'early-end' });
  }

  /** Requests of that process about leases meet a member that misses everything from here on. */
  goStale(who: string): void {
    this.#stale = { who, ttls: new Map([...this.#leases.values()].map(({ id, ttlMs }) => [id, ttlMs])) };
  }

  endStaleness(): void {
    this.#stale = undefined;
  }

  /**
   * Everything, to be put back later: keys, revisions and leases. Pending requests are lost then. The restored cluster
   * may have the same name as before, or another.
   */
  backup(): (isCalledTheSame: boolean) => void {
    const restoreStore = this.store.backup();
    const leases = [...this.#leases.values()].map(({ id, ttlMs }) => ({ id, ttlMs }));
    return (isCalledTheSame) => {
      this.#restores += 1;
      if (!isCalledTheSame) this.#cluster += 1;
      restoreStore();
      this.#stale = undefined;
      this.#leases.clear();
      for (const { id, ttlMs } of leases) {
        const lease = { id, ttlMs, expiresAtMs: this.#world.trueMs + ttlMs, misled: false };
        this.#leases.set(id, lease);
        this.#expireLater(lease);
      }
      this.breakWatches(1, 'end');
    };
  }

  #room(isUnlucky: boolean): Room {
    if (this.isFull) return 'none';
    if (this.isAboutToBeFull) {
      this.isAboutToBeFull = false;
      this.isFull = true;
      return 'crossed';
    }
    if (!isUnlucky) return 'enough';
    return this.#random.chance(0.5) ? 'none' : 'crossed';
  }

  #renewAll(): void {
    for (const lease of this.#leases.values()) {
      lease.expiresAtMs = this.#world.trueMs + lease.ttlMs;
      lease.misled = false;
    }
  }

  #expireLater(lease: Lease): void {
    const lateMs = this.#random.chance(0.5) ? 0 : this.#random.between(0, this.#options.lateMs ?? LATE_MS);
    this.#world.at(Math.max(lease.expiresAtMs, this.#world.trueMs) + lateMs + 1, () => {
      if (this.#leases.get(lease.id) !== lease) return;
      if (this.#isDown || lease.expiresAtMs > this.#world.trueMs) this.#expireLater(lease);
      else this.#end(lease.id, { by: 'expiry', misled: lease.misled });
    });
  }

  #end(id: string, cause: Cause): void {
    this.#leases.delete(id);
    const keys = this.store.keysIn('', '\u{10ffff}').filter((key) => this.store.at(key)?.lease === id);
    const changes = this.store.write(keys.map((key) => ({ do: 'delete', key })));
    if (changes.length > 0) this.#tell(changes, cause);
  }

  #tell(changes: readonly Change[], cause: Cause): void {
    this.onChange(changes, cause);
    for (const watch of [...this.#watches]) for (const change of changes) watch.tell(change);
  }
}

export class Watch implements Disposable {
  /** The watch hears nothing any more, and is not told so. */
  isDeaf = false;
  #isOver = false;
  readonly #options: WatchOptions;
  readonly #onEnd: () => void;

  constructor(options: WatchOptions, onEnd: () => void) {
    this.#options = options;
    this.#onEnd = onEnd;
  }

  tell(change: Change): void {
    const { key, end, from } = this.#options;
    const isWatched = change.key >= key && change.key < end && change.revision >= from;
    if (isWatched && !this.isDeaf && !this.#isOver) this.#options.changed(change);
  }

  end(why: string, compacted: boolean): void {
    const isHeard = !this.isDeaf && !this.#isOver;
    this[Symbol.dispose]();
    if (isHeard) this.#options.ended(why, compacted);
  }

  [Symbol.dispose](): void {
    this.#isOver = true;
    this.#onEnd();
  }
}
