/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Who else is there: each Manager enters itself under `managers/<id>`, and reads every few seconds who has.
 *
 * It is for people, and for nothing else. Nobody is elected, waited for or believed because of the roll, so
 * it may be late, short of somebody, or still have somebody who is gone; if etcd does not answer it stays as
 * it was. That is why an entry has a lease of its own: it goes by itself some seconds after its Manager, and
 * the lease that leadership hangs on knows nothing of it.
 *
 *     enter ─► lease ─► put, if there is a log ─► keep the lease alive ─┐
 *                ▲                                       ▲             │ every few seconds
 *                └─────────── the lease is gone ─────────┴─────────────┘
 *
 * An entry is put in a transaction that finds `meta` as it was read a moment before. So where there is no
 * log there is no entry either: who has emptied a prefix to begin anew does not find it in use by
 * a Manager that was still running.
 *
 * Two Managers with one id would overwrite each other. An entry of the same address is that of our own
 * predecessor, whose port we have; one of another address is left as it is, and said, for as long as it
 * is kept alive.
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
} from './client.ts';
import { decodeJson, encodeJson, Layout } from './layout.ts';
import { Lifetime } from './lifetime.ts';
import { Troubles } from './troubles.ts';

/** One Manager, as it says of itself. */
export interface RollEntry {
  readonly id: string;
  /** Where owners and look-ups can reach it. */
  readonly address: string;
  /** Where its HTTP API can be reached; undefined if nowhere. */
  readonly http: string | undefined;
  readonly version: string;
  /** Its wall clock when it started, in milliseconds since 1970. */
  readonly sinceMs: number;
}

export interface RollOptions {
  readonly client: EtcdClient;
  /** That of the log. */
  readonly prefix: string;
  readonly runtime: Runtime;
  readonly logger: Logger;
}

/** How often everybody is looked for. */
const EVERY_MS = 3_000;
/** And by somebody who waits for one. */
const SOON_MS = 500;
/** An entry outlasts two looks that were in vain. */
const TTL_SECONDS = 10;
const REQUEST_TIMEOUT_MS = 2_000;
/** More are not shown. */
const MOST = 100;

const NAMESAKE = 'another Manager has the same id: give each its own';

export class Roll {
  readonly #options: RollOptions;
  readonly #layout: Layout;
  readonly #life: Lifetime;
  readonly #troubles: Troubles;
  #entries: readonly RollEntry[] = [];
  #own: RollEntry | undefined;
  #lease: string | undefined;

  constructor(options: RollOptions) {
    const { prefix, runtime, logger } = options;
    this.#options = options;
    this.#layout = new Layout(prefix);
    this.#life = new Lifetime(runtime);
    this.#troubles = new Troubles(logger, runtime);
    this.#look();
  }

  /** Everybody who was there at the last look, by id. */
  get entries(): readonly RollEntry[] {
    return this.#entries;
  }

  /** From here on others see us. */
  enter(own: RollEntry): void {
    this.#own = own;
    this.#maintain();
  }

  /** Looks at once, and again, until somebody else is there; calls back with whether one is, after so long at most. */
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
          else this.#life.after(SOON_MS, look);
        }),
      );
    look();
  }

  /** Takes our entry away, so that nobody looks for us; calls back when that is done, or was not to be had in time. */
  close(closed: () => void): void {
    this.#life[Symbol.dispose]();
    const lease = this.#lease;
    this.#lease = undefined;
    // With the lease goes the entry, and also one that is still on its way.
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
        this.#life.after(EVERY_MS, () => this.#look());
        this.#maintain();
      }),
    );
  }

  /** What was not to be had leaves everything as it was. */
  #found(found: EtcdRangeResult | undefined): void {
    if (found !== undefined) this.#entries = found.keyValues.flatMap((each) => decodeEntry(each) ?? []);
  }

  /** Sees to it that we are on the roll. */
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
        // One too many, asked for twice in a row, runs out by itself.
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

  /** Is our entry there, under our lease? */
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
        if (log === undefined || entry?.lease === lease) return;
        const other = entry === undefined ? undefined : decodeEntry(entry);
        if (other !== undefined && other.address !== own.address)
          return this.#troubles.met(NAMESAKE, { id: own.id, address: own.address, other: other.address });
        this.#troubles.over(NAMESAKE);
        this.#put(own, key, lease, log.modRevision, entry?.modRevision ?? 0);
      }),
    );
  }

  /** If it is not done, the next look finds it missing. */
  #put(own: RollEntry, key: string, lease: string, logRevision: number, revision: number): void {
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

  /** Undefined: etcd did not do it, and says why elsewhere. */
  #hearing<T>(hear: (value: T | undefined) => void): (answer: EtcdAnswer<T>) => void {
    return this.#life.hearing((answer) => hear(answer.kind === 'done' ? answer.value : undefined));
  }
}

/** Undefined if it is none, by whoever wrote it. */
function decodeEntry({ value }: EtcdKeyValue): RollEntry | undefined {
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
