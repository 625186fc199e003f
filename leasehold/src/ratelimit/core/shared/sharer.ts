/**
 * All limits that one process shares with others: a core, driven as every core of the toolkit is.
 *
 * An ask may name a limit that this process does not have, because processes are started one after the other. Such an ask is answered all
 * the same: everything that the owner of a key needs to know is in the ask. Where this process has a limiter of that name, made with
 * another limit, the difference is reported once for each process, and the limit of this process counts: a mistaken limit elsewhere neither empties the bucket nor puts it into
 * debt.
 */

import { invalidOption } from '../../../runtime/errors.ts';
import { type Instant, later, soonest } from '../../../runtime/time.ts';
import { type Rate, resolveRate } from '../local/rate.ts';
import type { Directory, Right } from './directory.ts';
import type { SharerEffect } from './effects.ts';
import { Handing, IncomingPages } from './hand-over.ts';
import type { Answer, Ask, HandedKey, HandOver } from './messages.ts';
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
/** Of a limiter that this process has not made: the rate comes with each ask. */
const NO_RATE = resolveRate({ limit: 1 });

export class Sharer {
  readonly #directory: Directory;
  /** The directory as the limiters see it: a process that leaves has no right any more. */
  readonly #rights: Directory;
  readonly #limiters = new Map<string, SharedLimiter>();
  readonly #foreign = new Map<string, SharedLimiter>();
  /** When each was last heard of. */
  readonly #differences = new Map<string, Instant>();
  /** Addresses that refuse connections. */
  readonly #gone = new Set<string>();
  readonly #incoming = new IncomingPages();
  /** Present once this process has begun to leave. */
  #handing: Handing | undefined;
  #ids: number;

