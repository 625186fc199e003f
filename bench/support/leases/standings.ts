/**
 * What all turns came to. A machine is never equally quick for long, so a ratio is taken within each round, where everybody
 * suffered alike, and then the median of the rounds.
 */

import { median } from '../processes/statistics.ts';
import type { BatchMeasured, Turn } from './turn.ts';

export type Measure = (batch: BatchMeasured) => number;

export class Standings {
  readonly #turns = new Map<string, Turn[]>();

  add(name: string, turn: Turn): void {
    this.#turns.set(name, [...(this.#turns.get(name) ?? []), turn]);
  }

  get names(): readonly string[] {
    return [...this.#turns.keys()];
  }

  turns(name: string): readonly Turn[] {
    return this.#turns.get(name) ?? [];
  }

  /** Undefined if it made no such batch. */
  value(name: string, leases: number, measure: Measure): number | undefined {
    const rounds = this.#rounds(name, leases, measure);
    return rounds.length === 0 ? undefined : median(rounds);
  }

  /** How many times that of the other. */
  ratio(name: string, other: string, leases: number, measure: Measure): number | undefined {
    const own = this.#rounds(name, leases, measure);
    const theirs = this.#rounds(other, leases, measure);
    if (own.length === 0 || own.length !== theirs.length) return undefined;
    return median(own.map((value, round) => value / (theirs[round] as number)));
  }

  /** One value for each round: the median, where a round has several batches of the size. */
  #rounds(name: string, leases: number, measure: Measure): readonly number[] {
    return this.turns(name).flatMap(({ batches }) => {
      const values = batches.filter((batch) => batch.leases === leases).map(measure);
      return values.length === 0 ? [] : [median(values)];
    });
  }
}
