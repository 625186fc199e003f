/**
 * What must be so once faults have stopped for the stated time: members are those who live, every key is where the
 * policy wants it and served there, rows that can be one are one, and every look-up says what the log says.
 */

import { highOf, lowOf } from '../../runtime/keys/position.ts';
import { formatRange, type Span } from '../../runtime/keys/range.ts';
import type { World } from '../../sim/world.ts';
import type { Policy } from '../policy/policy.ts';
import type { ManagerState } from '../state.ts';
import type { LookupNode, OwnerNode } from './nodes.ts';
import type { TruePool } from './truth.ts';

/** All there is to be looked at. */
interface Seen {
  /** The state that the log replays to. */
  readonly replayed: ManagerState;
  readonly owners: readonly OwnerNode[];
  readonly lookups: readonly LookupNode[];
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
    for (const node of owners) {
      if (node.leaving) throw this.#broken(`${node.incarnation} wanted to leave and has not left`);
      if (!pool.members.has(node.incarnation))
        throw this.#broken(`${node.incarnation} lives and is no member`);
    }
    if (owners.length === 0) return;
    const wish = this.#policy.place({
      rows: [],
      members: owners.map((node) => ({ incarnation: node.incarnation, name: node.name, load: undefined })),
    });
    for (const placed of wish) {
      for (const segment of pool.overlapping(placed)) {
        if (segment.owner !== placed.incarnation)
          throw this.#broken(
            `${formatRange(segment)} belongs to ${segment.owner ?? 'nobody'}, and the policy wants ${placed.incarnation}`,
          );
      }
      const node = owners.find(({ incarnation }) => incarnation === placed.incarnation);
      for (const segment of pool.overlapping(placed)) this.#serves(node, segment, placed);
    }
    if (this.#seen.replayed.pool(name).rows.length > wish.length)
      throw this.#broken(
        `${this.#seen.replayed.pool(name).rows.length} rows for ${wish.length} spans: nobody merged them`,
      );
    for (const node of this.#seen.lookups)
      if (node.pool === name && node.process.alive) this.#agrees(node, name);
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
