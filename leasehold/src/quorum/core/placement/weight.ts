/**
 * How much is a millisecond of a writer worth, in milliseconds of readers? As much as possible while every site still reads locally.
 *
 * After each period the weight moves towards the value at which the member with the smallest share of local reads has the share that is wanted:
 * up when every member has more, because writers may then be spared more, and down when one has less. One percent of the share is
 * about a fifth of the weight (measured for the paper's five sites), so a quarter of the distance is covered in a period, which
 * leaves time to see the effect. The weight keeps within 0.5 and 8: where no weight reaches the share, as with half of all calls being
 * writes, writers are not sacrificed altogether.
 *
 * A member that read nothing locally in one period, because it has just started or counts wrongly, at most halves the weight: otherwise
 * thousands of objects would change their holders for that, and back again.
 */

export const LOCAL_SHARE_WANTED = 0.91;

export const WEIGHT = { first: 1, least: 0.5, most: 8 } as const;

/** The change of the weight's logarithm for a share that is off by one. */
const PULL = 5;

/** What is left of the weight after one period, at least. */
const LEAST_LEFT = 0.5;

/** A member with fewer reads in a period says little. */
const READS_THAT_COUNT = 100;

export interface LocalReads {
  readonly reads: number;
  readonly localReads: number;
}

/** The smallest share of local reads of any member that reads enough; undefined if none does. */
export function worstShare(members: Iterable<LocalReads>): number | undefined {
  let worst: number | undefined;
  for (const { reads, localReads } of members)
    if (reads >= READS_THAT_COUNT) worst = Math.min(worst ?? 1, localReads / reads);
  return worst;
}

/** The weight for the next period. */
export function nextWeight(weight: number, worst: number | undefined): number {
  if (worst === undefined) return weight;
  const moved = weight * Math.max(LEAST_LEFT, Math.exp(PULL * (worst - LOCAL_SHARE_WANTED)));
  return Math.min(WEIGHT.most, Math.max(WEIGHT.least, moved));
}
