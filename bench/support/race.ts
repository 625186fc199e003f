/**
 * Several ways to do a thing, timed in turn, round after round:
 *
 *     round 1   A B C D
 *     round 2   B C D A
 *     round 3   C D A B   …
 *
 * A machine is never equally quick for long: others work on it, its clock rate follows its
 * temperature. What is timed close together suffers alike, so a quotient is taken within each round,
 * and then the median over the rounds.
 *
 * A turn is many batches. The items of some batches are made, which is not timed; then each of these
 * batches is timed on its own. Of all batches the median counts, so one in which the processor was
 * taken from us does not. Nor do the first of a turn: meanwhile the others have pushed this one's
 * tables out of the caches.
 *
 * A round in which the first contestant, who sets the pace, was much slower than usual is thrown away.
 */

export interface Contestant<Item = string> {
  readonly name: string;
  /** Items in a batch; fewer for the slow. */
  readonly batch: number;
  /** Does all items. What it returns is kept, so that nothing of it is optimized away. */
  readonly run: (items: readonly Item[]) => unknown;
}

export interface RaceOptions<Item = string> {
  /** Makes items that nobody has seen yet. */
  readonly items: (count: number) => readonly Item[];
  readonly rounds: number;
  /** The rounds at the beginning that only serve to get the code compiled. */
  readonly practice: number;
  /** How often in a turn items are made, for {@link BATCHES} batches. */
  readonly helpings: number;
}

const SLOW = 1.25;
const LEAST_ROUNDS = 5;
const BATCHES = 10;
const UNTIMED_PART = 0.25;

export class Race {
  readonly #nanoseconds: ReadonlyMap<string, readonly number[]>;
  /** Rounds timed, and rounds kept. */
  readonly timed: number;
  readonly kept: number;

  private constructor(names: readonly string[], rounds: readonly Round[]) {
    const kept = quiet(rounds);
    this.#nanoseconds = new Map(names.map((name, index) => [name, kept.map((round) => round[index] ?? 0)]));
    this.timed = rounds.length;
    this.kept = kept.length;
  }

  static run<Item>(contestants: readonly Contestant<Item>[], options: RaceOptions<Item>): Race {
    const rounds: Round[] = [];
    for (let round = 0; round < options.rounds + options.practice; round += 1) {
      const nanoseconds: number[] = [];
      for (let turn = 0; turn < contestants.length; turn += 1) {
        const index = (round + turn) % contestants.length;
        nanoseconds[index] = takeTurn(contestants[index] as Contestant<Item>, options);
      }
      if (round >= options.practice) rounds.push(nanoseconds);
    }
    return new Race(
      contestants.map(({ name }) => name),
      rounds,
    );
  }

  /** What an item took, in the median. */
  nanoseconds(name: string): number {
    return median(this.#of(name));
  }

  /** How many times what the other took, in the median of the rounds. */
  ratio(name: string, other: string): number {
    const others = this.#of(other);
    return median(this.#of(name).map((nanoseconds, round) => nanoseconds / (others[round] as number)));
  }

  /** Half of the rounds lie between these. */
  quartiles(name: string): readonly [number, number] {
    const sorted = [...this.#of(name)].sort(ascending);
    return [sorted[sorted.length >> 2] as number, sorted[(3 * sorted.length) >> 2] as number];
  }

  #of(name: string): readonly number[] {
    const nanoseconds = this.#nanoseconds.get(name);
    if (nanoseconds === undefined) throw new Error(`${name} did not take part`);
    return nanoseconds;
  }
}

/** For each contestant, the nanoseconds that an item took. */
type Round = readonly number[];

/** Results are put here for nobody to look at. */
const sink: { result: unknown } = { result: undefined };

function takeTurn<Item>({ batch, run }: Contestant<Item>, { items, helpings }: RaceOptions<Item>): number {
  const nanoseconds: number[] = [];
  for (let helping = 0; helping < helpings; helping += 1) {
    for (const fresh of Array.from({ length: BATCHES }, () => items(batch))) {
      const startedAt = performance.now();
      sink.result = run(fresh);
      nanoseconds.push(((performance.now() - startedAt) * 1e6) / batch);
    }
  }
  return median(nanoseconds.slice(Math.floor(nanoseconds.length * UNTIMED_PART)));
}

function quiet(rounds: readonly Round[]): readonly Round[] {
  const pace = rounds.map((round) => round[0] ?? 0).sort(ascending);
  const usual = pace[pace.length >> 2] ?? 0;
  const kept = rounds.filter((round) => (round[0] ?? 0) <= usual * SLOW);
  // On a machine that is never quiet, the median of everything is the best there is.
  return kept.length >= LEAST_ROUNDS ? kept : rounds;
}

const ascending = (a: number, b: number): number => a - b;

function median(values: readonly number[]): number {
  const sorted = [...values].sort(ascending);
  const middle = sorted.length >> 1;
  if (sorted.length % 2 === 1) return sorted[middle] as number;
  return ((sorted[middle - 1] as number) + (sorted[middle] as number)) / 2;
}
