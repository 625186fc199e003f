/**
 * All limits that one process shares with others: a core, driven as every core of the toolkit is.
 *
 * An ask may name a limit that this process does not have, because processes are started one after the other. Such an ask is answered all
 * the same: everything that the owner of a key needs to know is in the ask. Where this process has a limiter of that name, made with
 * another limit, the difference is reported once for each process.
 */

import { InvalidOptionError } from '../../runtime/errors.ts';
import { type Instant, later, soonest } from '../../runtime/time.ts';
import { type Rate, resolveRate } from '../core/rate.ts';
import type { Directory } from './directory.ts';
import type { SharingEffect } from './effects.ts';
import type { Answer, Ask } from './messages.ts';
import type { Minter } from './minter.ts';
import { SharedLimiter, type SharedLimiterOptions } from './shared-limiter.ts';
import { GRANT_MS } from './timing.ts';

/** Limits of other processes that this process does not have. More are not minted for. */
const FOREIGN_MAX = 1_000;
const FOREIGN_KEYS_MAX = 1_000_000;
const GONE_MAX = 1_000;
/** Differences that are remembered, so that each is reported once. */
const DIFFERENCES_MAX = 1_000;
/** A process that has not asked for so long is taken for gone, and its difference with it. */
const DIFFERENCE_MS = 600_000;

export class SharedLimits {
  readonly #directory: Directory;
  readonly #limiters = new Map<string, SharedLimiter>();
  readonly #foreign = new Map<string, SharedLimiter>();
  /** When each was last heard of. */
  readonly #differences = new Map<string, Instant>();
  /** Addresses that refuse connections. */
  readonly #gone = new Set<string>();
  #ids = 0;

  constructor(directory: Directory) {
    this.#directory = directory;
  }

  get limiters(): ReadonlyMap<string, SharedLimiter> {
    return this.#limiters;
  }

  get wakeAt(): Instant | undefined {
    let at: Instant | undefined = this.#directory.wakeAt;
    for (const limiter of this.#limiters.values()) at = soonest(at, limiter.wakeAt);
    return at;
  }

  /** @throws {InvalidOptionError} if there is one of that name */
  add(options: SharedLimiterOptions): SharedLimiter {
    const { name } = options;
    if (this.#limiters.has(name)) {
      throw new InvalidOptionError('name', name, 'this process already has a limiter of that name');
    }
    const limiter = this.#newLimiter(options, this.#foreign.get(name)?.minter);
    this.#foreign.delete(name);
    this.#limiters.set(name, limiter);
    return limiter;
  }

  /** @param from the process that asks, unlike any other that ever ran */
  receiveAsk(from: string, ask: Ask, now: Instant): SharingEffect[] {
    const rate = resolveRate({ limit: ask.limit, per: ask.perMs, burst: ask.burst });
    const limiter = this.#limiters.get(ask.limiter) ?? this.#foreignLimiter(ask, rate);
    if (limiter === undefined) return [{ do: 'answer', to: from, answer: { kind: 'later', id: ask.id } }];
    if (ask.size > 0) this.#directory.heardSize?.(ask.size);
    const effects = limiter.receiveAsk(from, ask, rate, now);
    const isSameSize = ask.size === (this.#directory.size ?? 0);
    // Without a limiter of its own this process has nothing to compare with; the next ask after that is compared.
    const isOwn = this.#limiters.has(ask.limiter);
    const differs = isOwn && !(isSameSize && isSame(limiter.options, ask));
    if (differs && this.#isNew(differenceOf(from, ask.limiter), now)) {
      effects.push({ do: 'differs', limiter: ask.limiter, process: from, ask });
    }
    return effects;
  }

  receiveAnswer(answer: Answer, now: Instant): SharingEffect[] {
    for (const limiter of this.#limiters.values()) {
      const effects = limiter.receiveAnswer(answer, now);
      if (effects !== undefined) return effects;
    }
    return [];
  }

  ownerLost(address: string, now: Instant): SharingEffect[] {
    for (const limiter of this.#limiters.values()) limiter.ownerLost(address, now);
    return [];
  }

  /** Nothing listens at this address. */
  ownerGone(address: string, now: Instant): SharingEffect[] {
    // Addresses of processes that ended long ago: to forget them costs a wait at most.
    if (this.#gone.size >= GONE_MAX) this.#gone.clear();
    this.#gone.add(address);
    return [...this.#limiters.values()].flatMap((limiter) => limiter.ownerGone(address, now));
  }

  /** There is a connection to this address. */
  ownerBack(address: string): SharingEffect[] {
    this.#gone.delete(address);
    return [];
  }

  directoryChanged(now: Instant): SharingEffect[] {
    this.#directory.wake?.(now);
    return [...this.#limiters.values()].flatMap((limiter) => limiter.directoryChanged(now));
  }

  wake(now: Instant): SharingEffect[] {
    this.#directory.wake?.(now);
    return [...this.#limiters.values()].flatMap((limiter) => limiter.wake(now));
  }

  suspended(now: Instant): SharingEffect[] {
    return [...this.#limiters.values()].flatMap((limiter) => limiter.suspended(now));
  }

  #foreignLimiter({ limiter: name, onLoss }: Ask, rate: Rate): SharedLimiter | undefined {
    const known = this.#foreign.get(name);
    if (known !== undefined || this.#foreign.size >= FOREIGN_MAX) return known;
    const limiter = this.#newLimiter({
      ...{ name, rate, onLoss, whenCutOff: { kind: 'closed' }, waitMs: GRANT_MS },
      ...{ maxKeys: FOREIGN_KEYS_MAX, whenFull: 'deny' },
    });
    this.#foreign.set(name, limiter);
    return limiter;
  }

  #newLimiter(options: SharedLimiterOptions, minter?: Minter): SharedLimiter {
    const newId = (): number => {
      this.#ids += 1;
      return this.#ids;
    };
    return new SharedLimiter(options, this.#directory, newId, this.#gone, minter);
  }

  /** Whether a process that was reported to differ was heard of lately. */
  stillDiffers(process: string, limiter: string, now: Instant): boolean {
    const heardAt = this.#differences.get(differenceOf(process, limiter));
    return heardAt !== undefined && now < later(heardAt, DIFFERENCE_MS);
  }

  #isNew(difference: string, now: Instant): boolean {
    const heardAt = this.#differences.get(difference);
    if (heardAt !== undefined || this.#hasRoom(now)) this.#differences.set(difference, now);
    else return false;
    return heardAt === undefined || now >= later(heardAt, DIFFERENCE_MS);
  }

  #hasRoom(now: Instant): boolean {
    if (this.#differences.size < DIFFERENCES_MAX) return true;
    for (const [difference, heardAt] of this.#differences)
      if (now >= later(heardAt, DIFFERENCE_MS)) this.#differences.delete(difference);
    return this.#differences.size < DIFFERENCES_MAX;
  }
}

const differenceOf = (process: string, limiter: string): string => `${process} ${limiter}`;

/** Limits that a request brings with it may differ; what a limiter was made with may not. */
const isSame = ({ rate, onLoss }: SharedLimiterOptions, ask: Ask): boolean =>
  onLoss === ask.onLoss &&
  (!ask.isDefault || (rate.limit === ask.limit && rate.perMs === ask.perMs && rate.burst === ask.burst));
