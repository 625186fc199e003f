/// <reference lib="esnext.disposable" preserve="true" />

/**
 * The registry of Managers: each Manager writes an entry under `managers/<id>`, and reads all entries every few
 * seconds.
 *
 * The registry is for people only. No Manager is elected, awaited or believed because of an entry, so the registry
 * may be late, incomplete, or still have a Manager that is gone; if etcd does not answer, it stays unchanged. That is
 * why an entry has a lease of its own: the entry expires some seconds after its Manager, independently of the
 * leader's lease.
 *
 *     enter ─► lease ─► put, if there is a log ─► keep the lease alive ─┐
 *                ▲                                       ▲             │ every few seconds
 *                └─────────── the lease is gone ─────────┴─────────────┘
 *
 * An entry is put in a transaction that finds `meta` as it was read a moment before. So without a log there is no
 * entry: an operator who has emptied a prefix to start anew does not find it in use by a Manager that was still
 * running.
 *
 * Two Managers with one id would overwrite each other. An entry with our address is that of our own predecessor,
 * whose port we have. An entry with another address is left unchanged, and reported as long as it is kept alive.
 */

import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { later } from '../../runtime/time.ts';
import type {
  EtcdAnswer,
  EtcdClient,
  EtcdKeyValue,
  EtcdRange,
  EtcdRangeResult,
  EtcdTransactionResult,
} from '../../etcd/client.ts';
import { Layout } from './layout.ts';
import { decodeJson, encodeJson } from '../../etcd/values.ts';
import { Lifetime } from '../../runtime/lifetime.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';

/** One Manager, as described by itself. */
export interface ManagerEntry {
  readonly id: string;
  /** The address for owners and look-ups. */
  readonly address: string;
  /** The address of the HTTP API; undefined if there is none. */
  readonly http: string | undefined;
  readonly version: string;
  /** Wall clock at the start of the Manager, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface ManagerRegistryOptions {
  readonly client: EtcdClient;
  /** The prefix of the log. */
  readonly prefix: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** How often all entries are read. */
const EVERY_MS = 3_000;
/** How often, while a caller waits for another Manager. */
const SOON_MS = 500;
/** An entry survives two failed reads. */
const TTL_SECONDS = 10;
const REQUEST_TIMEOUT_MS = 2_000;
/** The most entries that are read. */
const MOST = 100;

const DUPLICATE_ID = 'another Manager has the same id: give each its own';

export class ManagerRegistry {
  readonly #options: ManagerRegistryOptions;
  readonly #layout: Layout;
  readonly #lifetime: Lifetime;
  readonly #episodes: EpisodeLog;
  #entries: readonly ManagerEntry[] = [];
  #own: ManagerEntry | undefined;
  #lease: string | undefined;

  constructor(options: ManagerRegistryOptions) {
    const { prefix, runtime, logger } = options;
    this.#options = options;
    this.#layout = new Layout(prefix);
    this.#lifetime = new Lifetime(runtime);
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#look();
  }

  /** The entries at the last read, by id. */
  get entries(): readonly ManagerEntry[] {
    return this.#entries;
  }

  /** Adds our entry; again, once it says something else. */
  enter(own: ManagerEntry): void {
    this.#own = own;
    this.#maintain();
  }

