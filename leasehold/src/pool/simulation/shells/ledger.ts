/**
 * The work of all applications, and whether each may have done it. The ledger sees all owners at once, by true time.
 *
 *  - `one-at-a-time`: two pieces of guarded work on one position that both succeed do not overlap, in one process or in two.
 *    `guard` promises that to its caller by the check at the end: the key was held all along.
 *  - `numbers-grow`: of two successes on one position, the later one does not have the lower number.
 *  - `memory-is-current`: a `LeasedMap` returns no entry if another incarnation has succeeded on the key since.
 *  - `versions-never-return`: `replace` finds no version again that another incarnation's entry has, or has had since. (An entry that has moved with its
 *    key keeps its version, until somebody works on the key.)
 *  - `upcalls-in-order`: work begins only on keys for which `onGrant` has resolved, and neither `onRevoke` nor `onLost` was
 *    called since.
 *  - `answered`: every call of `guard` comes to an end, unless its process has.
 */

import type { Hash } from '../../../runtime/keys/position.ts';
import type { World } from '../../../sim/world.ts';

export const PROMISES: readonly string[] = [
  'one-at-a-time',
  'numbers-grow',
  'memory-is-current',
  'versions-never-return',
  'upcalls-in-order',
  'answered',
];

export interface Work {
  readonly position: Hash;
  /** The incarnation that works. */
  readonly by: string;
  readonly number: number;
  readonly beganAtMs: number;
  endedAtMs: number;
  /** What it has written under the key, if it did. */
  item?: { readonly version: number | undefined };
}

/** An entry of a leased map. */
export interface Remembered {
  readonly by: string;
  readonly atMs: number;
}

/** The version of an entry, as an incarnation saw it. */
export interface SeenVersion extends Remembered {
  readonly version: string;
}

/** How many versions of a key are tried again. */
const VERSIONS = 20;

export class Ledger {
  readonly #world: World;
  readonly #successes = new Map<Hash, Work[]>();
  readonly #versions = new Map<Hash, SeenVersion[]>();
  readonly #entriesMove: boolean;

  /** @param entriesMove whether entries of leased maps come to other owners with their keys */
  constructor(world: World, entriesMove: boolean) {
    this.#world = world;
    this.#entriesMove = entriesMove;
  }

  succeeded(work: Work): void {
    const others = this.#successes.get(work.position) ?? [];
    for (const other of others) {
      if (other.endedAtMs > work.beganAtMs)
        throw this.#world.broken('one-at-a-time', `${shown(other)} and ${shown(work)} overlap`);
      if (other.number > work.number)
        throw this.#world.broken('numbers-grow', `${shown(work)} comes after ${shown(other)}`);
    }
    others.push(work);
    this.#successes.set(work.position, others);
    this.#world.count('work done');
  }

  saw(position: Hash, seen: SeenVersion): void {
    this.#versions.set(position, [...(this.#versions.get(position) ?? []), seen].slice(-VERSIONS));
  }

  someVersion(position: Hash, chance: number): SeenVersion | undefined {
    const seen = this.#versions.get(position) ?? [];
    return seen[Math.floor(chance * seen.length)];
  }

  replaced(position: Hash, by: string, seen: SeenVersion): void {
    this.#world.count('entries replaced by version');
    const later = this.#laterThan(position, seen);
    if ((by === seen.by || this.#entriesMove) && later === undefined) return;
    throw this.#world.broken(
      'versions-never-return',
      `${by} replaced version ${seen.version}, which ${seen.by} saw at ${seen.atMs}${later === undefined ? '' : `, although ${shown(later)}`}`,
    );
  }

  #laterThan(position: Hash, { by, atMs }: Remembered): Work | undefined {
    return this.#successes.get(position)?.find((work) => work.by !== by && work.endedAtMs > atMs);
  }

  remembers(position: Hash, reader: string, { by, atMs }: Remembered): void {
    this.#world.count('entries found');
    const later = this.#laterThan(position, { by, atMs });
    if (later === undefined) return;
    throw this.#world.broken(
      'memory-is-current',
      `${reader} found what ${by} had set at ${atMs}, although ${shown(later)}`,
    );
  }
}

const shown = ({ by, number, beganAtMs, endedAtMs }: Work): string =>
  `${by} under ${number} from ${beganAtMs.toFixed(1)} to ${endedAtMs.toFixed(1)}`;
