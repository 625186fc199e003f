/**
 * The target of the policy for each pool, computed again only when it can have changed.
 */

import type { Balance, Placement, Policy, PolicyMember } from '../policy/policy.ts';
import type { ManagerState } from '../state.ts';
import { sticky } from '../policy/sticky.ts';
import type { PoolTable, Row } from '../table.ts';
import { intentOf } from './intent.ts';
import { latestByName } from './namesakes.ts';
import type { Session } from './session.ts';
import type { PoolSettings } from './settings.ts';

interface CachedPlacement {
  /** The members for which the target was computed. */
  readonly members: string;
  readonly placements: readonly Placement[];
  readonly spans: ReadonlyMap<string, number>;
}

export class PlacementCache {
  readonly #settings: (pool: string) => Pick<PoolSettings, 'policy' | 'movesPolicy'>;
  readonly #known = new Map<string, CachedPlacement>();

  constructor(settings: (pool: string) => Pick<PoolSettings, 'policy' | 'movesPolicy'>) {
    this.#settings = settings;
  }

  /**
   * @param rows of this table, as they will be when the moves under way are through
   * @param balance what may move although it need not
   */
  of(
    pool: string,
    table: PoolTable,
    sessions: ReadonlyMap<string, Session>,
    rows: readonly Row[] = table.rows,
    balance?: Balance,
  ): readonly Placement[] {
    const members = table.hasMoves ? withIntents(table, sessions) : staying(table, sessions);
    const key = JSON.stringify(members.map(({ incarnation }) => incarnation));
    const known = this.#known.get(pool);
    const policy = this.#policyOf(pool, table);
    if (known?.members === key && !policy.adaptive) return known.placements;
    const placements = policy.place({ rows, members, balance });
    const spans = new Map<string, number>();
    for (const { incarnation } of placements) spans.set(incarnation, (spans.get(incarnation) ?? 0) + 1);
    this.#known.set(pool, { members: key, placements, spans });
    return placements;
  }

  #policyOf(pool: string, table: PoolTable): Policy {
    return policyInForce(this.#settings(pool), table);
  }

  /**
   * Where the keys would belong if this member were gone, and no other process had come.
   *
   * @param rowsOf a table, as they will be when the moves under way are through
   */
  without(
    pool: string,
    incarnation: string,
    table: PoolTable,
    sessions: ReadonlyMap<string, Session>,
    rowsOf: (table: PoolTable) => readonly Row[],
  ): readonly Placement[] {
    const after = table.apply([{ kind: 'leave', incarnation, why: 'expired' }], table.changedAt + 1);
    const members = after.hasMoves ? withIntents(after, sessions) : staying(after, sessions);
    return this.#policyOf(pool, after).place({ rows: rowsOf(after), members });
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

/** The policy that places the keys of this pool: another one once keys move with their state. */
export const policyInForce = (
  { policy, movesPolicy = sticky }: Pick<PoolSettings, 'policy' | 'movesPolicy'>,
  { hasMoves }: PoolTable,
): Policy => (hasMoves ? movesPolicy : policy);

/** The members that may be given keys: those that do not want to leave; of two with one name, the later. */
function staying(table: PoolTable, sessions: ReadonlyMap<string, Session>): PolicyMember[] {
  const staying = [...table.members].filter(([each]) => sessions.get(each)?.report.leaving !== true);
  return [...latestByName(new Map(staying)).values()].map(({ incarnation, name }) => ({
    incarnation,
    name,
    load: sessions.get(incarnation)?.report.load,
  }));
}

/** All members that do not want to leave at once; of two with one name the earlier one is to have no keys. */
function withIntents(table: PoolTable, sessions: ReadonlyMap<string, Session>): PolicyMember[] {
  const latest = latestByName(table.members);
  return [...table.members.values()].flatMap((member): PolicyMember[] => {
    const { incarnation, name } = member;
    const report = sessions.get(incarnation)?.report;
    if (report?.leaving === true) return [];
    const isLatest = latest.get(name)?.incarnation === incarnation;
    const intent = isLatest ? intentOf(member, report) : 'draining';
    return [{ incarnation, name, load: report?.load, intent }];
  });
}
