/**
 * Handles on keys for the application: PRS's handle, with a signal.
 *
 * `isHeld()` reads the clock and is always right. The signal is a courtesy for work that waits on something else
 * and should stop: the signal aborts a little *before* the lease could end (or the deadline for giving the key back),
 * so that there is time to stop in. A blocked event loop delays the signal like any timer, until the first check that
 * fails; that is why the check exists.
 *
 *     ├──────────────── lease ───────────────┤
 *                                    │ abort │      unless renewed before that
 *
 * While keys move to another owner there is a moment in which nothing may be done with them, and they may stay all the same. Then `isHeld()` is
 * false, and the signal does not abort before the lease could end.
 *
 * One timer serves all handles. A renewal only moves ends further away, so the timer is left alone,
 * goes off, finds everything renewed and is set anew.
 */

import type { LeaseLostError } from '../../../runtime/errors.ts';
import type { Key } from '../../../runtime/keys/hash.ts';
import type { RangeSet } from '../../../runtime/keys/range-set.ts';
import type { Runtime } from '../../../runtime/runtime.ts';
import { earliest, type Instant, instant, later } from '../../../runtime/time.ts';
import { alarmOn, type Alarm } from '../../../runtime/driver.ts';
import { leaseLost } from '../errors.ts';

/** The methods of the owner that handles call. @internal */
export interface KeyHolder {
  isHeld(key: Key, number: number): boolean;
  /** Nothing may be done with the key, held continuously since `number`; but it may stay. */
  isOnItsWay(key: Key, number: number): boolean;
  /** When the lease on the key, held continuously since `number`, ends if nothing is heard, also while the key is on its way; undefined: ended. */
  endOf(key: Key, number: number): Instant | undefined;
  /** How long before that a signal aborts. */
  warningMs(): number;
}

/** A held key, and the number of the lease. Dispose the handle when done, if the signal was used. */
export interface HeldKey extends Disposable {
  readonly key: Key;
  /** For the store of the result to compare: of two numbers the greater one is the later. */
  readonly number: number;
  /** True if the key is held now, and no other owner can have held the key since the handle was made. */
  isHeld(): boolean;
  /** Aborts, with a {@link LeaseLostError}, before the lease ends or when the lease is lost. */
  readonly signal: AbortSignal;
}

/** @internal */
export class HeldKeys {
  readonly #holder: KeyHolder;
  readonly #runtime: Runtime;
  readonly #alarm: Alarm;
  /** Handles whose signal was used. */
  readonly #watched = new Set<Handle>();
  #dueAt: Instant = instant(Number.POSITIVE_INFINITY);

  constructor(holder: KeyHolder, runtime: Runtime) {
    this.#holder = holder;
    this.#runtime = runtime;
    this.#alarm = alarmOn(runtime, () => this.#look());
  }

  get watched(): number {
    return this.#watched.size;
  }

  /** @param stop another signal, which the handle's signal follows until disposed */
  hold(key: Key, number: number, stop?: AbortSignal): HeldKey {
    return new Handle(this, this.#holder, key, number, stop);
  }

  /** These keys are lost: tells their handles. */
  lost(ranges: RangeSet): void {
    for (const handle of this.#watched) if (ranges.has(handle.key)) this.#abort(handle);
  }

  /** These keys have to be given back, so their end may be nearer than before. */
  shortened(): void {
    if (this.#watched.size > 0) this.#look();
  }

  /** @internal */
  watch(handle: Handle): void {
    this.#watched.add(handle);
    this.#consider(handle);
    this.#alarm.set(this.#dueAt);
  }

  /** @internal */
  forget(handle: Handle): void {
    this.#watched.delete(handle);
    if (this.#watched.size > 0) return;
    this.#dueAt = instant(Number.POSITIVE_INFINITY);
    this.#alarm.set(undefined);
  }

  /** The owner is gone, and all keys too. */
  close(): void {
    for (const handle of this.#watched) this.#abort(handle);
    this.#alarm.set(undefined);
  }

  #look(): void {
    this.#dueAt = instant(Number.POSITIVE_INFINITY);
    for (const handle of this.#watched) this.#consider(handle);
    this.#alarm.set(this.#dueAt === Number.POSITIVE_INFINITY ? undefined : this.#dueAt);
  }

  #consider(handle: Handle): void {
    const end = this.#holder.endOf(handle.key, handle.number);
    const abortAt = end === undefined ? undefined : later(end, -this.#holder.warningMs());
    if (abortAt === undefined || abortAt <= this.#runtime.now()) this.#abort(handle);
    else this.#dueAt = earliest(this.#dueAt, abortAt);
  }

  #abort(handle: Handle): void {
    this.#watched.delete(handle);
    handle.abort();
  }
}

class Handle implements HeldKey {
  readonly key: Key;
  readonly number: number;
  readonly #keys: HeldKeys;
  readonly #holder: KeyHolder;
  #controller: AbortController | undefined;
  /**
   * This signal may live as long as the process, so nothing of ours may stay with it: hence a listener that is removed
   * again, and not `AbortSignal.any`.
   */
  #stop: AbortSignal | undefined;

  constructor(keys: HeldKeys, holder: KeyHolder, key: Key, number: number, stop: AbortSignal | undefined) {
    this.key = key;
    this.number = number;
    this.#keys = keys;
    this.#holder = holder;
    this.#stop = stop;
  }

  isHeld(): boolean {
    const isHeld = this.#holder.isHeld(this.key, this.number);
    if (!isHeld && !this.#holder.isOnItsWay(this.key, this.number)) this.abort();
    return isHeld;
  }

  get signal(): AbortSignal {
    if (this.#controller === undefined) {
      this.#controller = new AbortController();
      if (this.#stop?.aborted) this.#follow();
      else {
        this.#stop?.addEventListener('abort', this.#follow);
        this.#keys.watch(this);
      }
    }
    return this.#controller.signal;
  }

  abort(): void {
    this.#unfollow();
    this.#controller?.abort(leaseLost(this.key, this.number));
  }

  [Symbol.dispose](): void {
    this.#unfollow();
    this.#keys.forget(this);
  }

  readonly #follow = (): void => {
    const reason: unknown = this.#stop?.reason;
    this[Symbol.dispose]();
    this.#controller?.abort(reason);
  };

  #unfollow(): void {
    this.#stop?.removeEventListener('abort', this.#follow);
    this.#stop = undefined;
  }
}
