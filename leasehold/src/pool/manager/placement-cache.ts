/**
 * The target of the policy for each pool, computed again only when it can have changed.
 */

import type { Placement, Policy, PolicyMember } from '../policy/policy.ts';
import type { ManagerState } from '../state.ts';
import type { Member, PoolTable } from '../table.ts';
import type { Session } from './session.ts';

interface CachedPlacement {
  /** The members for which the target was computed. */
  readonly members: string;
  readonly placements: readonly Placement[];
  readonly spans: ReadonlyMap<string, number>;
}

export class PlacementCache {
  readonly #policy: (pool: string) => Policy;
  readonly #known = new Map<string, CachedPlacement>();

  constructor(policy: (pool: string) => Policy) {
    this.#policy = policy;
  }

  of(pool: string, table: PoolTable, sessions: ReadonlyMap<string, Session>): readonly Placement[] {
    const members = staying(table, sessions);
    const key = JSON.stringify(members.map(({ incarnation }) => incarnation));
    const known = this.#known.get(pool);
    const policy = this.#policy(pool);
    if (known?.members === key && !policy.adaptive) return known.placements;
    const placements = policy.place({ rows: table.rows, members });
    const spans = new Map<string, number>();
    for (const { incarnation } of placements) spans.set(incarnation, (spans.get(incarnation) ?? 0) + 1);
    this.#known.set(pool, { members: key, placements, spans });
    return placements;
  }

  /** The policies may have changed. */
  forget(): void {
    this.#known.clear();
  }

  /** The target when this pool was last decided about. */
  last(pool: string): readonly Placement[] {
    return this.#known.get(pool)?.placements ?? [];
  }

  /** Whether an owner has more rows than spans in the last target: such rows may be merged. */
  hasFragments({ pool, identity: { incarnation } }: Session, state: ManagerState): boolean {
    const spans = this.#known.get(pool)?.spans.get(incarnation) ?? 0;
    return state.pool(pool).rowsOf(incarnation).length > spans;
  }
}

/** The members that may be given keys: those that do not want to leave; of two with one name, the later. */
function staying(table: PoolTable, sessions: ReadonlyMap<string, Session>): PolicyMember[] {
  const byName = new Map<string, Member>();
  for (const member of table.members.values()) {
    if (sessions.get(member.incarnation)?.report.leaving) continue;
    const other = byName.get(member.name);
    if (other === undefined || other.joinedAt <= member.joinedAt) byName.set(member.name, member);
  }
  return [...byName.values()].map(({ incarnation, name }) => ({
    incarnation,
    name,
    load: sessions.get(incarnation)?.report.load,
  }));
}
