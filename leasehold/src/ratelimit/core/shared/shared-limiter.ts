/**
 * One limit of one process that shares it with others: decides at once where possible, and otherwise asks the owner of the key.
 *
 *     request ──► this process holds the key ──────────► minter
 *             └─► tokens in hand ──────────────────────► allowed; asks for more in time
 *             └─► a denial that still holds ───────────► denied, without a message
 *             └─► ask the owner, wait at most askTimeoutMs ──► as the owner says
 *                        └─ no answer ─────────────────► whenCutOff
 *
 * A request that does not wait (`tryConsume`) is denied where another would wait, and its ask lets a later request find tokens.
 *
 * Once a request has waited in vain, or requests that do not wait had no answer for `askTimeoutMs`, later requests for the key are decided by
 * `whenCutOff` at once, until an owner answers. So an owner that does not answer costs each key one wait of `askTimeoutMs`.
 *
 * An owner whose address refuses connections is *gone*: its process has ended. Requests for its keys do not wait. To wait would be in vain, because the
 * next owner of the key mints nothing for the first `LOAN_MS`.
 */

import { type Instant, later } from '../../../runtime/time.ts';
import type { Rate } from '../local/rate.ts';
import { type RateLimitResult, resultOf } from '../local/result.ts';
import { type AskUnderWay, BorrowedKey, type Waiting } from './borrowed-key.ts';
import type { Directory } from './directory.ts';
import type { SharerEffect } from './effects.ts';
import type { Answer, Ask, WhenLost } from './messages.ts';
import { Minter } from './minter.ts';
import { GRANT_MS, REPORT_BELOW_MS } from './timing.ts';
import { type CutOffPolicy, CutOffLimiter } from './when-cut-off.ts';

export interface SharedLimiterOptions {
  readonly name: string;
  /** The limit that the limiter was made with. */
  readonly rate: Rate;
  readonly whenLost: WhenLost;
  readonly whenCutOff: CutOffPolicy;
  readonly askTimeoutMs: number;
  readonly maxKeys: number;
  readonly whenFull: 'deny' | 'admit';
}

/** When no owner is known, or the owner does not mint yet, waiting requests try again so often. */
const TRY_AGAIN_MS = 20;
/**
 * A denial is believed for so long. Then the owner is asked again: the key may have been reset there, or have another owner with a full bucket. So a flood of
 * denied requests costs one ask in this time.
 */
const DENIAL_MS = 3_000;
/** A request that did not wait is told to come again so soon that the tokens asked for are still there. */
const RETRY_WITHIN_MS = GRANT_MS / 4;

export class SharedLimiter {
  readonly options: SharedLimiterOptions;
  readonly minter: Minter;
  readonly #directory: Directory;
  readonly #newId: () => number;
  readonly #gone: ReadonlySet<string>;
  readonly #cutOff: CutOffLimiter;
  readonly #keys = new Map<string, BorrowedKey>();
  /** The asks whose answers count. */
  readonly #asked = new Map<number, { readonly ask: AskUnderWay; readonly borrowed: BorrowedKey }>();
  /** Keys of waiting requests, in the order in which their time is over. */
  readonly #deadlines: { readonly at: Instant; readonly key: BorrowedKey }[] = [];
  #tryAgain: { readonly at: Instant; readonly keys: Set<BorrowedKey> } | undefined;

  /**
   * @param gone the addresses that refuse connections; the set changes
   * @param minter the minter of this name so far, if others asked before this limiter was made
   */
  constructor(
    options: SharedLimiterOptions,
    directory: Directory,
    newId: () => number,
    gone: ReadonlySet<string>,
    minter: Minter | undefined,
  ) {
    this.options = options;
    this.#directory = directory;
    this.#newId = newId;
    this.#gone = gone;
    this.minter = minter ?? new Minter(options);
    this.minter.bound(options);
    this.#cutOff = new CutOffLimiter(options.whenCutOff, options.maxKeys);
  }

  /** Keys of which something is remembered. */
  get keys(): number {
    return this.minter.levels.keys + this.#keys.size;
  }

  get wakeAt(): Instant | undefined {
    const deadline = this.#deadlines[0]?.at;
    const again = this.#tryAgain?.at;
    if (deadline === undefined || again === undefined) return deadline ?? again;
    return deadline < again ? deadline : again;
  }

