/**
 * What applications keep in a world of moves: items under a few keys that lie all over the ring. Each write has a version of its own, so that
 * an old value, an empty one and another write's value can be told apart.
 */

import { RING_SIZE, type Hash } from '../../../runtime/keys/position.ts';
import type { Span } from '../../../runtime/keys/range.ts';

export const KEYS = 40;

/** The position of each key. */
export const POSITIONS: readonly Hash[] = Array.from(
  { length: KEYS },
  (_, key) => ((2n * BigInt(key) + 1n) * RING_SIZE) / (2n * BigInt(KEYS)),
);

export const keysIn = (spans: readonly Span[]): number[] =>
  POSITIONS.flatMap((at, key) => (spans.some(({ start, end }) => start <= at && at < end) ? [key] : []));

/** A key and its version, or undefined for a deletion. */
export type Item = readonly [key: number, version: number | undefined];

/** The state of one incarnation of an owner. */
export class Store {
  readonly #versions = new Map<number, number>();
  /** Grows with every change. */
  changes = 0;

  get(key: number): number | undefined {
    return this.#versions.get(key);
  }

  set([key, version]: Item): void {
    this.changes += 1;
    if (version === undefined) this.#versions.delete(key);
    else this.#versions.set(key, version);
  }

  forget(spans: readonly Span[]): void {
    for (const key of keysIn(spans)) this.set([key, undefined]);
  }
}

/** Of all frames so far, and the next. */
export const mixed = (digest: string, frame: unknown): string => {
  let sum = 7;
  for (const char of `${digest}${JSON.stringify(frame)}`) sum = (Math.imul(sum, 31) + char.charCodeAt(0)) | 0;
  return `d${sum >>> 0}`;
};
