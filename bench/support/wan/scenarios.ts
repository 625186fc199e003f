/** The runs at the five sites, and their results. */

import type { Site } from '../../../leasehold/src/quorum/simulation/sites/round-trips.ts';
import type { SiteSummary } from '../../../leasehold/src/quorum/simulation/sites/summary.ts';
import type { Distribution } from '../../../leasehold/src/quorum/simulation/sites/workload.ts';

/** The leader's lease, Megastore's leases (all), and quorum leases: chosen by traffic, or each half of the keys for the paper's two quorums. */
export type Mode = 'leader' | 'all' | 'automatic' | 'halves';

export const MODES: readonly Mode[] = ['leader', 'all', 'automatic'];

export interface Load {
  readonly distribution: Distribution;
  readonly writeShare: number;
}

export interface LoadTask extends Load {
  readonly mode: Mode;
  readonly seed: number;
  readonly keys: number;
  readonly clientsPerSite: number;
  readonly requestsPerClient: number;
  readonly warmUp: number;
}

export interface Played extends Load {
  readonly mode: Mode;
  readonly summaries: readonly SiteSummary[];
}

export const KEYS = 100_000;
export const CLIENTS = 10;

export const LOADS: readonly Load[] = [
  { distribution: 'zipf', writeShare: 0.1 },
  { distribution: 'zipf', writeShare: 0.5 },
  { distribution: 'uniform', writeShare: 0.1 },
  { distribution: 'uniform', writeShare: 0.5 },
];

/** The quorums that hold one half of the keys each, where the paper's load has no favourites. */
export const HALVES: readonly (readonly Site[])[] = [
  ['CA', 'JP', 'OR'],
  ['CA', 'VA', 'IRL'],
];

/**
 * Requests of one client. The paper's 10,000 for its main setting; where writes make every request slower, fewer take as long. With
 * fixed holders every request of a site takes as long as the next, so few tell all.
 */
export function requestsOf(mode: Mode, { distribution, writeShare }: Load): number {
  if (mode !== 'automatic') return 400;
  if (distribution === 'uniform') return writeShare > 0.3 ? 2_000 : 4_000;
  return writeShare > 0.3 ? 4_000 : 10_000;
}

export const loadWords = ({ distribution, writeShare }: Load): string =>
  `${distribution === 'zipf' ? 'Zipf' : 'uniform'}, ${Math.round(100 * writeShare)} % writes`;
