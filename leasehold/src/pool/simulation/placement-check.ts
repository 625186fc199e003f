/**
 * Are keys taken only from where the policy says? When a living owner has given keys back, some
 * decision of the policy, made since it got them, must have given them to another.
 *
 * A leader knows of an owner's intention to leave only when it has heard it, so each membership stands
 * for two decisions: with those who want to leave, and without.
 */

import { formatRange } from '../../runtime/keys/range.ts';
import type { World } from '../../sim/world.ts';
import type { Placement, Policy } from '../core/policy/policy.ts';
import type { Member } from '../core/table.ts';
import type { OwnerNode } from './nodes.ts';
import type { Taken, TruePool } from './truth.ts';

interface Decision {
  readonly position: number;
  readonly targets: readonly (readonly Placement[])[];
}

export class PlacementCheck {
  readonly #world: World;
  readonly #policy: Policy;
  readonly #ownerNode: (pool: string, incarnation: string) => OwnerNode | undefined;
  readonly #decisions = new Map<string, { key: string; decisions: Decision[] }>();

  constructor(
    world: World,
    policy: Policy,
    ownerNode: (pool: string, incarnation: string) => OwnerNode | undefined,
  ) {
    this.#world = world;
    this.#policy = policy;
    this.#ownerNode = ownerNode;
  }

  /** Takes note of who is there, after a commit. */
  note(pool: string, { members }: TruePool, position: number): void {
    const all = [...members.values()];
    const staying = all.filter(({ incarnation }) => this.#ownerNode(pool, incarnation)?.leaving === false);
    const key = JSON.stringify([all, staying].map((group) => group.map(({ incarnation }) => incarnation)));
    const known = this.#decisions.get(pool) ?? { key: '', decisions: [] };
    if (known.key === key) return;
    const groups = staying.length === all.length ? [all] : [all, staying];
    known.decisions.push({ position, targets: groups.map((group) => this.#target(group)) });
    this.#decisions.set(pool, { key, decisions: known.decisions });
  }

  /** Positions begin anew elsewhere, and everybody with them. */
  forget(): void {
    this.#decisions.clear();
  }

  /** A living owner gave these keys back. */
  judge(pool: string, taken: Taken): void {
    const node = this.#ownerNode(pool, taken.from);
    if (node === undefined || node.troubled || node.leaving) return;
    const { decisions } = this.#decisions.get(pool) ?? { decisions: [] };
    const inForce = decisions.findLastIndex(({ position }) => position <= taken.tenure);
    const since = decisions.slice(Math.max(0, inForce));
    if (since.some(({ targets }) => targets.some((target) => !gives(target, taken)))) return;
    throw this.#world.broken(
      'placement',
      `${formatRange(taken)} was taken from ${taken.from}, where the policy wants it`,
    );
  }

  #target(group: readonly Member[]): readonly Placement[] {
    const named = new Map<string, Member>();
    for (const member of group) {
      const other = named.get(member.name);
      if (other === undefined || other.joinedAt <= member.joinedAt) named.set(member.name, member);
    }
    const members = [...named.values()].map(({ incarnation, name }) => ({
      incarnation,
      name,
      load: undefined,
    }));
    return this.#policy.place({ rows: [], members });
  }
}

/** Whether the target leaves these keys where they were. */
const gives = (target: readonly Placement[], { from, start, end }: Taken): boolean =>
  target.some((placed) => placed.incarnation === from && placed.start <= start && end <= placed.end);
