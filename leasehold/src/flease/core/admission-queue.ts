/**
 * Which resources may begin an attempt when very many want to.
 *
 * The number of attempts under way is limited. With more, answers would arrive after their timeout, and all attempts
 * would be repeated: a hundred thousand leases are renewed one after the other, not all at once and in vain. Renewals
 * come first, because held leases would otherwise expire behind requests for more.
 */

import type { Operation } from './attempt.ts';
import type { ResourceState } from './resource-state.ts';

const ATTEMPTS_MAX = 4_096;

/**
 * First in, first out. A Set keeps a gap for each deleted element until it is compacted. Starting at the front each
 * time would pass all gaps, which for fifty thousand elements is most of the work; so one iterator is kept.
 */
class Queue {
  readonly #states = new Set<ResourceState>();
  #rest: Iterator<ResourceState> = this.#states.values();

  get size(): number {
    return this.#states.size;
  }

  has(state: ResourceState): boolean {
    return this.#states.size > 0 && this.#states.has(state);
  }

  add(state: ResourceState): void {
    this.#states.add(state);
  }

  delete(state: ResourceState): void {
    if (this.#states.size > 0) this.#states.delete(state);
  }

  /** Removes and returns the first element. */
  shift(): ResourceState | undefined {
    if (this.#states.size === 0) return undefined;
    let next = this.#rest.next();
    if (next.done) {
      this.#rest = this.#states.values(); // The old iterator had ended before these were added.
      next = this.#rest.next();
    }
    this.#states.delete(next.value);
    return next.value;
  }

  clear(): void {
    this.#states.clear();
  }
}

export class AdmissionQueue {
  readonly #renewing = new Queue();
  readonly #others = new Queue();

  get isEmpty(): boolean {
    return this.#renewing.size === 0 && this.#others.size === 0;
  }

  isRenewing(state: ResourceState): boolean {
    return this.#renewing.has(state);
  }

  has(state: ResourceState): boolean {
    return this.#renewing.has(state) || this.#others.has(state);
  }

  /** Whether there is room for an attempt; if not, the resource is queued. */
  enter(state: ResourceState, operation: Operation, underWay: number): boolean {
    const isRenewal = operation === 'renew';
    this.leave(state, isRenewal ? 'others' : 'renewing');
    const hasRoom = underWay < ATTEMPTS_MAX && (isRenewal || this.#renewing.size === 0);
    if (hasRoom) this.leave(state);
    else (isRenewal ? this.#renewing : this.#others).add(state);
    return hasRoom;
  }

  leave(state: ResourceState, line?: 'renewing' | 'others'): void {
    if (line !== 'others') this.#renewing.delete(state);
    if (line !== 'renewing') this.#others.delete(state);
  }

  /** The next resources, as long as there is room. */
  *next(underWay: () => number): Iterable<ResourceState> {
    for (const line of [this.#renewing, this.#others]) {
      while (underWay() < ATTEMPTS_MAX) {
        const state = line.shift();
        if (state === undefined) break;
        yield state;
      }
    }
  }

  clear(): void {
    this.#renewing.clear();
    this.#others.clear();
  }
}
