/**
 * The interface of a protocol's simulation: seeds in, broken promises out.
 *
 * A protocol promises things ("no key has two owners"). A *simulation* of the protocol plays the whole course of a
 * deployment, drawn from a seed, with every possible fault, and watches the promises from outside, where all processes
 * are visible at once. A runner plays thousands of seeds and only counts:
 *
 *     seed ──► run ──► every promise held, and this much happened
 *                 └──► this promise broke, and this is how
 *
 * Two things keep such a proof honest. A run in which nothing happened breaks no promise, so a simulation counts
 * events and says which counts are too small ({@link Simulation.floors}). And a watcher that never barks proves nothing, so a
 * simulation keeps {@link Mutant}s: deliberate faults in the protocol's source, each of which one named promise has to
 * catch.
 *
 * A seed is a whole bug report. That holds only if a run depends on the seed and on nothing else: no clock, no chance,
 * no state left over from the run before.
 */

import { BrokenPromise, type World } from './world.ts';

/** How one seed went. Plain data: the outcome crosses from the running thread to the counting thread. */
export interface SeedOutcome {
  readonly seed: number;

  /**
   * The first promise that broke, and a sentence with the names and instants; undefined when every promise held. Later
   * ones are left out: after the first, anything may follow.
   */
  readonly broken?: { readonly promise: string; readonly message: string } | undefined;

  /** Counts of events: summed over seeds for the summary (`failovers`, `crashes`, …). */
  readonly counts: Readonly<Record<string, number>>;

  /** One line per event, oldest first. Only on request: writing the trace costs more than the run. */
  readonly trace?: readonly string[] | undefined;
}

/**
 * A fault planted in the source on purpose, as a change of text in one file. The simulation is then run with that file
 * changed, and the promise named here must break. Text and not a switch in the code: the shipped code has no trace of
 * mutants, and any line can be broken.
 */
export interface Mutant {
  /** The fault, in words with hyphens: `lease-counted-from-reply`. */
  readonly name: string;

  /** The file to change, relative to `leasehold/src`: `pool/core/owner/owner.ts`. */
  readonly file: string;

  /** The text to replace. The text must occur exactly once in the file, so that the mutant cannot drift. */
  readonly from: string;

  /** The replacement. */
  readonly to: string;

  /** The promise that must catch the mutant, one of {@link Simulation.promises}, or `assertion`. */
  readonly promise: string;

  /** One sentence: the damage, and to which process. */
  readonly story: string;

  /**
   * Seeds to try before the mutant counts as not caught. A mutant that needs many is a sign that the worlds are too
   * kind.
   *
   * @default 1000
   */
  readonly seeds?: number;
}

export interface SimulationOptions {
  /** Whether to fill {@link SeedOutcome.trace}. Tracing must not change the run. */
  readonly trace: boolean;

  /**
   * Whether schedules written by hand may be played before or instead of the drawn world of a seed. A fault caught by such a
   * schedule says nothing about the schedules that have no author, so the strength of the drawing is measured without.
   *
   * @default true
   */
  readonly scenarios?: boolean | undefined;
}

/** A protocol, ready to be tried: the needs of the runner of seeds and no more. */
export interface Simulation {
  /** The protocol's name on the command line. */
  readonly name: string;

  /** The names of the promises that are watched, in words with hyphens: `one-owner`. */
  readonly promises: readonly string[];

  /**
   * Plays one seed to the end. The same seed gives the same outcome, always.
   *
   * Every exception counts as the broken promise `assertion`: the protocol itself has found a broken invariant. An
   * exception carries no trace, though, so a simulation should catch the exception and return the outcome with a
   * trace.
   */
  run(seed: number, options: SimulationOptions): SeedOutcome;

  /**
   * How often each event must happen in a seed, on average, so that the run proves something. The runner fails a run
   * with fewer, beyond what chance explains (`scripts/sim/floors.mjs`).
   */
  readonly floors: Readonly<Record<string, number>>;

  /** What else makes a whole run prove too little: a sentence each. `totals` are the counts of all `seeds` outcomes, summed. */
  tooLittle?(totals: Readonly<Record<string, number>>, seeds: number): readonly string[];

  readonly mutants: readonly Mutant[];
}

/** Plays a world to the end, and returns the outcome. */
export function outcomeOf(world: World, seed: number, run: () => void): SeedOutcome {
  try {
    run();
  } catch (error) {
    return outcome(world, seed, brokenBy(error));
  }
  return outcome(world, seed);
}

/** The same for a world that awaits. */
export async function outcomeOfAsync(
  world: World,
  seed: number,
  run: () => Promise<void>,
): Promise<SeedOutcome> {
  try {
    await run();
  } catch (error) {
    return outcome(world, seed, brokenBy(error));
  }
  return outcome(world, seed);
}

function outcome(world: World, seed: number, broken?: SeedOutcome['broken']): SeedOutcome {
  const counts = Object.fromEntries(world.counts);
  return { seed, broken, counts, trace: world.tracing ? world.story() : undefined };
}

function brokenBy(error: unknown): SeedOutcome['broken'] {
  if (error instanceof BrokenPromise) return { promise: error.promise, message: error.message };
  const message = error instanceof Error ? (error.stack ?? error.message) : String(error);
  return { promise: 'assertion', message };
}