  /** One request: settled at once, or when the owner has answered, or after `askTimeoutMs`. */
  consume(
    key: string,
    id: number,
    cost: number,
    rate: Rate,
    now: Instant,
    askTimeoutMs: number = this.options.askTimeoutMs,
  ): SharerEffect[] {
    const result = this.decide(key, cost, rate, now);
    if (result === undefined) return this.wait(key, id, cost, rate, now, askTimeoutMs);
    const settled: SharerEffect = { do: 'settle', id, result };
    return this.wantsToSpeak(key, rate, now) ? [settled, ...this.speak(key, rate, now)] : [settled];
  }

  /** What is known of a key that another process owns; undefined: nothing. For {@link decide} and {@link wantsToSpeak}, which then need not look for it. */
  find(key: string): BorrowedKey | undefined {
    return this.#keys.size > 0 ? this.#keys.get(key) : undefined;
  }

  /** Decides with the tokens and denials at hand; undefined: the owner has to be asked. */
  decide(
    key: string,
    cost: number,
    rate: Rate,
    now: Instant,
    borrowed: BorrowedKey | undefined = this.find(key),
  ): RateLimitResult | undefined {
    if (cost > rate.burst) {
      return resultOf(now, rate, now, 'cost', Number.POSITIVE_INFINITY, 'owner');
    }
    let deniedMs = 0;
    if (borrowed !== undefined) {
      const blockedMs = borrowed.blockedForMs(now);
      if (blockedMs > 0) return borrowed.denial(blockedMs, rate, now);
      const tokens = borrowed.tokens(now);
      // Owners are asked for whole tokens, so a denial is of whole tokens, too.
      deniedMs = borrowed.deniedForMs(Math.ceil(cost - tokens), now);
      // Tokens in hand are good whichever process owns the key by now, and cost no look at the directory.
      if (tokens >= cost && deniedMs <= 0) {
        borrowed.take(cost);
        return borrowed.allowance(tokens - cost, rate, now);
      }
    }
    const right = this.#directory.rightTo(this.options.name, key, now);
    if (right !== undefined) {
      if (!right.isOpen) return this.#decideCutOff(borrowed, cost, rate, now);
      borrowed?.ownerAnswers();
      return this.minter.consume(key, cost, rate, right, this.options.whenLost);
    }
    if (borrowed === undefined) return undefined;
    if (deniedMs > 0) return borrowed.denial(deniedMs, rate, now);
    return this.#decideCutOff(borrowed, cost, rate, now);
  }

  /** Whether the owner should be asked or told something, although the last request was decided. */
  wantsToSpeak(
    key: string,
    rate: Rate,
    now: Instant,
    borrowed: BorrowedKey | undefined = this.find(key),
  ): boolean {
    if (borrowed === undefined || borrowed.askUnderWay(now) !== undefined) return false;
    return borrowed.cutOff !== undefined || borrowed.runsOut(now) || this.#shouldReport(borrowed, rate, now);
  }

  /** Asks for more, so that the next request need not wait; or tells the owner that its tokens are used. */
  speak(key: string, rate: Rate, now: Instant): SharerEffect[] {
    const borrowed = this.#borrow(key, now);
    if (borrowed.cutOff !== undefined || borrowed.runsOut(now)) return this.#ask(borrowed, 1, rate, now);
    return this.#report(borrowed, rate, now);
  }

