/**
 * The load of the paper: each site draws keys by Zipf's law with the exponent 0.99, each site from another permutation, so that every
 * site has favourites and shares few of them; or all keys alike.
 */

import type { Random } from '../../../sim/random.ts';

export type Distribution = 'zipf' | 'uniform';

const EXPONENT = 0.99;

/** Draws keys for one site. */
export type Draw = () => string;

export class Workload {
  readonly #keys: number;
  readonly #cumulated: Float64Array | undefined;

  constructor(distribution: Distribution, keys: number) {
    this.#keys = keys;
    if (distribution === 'uniform') return;
    const cumulated = new Float64Array(keys);
    let sum = 0;
    for (let rank = 0; rank < keys; rank += 1) {
      sum += 1 / (rank + 1) ** EXPONENT;
      cumulated[rank] = sum;
    }
    this.#cumulated = cumulated.map((each) => each / sum);
  }

  /** A site with other favourites than the rest. */
  site(random: Random): Draw {
    const cumulated = this.#cumulated;
    const count = this.#keys;
    if (cumulated === undefined) return () => `key-${random.integer(0, count - 1)}`;
    const places = Uint32Array.from({ length: count }, (_, at) => at);
    for (let at = count - 1; at > 0; at -= 1) {
      const other = random.integer(0, at);
      const place = places[at] as number;
      places[at] = places[other] as number;
      places[other] = place;
    }
    return () => `key-${places[rankOf(cumulated, random.next())]}`;
  }
}

function rankOf(cumulated: Float64Array, drawn: number): number {
  let low = 0;
  let high = cumulated.length - 1;
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cumulated[middle] as number) < drawn) low = middle + 1;
    else high = middle;
  }
  return low;
}