  /** Reads at once, and again, until another Manager is there; calls back with the result, after so long at most. */
  whenOther(withinMs: number, tell: (isThere: boolean) => void): void {
    const { runtime, client } = this.#options;
    const until = later(runtime.now(), withinMs);
    const look = (): void =>
      client.range(
        this.#everybody,
        REQUEST_TIMEOUT_MS,
        this.#hearing((found) => {
          this.#found(found);
          const isThere = this.#entries.some(({ id }) => id !== this.#own?.id);
          if (isThere || runtime.now() >= until) tell(isThere);
          else this.#lifetime.after(SOON_MS, look);
        }),
      );
    look();
  }

  /** Removes our entry; calls back when that is done, or when it took too long. */
  close(closed: () => void): void {
    this.#lifetime[Symbol.dispose]();
    const lease = this.#lease;
    this.#lease = undefined;
    // Revoking the lease removes the entry, even one that is still on its way.
    if (lease === undefined) closed();
    else this.#options.client.revoke(lease, REQUEST_TIMEOUT_MS, () => closed());
  }

  get #everybody(): EtcdRange {
    return { ...this.#layout.managers, limit: MOST };
  }

  #look(): void {
    this.#options.client.range(
      this.#everybody,
      REQUEST_TIMEOUT_MS,
      this.#hearing((found) => {
        this.#found(found);
        this.#lifetime.after(EVERY_MS, () => this.#look());
        this.#maintain();
      }),
    );
  }

  /** A failed read changes nothing. */
  #found(found: EtcdRangeResult | undefined): void {
    if (found !== undefined) this.#entries = found.keyValues.flatMap((each) => decodeEntry(each) ?? []);
  }

  /** Ensures that our entry exists. */
  #maintain(): void {
    if (this.#own === undefined) return;
    if (this.#lease === undefined) this.#grant();
    else this.#keepAlive(this.#lease);
  }

  #grant(): void {
    const { client } = this.#options;
    client.grant(
      TTL_SECONDS,
      REQUEST_TIMEOUT_MS,
      this.#hearing((granted) => {
        // A second lease, requested twice in a row, expires by itself.
        if (granted === undefined || this.#lease !== undefined) return;
        this.#lease = granted.lease;
        this.#check(granted.lease);
      }),
    );
  }

  #keepAlive(lease: string): void {
    this.#options.client.keepAlive(
      lease,
      REQUEST_TIMEOUT_MS,
      this.#hearing((alive) => {
        if (alive === undefined || this.#lease !== lease) return;
        if (alive.ttlSeconds > 0) return this.#check(lease);
        this.#lease = undefined;
        this.#grant();
      }),
    );
  }

  /** Does our entry exist, under our lease? */
  #check(lease: string): void {
    const own = this.#own;
    if (own === undefined) return;
    const key = this.#layout.manager(own.id);
    const { meta } = this.#layout;
    this.#options.client.transact(
      {
        compare: [],
        success: [
          { do: 'get', key: meta },
          { do: 'get', key },
        ],
        failure: [],
      },
      REQUEST_TIMEOUT_MS,
      this.#hearing((result) => {
        const [log, entry] = result?.found ?? [];
        const other = entry === undefined ? undefined : decodeEntry(entry);
        if (log === undefined || (entry?.lease === lease && other?.http === own.http)) return;
        if (other !== undefined && other.address !== own.address)
          return this.#episodes.met(DUPLICATE_ID, { id: own.id, address: own.address, other: other.address });
        this.#episodes.over(DUPLICATE_ID);
        this.#put(own, key, lease, log.modRevision, entry?.modRevision ?? 0);
      }),
    );
  }

  /** If this fails, the next check finds the entry missing. */
  #put(own: ManagerEntry, key: string, lease: string, logRevision: number, revision: number): void {
    this.#options.client.transact(
      {
        compare: [
          { key: this.#layout.meta, modRevision: logRevision },
          { key, modRevision: revision },
        ],
        success: [{ do: 'put', key, value: encodeJson({ ...own }), lease }],
        failure: [],
      },
      REQUEST_TIMEOUT_MS,
      this.#hearing((_result: EtcdTransactionResult | undefined) => {}),
    );
  }

  /** Undefined: etcd did not answer, and the client has logged why. */
  #hearing<T>(hear: (value: T | undefined) => void): (answer: EtcdAnswer<T>) => void {
    return this.#lifetime.hearing((answer) => hear(answer.kind === 'done' ? answer.value : undefined));
  }
}

/** Undefined if the value is no entry. */
function decodeEntry({ value }: EtcdKeyValue): ManagerEntry | undefined {
  const { id, address, http, version, sinceMs } = decodeJson(value);
  const isEntry =
    isText(id) &&
    isText(address) &&
    isText(version) &&
    (http === undefined || isText(http)) &&
    Number.isSafeInteger(sinceMs);
  return isEntry ? { id, address, http, version, sinceMs: sinceMs as number } : undefined;
}

const LONGEST = 2_048;

const isText = (value: unknown): value is string =>
  typeof value === 'string' && value !== '' && value.length <= LONGEST;