  /** A request that could not be decided here: asks, and settles the request under this number. */
  wait(
    key: string,
    id: number,
    cost: number,
    rate: Rate,
    now: Instant,
    askTimeoutMs: number = this.options.askTimeoutMs,
  ): SharerEffect[] {
    if (!this.#hasRoomFor(key, now)) return [{ do: 'settle', id, result: this.#resultWhenFull(rate, now) }];
    const borrowed = this.#borrow(key, now);
    const until = later(now, askTimeoutMs);
    borrowed.waiting.push({ id, cost, rate, until });
    this.#addDeadline(until, borrowed);
    return this.#askForWaiting(borrowed, now);
  }

  /** The caller of this request waits no longer: nothing is taken for the request. The answer of its ask serves the next requests. */
  giveUp(key: string, id: number): SharerEffect[] {
    const waiting = this.find(key)?.waiting ?? [];
    const at = waiting.findIndex((each) => each.id === id);
    if (at >= 0) waiting.splice(at, 1);
    return [];
  }

  /** Most requests wait equally long, so the place of a deadline is nearly always the last. */
  #addDeadline(at: Instant, key: BorrowedKey): void {
    let place = this.#deadlines.length;
    while (place > 0 && (this.#deadlines[place - 1]?.at ?? at) > at) place -= 1;
    this.#deadlines.splice(place, 0, { at, key });
  }

  /** The result of a request that could not be decided here and that does not wait. {@link borrow} lets a later request be decided. */
  resultWithoutWaiting(key: string, rate: Rate, now: Instant): RateLimitResult {
    if (!this.#hasRoomFor(key, now)) return this.#resultWhenFull(rate, now);
    return resultOf(
      now,
      rate,
      now,
      'cut-off',
      Math.min(this.options.askTimeoutMs, RETRY_WITHIN_MS),
      'closed',
    );
  }

  /** A request of this cost could not be decided here and does not wait: asks, so that a later request finds tokens. */
  borrow(key: string, cost: number, rate: Rate, now: Instant): SharerEffect[] {
    if (!this.#hasRoomFor(key, now)) return [];
    const borrowed = this.#borrow(key, now);
    borrowed.unansweredSince ??= now;
    if (now >= later(borrowed.unansweredSince, this.options.askTimeoutMs)) {
      borrowed.cutOff ??= { since: now, lastAt: now };
    }
    return this.#askFor(borrowed, cost, rate, now);
  }

  /** Another process asks for tokens of a key, or reports the tokens left. */
  receiveAsk(from: string, ask: Ask, rate: Rate, now: Instant): SharerEffect[] {
    const right = this.#directory.rightTo(this.options.name, ask.key, now);
    if (ask.want === 0) {
      if (right !== undefined) this.minter.report(from, ask, rate, right);
      return [];
    }
    if (right === undefined || !right.isOpen) {
      return [{ do: 'answer', to: from, answer: { kind: 'later', id: ask.id } }];
    }
    const answer = this.minter.grant(from, ask, rate, right, this.options.whenLost);
    return [{ do: 'answer', to: from, answer }];
  }

  /** Undefined: no ask of this limiter has that number. */
  receiveAnswer(answer: Exclude<Answer, { kind: 'taken' }>, now: Instant): SharerEffect[] | undefined {
    const asked = this.#asked.get(answer.id);
    if (asked === undefined) return undefined;
    this.#asked.delete(answer.id);
    const { ask, borrowed } = asked;
    borrowed.endAsk();
    if (answer.kind === 'later') {
      if (borrowed.waiting.length > 0) this.#scheduleTryAgain(borrowed, now);
      return [];
    }
    borrowed.ownerAnswers();
    borrowed.resetAt = now + answer.resetMs;
    if (answer.kind === 'grant') {
      borrowed.granted(ask.id, answer.tokens, ask.at);
      borrowed.remaining = answer.remaining;
    } else {
      borrowed.denied(ask.need, later(now, answer.retryAfterMs), later(now, DENIAL_MS));
      borrowed.remaining = 0;
    }
    return this.#serve(borrowed, now);
  }

  /** Waiting requests whose time is over are decided without the owner; the others try again. */
  wake(now: Instant): SharerEffect[] {
    const effects: SharerEffect[] = [];
    for (let first = this.#deadlines[0]; first !== undefined && first.at <= now; first = this.#deadlines[0]) {
      this.#deadlines.shift();
      effects.push(...this.#giveUpWaiting(first.key, now));
    }
    if (this.#tryAgain !== undefined && this.#tryAgain.at <= now) effects.push(...this.directoryChanged(now));
    return effects;
  }

  /** Keys may have other owners: requests that wait without an ask try again. */
  directoryChanged(now: Instant): SharerEffect[] {
    const keys = this.#tryAgain?.keys ?? [];
    this.#tryAgain = undefined;
    return [...keys].flatMap((borrowed) => this.#serve(borrowed, now));
  }

  /** The process at this address is gone: asks that it did not answer are made again. */
  ownerLost(address: string, now: Instant): void {
    for (const [id, { ask, borrowed }] of this.#asked) {
      if (ask.to !== address) continue;
      this.#asked.delete(id);
      borrowed.endAsk();
      if (borrowed.waiting.length > 0) this.#scheduleTryAgain(borrowed, now);
    }
  }

  /** Nothing listens at this address: requests that wait for an answer from there are decided without the owner. */
  ownerGone(address: string, now: Instant): SharerEffect[] {
    this.ownerLost(address, now);
    return this.directoryChanged(now);
  }

  /** The machine was suspended: no batch can be trusted. */
  suspended(now: Instant): SharerEffect[] {
    this.#asked.clear();
    const effects: SharerEffect[] = [];
    for (const borrowed of this.#keys.values()) {
      borrowed.drop();
      if (borrowed.waiting.length > 0) effects.push(...this.#askForWaiting(borrowed, now));
    }
    return effects;
  }

  peek(key: string, rate: Rate, now: Instant): RateLimitResult {
    const right = this.#directory.rightTo(this.options.name, key, now);
    const borrowed = this.#keys.get(key);
    const isBlocked = borrowed !== undefined && borrowed.blockedForMs(now) > 0;
    if (right !== undefined && !isBlocked) return this.minter.peek(key, rate, right, this.options.whenLost);
    if (borrowed === undefined) return resultOf(now, rate, now, undefined, 0, 'batch');
    const deniedMs = borrowed.deniedForMs(1, now);
    return deniedMs > 0
      ? borrowed.denial(deniedMs, rate, now)
      : borrowed.allowance(borrowed.tokens(now), rate, now);
  }

  refund(key: string, tokens: number, rate: Rate, now: Instant): void {
    const right = this.#directory.rightTo(this.options.name, key, now);
    if (right !== undefined) this.minter.levels.refund(key, tokens, rate, right.at);
    else this.#keys.get(key)?.putBack(tokens, now);
  }

  /** Denies the key in this process, and for all processes if this process owns the key. */
  block(key: string, ms: number, rate: Rate, now: Instant): boolean {
    const right = this.#directory.rightTo(this.options.name, key, now);
    // The minting clock of a part of the limit runs as much slower.
    if (right !== undefined) return this.minter.levels.block(key, ms * right.share, rate, right.at);
    if (!this.#hasRoomFor(key, now)) return false;
    this.#borrow(key, now).block(later(now, ms));
    return true;
  }

  /** Lifts a block of this process. Gives the key all its tokens, if this process owns the key; otherwise forgets the last denial. */
  reset(key: string, now: Instant): void {
    this.#keys.get(key)?.reset();
    if (this.#directory.rightTo(this.options.name, key, now) !== undefined) this.minter.levels.reset(key);
  }

  #decideCutOff(
    borrowed: BorrowedKey | undefined,
    cost: number,
    rate: Rate,
    now: Instant,
  ): RateLimitResult | undefined {
    if (borrowed?.cutOff === undefined) return undefined;
    borrowed.cutOff.lastAt = now;
    return this.#cutOff.decide(
      borrowed.key,
      cost,
      rate,
      borrowed.cutOff.since,
      now,
      this.#directory.members?.(),
    );
  }

  /** Decides as many waiting requests as can be decided, in their order, and asks for the others. */
  #serve(borrowed: BorrowedKey, now: Instant): SharerEffect[] {
    const effects: SharerEffect[] = [];
    const { waiting } = borrowed;
    while (waiting[0] !== undefined) {
      const { id, cost, rate } = waiting[0];
      const result = this.decide(borrowed.key, cost, rate, now);
      if (result === undefined) break;
      waiting.shift();
      effects.push({ do: 'settle', id, result });
    }
    const [first] = waiting;
    if (first !== undefined) return [...effects, ...this.#askForWaiting(borrowed, now)];
    const { rate } = this.options;
    return this.#shouldReport(borrowed, rate, now)
      ? [...effects, ...this.#report(borrowed, rate, now)]
      : effects;
  }

  #shouldReport(borrowed: BorrowedKey, rate: Rate, now: Instant): boolean {
    return rate.refillMs < REPORT_BELOW_MS && borrowed.hasUsedAll(now);
  }

  #report(borrowed: BorrowedKey, rate: Rate, now: Instant): SharerEffect[] {
    const to = this.#directory.find(this.options.name, borrowed.key);
    if (to === undefined) return [];
    return [{ do: 'ask', to, ask: this.#askOf(borrowed, this.#newId(), 0, 0, rate, now) }];
  }

  #askOf(borrowed: BorrowedKey, id: number, need: number, want: number, rate: Rate, now: Instant): Ask {
    const { name, whenLost } = this.options;
    const { limit, perMs, burst } = rate;
    const isDefault = rate === this.options.rate;
    const left = borrowed.tellLeft(now);
    const maxServers = this.#directory.maxServers ?? 0;
    const { key } = borrowed;
    return {
      ...{ kind: 'ask', id, limiter: name, key, limit, perMs, burst, isDefault, whenLost },
      ...{ maxServers, need, want, left },
    };
  }

  #askForWaiting(borrowed: BorrowedKey, now: Instant): SharerEffect[] {
    const [first] = borrowed.waiting;
    return first === undefined ? [] : this.#askFor(borrowed, first.cost, first.rate, now);
  }

  #askFor(borrowed: BorrowedKey, cost: number, rate: Rate, now: Instant): SharerEffect[] {
    return this.#ask(borrowed, Math.max(1, Math.ceil(cost - borrowed.tokens(now))), rate, now);
  }

  #ask(borrowed: BorrowedKey, need: number, rate: Rate, now: Instant): SharerEffect[] {
    if (borrowed.askUnderWay(now) !== undefined) return [];
    const { name } = this.options;
    const { key } = borrowed;
    const to = this.#directory.find(name, key);
    if (to === undefined || this.#directory.rightTo(name, key, now) !== undefined) {
      if (borrowed.waiting.length > 0) this.#scheduleTryAgain(borrowed, now);
      return [];
    }
    const id = this.#newId();
    const want = Math.max(need, borrowed.wanted(rate, now));
    const message = this.#askOf(borrowed, id, need, want, rate, now);
    const ask = { id, to, need, at: now };
    const before = borrowed.ask(ask, want);
    if (before !== undefined) this.#asked.delete(before);
    this.#asked.set(id, { ask, borrowed });
    const asking: SharerEffect = { do: 'ask', to, ask: message };
    return this.#gone.has(to) ? [asking, ...this.#giveUpWaiting(borrowed, now, true)] : [asking];
  }

  #giveUpWaiting(borrowed: BorrowedKey, now: Instant, all: boolean = false): SharerEffect[] {
    const effects: SharerEffect[] = [];
    const { waiting } = borrowed;
    // A request may wait for less time than the requests before it.
    for (let place = 0; place < waiting.length; ) {
      const { id, cost, rate, until } = waiting[place] as Waiting;
      if (!all && until > now) {
        place += 1;
        continue;
      }
      waiting.splice(place, 1);
      borrowed.cutOff ??= { since: now, lastAt: now };
      const blockedMs = borrowed.blockedForMs(now);
      const result =
        blockedMs > 0
          ? borrowed.denial(blockedMs, rate, now)
          : this.#cutOff.decide(
              borrowed.key,
              cost,
              rate,
              borrowed.cutOff.since,
              now,
              this.#directory.members?.(),
            );
      effects.push({ do: 'settle', id, result });
    }
    return effects;
  }

  #scheduleTryAgain(borrowed: BorrowedKey, now: Instant): void {
    this.#tryAgain ??= { at: later(now, TRY_AGAIN_MS), keys: new Set() };
    this.#tryAgain.keys.add(borrowed);
  }

  /** Whether the key may be remembered, after idle keys were looked for if the table is full. */
  #hasRoomFor(key: string, now: Instant): boolean {
    const { maxKeys } = this.options;
    if (this.#keys.size < maxKeys || this.#keys.has(key)) return true;
    this.#sweep(now);
    return this.#keys.size < maxKeys;
  }

  #resultWhenFull(rate: Rate, now: Instant): RateLimitResult {
    const { whenFull, askTimeoutMs } = this.options;
    if (whenFull === 'admit') return resultOf(now, rate, now, undefined, 0, 'local');
    return resultOf(now, rate, now, 'full', askTimeoutMs, 'closed');
  }

  #borrow(key: string, now: Instant): BorrowedKey {
    const known = this.#keys.get(key);
    if (known !== undefined) return known;
    this.#sweep(now);
    const borrowed = new BorrowedKey(key);
    this.#keys.set(key, borrowed);
    return borrowed;
  }

  /** Looks at the two keys that were looked at the longest time ago, and forgets them if they are idle. */
  #sweep(now: Instant): void {
    let looked = 0;
    for (const [key, borrowed] of this.#keys) {
      this.#keys.delete(key);
      if (!borrowed.isIdle(now, this.#cutOff.rememberedMs)) this.#keys.set(key, borrowed);
      else if (borrowed.lastAskId !== undefined) this.#asked.delete(borrowed.lastAskId);
      looked += 1;
      if (looked === 2) return;
    }
  }
}
