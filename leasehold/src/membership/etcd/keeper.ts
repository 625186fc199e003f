/// <reference lib="esnext.disposable" preserve="true" />

/**
 * Keeps one server's registration in etcd, and reads the registry for the core (`core/agreement/by-registry.ts`), which decides when to register and
 * draws the consequences of a read.
 *
 *     look ─► read all keys, linearizably ─► core ─► is the own entry as wanted? ─► grant, put, revoke
 *      ▲                                                                              │
 *      └── after a quarter of a registration, or at once when the watch sees a change ◄┘
 *
 * **Every state comes from a read.** The watch only says that there is something to read. So a watch that lags, ends, goes deaf or meets a compaction costs
 * time, at most a quarter of a registration, and never hides a change; nothing is pieced together from events.
 *
 * **Reads follow each other**, so an answer is never older than the one before, unless the store itself went back.
 *
 * **An incarnation is registered at most once.** Each has a lease of its own, granted for it, and a put under a lease that has ended is refused. A put may be carried
 * out long after its answer was given up for lost; if that entry is not wanted any more, the next look finds and removes it. When the lease has ended before
 * the entry was seen, the core is told, and goes on with another incarnation.
 *
 * **Another entry under the own name** with the own address is that of the process before, because this process has the port, and is replaced. With another address the
 * other process may live: the entry is left until its lease ends. An entry that is kept alive for longer than leases last means that the name is taken. A key of the own
 * name that is no registration belongs to somebody else, and is not overwritten: this server waits until the key is gone, and says so.
 *
 * **A change that is refused is asked for again after a pause**, which doubles with each refusal: an etcd without room, or one that denies access, answers reads as
 * before, and each read would find the same change to be made. An entry of this process whose lease is not known to etcd, as after a backup that was put back in parts, is deleted by its key.
 */

import type { EtcdAnswer, EtcdClient, EtcdRangeResult, EtcdTransactionResult } from '../../etcd/client.ts';
import { EpisodeLog } from '../../runtime/episode-log.ts';
import { Lifetime } from '../../runtime/lifetime.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { instant, type Instant, later } from '../../runtime/time.ts';
import { type Incarnation, isSameIncarnation, type MemberId } from '../core/incarnation.ts';
import { decodeEntry, encodeEntry, type Entry, type Found, keyOfEntry } from './entry.ts';

export interface KeeperOptions {
  readonly client: EtcdClient;
  readonly runtime: Runtime;
  readonly logger: Logger;
  /** The beginning of all keys of this group. Ends in `/`. */
  readonly prefix: string;
  readonly name: string;
  /** The entry of this server, without the incarnation. */
  readonly entry: Omit<Entry, 'incarnation'>;
  readonly registrationMs: number;
}

/** The findings of a read. */
export interface Reading {
  readonly revision: number;
  readonly registrations: readonly Found[];
  readonly failed: Incarnation | undefined;
}

export interface KeeperEvents {
  /** @param sentAt when the read was sent */
  read(reading: Reading, sentAt: Instant): void;
  /** Another live process has registered under this server's name. */
  nameTaken(by: Found): void;
}

/** Looks within a registration, if nothing changes and etcd answers at once. */
const LOOKS = 4;
/** The pause after the first refused change is half the time between two looks, and doubles so often. */
const PAUSES_DOUBLED_MAX = 4;
/** So many keys are never those of one group. */
const KEYS_MAX = 1_000;
/** The lease of a process that is gone ends within so many times its length, with etcd's own delays. */
const LEASES_UNTIL_TAKEN = 3;

const UNANSWERED = 'etcd does not answer: this server stops acting when its registration is over';
const REFUSED = 'etcd refuses a change of the registration of this server: asking again after a pause';
const UNREADABLE =
  'a registration in etcd was written by another version: no view is agreed on while it is there';
const STRANGE =
  'a key in etcd under the prefix of the group is no registration under a lease, and is left out';
const OCCUPIED = 'another process is registered under this name: waiting for the end of its lease';

interface Wanted {
  readonly id: MemberId;
  lease: string | undefined;
  isAsking: boolean;
  hasFailed: boolean;
}

