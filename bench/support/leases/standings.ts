/**
 * What all turns came to. A machine is never equally quick for long, and so each of their turns has one of ours right before it: a
 * ratio is taken between these two, who suffered alike, and then the median of the rounds.
 */

import { median } from '../processes/statistics.ts';
import type { BatchMeasured, Turn } from './turn.ts';

export type Measure = (batch: BatchMeasured) => number;

interface Pair {
  /** Undefined if ours is not measured. */
  readonly ours: Turn | undefined;
  readonly theirs: Turn;
}

export class Standings {
  readonly #ours: Turn[] = [];
  readonly #pairs = new Map<string, Pair[]>();

  addOurs(turn: Turn): void {
    this.#ours.push(turn);
  }

  /** @param ours the one before it; undefined if ours is not measured */
  addTheirs(name: string, theirs: Turn, ours: Turn | undefined): void {
    const pair = { theirs, ours };
    this.#pairs.set(name, [...(this.#pairs.get(name) ?? []), pair]);
  }

  get turns(): readonly Turn[] {
    return [...this.#ours, ...[...this.#pairs.values()].flat().map(({ theirs }) => theirs)];
  }

  /** Whether it had a turn. */
  has(name: string): boolean {
    return this.#pairsOf(name).length > 0;
  }

  /** Undefined if there was no such batch. */
  ours(leases: number, measure: Measure): number | undefined {
    return medianOf(this.#ours.flatMap((turn) => inTurn(turn, leases, measure)));
  }

  theirs(name: string, leases: number, measure: Measure): number | undefined {
    return medianOf(this.#pairsOf(name).flatMap(({ theirs }) => inTurn(theirs, leases, measure)));
  }

  /** Ours divided by theirs. */
  ratio(name: string, leases: number, measure: Measure): number | undefined {
    const ratios = this.#pairsOf(name).flatMap(({ ours, theirs }) => {
      const [our] = ours === undefined ? [] : inTurn(ours, leases, measure);
      const [their] = inTurn(theirs, leases, measure);
      return our === undefined || their === undefined ? [] : [our / their];
    });
    return medianOf(ratios);
  }

  #pairsOf(name: string): readonly Pair[] {
    return this.#pairs.get(name) ?? [];
  }
}

/** The median, where a turn has several batches of the size; nothing, where it has none. */
function inTurn({ batches }: Turn, leases: number, measure: Measure): readonly number[] {
  const values = batches.filter((batch) => batch.leases === leases).map(measure);
  return values.length === 0 ? [] : [median(values)];
}

const medianOf = (values: readonly number[]): number | undefined =>
  values.length === 0 ? undefined : median(values);
