/**
 * The five sites of the paper, with the round trips between them in milliseconds, and what follows from those alone: how long a read
 * and a write take at each site when nothing else takes time.
 *
 * A write goes to the leader (California), from there to everybody, and everybody tells the site of the caller: three delays. It
 * is over when a majority and every holder have told, and when the site itself has the write:
 *
 *     latency(o, H) = d(o, leader) + max( third smallest of, all holders of, the site's own of  d(leader, q) + d(q, o) )
 */

export const SITES = ['JP', 'CA', 'OR', 'VA', 'IRL'] as const;
export type Site = (typeof SITES)[number];

export const LEADER: Site = 'CA';

/** Between a client and the replica of its site. */
export const LOCAL_MS = 0.4;

const ROUND_TRIPS: readonly (readonly number[])[] = [
  [0, 120, 120, 180, 270],
  [120, 0, 20, 85, 150],
  [120, 20, 0, 75, 170],
  [180, 85, 75, 0, 92],
  [270, 150, 170, 92, 0],
];

export const roundTripMs = (one: Site, other: Site): number =>
  ROUND_TRIPS[SITES.indexOf(one)]?.[SITES.indexOf(other)] ?? 0;

/** How long a write takes that a client of the site begins, if these sites hold the key. */
export function writeMs(site: Site, holders: readonly Site[]): number {
  const delayMs = (one: Site, other: Site): number => roundTripMs(one, other) / 2;
  const told = (by: Site): number => delayMs(LEADER, by) + delayMs(by, site);
  const majority = SITES.map(told).sort((a, b) => a - b)[2] as number;
  return LOCAL_MS + delayMs(site, LEADER) + Math.max(majority, told(site), ...holders.map(told));
}

/** How long a read takes at a site that does not hold the key. */
export const remoteReadMs = (site: Site): number => LOCAL_MS + roundTripMs(site, LEADER);
