/**
 * A process that shares limits with others: the core of `owner/shared-limits.ts` with a clock, connections and a pool.
 *
 * A request that can be decided here is decided in the same call, without an effect and without a timer. Every decision first asks whether
 * the machine was suspended, with the same reading of the clock.
 *
 * Each process listens for asks, and dials the owners of the keys that it needs. An answer goes back over the connection of the ask.
 */

import { atEndOfTurn } from '../../node/turn.ts';
import { EventLog } from '../../node/service/event-log.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { InvalidOptionError } from '../../runtime/errors.ts';
import type { Logger } from '../../runtime/logger.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { isWellFormed } from '../../runtime/text-option.ts';
import type { Instant } from '../../runtime/time.ts';
import { checkKey, checkNotNegative } from '../core/local-limiter.ts';
import type { Rate } from '../core/rate.ts';
import type { DecidedBy, RateLimitResult } from '../core/result.ts';
import type { Directory } from '../owner/directory.ts';
import type { SharingEffect } from '../owner/effects.ts';
import type { Answer, Ask, OnLoss } from '../owner/messages.ts';
import { SharedLimits } from '../owner/shared-limits.ts';
import type { SharedLimiter, SharedLimiterOptions } from '../owner/shared-limiter.ts';
import type { CutOffPolicy } from '../owner/when-cut-off.ts';
import { SUSPENSION_TOLERANCE_MS } from '../owner/timing.ts';
import { KEY_MAX } from '../wire/codec.ts';
import type { Decider } from './decider.ts';

export interface SharingDependencies {
  readonly name: string;
  readonly pool: string;
  /** Where this process is asked, as host:port. */
  readonly address: string;
  /** Names this run of the process, in letters and digits. */
  readonly epoch: string;
  readonly directory: Directory;
  /** Whether the owners of keys are those of a group, and not of a pool. */
  readonly isOnGroup?: boolean;
  readonly runtime: Runtime;
  readonly logger: Logger;
  sendAsk(address: string, ask: Ask): void;
  sendAnswer(process: string, answer: Answer): void;
  close(): Promise<void>;
}

/** Another process made a limiter of the same name with another limit. */
export interface LimitDifference {
  readonly limiter: string;
  readonly process: string;
  readonly theirs: string;
  readonly ours: string;
}

export type LimitEvent =
  | { readonly kind: 'cut-off'; readonly limiter: string; readonly by: DecidedBy }
  | ({ readonly kind: 'differs' } & LimitDifference);

export interface LimiterStatus {
  readonly name: string;
  readonly limit: number;
  readonly perMs: number;
  readonly burst: number;
  readonly onLoss: OnLoss;
  readonly whenCutOff: CutOffPolicy['kind'];
  readonly keys: number;
  /** How many requests were decided, by result and place: `allowed by owner`. */
  readonly decisions: Readonly<Record<string, number>>;
  /** How often owners of keys were asked for tokens, or told of used ones. */
  readonly asks: number;
}

export interface SharingStatus {
  readonly name: string;
  /** This process no longer shares limits: requests are decided by `whenCutOff`. */
  readonly isClosed: boolean;
  readonly pool: string;
  readonly address: string;
  readonly limiters: readonly LimiterStatus[];
  readonly differences: readonly LimitDifference[];
}

/** The events of a cut-off are told at most so often for each limiter. */
const CUT_OFF_EVENT_EVERY_MS = 1_000;

type Counts = Record<DecidedBy, number>;

interface Tally {
  readonly allowed: Counts;
  readonly denied: Counts;
  asks: number;
  cutOffToldAt: number;
}

export class LimitSharing implements AsyncDisposable {
  readonly #around: SharingDependencies;
  readonly #core: SharedLimits;
  readonly #driver: Driver<SharingEffect>;
  readonly #guard: SuspensionGuard;
  readonly #waiting = new Map<number, (result: RateLimitResult) => void>();
  #differences: LimitDifference[] = [];
  readonly #tallies = new Map<string, Tally>();
  /** What happened, for `serveLimits`. @internal */
  readonly events: EventLog<LimitEvent>;
  #ids = 0;
  #closed: Promise<void> | undefined;

