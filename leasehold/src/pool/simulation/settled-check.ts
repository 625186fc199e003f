/**
 * What must be so once faults have stopped for the stated time: members are those who live, every key is where the
 * policy wants it and served there, rows that can be one are one, and every look-up says what the log says.
 *
 * Two living owners are excused from being members: one whose name another member has, and one that was never told of the
 * Manager that leads.
 */

import { highOf, lowOf } from '../../runtime/keys/position.ts';
import { formatRange, type Span } from '../../runtime/keys/range.ts';
import type { World } from '../../sim/world.ts';
import type { Policy } from '../core/policy/policy.ts';
import type { ManagerState } from '../core/state.ts';
import type { LookupNode, OwnerNode } from './nodes.ts';
import type { TruePool } from './truth.ts';

/** All there is to be looked at. */
interface Seen {
  /** The state that the log replays to. */
  readonly replayed: ManagerState;
  readonly owners: readonly OwnerNode[];
  readonly lookups: readonly LookupNode[];
  /** The name of the Manager that leads. */
  readonly leader: string | undefined;
}

export class SettledCheck {
  readonly #world: World;
  readonly #policy: Policy;
  readonly #seen: Seen;

  constructor(world: World, policy: Policy, seen: Seen) {
    this.#world = world;
    this.#policy = policy;
    this.#seen = seen;
  }

  #broken(detail: string): Error {
    return this.#world.broken('settles', detail);
  }

  /** Of one pool. */
  judge(name: string, pool: TruePool): void {
    const owners = this.#seen.owners.filter((node) => node.pool === name && node.lives && !node.left);
    const living = new Set(owners.map(({ incarnation }) => incarnation));
    for (const member of pool.members.keys()) {
      if (!living.has(member)) throw this.#broken(`${member} is dead or gone and still a member`);
    }
    const members = owners.filter(({ incarnation }) => pool.members.has(incarnation));
    const names = new Set<string>();
    for (const { ownerName } of members) {
      if (names.has(ownerName)) throw this.#broken(`two members are called ${ownerName}`);
      names.add(ownerName);
    }
    for (const node of owners) {
      if (this.#isExcused(node, names)) continue;
      if (node.leaving) throw this.#broken(`${node.incarnation} wanted to leave and has not left`);
      if (!members.includes(node)) throw this.#broken(`${node.incarnation} lives and is no member`);
    }
    if (members.length === 0) return;
    const target = this.#policy.place({
      rows: [],
      members: members.map(({ incarnation, ownerName }) => ({
        incarnation,
        name: ownerName,
        load: undefined,
      })),
    });
    for (const placed of target) {
      for (const segment of pool.overlapping(placed)) {
        if (segment.owner !== placed.incarnation)
          throw this.#broken(
            `${formatRange(segment)} belongs to ${segment.owner ?? 'nobody'}, and the policy wants ${placed.incarnation}`,
          );
      }
      const node = members.find(({ incarnation }) => incarnation === placed.incarnation);
      for (const segment of pool.overlapping(placed)) this.#serves(node, segment, placed);
    }
    if (this.#seen.replayed.pool(name).rows.length > target.length)
      throw this.#broken(
        `${this.#seen.replayed.pool(name).rows.length} rows for ${target.length} spans: nobody merged them`,
      );
    for (const node of this.#seen.lookups)
      if (node.pool === name && node.process.alive) this.#agrees(node, name);
  }

  /** Whether an owner that lives need not be a member. */
  #isExcused(node: OwnerNode, names: ReadonlySet<string>): boolean {
    const { leader } = this.#seen;
    if (leader !== undefined && !node.knownManagers.includes(leader)) return true;
    return !node.core?.isAdmitted && names.has(node.ownerName);
  }

  /** The owner passes its check on every stretch of these keys. */
  #serves(node: OwnerNode | undefined, { start, end }: Span, placed: Span): void {
    const from = start > placed.start ? start : placed.start;
    const to = end < placed.end ? end : placed.end;
    const edges = (node?.core?.pieces ?? []).flatMap((piece) => [piece.start, piece.end]);
    for (const at of [from, ...edges.filter((edge) => from < edge && edge < to)]) {
      if (node?.check(at) !== undefined) continue;
      throw this.#broken(`${node?.name} does not serve ${formatRange(placed)}`);
    }
  }

  #agrees(node: LookupNode, name: string): void {
    for (const row of this.#seen.replayed.pool(name).rows) {
      const known = node.core?.find(highOf(row.start), lowOf(row.start));
      if (known?.owner?.incarnation === row.owner && known?.number === row.number) continue;
      throw this.#broken(
        `${node.name} has ${known?.owner?.incarnation ?? 'nobody'} under ${known?.number} for ${formatRange(row)}, the log has ${row.owner ?? 'nobody'} under ${row.number}`,
      );
    }
    if (node.core?.isCutOff) throw this.#broken(`${node.name} is still cut off`);
  }
}
