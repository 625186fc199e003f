/**
 * Somebody's word that a lease may be had, for who waits for it.
 *
 *     said ──► open ──looked into──► said again ──► open, after a pause ──► …      each pause is twice the one before
 *
 * The first time that is looked into at once. But the word may be out of date, or what is written may be; then whoever has
 * looked asks again, and is told the same again. So from the second time on there is a pause between, which grows for as
 * long as the same is found.
 */

/** How often the pause between two of them doubles, if they lead to nothing. */
const DOUBLINGS_MAX = 4;

export class Hint {
  /** Whether who has it has said so, as far as we know who that is. */
  readonly isHolders: boolean;
  #atMs: number;
  #times = 0;
  #isOpen = false;

  constructor(isHolders: boolean, nowMs: number) {
    this.isHolders = isHolders;
    this.#atMs = nowMs;
  }

  /** When it is to be looked into, or was. */
  get atMs(): number {
    return this.#atMs;
  }

  /** Whether no attempt was begun since it was said. */
  get isOpen(): boolean {
    return this.#isOpen;
  }

  /** It is said, perhaps again. */
  said(nowMs: number, pauseMs: number): void {
    if (this.#isOpen) return;
    if (this.#times > 0) {
      const pausesMs = pauseMs * 2 ** Math.min(this.#times - 1, DOUBLINGS_MAX);
      this.#atMs = Math.max(nowMs, this.#atMs + pausesMs);
    }
    this.#times += 1;
    this.#isOpen = true;
  }

  lookedInto(): void {
    this.#isOpen = false;
  }
}