export class RegistryKeeper {
  readonly #options: KeeperOptions;
  readonly #events: KeeperEvents;
  readonly #lifetime: Lifetime;
  readonly #episodes: EpisodeLog;
  readonly #end: string;
  readonly #everyMs: number;
  readonly #timeoutMs: number;
  #wanted: Wanted | undefined;
  #isLooking = false;
  #looksAgain = false;
  #nextLook: Disposable | undefined;
  #watch: Disposable | undefined;
  /** Found at the last look, and whether the watch has told of a change since. */
  #last: Reading | undefined;
  #wasTold = false;
  #problem: string | undefined;
  #refused: string | undefined;
  /** How many changes were refused one after the other, and until when none is asked for. */
  #refusals = 0;
  #mayChangeAt: Instant = instant(Number.NEGATIVE_INFINITY);
  /** The own key, if that is no registration. */
  #obstacle: string | undefined;
  #occupied: { readonly by: Found; readonly since: Instant } | undefined;

  constructor(options: KeeperOptions, events: KeeperEvents) {
    const { runtime, logger, prefix, registrationMs } = options;
    this.#options = options;
    this.#events = events;
    this.#lifetime = new Lifetime(runtime);
    this.#episodes = new EpisodeLog(logger, runtime);
    this.#end = endOf(prefix);
    this.#everyMs = registrationMs / LOOKS;
    this.#timeoutMs = registrationMs / 2;
    this.#look();
  }

