/**
 * A process that shares limits with others: the core of `shared/sharer.ts` with a clock, connections and a pool.
 *
 * A request that can be decided here is decided in the same call, without an effect and without a timer. Every decision first asks whether
 * the machine was suspended, with the same reading of the clock.
 *
 * Each process listens for asks, and dials the owners of the keys that it needs. An answer goes back over the connection of the ask.
 */

import { HandleEvents } from '../../node/service/handle-events.ts';
import type { Service } from '../../node/service/service.ts';
import { atEndOfTurn } from '../../node/turn.ts';
import { closed } from '../../pool/shell/errors.ts';
import { alarmOn, Driver } from '../../runtime/driver.ts';
import { invalidOption, type LeaseholdError } from '../../runtime/errors.ts';
import {
  type CallOptions,
  Closing,
  type Event,
  type EventsOptions,
  type Handle,
  type Problem,
} from '../../runtime/handle.ts';
import type { Logger } from '../../runtime/logger.ts';
import { onAbort } from '../../runtime/on-abort.ts';
import { pause } from '../../runtime/pause.ts';
import type { Runtime } from '../../runtime/runtime.ts';
import { SuspensionGuard } from '../../runtime/suspension.ts';
import { isWellFormed } from '../../runtime/text-option.ts';
import { type Instant, later } from '../../runtime/time.ts';
import { waitWithin } from '../../runtime/wait-within.ts';
import { checkKey, checkNotNegative } from '../core/local/local-limiter.ts';
import type { Rate } from '../core/local/rate.ts';
import type { RateLimitResult } from '../core/local/result.ts';
import type { Directory } from '../core/shared/directory.ts';
import type { SharerEffect } from '../core/shared/effects.ts';
import { HAND_OVER_MS } from '../core/shared/hand-over.ts';
import type { Answer, Ask, HandOver } from '../core/shared/messages.ts';
import type { SharedLimiter, SharedLimiterOptions } from '../core/shared/shared-limiter.ts';
import { Sharer } from '../core/shared/sharer.ts';
import { SUSPENSION_TOLERANCE_MS } from '../core/shared/timing.ts';
import type { Decider } from './decider.ts';
import { limitService, NO_KEYS_YET } from './service/service.ts';
import type { LimitDifference, SharedLimitsStatus } from './status.ts';
import { Tally } from './tally.ts';

/** @internal */
export interface SharedLimitsDependencies {
  readonly name: string;
  /** The pool or the group. */
  readonly instance: string;
  /** Where this process is asked, as host:port. */
  readonly address: string;
  /** Names this run of the process, in letters and digits. */
  readonly epoch: string;
  readonly directory: Directory;
  /** Whether the owners of keys are those of a group, and not of a pool. */
  readonly isOnGroup?: boolean;
  readonly runtime: Runtime;
  readonly logger: Logger;
  sendAsk(address: string, ask: Ask | HandOver): void;
  sendAnswer(process: string, answer: Answer): void;
  /** Gives all keys back, where others own them only after that. */
  release?(): Promise<void>;
  close(): Promise<void>;
}

interface Difference extends LimitDifference {
  readonly since: Instant;
}

/** While something is waited for. */
const LOOK_EVERY_MS = 10;

/** The limits that this process shares with others; `ratelimit({ shared })` makes one. Keep it open as long as requests come. */
export class SharedLimits implements Handle<SharedLimitsStatus> {
  readonly #around: SharedLimitsDependencies;
  readonly #core: Sharer;
  readonly #driver: Driver<SharerEffect>;
  readonly #guard: SuspensionGuard;
  readonly #waiting = new Map<number, (result: RateLimitResult) => void>();
  #differences: Difference[] = [];
  readonly #tallies = new Map<string, Tally>();
  readonly #events: HandleEvents<'ratelimit'>;
  readonly #closing = new Closing();
  #ids = 0;
  #hasBegun = false;
  #cutOffSince: Instant | undefined;

