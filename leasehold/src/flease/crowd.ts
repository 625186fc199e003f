/**
 * Who may begin an attempt when very many want to.
 *
 * So many are under way at a time. With more, answers would come later than they are waited for, and all attempts would be
 * made again: a hundred thousand leases are renewed one after the other, not all at once and in vain. Who wants to
 * renew comes first, or what is held would run out behind those who want more.
 */

import type { Claim, Purpose } from './claim.ts';

const ATTEMPTS_MAX = 4_096;

export class Crowd {
  /** In the order in which they came. */
  readonly #renewing = new Set<Claim>();
  readonly #others = new Set<Claim>();

  get isEmpty(): boolean {
    return this.#renewing.size === 0 && this.#others.size === 0;
  }

  isRenewing(claim: Claim): boolean {
    return this.#renewing.has(claim);
  }

  has(claim: Claim): boolean {
    return this.#renewing.has(claim) || this.#others.has(claim);
  }

  /** Whether there is room for it; if not, it stands in line. */
  enter(claim: Claim, purpose: Purpose, underWay: number): boolean {
    const isRenewal = purpose === 'renew';
    this.leave(claim, isRenewal ? 'others' : 'renewing');
    const hasRoom = underWay < ATTEMPTS_MAX && (isRenewal || this.#renewing.size === 0);
    if (hasRoom) this.leave(claim);
    else (isRenewal ? this.#renewing : this.#others).add(claim);
    return hasRoom;
  }

  leave(claim: Claim, line?: 'renewing' | 'others'): void {
    if (line !== 'others') this.#renewing.delete(claim);
    if (line !== 'renewing') this.#others.delete(claim);
  }

  /** The next ones, for as long as there is room. */
  *next(underWay: () => number): Iterable<Claim> {
    for (const line of [this.#renewing, this.#others]) {
      for (const claim of line) {
        if (underWay() >= ATTEMPTS_MAX) return;
        line.delete(claim);
        yield claim;
      }
    }
  }

  clear(): void {
    this.#renewing.clear();
    this.#others.clear();
  }
}
