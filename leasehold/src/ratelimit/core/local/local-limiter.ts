/**
 * Decides in this process alone: a table of buckets, and what each operation does to one of them.
 *
 * Every operation is synchronous and takes the present instant, so two requests of one process can never both take the
 * last token. A request that is denied changes nothing, whatever its cost.
 *
 * The limit may differ from call to call, because plans differ between customers. A bucket is kept as the instant at
 * which it is full; when the limit of a key changes, that instant stays. So a key whose limit rises is full again no
 * later than before, and a key whose limit falls keeps its debt.
 */

import { invalidOption } from '../../../runtime/errors.ts';
import { debtMs, fullAfter, isPermitted, retryWhenFullMs, spareMs } from './bucket.ts';
import { KeyTable, NOWHERE } from './key-table.ts';
import type { Rate } from './rate.ts';
import { type DeniedBecause, type RateLimitResult, resultOf } from './result.ts';

export interface LocalLimiterOptions {
  readonly maxKeys: number;
  /** What becomes of a new key when the table is full. */
  readonly whenFull: 'deny' | 'admit';
  /** When the table is full, a key that lacks at most one token, and has another, is forgotten for a new one. The key has that token back. */
  readonly spares?: boolean;
}

export class LocalLimiter {
  #options: LocalLimiterOptions;
  readonly #table: KeyTable;

  constructor(options: LocalLimiterOptions) {
    this.#options = options;
    this.#table = new KeyTable(options.maxKeys);
  }

  /** Keeps to these bounds from now on. Keys beyond them stay until they have all their tokens. */
  bound(options: LocalLimiterOptions): void {
    this.#options = options;
    this.#table.maxKeys = options.maxKeys;
  }

  /** Keys with a bucket that was not full when the table last looked at it. */
  get keys(): number {
    return this.#table.size;
  }

  consume(key: string, cost: number, rate: Rate, now: number): RateLimitResult {
    const place = this.#find(key);
    const fullAt = place === NOWHERE ? now : this.#table.fullAt(place);
    checkNotNegative('cost', cost);
    if (cost > rate.burst) return result(fullAt, rate, now, 'cost', Number.POSITIVE_INFINITY);
    const charged = fullAfter(fullAt, now, cost, rate);
    const debt = debtMs(charged, now, rate);
    if (!isPermitted(debt, rate)) return result(fullAt, rate, now, 'rate', debt);
    const spare = this.#options.spares === true ? spareMs(rate) : 0;
    const stored = place === NOWHERE ? this.#table.place(key, now, spare) : place;
    if (stored !== NOWHERE) this.#table.set(stored, charged);
    else if (this.#options.whenFull === 'deny')
      return result(fullAt, rate, now, 'full', retryWhenFullMs(rate));
    return result(charged, rate, now, undefined, 0);
  }

  /** How the key stands: whether a request for one token would be allowed, and how many tokens there are. */
  peek(key: string, rate: Rate, now: number): RateLimitResult {
    const place = this.#find(key);
    const fullAt = place === NOWHERE ? now : this.#table.fullAt(place);
    const debt = debtMs(fullAfter(fullAt, now, 1, rate), now, rate);
    return isPermitted(debt, rate)
      ? result(fullAt, rate, now, undefined, 0)
      : result(fullAt, rate, now, 'rate', debt);
  }

  /** Gives back tokens that were charged and not used. A bucket never holds more than its burst. */
  refund(key: string, tokens: number, rate: Rate, now: number): void {
    checkNotNegative('tokens', tokens);
    const place = this.#find(key);
    if (place === NOWHERE) return;
    this.#table.set(place, Math.max(now, this.#table.fullAt(place) - tokens * rate.msPerToken));
  }

  /**
   * Denies the key for `ms`; then the key has one token, and the others come back at the key's rate. False when the table
   * is full and the key is new: then nothing was blocked.
   */
  block(key: string, ms: number, rate: Rate, now: number): boolean {
    checkNotNegative('ms', ms);
    const found = this.#find(key);
    const place = found === NOWHERE ? this.#table.place(key, now) : found;
    if (place === NOWHERE) return false;
    const blocked = now + ms + rate.refillMs - rate.msPerToken;
    this.#table.set(place, found === NOWHERE ? blocked : Math.max(this.#table.fullAt(place), blocked));
    return true;
  }

  /** Gives the key all its tokens. */
  reset(key: string): void {
    if (this.#find(key) !== NOWHERE) this.#table.forget(key);
  }

  /** All keys that are remembered. */
  remembered(): Iterable<string> {
    return this.#table.keys();
  }

  /** Where the key's bucket is, for {@link fullAt} and {@link setFullAt} of the same instant. */
  placeOf(key: string): number {
    return this.#table.find(key);
  }

  /** When the bucket in this place is full; not after `now` if it is. */
  fullAt(place: number, now: number): number {
    return place === NOWHERE ? now : this.#table.fullAt(place);
  }

  /**
   * Sets when the key's bucket is full. False when the table is full and new keys are denied.
   *
   * @param spare when the table is full, a bucket that would be full in so long gives its place up
   */
  setFullAt(key: string, found: number, fullAt: number, now: number, spare: number = 0): boolean {
    const place = found === NOWHERE ? this.#table.place(key, now, spare) : found;
    if (place === NOWHERE) return this.#options.whenFull === 'admit';
    this.#table.set(place, fullAt);
    return true;
  }

  #find(key: string): number {
    checkKey(key);
    return this.#table.find(key);
  }
}

const result = (
  fullAt: number,
  rate: Rate,
  now: number,
  denied: DeniedBecause | undefined,
  retryAfterMs: number,
): RateLimitResult => resultOf(fullAt, rate, now, denied, retryAfterMs, 'local');

/** In UTF-16 units. A shared key and the name of its limiter are a key of a pool together. */
export const KEY_MAX = 3_900;

/** @throws {InvalidArgumentError} unless the key is text that is not too long */
export function checkKey(key: string): void {
  if (typeof key !== 'string' || key === '') {
    const rule = 'it must be text that is not empty; pass a number as String(id)';
    throw invalidOption('key', key, rule);
  }
  if (key.length <= KEY_MAX) return;
  const rule = `a limiter takes keys of at most ${KEY_MAX} characters; use a digest of it as the key`;
  throw invalidOption('key', `${key.length} characters long`, rule);
}

/** @throws {InvalidArgumentError} unless the value is finite and at least 0 */
export function checkNotNegative(option: string, value: number): void {
  if (!Number.isFinite(value) || value < 0) {
    throw invalidOption(option, value, 'it must be a finite number that is not negative');
  }
}
