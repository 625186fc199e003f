/**
 * The policy of a scenario: keys stay as the sticky policy has them, but for those that the scenario sends elsewhere. It says so by the name of an
 * owner; while no such owner takes keys, they stay.
 */

import type { Span } from '../../../runtime/keys/range.ts';
import type { Placement, Policy, PolicyMember } from '../../core/policy/policy.ts';
import { sticky } from '../../core/policy/sticky.ts';

interface Direction extends Span {
  readonly to: string;
}

export class Directions implements Policy {
  readonly name = 'directions';
  readonly adaptive = true;
  #directions: readonly Direction[] = [];
  /** Whether neighbours that belong to one owner are to be one row. */
  joins = false;

  send({ start, end }: Span, to: string): void {
    this.#directions = [...this.#directions.filter((one) => one.start !== start), { start, end, to }];
  }

  place(input: Parameters<Policy['place']>[0]): readonly Placement[] {
    const placements = this.#directions.reduce(
      (before, one) => redirected(before, one, input.members),
      sticky.place({ ...input, balance: undefined }),
    );
    return this.joins ? joined(placements) : placements;
  }
}

function redirected(
  placements: readonly Placement[],
  { start, end, to }: Direction,
  members: readonly PolicyMember[],
): readonly Placement[] {
  const target = members.find(({ name, intent = 'stay' }) => name === to && intent === 'stay');
  if (target === undefined) return placements;
  return placements.flatMap((placed) => {
    const from = placed.start > start ? placed.start : start;
    const until = placed.end < end ? placed.end : end;
    if (from >= until) return [placed];
    return [
      { ...placed, end: from },
      { start: from, end: until, incarnation: target.incarnation },
      { ...placed, start: until },
    ].filter((part) => part.start < part.end);
  });
}

function joined(placements: readonly Placement[]): readonly Placement[] {
  const result: Placement[] = [];
  for (const placed of placements) {
    const last = result.at(-1);
    if (last?.incarnation === placed.incarnation && last.end === placed.start)
      result[result.length - 1] = { ...last, end: placed.end };
    else result.push(placed);
  }
  return result;
}