  /** @param idsAfter asks have greater numbers: a process that shares limits a second time repeats none */
  constructor(directory: Directory, idsAfter: number = 0) {
    this.#directory = directory;
    this.#ids = idsAfter;
    this.#rights = {
      rightTo: (limiter, key, now) =>
        this.#handing === undefined ? directory.rightTo(limiter, key, now) : undefined,
      find: (limiter, key) => directory.find(limiter, key),
      members: () => directory.members?.(),
      maxServers: directory.maxServers ?? 0,
    };
  }

  get limiters(): ReadonlyMap<string, SharedLimiter> {
    return this.#limiters;
  }

  /** The right of this process to mint a key at this instant. */
  rightTo(limiter: string, key: string, now: Instant): Right | undefined {
    return this.#rights.rightTo(limiter, key, now);
  }

  get wakeAt(): Instant | undefined {
    let at: Instant | undefined = soonest(this.#directory.wakeAt, this.#handing?.wakeAt);
    for (const limiter of this.#limiters.values()) at = soonest(at, limiter.wakeAt);
    return at;
  }

  /** @throws {InvalidArgumentError} if there is one of that name */
  add(options: SharedLimiterOptions): SharedLimiter {
    const { name } = options;
    if (this.#limiters.has(name)) {
      throw invalidOption('name', name, 'this process already has a limiter of that name');
    }
    const limiter = this.#newLimiter(options, this.#foreign.get(name)?.minter);
    this.#foreign.delete(name);
    this.#limiters.set(name, limiter);
    return limiter;
  }

  /** @param from the process that asks, unlike any other that ever ran */
  receiveAsk(from: string, ask: Ask, now: Instant): SharerEffect[] {
    const own = ask.isDefault ? this.#limiters.get(ask.limiter)?.options.rate : undefined;
    const rate = own ?? resolveRate({ limit: ask.limit, per: ask.perMs, burst: ask.burst });
    const limiter = this.#limiters.get(ask.limiter) ?? this.#foreignLimiter(ask, rate);
    if (limiter === undefined) return [{ do: 'answer', to: from, answer: { kind: 'later', id: ask.id } }];
    if (ask.maxServers > 0) this.#directory.heardMaxServers?.(ask.maxServers);
    const effects = limiter.receiveAsk(from, ask, rate, now);
    const isSameMax = ask.maxServers === (this.#directory.maxServers ?? 0);
    // Without a limiter of its own this process has nothing to compare with; the next ask after that is compared.
    const isOwn = this.#limiters.has(ask.limiter);
    const differs = isOwn && !(isSameMax && isSame(limiter.options, ask));
    if (differs && this.#isNew(differenceOf(from, ask.limiter), now)) {
      effects.push({ do: 'differs', limiter: ask.limiter, process: from, ask });
    }
    return effects;
  }

  /**
   * This process mints nothing from now on, and hands the levels of its keys over to their next owners as soon as these are known. For the rest of its life it
   * borrows as others do.
   */
  leave(now: Instant): SharerEffect[] {
    if (this.#handing !== undefined) return [];
    const keys = [...this.#limiters, ...this.#foreign].flatMap(([limiter, { minter }]) =>
      minter
        .handed((key) => this.#directory.rightTo(limiter, key, now))
        .map((handed) => ({ ...handed, limiter })),
    );
    this.#handing = new Handing(keys, now);
    return this.#handOver(now);
  }

  /** There are levels whose next owner is not known, or has not confirmed them. */
  get isHandingOver(): boolean {
    return (this.#handing?.unconfirmed ?? 0) > 0 || this.#directory.hasHeirless === true;
  }

  /** @param from the process that leaves, unlike any other that ever ran */
  receiveHandOver(from: string, page: HandOver, now: Instant): SharerEffect[] {
    const keys = this.#handing === undefined ? this.#incoming.add(from, page) : undefined;
    if (keys !== undefined) this.#take(from, page, keys, now);
    const { id, page: number } = page;
    const confirmed: SharerEffect = { do: 'answer', to: from, answer: { kind: 'taken', id, page: number } };
    return [confirmed, ...this.#limitersChanged(now)];
  }

  /** The levels first: only if all are there are the keys owned without a gap. */
  #take(from: string, { scope, ageMs, cuts }: HandOver, keys: readonly HandedKey[], now: Instant): void {
    const at = this.#directory.mayTake?.(from, scope, now);
    if (at === undefined) return;
    const isKept = (handed: HandedKey): boolean => {
      const limiter = this.#limiters.get(handed.limiter) ?? this.#foreignLimiter(handed, NO_RATE);
      return limiter?.minter.take(handed, at) === true;
    };
    if (keys.every(isKept)) this.#directory.take?.(from, scope, ageMs, cuts, now);
  }

  #handOver(now: Instant): SharerEffect[] {
    const handing = this.#handing;
    if (handing === undefined) return [];
    if (!handing.isOver(now)) for (const heir of this.#directory.heirs?.(now) ?? []) handing.add(heir);
    return handing.due(now).map(({ to, page }) => ({ do: 'hand-over', to, page }));
  }

  receiveAnswer(answer: Answer, now: Instant): SharerEffect[] {
    if (answer.kind === 'taken') {
      this.#handing?.confirmed(answer.id, answer.page);
      return [];
    }
    for (const limiter of this.#limiters.values()) {
      const effects = limiter.receiveAnswer(answer, now);
      if (effects !== undefined) return effects;
    }
    return [];
  }

  ownerLost(address: string, now: Instant): SharerEffect[] {
    for (const limiter of this.#limiters.values()) limiter.ownerLost(address, now);
    return [];
  }

  /** Nothing listens at this address. */
  ownerGone(address: string, now: Instant): SharerEffect[] {
    // Addresses of processes that ended long ago: to forget them costs a wait at most.
    if (this.#gone.size >= GONE_MAX) this.#gone.clear();
    this.#gone.add(address);
    return [...this.#limiters.values()].flatMap((limiter) => limiter.ownerGone(address, now));
  }

  /** There is a connection to this address. */
  ownerBack(address: string): SharerEffect[] {
    this.#gone.delete(address);
    return [];
  }

  directoryChanged(now: Instant): SharerEffect[] {
    this.#directory.wake?.(now);
    return [...this.#handOver(now), ...this.#limitersChanged(now)];
  }

  #limitersChanged(now: Instant): SharerEffect[] {
    return [...this.#limiters.values()].flatMap((limiter) => limiter.directoryChanged(now));
  }

  wake(now: Instant): SharerEffect[] {
    this.#directory.wake?.(now);
    return [...this.#handOver(now), ...[...this.#limiters.values()].flatMap((limiter) => limiter.wake(now))];
  }

  suspended(now: Instant): SharerEffect[] {
    // The time within which levels may be handed over can be over, and the clock does not show that.
    if (this.#handing !== undefined) this.#handing = new Handing([], now, true);
    return [...this.#limiters.values()].flatMap((limiter) => limiter.suspended(now));
  }

  #foreignLimiter(
    { limiter: name, whenLost = 'full' }: Pick<Ask, 'limiter'> & Partial<Ask>,
    rate: Rate,
  ): SharedLimiter | undefined {
    const known = this.#foreign.get(name);
    if (known !== undefined || this.#foreign.size >= FOREIGN_MAX) return known;
    const limiter = this.#newLimiter({
      ...{ name, rate, whenLost, whenCutOff: { kind: 'closed' }, askTimeoutMs: GRANT_MS },
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
    return new SharedLimiter(options, this.#rights, newId, this.#gone, minter);
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
const isSame = ({ rate, whenLost }: SharedLimiterOptions, ask: Ask): boolean =>
  whenLost === ask.whenLost &&
  (!ask.isDefault || (rate.limit === ask.limit && rate.perMs === ask.perMs && rate.burst === ask.burst));
