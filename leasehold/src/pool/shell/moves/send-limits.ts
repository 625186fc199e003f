/**
 * How much an owner may send: what may be unacknowledged in all its streams together, and how fast items may leave.
 *
 * Each stream has a window of its own (`attempt.ts`); here are the bounds of the sum. The frames of a stop wait for neither, because the keys are not served
 * meanwhile; they count in both, so the other streams wait for them.
 */

import type { Runtime } from '../../../runtime/runtime.ts';

export const UNACKNOWLEDGED_BYTES_MAX: number = 16 * 1024 * 1024;

export interface SendLimitsOptions {
  readonly runtime: Runtime;
  /** @default no limit */
  readonly bytesPerSecond?: number | undefined;
}

export class SendLimits {
  readonly #runtime: Runtime;
  readonly #bytesPerMs: number;
  #unacknowledged = 0;
  /** Called once, when there is room again. */
  readonly #waiting = new Set<() => void>();
  /** A token bucket: what may leave at once; below 0, how much has left ahead of its time. */
  #tokens = 0;
  #filledAt: number;

  constructor({ runtime, bytesPerSecond = Number.POSITIVE_INFINITY }: SendLimitsOptions) {
    this.#runtime = runtime;
    this.#bytesPerMs = bytesPerSecond / 1_000;
    this.#filledAt = runtime.now();
  }

  get #isLimited(): boolean {
    return this.#bytesPerMs < Number.POSITIVE_INFINITY;
  }

  get unacknowledgedBytes(): number {
    return this.#unacknowledged;
  }

  /** Whether so many bytes may leave now. A single frame may be larger than all that may be unacknowledged. If not, `retry` is called when it is worth to ask again. */
  hasRoom(bytes: number, retry: () => void): boolean {
    if (this.#unacknowledged === 0 || this.#unacknowledged + bytes <= UNACKNOWLEDGED_BYTES_MAX) return true;
    this.#waiting.add(retry);
    return false;
  }

  /** How long until something may leave. */
  waitMs(): number {
    this.#fill();
    // Less than a byte is nothing, or the rounding of the clock would keep it waiting.
    return this.#tokens > -1 ? 0 : Math.max(1, -this.#tokens / this.#bytesPerMs);
  }

  left(bytes: number): void {
    this.#fill();
    if (this.#isLimited) this.#tokens -= bytes;
    this.#unacknowledged += bytes;
  }

  acknowledged(bytes: number): void {
    this.#unacknowledged -= bytes;
    const waiting = [...this.#waiting];
    this.#waiting.clear();
    for (const retry of waiting) retry();
  }

  /** Nothing is saved up: after a pause items leave at the same pace as before. */
  #fill(): void {
    if (!this.#isLimited) return;
    const now = this.#runtime.now();
    this.#tokens = Math.min(0, this.#tokens + (now - this.#filledAt) * this.#bytesPerMs);
    this.#filledAt = now;
  }
}
