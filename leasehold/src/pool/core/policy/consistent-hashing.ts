/**
 * The papers' policy: every owner has a number of points on the ring, and owns the keys between
 * each of its points and the next point of anybody.
 *
 *     ──a1────b1──────a2───b2────────c1───a3──►      [b1, a2) is b's
 *
 * The points follow from the owner's name alone. So an owner that joins takes keys only from those
 * with spans that its points cut, no other owner's keys move, and an owner that restarts under its name
 * gets the same keys back.
 *
 * With v points an owner's share has a standard deviation of about 1/√v of the mean: 12 % at 64.
 */

import { invalidOption } from '../../../runtime/errors.ts';
import { hashBytes } from '../../../runtime/keys/hash.ts';
import { type Hash, hashOf, RING_SIZE } from '../../../runtime/keys/position.ts';
import type { Placement, Policy, PolicyInput } from './policy.ts';

export interface ConsistentHashingOptions {
  /** Points an owner. More spread load more evenly and make a larger table. @default 64 */
  virtualNodes?: number | undefined;
}

/** Points are kept for members of all pools, and for owners that come back; beyond this, worked out anew. */
const MOST_NAMES_KEPT = 10_000;

interface Point {
  readonly at: Hash;
  readonly name: string;
}

export const VIRTUAL_NODES_MAX = 4_096;

export function consistentHashing(options: ConsistentHashingOptions = {}): Policy {
  const virtualNodes = options.virtualNodes ?? 64;
  if (!(Number.isInteger(virtualNodes) && virtualNodes >= 1 && virtualNodes <= VIRTUAL_NODES_MAX)) {
    throw invalidOption(
      'virtualNodes',
      virtualNodes,
      `it must be a whole number from 1 to ${VIRTUAL_NODES_MAX}`,
    );
  }
  const pointsOf = new Map<string, readonly Point[]>();
  /** The ring as it was last asked for. */
  let last: { readonly names: ReadonlySet<string>; readonly ring: readonly Point[] } | undefined;

  function points(name: string): readonly Point[] {
    let known = pointsOf.get(name);
    if (known === undefined) {
      known = Array.from({ length: virtualNodes }, (_, index) => ({ at: pointOf(name, index), name }));
      pointsOf.set(name, known);
    }
    return known;
  }

  /** All points in order. Owners that come and go are few beside those that stay, with points in order already. */
  function ringOf(names: ReadonlySet<string>): readonly Point[] {
    const before = last ?? { names: new Set<string>(), ring: [] };
    const come = [...names].filter((name) => !before.names.has(name));
    const staying = before.ring.filter(({ name }) => names.has(name));
    const ring = inOrder(staying, come.flatMap(points).sort(byPlace));
    last = { names, ring };
    return ring;
  }

  return {
    name: 'consistent-hashing',
    adaptive: false,
    place({ members }: PolicyInput): readonly Placement[] {
      const incarnations = new Map(members.map(({ name, incarnation }) => [name, incarnation]));
      if (pointsOf.size > MOST_NAMES_KEPT) pointsOf.clear();
      return spansBetween(ringOf(new Set(incarnations.keys())), incarnations);
    },
  };
}

const encoder = new TextEncoder();
const words = new Uint32Array(2);

/**
 * Where an owner's point lies, counted from 0. Hashed as bytes, not as a key: braces in a name must not
 * pull all its points together.
 */
export function pointOf(name: string, index: number): Hash {
  hashBytes(encoder.encode(`${name}#${index}`), words);
  return hashOf(words[0] ?? 0, words[1] ?? 0);
}

/** Two names can share a place on the ring; then the lesser name has it, for every Manager alike. */
const byPlace = (a: Point, b: Point): number =>
  a.at < b.at ? -1 : a.at > b.at ? 1 : a.name < b.name ? -1 : 1;

/** Two lists that are in order, as one. */
function inOrder(one: readonly Point[], other: readonly Point[]): readonly Point[] {
  if (other.length === 0) return one;
  const all: Point[] = [];
  let next = 0;
  for (const point of one) {
    for (let before = other[next]; before !== undefined && byPlace(before, point) < 0; before = other[next]) {
      all.push(before);
      next += 1;
    }
    all.push(point);
  }
  for (; next < other.length; next += 1) all.push(other[next] as Point);
  return all;
}

function spansBetween(
  points: readonly Point[],
  incarnations: ReadonlyMap<string, string>,
): readonly Placement[] {
  const placements: { start: Hash; end: Hash; incarnation: string }[] = [];
  // Keys before the first point belong to the last one, across zero.
  let owner = incarnations.get(points.at(-1)?.name ?? '');
  let start = 0n;
  const close = (end: bigint): void => {
    if (owner === undefined || end === start) return;
    const previous = placements.at(-1);
    if (previous?.incarnation === owner) previous.end = end;
    else placements.push({ start, end, incarnation: owner });
    start = end;
  };
  for (const [index, point] of points.entries()) {
    if (point.at === points[index - 1]?.at) continue;
    close(point.at);
    owner = incarnations.get(point.name);
  }
  close(RING_SIZE);
  return placements;
}
