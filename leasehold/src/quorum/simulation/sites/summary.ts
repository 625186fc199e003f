/** What the clients of one site saw, in a few numbers. */

import { LEADER, type Site, writeMs } from './round-trips.ts';

/** Milliseconds, as the clients of one site saw them. */
export interface Latencies {
  readonly reads: readonly number[];
  readonly writes: readonly number[];
  /** Reads that were answered at once, from the memory of the site's replica. */
  readonly localReads: number;
}

export const PERCENTILES = [1, 10, 25, 50, 75, 90, 95, 99, 99.9] as const;

export interface Distribution {
  readonly count: number;
  readonly mean: number;
  /** By {@link PERCENTILES}. */
  readonly percentiles: readonly number[];
}

export interface SiteSummary {
  readonly site: Site;
  readonly localShare: number;
  /** Writes that took no longer than `leastMs`: as if the leader alone held the key. */
  readonly writesAtLeast: number;
  readonly leastMs: number;
  readonly reads: Distribution;
  readonly writes: Distribution;
}

/** As the round trips say; a twentieth more is allowed for disks and processes. */
export const leastWriteMs = (site: Site): number => 1.05 * writeMs(site, [LEADER]);

/** @param leastMs how long a write may take that counts as one for which nobody waits but a majority */
export function summaryOf(
  site: Site,
  { reads, writes, localReads }: Latencies,
  leastMs: number = leastWriteMs(site),
): SiteSummary {
  return {
    site,
    localShare: localReads / reads.length,
    writesAtLeast: writes.filter((ms) => ms <= leastMs).length,
    leastMs,
    reads: distributionOf(reads),
    writes: distributionOf(writes),
  };
}

function distributionOf(values: readonly number[]): Distribution {
  const sorted = Float64Array.from(values).sort();
  const at = (percentile: number): number =>
    sorted[Math.max(0, Math.ceil((sorted.length * percentile) / 100) - 1)] ?? Number.NaN;
  return {
    count: values.length,
    mean: values.reduce((sum, each) => sum + each, 0) / values.length,
    percentiles: PERCENTILES.map(at),
  };
}

/** Of all sites together. */
export function shareAtLeast(sites: readonly SiteSummary[]): number {
  const total = (of: (site: SiteSummary) => number): number => sites.reduce((sum, site) => sum + of(site), 0);
  return total(({ writesAtLeast }) => writesAtLeast) / total(({ writes }) => writes.count);
}