  /** Why the last request was not answered, or this server cannot register; undefined if all is well. */
  get problem(): string | undefined {
    if (this.#problem !== undefined) return `no answer of etcd: ${this.#problem}`;
    if (this.#refused !== undefined) return `etcd refuses to change the registration: ${this.#refused}`;
    const key = this.#obstacle;
    return key && `not registered: the key ${key} in etcd is no registration under a lease; delete that key`;
  }

  register(id: MemberId): void {
    this.deregister();
    this.#wanted = { id, lease: undefined, isAsking: false, hasFailed: false };
    this.#lookSoon();
  }

  deregister(): void {
    const lease = this.#wanted?.lease;
    this.#wanted = undefined;
    if (lease !== undefined) this.#revoke(lease);
  }

  /** Ends the registration, and calls back when that is done, or took too long. */
  close(closed: () => void): void {
    const lease = this.#wanted?.lease;
    this.#wanted = undefined;
    this.#lifetime[Symbol.dispose]();
    this.#watch?.[Symbol.dispose]();
    this.#episodes[Symbol.dispose]();
    if (lease === undefined) closed();
    else this.#options.client.revoke(lease, this.#timeoutMs, closed);
  }

  #lookSoon(): void {
    if (this.#isLooking) this.#looksAgain = true;
    else this.#look();
  }

  #look(): void {
    const { client, runtime, prefix } = this.#options;
    this.#isLooking = true;
    this.#nextLook?.[Symbol.dispose]();
    this.#keepAlive();
    const sentAt = runtime.now();
    client.range(
      { key: prefix, end: this.#end, limit: KEYS_MAX },
      this.#timeoutMs,
      this.#hearing((found) => this.#looked(found, sentAt)),
    );
  }

  #looked(found: EtcdRangeResult | undefined, sentAt: Instant): void {
    const registrations = found && this.#registrationsIn(found);
    if (found !== undefined && registrations !== undefined) {
      const { revision } = found;
      const failed = this.#wanted?.hasFailed === true ? this.#wanted.id.incarnation : undefined;
      const reading = { revision, registrations, failed };
      this.#replaceDeafWatch(reading);
      this.#watchFrom(revision + 1);
      this.#events.read(reading, sentAt);
      if (this.#lifetime.isOver) return;
      this.#maintain(registrations.find(({ name }) => name === this.#options.name));
    }
    this.#isLooking = false;
    const isSooner = this.#looksAgain;
    this.#looksAgain = false;
    const waitMs =
      found === undefined ? this.#everyMs * (0.25 + 0.5 * this.#options.runtime.random()) : this.#everyMs;
    if (isSooner) this.#look();
    else this.#nextLook = this.#lifetime.after(waitMs, () => this.#look());
  }

  /** Undefined if there is one that cannot be read. */
  #registrationsIn({ keyValues }: EtcdRangeResult): Found[] | undefined {
    const { prefix, name } = this.#options;
    const found: Found[] = [];
    const strangers: string[] = [];
    for (const keyValue of keyValues) {
      const entry = decodeEntry(keyValue, prefix);
      if (entry === 'unreadable') return void this.#episodes.met(UNREADABLE, { key: keyValue.key });
      if (entry === undefined) strangers.push(keyValue.key);
      else found.push(entry);
    }
    const [strange] = strangers;
    this.#obstacle = strangers.find((key) => key === keyOfEntry(prefix, name));
    this.#episodes.over(UNREADABLE);
    if (strange === undefined) this.#episodes.over(STRANGE);
    else this.#episodes.met(STRANGE, { key: strange });
    return found;
  }

  /** A watch that has not told of what a look found may tell of nothing any more. One too many is replaced now and then. */
  #replaceDeafWatch(reading: Reading): void {
    const isNews = contentsOf(reading) !== contentsOf(this.#last);
    if (isNews && !this.#wasTold) {
      this.#watch?.[Symbol.dispose]();
      this.#watch = undefined;
    }
    this.#last = reading;
    this.#wasTold = false;
  }

  #watchFrom(revision: number): void {
    if (this.#watch !== undefined) return;
    const { client, prefix } = this.#options;
    this.#watch = client.watch(prefix, this.#end, revision, {
      changed: this.#lifetime.hearing(() => {
        this.#wasTold = true;
        this.#lookSoon();
      }),
      // The next look begins another.
      ended: this.#lifetime.hearing(() => {
        this.#watch = undefined;
      }),
    });
  }

  /** Brings the own entry nearer to what is wanted, by one step. */
  #maintain(own: Found | undefined): void {
    const { process, address } = this.#options.entry;
    const wanted = this.#wanted;
    const isOurs = own?.process === process;
    if (this.#obstacle !== undefined) return;
    if (own === undefined || isOurs) this.#occupied = undefined;
    if (this.#options.runtime.now() < this.#mayChangeAt) return;
    if (own !== undefined && isOurs) {
      const isWanted = wanted !== undefined && isSameIncarnation(own.incarnation, wanted.id.incarnation);
      if (!isWanted) this.#revoke(own.lease, () => this.#delete(own));
    } else if (own !== undefined && own.address !== address) this.#wait(own);
    else if (wanted !== undefined && !wanted.isAsking && !wanted.hasFailed) {
      this.#episodes.over(OCCUPIED);
      if (wanted.lease === undefined) this.#grant(wanted);
      else this.#put(wanted, wanted.lease, own?.revision ?? 0);
    }
  }

  #wait(other: Found): void {
    const { runtime, registrationMs } = this.#options;
    this.#episodes.met(OCCUPIED, { name: other.name, address: other.address });
    const known = this.#occupied;
    if (known?.by.revision !== other.revision) this.#occupied = { by: other, since: runtime.now() };
    else if (runtime.now() >= later(known.since, LEASES_UNTIL_TAKEN * registrationMs))
      this.#events.nameTaken(other);
  }

  #grant(wanted: Wanted): void {
    const { client, registrationMs } = this.#options;
    wanted.isAsking = true;
    client.grant(
      Math.ceil(registrationMs / 1_000),
      this.#timeoutMs,
      this.#changing((granted) => {
        wanted.isAsking = false;
        if (granted.kind !== 'done') return;
        const { lease } = granted.value;
        if (wanted !== this.#wanted) return this.#revoke(lease);
        wanted.lease = lease;
        this.#lookSoon();
      }),
    );
  }

  /** @param before the revision of the entry that is replaced; 0 for none */
  #put(wanted: Wanted, lease: string, before: number): void {
    const { client, prefix, name, entry } = this.#options;
    const key = keyOfEntry(prefix, name);
    const value = encodeEntry({ ...entry, incarnation: wanted.id.incarnation });
    const put = { do: 'put', key, value, lease } as const;
    wanted.isAsking = true;
    client.transact(
      { compare: [{ key, modRevision: before }], success: [put], failure: [] },
      this.#timeoutMs,
      this.#changing((answer: EtcdAnswer<EtcdTransactionResult>) => {
        wanted.isAsking = false;
        if (isWithoutLease(answer)) wanted.hasFailed = true;
        if (wanted === this.#wanted && (answer.kind === 'done' || wanted.hasFailed)) this.#lookSoon();
      }),
    );
  }

  #keepAlive(): void {
    const wanted = this.#wanted;
    const lease = wanted?.lease;
    if (wanted === undefined || lease === undefined) return;
    this.#options.client.keepAlive(
      lease,
      this.#timeoutMs,
      this.#lifetime.hearing((answer) => {
        const isGone =
          answer.kind === 'done' ? answer.value.ttlSeconds <= 0 : answer.refusal?.reason === 'no-lease';
        if (isGone) wanted.hasFailed = true;
      }),
    );
  }

  /** If this fails, the next look finds the entry again. @param withoutLease etcd knows no such lease */
  #revoke(lease: string, withoutLease: () => void = () => this.#lookSoon()): void {
    this.#options.client.revoke(
      lease,
      this.#timeoutMs,
      this.#changing((answer) => {
        if (answer.kind === 'done') this.#lookSoon();
        else if (isWithoutLease(answer)) withoutLease();
      }),
    );
  }

  #delete({ name, revision }: Found): void {
    const { client, prefix } = this.#options;
    const key = keyOfEntry(prefix, name);
    client.transact(
      { compare: [{ key, modRevision: revision }], success: [{ do: 'delete', key }], failure: [] },
      this.#timeoutMs,
      this.#changing((answer) => {
        if (answer.kind === 'done') this.#lookSoon();
      }),
    );
  }

  /** Hears the answer to a change. After a refusal, or without an answer, the next change waits; an ended lease is no refusal. */
  #changing<T>(hear: (answer: EtcdAnswer<T>) => void): (answer: EtcdAnswer<T>) => void {
    return this.#lifetime.hearing((answer) => {
      if (answer.kind === 'done') {
        this.#refusals = 0;
        this.#refused = undefined;
        this.#episodes.over(REFUSED);
      } else if (!isWithoutLease(answer)) {
        this.#refused = whyNot(answer);
        this.#episodes.met(REFUSED, { why: this.#refused });
        const pauseMs = (this.#everyMs / 2) * 2 ** Math.min(this.#refusals, PAUSES_DOUBLED_MAX);
        this.#refusals += 1;
        this.#mayChangeAt = later(this.#options.runtime.now(), pauseMs);
      }
      hear(answer);
    });
  }

  /** Undefined: etcd did not answer, or refused. */
  #hearing<T>(hear: (value: T | undefined) => void): (answer: EtcdAnswer<T>) => void {
    return this.#lifetime.hearing((answer) => {
      if (answer.kind === 'done') {
        this.#problem = undefined;
        this.#episodes.over(UNANSWERED);
        return hear(answer.value);
      }
      this.#problem = whyNot(answer);
      this.#episodes.met(UNANSWERED, { why: this.#problem });
      hear(undefined);
    });
  }
}

const whyNot = (answer: Exclude<EtcdAnswer<unknown>, { kind: 'done' }>): string =>
  answer.refusal?.message ?? (answer.kind === 'unknown' ? answer.why : '');

const isWithoutLease = (answer: EtcdAnswer<unknown>): boolean =>
  answer.kind !== 'done' && answer.refusal?.reason === 'no-lease';

const contentsOf = (reading: Reading | undefined): string =>
  (reading?.registrations ?? []).map(({ name, revision }) => `${name}@${revision}`).join();

/** The first key after all that begin with this prefix, which ends in `/`. */
export const endOf = (prefix: string): string => `${prefix.slice(0, -1)}0`;
