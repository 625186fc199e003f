/**
 * What applications have written under each key, and what became of it, by true time and the log.
 *
 *  - `nothing-missing`: guarded work finds the item that was last acknowledged, by whichever owner, unless the log has recorded a loss since.
 *  - `nothing-revived`: it finds nothing else. (An item that was written and not acknowledged, because the key was lost before the work ended, may be
 *    found or not.)
 *  - `flushed-before-it-moves`: a key moves to another owner only after `onDepart` was called in its stop and has not failed, and no work
 *    on the key ended after that.
 */

import type { Hash } from '../../../runtime/keys/position.ts';
import type { World } from '../../../sim/world.ts';
import type { LogBatch } from '../../../log/log.ts';
import { decodeBatch } from '../../core/state.ts';
import { Truth } from '../truth.ts';

export const ITEM_PROMISES: readonly string[] = [
  'nothing-missing',
  'nothing-revived',
  'flushed-before-it-moves',
];

/** What one application has flushed. */
export interface Flushed {
  has(position: Hash): boolean;
}

export class ItemsLedger {
  readonly #world: World;
  readonly #positions: readonly Hash[];
  readonly #truth = new Truth();
  /** What may be found: the item that was acknowledged last, and those that were written since. */
  readonly #possible = new Map<Hash, Set<number | undefined>>();
  readonly #flushed = new Map<string, Flushed>();
  #version = 0;

  constructor(world: World, positions: readonly Hash[]) {
    this.#world = world;
    this.#positions = positions;
  }

  nextVersion(): number {
    this.#version += 1;
    return this.#version;
  }

  /** An incarnation begins. */
  began(incarnation: string, flushed: Flushed): void {
    this.#flushed.set(incarnation, flushed);
  }

  /** The memory has it; the caller does not know yet. */
  wrote(position: Hash, version: number | undefined): void {
    this.#of(position).add(version);
  }

  acknowledged(position: Hash, version: number | undefined): void {
    this.#possible.set(position, new Set([version]));
    this.#world.count('items written');
  }

  found(position: Hash, by: string, version: number | undefined): void {
    const possible = this.#of(position);
    if (possible.has(version)) {
      if (version !== undefined) this.#world.count('items found');
      return;
    }
    const shown = [...possible].map((each) => each ?? 'nothing').join(' or ');
    throw this.#world.broken(
      possible.size === 1 && possible.has(undefined) ? 'nothing-revived' : 'nothing-missing',
      `${by} finds ${version ?? 'nothing'} at ${position}, and ${shown} was written`,
    );
  }

  /** The log has this, from now on. */
  committed({ position, bytes }: LogBatch): void {
    const batch = decodeBatch(bytes);
    for (const { records } of batch.pools)
      for (const { kind } of records) if (kind === 'move') this.#world.count('moves');
    for (const taken of this.#truth.commit(position, batch).values())
      for (const { start, end, moved, from } of taken)
        for (const at of this.#positions) {
          if (at < start || end <= at) continue;
          if (moved) this.#hasMoved(at, from);
          else this.#possible.set(at, new Set([undefined]));
          this.#world.count(moved ? 'keys moved' : 'keys lost');
        }
  }

  #hasMoved(position: Hash, from: string): void {
    if (this.#flushed.get(from)?.has(position) === true) return;
    throw this.#world.broken(
      'flushed-before-it-moves',
      `${position} moves away from ${from}, which has not flushed it since its last work`,
    );
  }

  #of(position: Hash): Set<number | undefined> {
    let possible = this.#possible.get(position);
    if (possible === undefined) this.#possible.set(position, (possible = new Set([undefined])));
    return possible;
  }
}
