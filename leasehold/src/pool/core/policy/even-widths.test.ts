import { describe, expect, it } from 'vitest';
import { RING_SIZE } from '../../../runtime/keys/position.ts';
import { Random } from '../../../sim/random.ts';
import { evenWidths, MOST_ROWS } from './even-widths.ts';
import type { Placement } from './policy.ts';

const ROUND = (RING_SIZE * 9n) / 100n;
const anybody = (): boolean => true;

const widthOf = ({ start, end }: Placement): bigint => end - start;
const owned = (placements: readonly Placement[], incarnation: string): readonly Placement[] =>
  placements.filter((each) => each.incarnation === incarnation);

/** How much of the ring each has, in percent. */
const percents = (placements: readonly Placement[], owners: readonly string[]): number[] =>
  owners.map((owner) => {
    const width = owned(placements, owner).reduce((sum, each) => sum + widthOf(each), 0n);
    return Number((width * 1_000n) / RING_SIZE) / 10;
  });

/** `rows` of equal width, to these owners in turn. */
const inTurn = (rows: number, owners: readonly string[]): Placement[] =>
  Array.from({ length: rows }, (_, row) => ({
    start: (RING_SIZE * BigInt(row)) / BigInt(rows),
    end: (RING_SIZE * BigInt(row + 1)) / BigInt(rows),
    incarnation: owners[row % owners.length] ?? '',
  }));

/** How much of the ring has another owner than before. */
function moved(before: readonly Placement[], after: readonly Placement[]): bigint {
  const ownerAt = (at: bigint) => before.find(({ start, end }) => start <= at && at < end)?.incarnation;
  const edges = [...new Set([...before, ...after].flatMap(({ start, end }) => [start, end]))].sort((a, b) =>
    a < b ? -1 : 1,
  );
  let width = 0n;
  for (const [index, start] of edges.entries()) {
    const end = edges[index + 1];
    const now = after.find((each) => each.start <= start && start < each.end)?.incarnation;
    if (end !== undefined && ownerAt(start) !== now) width += end - start;
  }
  return width;
}

/** Rounds until nothing moves any more, and how much was moved in each. */
function rounds(placements: readonly Placement[], owners: readonly string[]) {
  const each: bigint[] = [];
  let now = placements;
  for (;;) {
    const next = evenWidths(now, owners, { budget: ROUND, canTake: anybody });
    const width = moved(now, next);
    if (width === 0n) return { placements: next, each };
    each.push(width);
    now = next;
    if (each.length > 100) throw new Error('it does not end');
  }
}

function coversTheRing(placements: readonly Placement[]): void {
  let at = 0n;
  for (const { start, end } of placements) {
    expect(start).toBe(at);
    at = end;
  }
  expect(at).toBe(RING_SIZE);
}

describe('evening out', () => {
  it('gives an owner that comes its part, from all that have more, and no more than a tenth of the ring at a time', () => {
    const owners = ['a', 'b', 'c'];
    const { placements, each } = rounds(inTurn(64, ['a', 'b']), owners);
    for (const percent of percents(placements, owners))
      expect(Math.abs(percent - 33.3)).toBeLessThanOrEqual(3.4);
    for (const width of each) expect(width <= ROUND).toBe(true);
    expect(each.length).toBeLessThanOrEqual(4);
    coversTheRing(placements);
  });

  it('moves no more than the owner that comes lacks', () => {
    const { each } = rounds(inTurn(64, ['a', 'b']), ['a', 'b', 'c']);
    const sum = each.reduce((all, width) => all + width, 0n);
    expect(sum <= RING_SIZE / 3n).toBe(true);
  });

  it('cuts a row where no whole row fits', () => {
    const { placements } = rounds([{ start: 0n, end: RING_SIZE, incarnation: 'a' }], ['a', 'b']);
    const [a = 0, b = 0] = percents(placements, ['a', 'b']);
    expect(Math.abs(a - b)).toBeLessThanOrEqual(10);
  });

  it('leaves a pool alone that is even to a tenth', () => {
    const almost = [
      { start: 0n, end: (RING_SIZE * 54n) / 100n, incarnation: 'a' },
      { start: (RING_SIZE * 54n) / 100n, end: RING_SIZE, incarnation: 'b' },
    ];
    expect(evenWidths(almost, ['a', 'b'], { budget: ROUND, canTake: anybody })).toEqual(almost);
  });

  it('does not depend on the order in which the owners are named', () => {
    const rows = inTurn(20, ['a', 'b', 'c']);
    const balance = { budget: ROUND, canTake: anybody };
    expect(evenWidths(rows, ['e', 'd', 'c', 'b', 'a'], balance)).toEqual(
      evenWidths(rows, ['a', 'b', 'c', 'd', 'e'], balance),
    );
  });

  it('neither takes from an owner that is not among these, nor gives to one that cannot take', () => {
    const rows = inTurn(16, ['a', 'x']);
    const canTake = (_: string, to: string): boolean => to !== 'c';
    const after = evenWidths(rows, ['a', 'b', 'c'], { budget: RING_SIZE, canTake });
    expect(owned(after, 'x')).toEqual(owned(rows, 'x'));
    expect([owned(after, 'b').length > 0, owned(after, 'c').length]).toEqual([true, 0]);
  });

  it('moves nothing without a budget', () => {
    const rows = inTurn(16, ['a']);
    expect(evenWidths(rows, ['a', 'b'], { budget: 0n, canTake: anybody })).toEqual(rows);
  });

  it('gives no owner more than its number of rows, and joins the neighbours of an owner with more', () => {
    const rows = inTurn(400, ['a']);
    const after = evenWidths(rows, ['a', 'b'], { budget: RING_SIZE, canTake: anybody });
    expect(owned(after, 'b').length).toBeLessThanOrEqual(MOST_ROWS);
    expect(owned(after, 'a').length).toBeLessThan(100);
    coversTheRing(after);
  });

  it('ends with every pool even to a tenth, whatever it began with, and never moves a key twice', () => {
    const dice = new Random(1);
    for (let world = 0; world < 200; world += 1) {
      const owners = Array.from({ length: dice.integer(2, 9) }, (_, index) => `owner-${index}`);
      const rows: Placement[] = [];
      for (let start = 0n; start < RING_SIZE; ) {
        const width = RING_SIZE / BigInt(dice.integer(2, 60));
        const end = start + width < RING_SIZE ? start + width : RING_SIZE;
        rows.push({ start, end, incarnation: dice.pick(owners) });
        start = end;
      }
      const { placements, each } = rounds(rows, owners);
      const mean = 100 / owners.length;
      for (const percent of percents(placements, owners))
        expect(Math.abs(percent - mean)).toBeLessThanOrEqual(mean / 10 + 0.1);
      coversTheRing(placements);
      const sum = each.reduce((all, width) => all + width, 0n);
      expect(sum).toBe(moved(rows, placements));
    }
  });
});
