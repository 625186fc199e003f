/**
 * Who acted for some keys, from when to when, by true time: the oracle's log of
 * `(key, owner, number, from, to)`, taken after every event, and the sweep over it.
 */

import { highOf, lowOf, type Hash } from '../../../runtime/keys/position.ts';
import type { OwnerNode } from '../nodes.ts';
import type { PoolWorld } from '../pool-world.ts';

export interface Tenure {
  readonly key: Hash;
  readonly incarnation: string;
  readonly number: number;
  readonly fromMs: number;
  /** When its check stopped passing, to the instant: a lease also ends between two events. */
  toMs: number;
  over: boolean;
}

export class Tenures {
  readonly #pool: PoolWorld;
  readonly #keys: readonly Hash[];
  readonly #all: Tenure[] = [];
  readonly #open = new Map<string, Tenure>();

  constructor(pool: PoolWorld, keys: readonly Hash[]) {
    this.#pool = pool;
    this.#keys = keys;
    pool.world.afterEach(() => this.#look());
    this.#look();
  }

  of(key: Hash): readonly Tenure[] {
    return this.#all.filter((tenure) => tenure.key === key);
  }

  /** Two owners of a key at the same time, or a number that went back; none if all is well. */
  overlaps(): string[] {
    return this.#keys.flatMap((key) => {
      const tenures = this.of(key);
      return tenures.slice(1).flatMap((next, index) => {
        const last = tenures[index] as Tenure;
        const overlaps = next.fromMs < last.toMs && next.incarnation !== last.incarnation;
        return overlaps || next.number <= last.number ? [`${describe(last)}, ${describe(next)}`] : [];
      });
    });
  }

  #look(): void {
    for (const node of this.#pool.owners) for (const key of this.#keys) this.#lookAt(node, key);
  }

  #lookAt(node: OwnerNode, key: Hash): void {
    const { trueMs } = this.#pool.world;
    const name = `${node.name} ${key}`;
    const number = node.check(key);
    const open = this.#open.get(name);
    if (open !== undefined && (open.number !== number || open.incarnation !== node.incarnation)) {
      open.toMs = Math.min(open.toMs, trueMs);
      open.over = true;
      this.#open.delete(name);
    }
    if (number === undefined) return;
    const toMs = leaseEndMs(node, key);
    const tenure = this.#open.get(name);
    if (tenure !== undefined) {
      tenure.toMs = toMs;
      return;
    }
    const { incarnation } = node;
    const begun: Tenure = { key, incarnation, number, fromMs: trueMs, toMs, over: false };
    this.#all.push(begun);
    this.#open.set(name, begun);
  }
}

/** When the lease under which an owner has a key runs out, by true time, if nothing renews it. */
export function leaseEndMs(node: OwnerNode, key: Hash): number {
  const piece = node.core?.pieceAt(highOf(key), lowOf(key));
  return piece === undefined ? Number.NEGATIVE_INFINITY : node.process.trueMsOf(piece.until);
}

const describe = ({ incarnation, number, fromMs, toMs }: Tenure): string =>
  `${incarnation} under ${number} from ${fromMs.toFixed(0)} to ${toMs.toFixed(0)}`;
