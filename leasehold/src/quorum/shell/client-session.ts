/**
 * The session under which a client writes: the numbers of writes, and which of them are answered.
 *
 *     closed ──first write──► opening ──opened──► open ──idle for half of the session time, or expired──► closed
 *
 * A repeated write keeps its number, so the cell applies the write once. When the cell has forgotten the session, a write
 * that was sent once was surely not applied, and is sent under the next session. If the write was sent more often, the
 * outcome is unknown.
 */

import type { Instant } from '../../runtime/time.ts';

/** A client may be so far ahead of the oldest unanswered write; the cell takes 1,024. */
const AHEAD_MAX = 1_000;

export interface NumberedWrite {
  readonly session: number;
  readonly number: number;
}

export class ClientSession {
  #state:
    | { readonly is: 'closed' }
    | { readonly is: 'opening' }
    | { readonly is: 'open'; readonly id: number; next: number; usedAt: Instant } = { is: 'closed' };
  /** Numbers that are not answered, rising. */
  readonly #open = new Set<number>();

  get id(): number | undefined {
    return this.#state.is === 'open' ? this.#state.id : undefined;
  }

  get isClosed(): boolean {
    return this.#state.is === 'closed';
  }

  opening(): void {
    this.#state = { is: 'opening' };
  }

  opened(id: number, now: Instant): void {
    this.#state = { is: 'open', id, next: 1, usedAt: now };
    this.#open.clear();
  }

  /** Closes the session, unless another one is open by now. */
  close(id: number | undefined = this.id): void {
    if (this.#state.is === 'open' && this.#state.id !== id) return;
    this.#state = { is: 'closed' };
    this.#open.clear();
  }

  /** Whether the cell may be about to forget the session because it was not used. */
  isIdle(now: Instant, sessionMs: number): boolean {
    return this.#state.is === 'open' && this.#open.size === 0 && now - this.#state.usedAt > sessionMs / 2;
  }

  /** The number of the next write; undefined if there is no session, or too many writes are not answered. */
  number(now: Instant): NumberedWrite | undefined {
    const state = this.#state;
    if (state.is !== 'open' || state.next >= this.answeredBelow + AHEAD_MAX) return undefined;
    const { id, next } = state;
    state.next += 1;
    state.usedAt = now;
    this.#open.add(next);
    return { session: id, number: next };
  }

  answered({ session, number }: NumberedWrite): void {
    if (session === this.id) this.#open.delete(number);
  }

  /** All writes below this number are answered. */
  get answeredBelow(): number {
    for (const number of this.#open) return number;
    return this.#state.is === 'open' ? this.#state.next : 1;
  }
}
