/**
 * A policy that changes its mind: keys stay as the sticky policy has them, but for some rows that belong elsewhere in each epoch. Some
 * of these are cut in two, and neighbours are joined in some epochs, so that tickets meet rows that change under them.
 */

import type { Placement, Policy } from '../../core/policy/policy.ts';
import { sticky } from '../../core/policy/sticky.ts';

export class Wishes implements Policy {
  readonly name = 'wishes';
  readonly adaptive = true;
  /** 0: keys stay where they are. */
  epoch = 0;
  /** How many rows one owner can have before no more are cut. */
  readonly mostRows: number;

  constructor(mostRows: number) {
    this.mostRows = mostRows;
  }

  place(input: Parameters<Policy['place']>[0]): readonly Placement[] {
    const placements = sticky.place(input);
    const targets = input.members
      .filter(({ intent = 'stay' }) => intent === 'stay')
      .map(({ incarnation, name }) => ({ incarnation, name }))
      .sort((one, other) => (one.name < other.name ? -1 : 1));
    const { epoch } = this;
    if (epoch === 0 || targets.length === 0) return placements;
    const wished = placements.flatMap((placed): readonly Placement[] => {
      const sum = hash(placed.start, epoch);
      if (sum % 4 !== 0) return [placed];
      const [one, other] = [sum >>> 4, sum >>> 9].map((each) => targets[each % targets.length]?.incarnation);
      if (one === undefined || other === undefined) return [placed];
      const middle = (placed.start + placed.end) / 2n;
      if (sum % 3 > 0 || placements.length >= this.mostRows) return [{ ...placed, incarnation: one }];
      return [
        { ...placed, end: middle, incarnation: one },
        { ...placed, start: middle, incarnation: other },
      ];
    });
    return epoch % 3 === 0 ? joined(wished) : wished;
  }
}

/** Neighbours with one owner are one placement. */
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

function hash(start: bigint, epoch: number): number {
  let sum = Number(start >> 40n) ^ Math.imul(epoch, 0x9e3779b1);
  sum = Math.imul(sum ^ (sum >>> 15), 0x2c1b3c6d);
  sum = Math.imul(sum ^ (sum >>> 12), 0x297a2d39);
  return (sum ^ (sum >>> 15)) >>> 0;
}
