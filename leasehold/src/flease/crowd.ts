/**
 * Who may begin an attempt when very many want to.
 *
 * So many are under way at a time. With more, answers would come later than they are waited for, and all attempts
 * would be made again: a hundred thousand leases are renewed one after the other, not all at once and in vain. Who
 * wants to renew comes first, or what is held would run out behind those who want more.
 */

import type { Purpose } from './attempt.ts';
import type { Claim } from './claim.ts';

const ATTEMPTS_MAX = 4_096;

/**
 * In the order in which they came. A Set keeps a gap for each that left until it is compacted. Starting at the front
 * each time would pass them all, which for fifty thousand in line is most of the work; so one iterator is kept.
 */
class Line {
  readonly #claims = new Set<Claim>();
  #rest: Iterator<Claim> = this.#claims.values();

  get size(): number {
    return this.#claims.size;
  }

  has(claim: Claim): boolean {
    return this.#claims.size > 0 && this.#claims.has(claim);
  }

  add(claim: Claim): void {
    this.#claims.add(claim);
  }

  delete(claim: Claim): void {
    if (this.#claims.size > 0) this.#claims.delete(claim);
  }

  /** The first one, who then stands there no longer. */
  shift(): Claim | undefined {
    if (this.#claims.size === 0) return undefined;
    let next = this.#rest.next();
    if (next.done) {
      this.#rest = this.#claims.values(); // It had come to the end before these came.
      next = this.#rest.next();
    }
    this.#claims.delete(next.value);
    return next.value;
  }

  clear(): void {
    this.#claims.clear();
  }
}

export class Crowd {
  readonly #renewing = new Line();
  readonly #others = new Line();

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
      while (underWay() < ATTEMPTS_MAX) {
        const claim = line.shift();
        if (claim === undefined) break;
        yield claim;
      }
    }
  }

  clear(): void {
    this.#renewing.clear();
    this.#others.clear();
  }
}
