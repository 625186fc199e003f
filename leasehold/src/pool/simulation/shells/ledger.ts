/**
 * The work of all applications, and whether each may have done it. The ledger sees all owners at once, by true time.
 *
 *  - `one-at-a-time`: two pieces of guarded work on one position that both succeed do not overlap, in one process or in two.
 *    `guard` promises that to its caller by the check at the end: the key was held all along.
 *  - `numbers-grow`: of two successes on one position, the later one does not have the lower number.
 *  - `memory-is-current`: a `LeasedMap` returns no entry if another incarnation has succeeded on the key since.
 *  - `upcalls-in-order`: work begins only on keys for which `onGrant` has resolved, and neither `onRevoke` nor `onLost` was
 *    called since.
 *  - `answered`: every call of `guard` comes to an end, unless its process has.
 */

import type { Position } from '../../../runtime/keys/position.ts';
import type { World } from '../../../sim/world.ts';

export const PROMISES: readonly string[] = [
  'one-at-a-time',
  'numbers-grow',
  'memory-is-current',
  'upcalls-in-order',
  'answered',
];

export interface Work {
  readonly position: Position;
  /** The incarnation that works. */
  readonly by: string;
  readonly number: number;
  readonly beganAtMs: number;
  endedAtMs: number;
}

/** An entry of a leased map. */
export interface Remembered {
  readonly by: string;
  readonly atMs: number;
}

export class Ledger {
  readonly #world: World;
  readonly #successes = new Map<Position, Work[]>();

  constructor(world: World) {
    this.#world = world;
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

  remembers(position: Position, reader: string, { by, atMs }: Remembered): void {
    this.#world.count('entries found');
    const later = this.#successes.get(position)?.find((work) => work.by !== by && work.endedAtMs > atMs);
    if (later === undefined) return;
    throw this.#world.broken(
      'memory-is-current',
      `${reader} found what ${by} had set at ${atMs}, although ${shown(later)}`,
    );
  }
}

const shown = ({ by, number, beganAtMs, endedAtMs }: Work): string =>
  `${by} under ${number} from ${beganAtMs.toFixed(1)} to ${endedAtMs.toFixed(1)}`;