  /** @internal */
  toService(): Service {
    return limitService(this, this.#events.log);
  }

  /** @internal */
  constructor(around: SharedLimitsDependencies) {
    const { runtime, directory } = around;
    this.#around = around;
    // Fewer asks than one in a microsecond: so the numbers grow from one run of shared limits in a process to the next.
    this.#core = new Sharer(directory, Math.floor(1_000 * runtime.now()));
    this.#events = new HandleEvents(around.epoch, around.instance, runtime);
    this.#guard = new SuspensionGuard(runtime, SUSPENSION_TOLERANCE_MS);
    this.#driver = new Driver<SharerEffect>({
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

  /** @internal The pool or the group whose processes share the limits. */
  get instance(): string {
    return this.#around.instance;
  }

  /** @internal Whether the processes are the servers of a group. */
  get isOnGroup(): boolean {
    return this.#around.isOnGroup === true;
  }

  /** @internal */
  get isClosed(): boolean {
    return this.#closing.isOver;
  }

  /** @internal Why this process owns no keys, if it should. */
  get whyCutOff(): string | undefined {
    const why = this.isClosed ? undefined : this.#around.directory.whyCutOff?.();
    if (why === undefined) this.#cutOffSince = undefined;
    else this.#cutOffSince ??= this.#around.runtime.now();
    return why;
  }

  /** @internal This process has owned keys and could mint them once. Later, keys may change hands for a moment at any time, and requests go on meanwhile. */
  get hasBegun(): boolean {
    this.#hasBegun ||= this.#decides;
    return this.#hasBegun;
  }

  /** The limits of this process, its decisions so far, and what stands in their way. */
  status(): SharedLimitsStatus {
    const { name, instance, address } = this.#around;
    const { whyCutOff, hasBegun, isClosed } = this;
    const limiters = [...this.#core.limiters.values()].map(({ options, keys }) => {
      const { decisions, asks } = this.#tally(options.name);
      const { limit, perMs, burst } = options.rate;
      const { whenLost, whenCutOff } = options;
      return {
        ...{ name: options.name, limit, perMs, burst, whenLost, whenCutOff: whenCutOff.kind },
        ...{ keys, decisions, asks },
      };
    });
    const isReady = !isClosed && hasBegun && whyCutOff === undefined;
    const waitsFor = isClosed ? 'nothing: they were closed' : (whyCutOff ?? NO_KEYS_YET);
    const differences = this.#recentDifferences();
    return {
      ...{ module: 'ratelimit', role: 'member', instance, name, address, isReady },
      waitsFor: isReady ? undefined : waitsFor,
      problems: this.#problems(whyCutOff, differences),
      limiters,
      differences: differences.map(({ limiter, process, theirs, ours }) => ({
        ...{ limiter, process, theirs, ours },
      })),
    };
  }

  #problems(whyCutOff: string | undefined, differences: readonly Difference[]): readonly Problem[] {
    const now = this.#around.runtime.now();
    const forMs = (since: Instant | undefined): number => Math.round(now - (since ?? now));
    const command = 'leasehold ratelimit status';
    const cutOff: readonly Problem[] =
      whyCutOff === undefined
        ? []
        : [
            {
              ...{ id: 'keys', level: 'failing', what: whyCutOff, sinceMs: forMs(this.#cutOffSince) },
              ...{ cure: 'do what the message says; this process goes on asking by itself', command },
            },
          ];
    const differing = differences.map(
      ({ limiter, process, theirs, ours, since }): Problem => ({
        ...{ id: `differs ${limiter} ${process}`, level: 'warning', sinceMs: forMs(since), command },
        what: `limiter ${limiter} has another limit in process ${process}: ${theirs}, and here ${ours}`,
        cure: SAME_EVERYWHERE,
      }),
    );
    return [...cutOff, ...differing];
  }

  #recentDifferences(): readonly Difference[] {
    const now = this.#around.runtime.now();
    this.#differences = this.#differences.filter(({ process, limiter }) =>
      this.#core.stillDiffers(process, limiter, now),
    );
    return this.#differences;
  }

