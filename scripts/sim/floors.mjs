/**
 * Floors: how often each event must happen in a seed, on average. A run in which nothing happened breaks no promise, and
 * proves nothing.
 *
 * Chance alone explains a count below its expectation by twice the square root, so a floor leaves that much room, in many
 * seeds as in few. Where four events or fewer are expected, no room is left above zero, and the floor cannot fail. A floor
 * that cannot fail in what `npm test` plays holds nothing; `floors.test.ts` refuses such floors.
 */

/** Fewer seeds are a look, not a proof; nothing is expected of them. */
const ENOUGH_SEEDS = 50;

/**
 * The least count of an event with this mean in so many seeds; zero if the floor cannot fail.
 *
 * @param {number} mean
 * @param {number} seeds
 */
export const leastCount = (mean, seeds) => Math.max(0, Math.ceil(mean * seeds - 2 * Math.sqrt(mean * seeds)));

/**
 * The events that happened less often than their floor asks for, a sentence each.
 *
 * @param {Readonly<Record<string, number>>} floors
 * @param {Readonly<Record<string, number>>} totals
 * @param {number} seeds
 */
export function shortfalls(floors, totals, seeds) {
  if (seeds < ENOUGH_SEEDS) return [];
  return Object.entries(floors).flatMap(([what, mean]) => {
    const [got, least] = [totals[what] ?? 0, leastCount(mean, seeds)];
    return got >= least ? [] : [`only ${got} ${what} in ${seeds} seeds, expected at least ${least}`];
  });
}
