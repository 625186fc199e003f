/**
 * A peer's notice that a lease may be free, for a member that waits for the lease.
 *
 *     received ──► open ──attempted──► received again ──► open, after a pause ──► …      each pause is twice the one before
 *
 * The first notice starts an attempt at once. But a notice may be stale, and so may the register: the waiting member
 * would ask again, and be notified again. So from the second notice on there is a pause before the attempt, which
 * grows as long as attempts find the same lease.
 */

/** How often the pause doubles while notices lead to nothing. */
const DOUBLINGS_MAX = 4;

export class FreedNotice {
  /** Whether the sender is the holder, as far as the holder is known. */
  readonly isFromHolder: boolean;
  #atMs: number;
  #times = 0;
  #isOpen = false;

  constructor(isFromHolder: boolean, nowMs: number) {
    this.isFromHolder = isFromHolder;
    this.#atMs = nowMs;
  }

  /** When the attempt may begin, or began. */
  get atMs(): number {
    return this.#atMs;
  }

  /** Whether no attempt has begun since the notice. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** A notice arrived, perhaps a repetition. */
  received(nowMs: number, pauseMs: number): void {
    if (this.#isOpen) return;
    if (this.#times > 0) {
      const pausesMs = pauseMs * 2 ** Math.min(this.#times - 1, DOUBLINGS_MAX);
      this.#atMs = Math.max(nowMs, this.#atMs + pausesMs);
    }
    this.#times += 1;
    this.#isOpen = true;
  }

  attempted(): void {
    this.#isOpen = false;
  }
}