  /** @internal */
  constructor(around: SharingDependencies) {
    const { runtime, directory } = around;
    this.#around = around;
    this.#core = new SharedLimits(directory);
    this.events = new EventLog({ epoch: around.epoch });
    this.#guard = new SuspensionGuard(runtime, SUSPENSION_TOLERANCE_MS);
    this.#driver = new Driver<SharingEffect>({
      core: this.#core,
      clock: runtime,
      guard: this.#guard,
      // Sockets are read first: a process that was held up must not give up a request whose answer has come.
      alarm: (wake) => alarmOn(runtime, () => atEndOfTurn(wake)),
      execute: (effect) => this.#execute(effect),
    });
  }

  get name(): string {
    return this.#around.name;
  }

  /** Why this process owns no keys, if it should. @internal */
  get whyCutOff(): string | undefined {
    return this.#closed === undefined ? this.#around.directory.whyCutOff?.() : undefined;
  }

  /** The pool or the group whose processes share the limits. */
  get pool(): string {
    return this.#around.pool;
  }

  /** Whether the processes are the servers of a group. */
  get isOnGroup(): boolean {
    return this.#around.isOnGroup === true;
  }

  /** Where other processes ask this one for tokens. */
  get address(): string {
    return this.#around.address;
  }

  /** Limiters of other processes that have a name of this process and another limit, and that asked in the last ten minutes. */
  get differences(): readonly LimitDifference[] {
    const now = this.#around.runtime.now();
    this.#differences = this.#differences.filter(({ process, limiter }) =>
      this.#core.stillDiffers(process, limiter, now),
    );
    return this.#differences;
  }

  /** The limits of this process, and its decisions so far. */
  status(): SharingStatus {
    const { name, pool, address } = this.#around;
    const limiters = [...this.#core.limiters.values()].map(({ options, keys }) => ({
      ...{
        name: options.name,
        limit: options.rate.limit,
        perMs: options.rate.perMs,
        burst: options.rate.burst,
      },
      ...{ onLoss: options.onLoss, whenCutOff: options.whenCutOff.kind, keys },
      decisions: decisionsOf(this.#tally(options.name)),
      asks: this.#tally(options.name).asks,
    }));
    const isClosed = this.#closed !== undefined;
    return { name, isClosed, pool, address, limiters, differences: this.differences };
  }

  /** The level of a key, as this process knows it; undefined: there is no such limiter here. */
  peek(limiter: string, key: string): RateLimitResult | undefined {
    const found = this.#core.limiters.get(limiter);
    return found?.peek(checked(key), found.options.rate, this.#now());
  }

  /** Stops sharing. Requests that wait, and all later ones, are decided by `whenCutOff`; those denied are denied as `closed`. */
  async close(): Promise<void> {
    this.#closed ??= this.#around.close();
    await this.#closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.close();
  }

  /** @internal */
  add(options: SharedLimiterOptions): Decider {
    return this.#decider(this.#core.add(options));
  }

  /** @internal */
  receiveAsk(from: string, ask: Ask): void {
    this.#driver.input((now) => this.#core.receiveAsk(from, ask, now));
  }

  /** @internal */
  receiveAnswer(answer: Answer): void {
    this.#driver.input((now) => this.#core.receiveAnswer(answer, now));
  }

  /** @internal No answer will come from this address. */
  ownerLost(address: string): void {
    this.#driver.input((now) => this.#core.ownerLost(address, now));
  }

  /** @internal Nothing listens at this address. */
  ownerGone(address: string): void {
    this.#driver.input((now) => this.#core.ownerGone(address, now));
  }

  /** @internal There is a connection to this address. */
  ownerBack(address: string): void {
    this.#driver.input(() => this.#core.ownerBack(address));
  }

  /** @internal Keys may have other owners. */
  directoryChanged(): void {
    this.#driver.input((now) => this.#core.directoryChanged(now));
  }

  #decider(limiter: SharedLimiter): Decider {
    const { runtime } = this.#around;
    const tally = this.#tally(limiter.options.name);
    return {
      get keys() {
        return limiter.keys;
      },
      consume: (key, cost, rate) => {
        const decided = this.#decide(limiter, tally, key, cost, rate);
        if (decided !== undefined) return decided;
        return new Promise((resolve) => {
          this.#ids += 1;
          const id = this.#ids;
          this.#waiting.set(id, (result) => resolve(this.#counted(limiter, tally, result)));
          this.#driver.input((now) => limiter.wait(key, id, cost, rate, now));
        });
      },
      tryConsume: (key, cost, rate) => {
        const decided = this.#decide(limiter, tally, key, cost, rate);
        if (decided !== undefined) return decided;
        const result = this.#counted(limiter, tally, limiter.resultWithoutWaiting(key, rate, runtime.now()));
        this.#driver.input((now) => limiter.borrow(key, cost, rate, now));
        return result;
      },
      peek: (key, rate) => limiter.peek(checked(key), rate, this.#now()),
      refund: (key, tokens, rate) => {
        checkWholeTokens('tokens', tokens);
        limiter.refund(checked(key), tokens, rate, this.#now());
      },
      block: (key, ms, rate) => {
        checkNotNegative('ms', ms);
        return limiter.block(checked(key), ms, rate, this.#now());
      },
      reset: (key) => limiter.reset(checked(key), this.#now()),
    };
  }

  #decide(
    limiter: SharedLimiter,
    tally: Tally,
    key: string,
    cost: number,
    rate: Rate,
  ): RateLimitResult | undefined {
    checked(key);
    checkWholeTokens('cost', cost);
    const now = this.#now();
    const borrowed = limiter.find(key);
    const decided = limiter.decide(key, cost, rate, now, borrowed);
    if (decided === undefined) return undefined;
    const counted = this.#counted(limiter, tally, decided);
    if (borrowed !== undefined && limiter.wantsToSpeak(key, rate, now, borrowed)) {
      this.#driver.input((present) => limiter.speak(key, rate, present));
    }
    return counted;
  }

  /** Counts a result. The owner of a key cannot answer a process that has closed its sharing, and the result says so. */
  #counted(limiter: SharedLimiter, tally: Tally, result: RateLimitResult): RateLimitResult {
    this.#count(limiter, tally, result);
    const isClosed = this.#closed !== undefined && result.denied === 'cut-off';
    return isClosed ? { ...result, denied: 'closed' } : result;
  }

  #count({ options }: SharedLimiter, tally: Tally, { allowed, by }: RateLimitResult): void {
    const counts = allowed ? tally.allowed : tally.denied;
    counts[by] += 1;
    if (by !== 'closed' && by !== 'share' && by !== 'open') return;
    const now = this.#around.runtime.now();
    if (now < tally.cutOffToldAt + CUT_OFF_EVENT_EVERY_MS) return;
    tally.cutOffToldAt = now;
    this.events.append([{ kind: 'cut-off', limiter: options.name, by }], this.#around.runtime.wallMs());
  }

  #tally(limiter: string): Tally {
    const known = this.#tallies.get(limiter);
    if (known !== undefined) return known;
    const tally = {
      ...{ allowed: noCounts(), denied: noCounts(), asks: 0 },
      cutOffToldAt: Number.NEGATIVE_INFINITY,
    };
    this.#tallies.set(limiter, tally);
    return tally;
  }

  /** The present instant, after the core was told of a suspension if there was one. */
  #now(): Instant {
    const now = this.#around.runtime.now();
    if (this.#guard.wasSuspended(now)) this.#driver.input((present) => this.#core.suspended(present));
    return now;
  }

  #execute(effect: SharingEffect): void {
    const { logger, sendAsk, sendAnswer } = this.#around;
    switch (effect.do) {
      case 'ask':
        this.#tally(effect.ask.limiter).asks += 1;
        sendAsk(effect.to, effect.ask);
        break;
      case 'answer':
        sendAnswer(effect.to, effect.answer);
        break;
      case 'settle':
        this.#waiting.get(effect.id)?.(effect.result);
        this.#waiting.delete(effect.id);
        break;
      case 'differs':
        this.#differs(effect.limiter, effect.process, effect.ask);
        break;
      case 'trace':
        logger.debug(effect.event.what, effect.event.facts);
        break;
    }
  }

  #differs(limiter: string, process: string, ask: Ask): void {
    const own = this.#core.limiters.get(limiter)?.options;
    if (own === undefined) return;
    const theirs = limitText(ask.limit, ask.perMs, ask.burst, ask.onLoss, ask.size);
    const size = this.#around.directory.size ?? 0;
    const ours = limitText(own.rate.limit, own.rate.perMs, own.rate.burst, own.onLoss, size);
    const difference = { limiter, process, theirs, ours };
    this.#differences = [...this.differences, difference];
    this.events.append([{ kind: 'differs', ...difference }], this.#around.runtime.wallMs());
    const next = 'give the limiter the same limit in every process, or another name';
    this.#around.logger.warn(`limiter ${limiter} has another limit in another process`, {
      ...{ process, theirs, ours, next },
    });
  }
}