  /** @internal The level of a key, as this process knows it; undefined: there is no such limiter here. */
  peek(limiter: string, key: string): RateLimitResult | undefined {
    const found = this.#core.limiters.get(limiter);
    return found?.peek(checked(key), found.options.rate, this.#now());
  }

  /**
   * Resolves once this process decides as it will from then on: it owns keys and may mint them, and knows the other owners. A process that takes requests before that lets
   * through its part of the limit, as with `whenCutOff`. Wait for it before the process says that it is ready.
   *
   * @throws {UnavailableError} when the time is over
   * @throws {ClosedError} if the limits are closed before that
   * @throws {InvalidArgumentError} in a group that has more servers than `maxServers`
   */
  async ready(options: CallOptions = {}): Promise<void> {
    const what = 'the right of this process to mint keys of its own';
    await waitWithin(this.#around.runtime, ['ratelimit', what], options, async (signal) => {
      while (!this.#decides) {
        signal?.throwIfAborted();
        if (this.isClosed) throw closed('the shared limits');
        const { directory, isOnGroup } = this.#around;
        const why = isOnGroup === true ? directory.whyCutOff?.() : undefined;
        if (why !== undefined) throw invalidOption('maxServers', directory.maxServers, why);
        // The end of a loan is no input of the core.
        await pause(this.#around.runtime, LOOK_EVERY_MS, signal);
      }
    });
    this.#hasBegun = true;
  }

  /** Whether this process owns keys and may mint them at this instant, and no rule of the configuration is broken. */
  get #decides(): boolean {
    if (this.isClosed) return false;
    const { directory } = this.#around;
    return directory.whyCutOff?.() === undefined && directory.isReady?.(this.#now()) !== false;
  }

  /** What happened: `ratelimit.cut-off`, `ratelimit.differs`. Ends when the limits are closed. */
  events(options: EventsOptions = {}): AsyncIterable<Event> {
    return this.#events.follow(options);
  }

  /** Resolves when the limits are closed. They fail in no other way: a process that is cut off goes on asking. */
  get closed(): Promise<LeaseholdError | undefined> {
    return this.#closing.closed;
  }

  /**
   * Stops sharing: hands the levels of its keys over to their next owners, so that these begin neither full nor empty. Requests that wait, and all later ones, are decided by
   * `whenCutOff`; those denied are denied as `closed`. In a group, close the limits before the group.
   */
  async close(): Promise<void> {
    await this.#closing.close(() => this.#leave());
  }

  async #leave(): Promise<void> {
    const { runtime, release, close } = this.#around;
    this.#driver.input((now) => this.#core.leave(now));
    const overAt = later(runtime.now(), HAND_OVER_MS);
    try {
      await release?.();
      // Of keys that have no next owner yet nothing is unconfirmed: the directory is asked again at every change.
      while (runtime.now() < overAt && this.#core.isHandingOver) await pause(runtime, LOOK_EVERY_MS);
    } finally {
      this.#events.close();
      await close();
    }
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
  receiveHandOver(from: string, page: HandOver): void {
    this.#driver.input((now) => this.#core.receiveHandOver(from, page, now));
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
      consume: (key, cost, rate, wait) => {
        if (wait?.timeoutMs !== undefined) checkNotNegative('timeoutMs', wait.timeoutMs);
        const decided = this.#decide(limiter, tally, key, cost, rate);
        return decided ?? this.#wait(limiter, tally, key, cost, rate, wait);
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
        checkNotNegative('forMs', ms);
        return limiter.block(checked(key), ms, rate, this.#now());
      },
      reset: (key) => limiter.reset(checked(key), this.#now()),
    };
  }

  /** Until the owner of the key has answered, the time is over, or the caller gives up. */
  #wait(
    limiter: SharedLimiter,
    tally: Tally,
    key: string,
    cost: number,
    rate: Rate,
    { timeoutMs, signal }: CallOptions = {},
  ): Promise<RateLimitResult> {
    return new Promise((resolve, reject) => {
      this.#ids += 1;
      const id = this.#ids;
      const aborting = onAbort(signal, () => {
        this.#waiting.delete(id);
        this.#driver.input(() => limiter.giveUp(key, id));
        reject(signal?.reason);
      });
      this.#waiting.set(id, (result) => {
        aborting[Symbol.dispose]();
        resolve(this.#counted(limiter, tally, result));
      });
      this.#driver.input((now) => limiter.wait(key, id, cost, rate, now, timeoutMs));
    });
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

  /** Counts a result. The owner of a key cannot answer a process that has closed its shared limits, and the result says so. */
  #counted({ options }: SharedLimiter, tally: Tally, result: RateLimitResult): RateLimitResult {
    tally.count(result);
    if (tally.isNewsOfCutOff(result, this.#around.runtime.now()))
      this.#events.tell('ratelimit.cut-off', { limiter: options.name, by: result.by });
    return this.isClosed && result.denied === 'cut-off' ? { ...result, denied: 'closed' } : result;
  }

  #tally(limiter: string): Tally {
    const known = this.#tallies.get(limiter);
    if (known !== undefined) return known;
    const tally = new Tally();
    this.#tallies.set(limiter, tally);
    return tally;
  }

  /** The present instant, after the core was told of a suspension if there was one. */
  #now(): Instant {
    const now = this.#around.runtime.now();
    if (this.#guard.wasSuspended(now)) this.#driver.input((present) => this.#core.suspended(present));
    return now;
  }

  #execute(effect: SharerEffect): void {
    const { logger, sendAsk, sendAnswer } = this.#around;
    switch (effect.do) {
      case 'ask':
        this.#tally(effect.ask.limiter).asks += 1;
        sendAsk(effect.to, effect.ask);
        break;
      case 'hand-over':
        sendAsk(effect.to, effect.page);
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
    const theirs = limitText(ask.limit, ask.perMs, ask.burst, ask.whenLost, ask.maxServers);
    const { runtime, directory, logger } = this.#around;
    const { rate, whenLost } = own;
    const ours = limitText(rate.limit, rate.perMs, rate.burst, whenLost, directory.maxServers ?? 0);
    const difference = { limiter, process, theirs, ours };
    this.#differences = [...this.#recentDifferences(), { ...difference, since: runtime.now() }];
    this.#events.tell('ratelimit.differs', difference);
    logger.warn(`limiter ${limiter} has another limit in another process`, {
      ...{ process, theirs, ours, next: SAME_EVERYWHERE },
    });
  }
}

const SAME_EVERYWHERE = 'give the limiter the same limit in every process, or another name';

const limitText = (
  limit: number,
  perMs: number,
  burst: number,
  whenLost: string,
  maxServers: number,
): string =>
  `${limit} per ${perMs} ms, burst ${burst}, whenLost ${whenLost}${maxServers === 0 ? '' : `, maxServers ${maxServers}`}`;

/**
 * Owners lend whole tokens. With parts of tokens, processes that share a busy key wait for each other's remainders.
 *
 * @throws {InvalidArgumentError}
 */
function checkWholeTokens(option: string, tokens: number): void {
  if (Number.isSafeInteger(tokens) && tokens >= 0) return;
  const rule = 'it must be a whole number that is not negative, because a shared limit lends whole tokens';
  throw invalidOption(
    option,
    tokens,
    `${rule}; count in smaller tokens: ten times the limit, burst and cost`,
  );
}

/** @throws {InvalidArgumentError} unless the key is text that the wire can carry */
function checked(key: string): string {
  checkKey(key);
  // Half of a pair of surrogates has no UTF-8: other processes would ask for another key, with a bucket of its own.
  if (!isWellFormed(key)) throw invalidOption('key', 'ill-formed text', 'it must be well-formed Unicode');
  return key;
}
