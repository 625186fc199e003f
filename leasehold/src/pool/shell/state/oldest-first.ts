/**
 * The partition with the oldest entry of a map, for expiry and eviction.
 *
 * A heap by the rank of each partition's oldest entry, as it was when last looked at. Entries are touched and removed without a word to
 * the heap, which makes ranks grow and never fall; so a rank in the heap is never too high, and it is enough to correct the first
 * one until it is true.
 */

import type { Partition } from './partition.ts';

interface Queued<T> {
  readonly partition: Partition<T>;
  rank: number;
}

export class OldestFirst<T> {
  #heap: Queued<T>[] = [];

  /** An entry of this rank was added, to a partition that had none or is known already. */
  add(partition: Partition<T>, rank: number): void {
    if (partition.isQueued) return;
    partition.isQueued = true;
    this.#heap.push({ partition, rank });
    this.#rise(this.#heap.length - 1);
  }

  /** The partition whose oldest entry is the oldest of all. */
  first(): Partition<T> | undefined {
    for (;;) {
      const top = this.#heap[0];
      if (top === undefined) return undefined;
      const rank = top.partition.oldest()?.[1].rank;
      if (rank === top.rank) return top.partition;
      if (rank === undefined) this.#removeTop(top);
      else top.rank = rank;
      this.#sink();
    }
  }

  /** To be called when partitions were emptied, which may never become the first. */
  tidy(): void {
    for (const { partition } of this.#heap) partition.isQueued = partition.entries.size > 0;
    this.#heap = this.#heap.filter(({ partition }) => partition.isQueued).sort((a, b) => a.rank - b.rank);
  }

  #removeTop(top: Queued<T>): void {
    top.partition.isQueued = false;
    const last = this.#heap.pop();
    if (last !== undefined && last !== top) this.#heap[0] = last;
  }

  #rise(from: number): void {
    for (let at = from; at > 0; ) {
      const above = (at - 1) >> 1;
      if (this.#rankAt(above) <= this.#rankAt(at)) return;
      this.#swap(at, above);
      at = above;
    }
  }

  #sink(): void {
    for (let at = 0; ; ) {
      const left = 2 * at + 1;
      const lower = this.#rankAt(left + 1) < this.#rankAt(left) ? left + 1 : left;
      if (this.#rankAt(at) <= this.#rankAt(lower)) return;
      this.#swap(at, lower);
      at = lower;
    }
  }

  #rankAt(index: number): number {
    return this.#heap[index]?.rank ?? Number.POSITIVE_INFINITY;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    [this.#heap[one], this.#heap[other]] = [second, first];
  }
}