const noCounts = (): Counts => ({
  ...{ local: 0, owner: 0, batch: 0, cached: 0, share: 0, open: 0, closed: 0, spread: 0 },
});

const decisionsOf = ({ allowed, denied }: Tally): Record<string, number> =>
  Object.fromEntries(
    Object.entries({ allowed, denied }).flatMap(([outcome, counts]) =>
      Object.entries(counts).flatMap(([by, count]) => (count === 0 ? [] : [[`${outcome} by ${by}`, count]])),
    ),
  );

const limitText = (limit: number, perMs: number, burst: number, onLoss: string, size: number): string =>
  `${limit} per ${perMs} ms, burst ${burst}, onLoss ${onLoss}${size === 0 ? '' : `, size ${size}`}`;

/**
 * Owners lend whole tokens. With parts of tokens, processes that share a busy key wait for each other's remainders.
 *
 * @throws {InvalidOptionError}
 */
function checkWholeTokens(option: string, tokens: number): void {
  if (Number.isSafeInteger(tokens) && tokens >= 0) return;
  const rule = 'it must be a whole number that is not negative, because a shared limit lends whole tokens';
  throw new InvalidOptionError(
    option,
    tokens,
    `${rule}; count in smaller tokens: ten times the limit, burst and cost`,
  );
}

/** @throws {InvalidOptionError} unless the key is text that the wire can carry, and not too long */
function checked(key: string): string {
  checkKey(key);
  // Half of a pair of surrogates has no UTF-8: other processes would ask for another key, with a bucket of its own.
  if (!isWellFormed(key))
    throw new InvalidOptionError('key', 'ill-formed text', 'it must be well-formed Unicode');
  if (key.length <= KEY_MAX) return key;
  const rule = `a shared limit takes keys of at most ${KEY_MAX} characters; use a digest of it as the key`;
  throw new InvalidOptionError('key', `${key.length} characters long`, rule);
}
