import { describe, expect, it } from 'vitest';
import { Tenure } from '../claim.ts';
import { Departures } from './departures.ts';

/** Turns end when they are told to. */
function bench() {
  const ends: (() => void)[] = [];
  const leaving = new Set<Tenure>();
  let looks = 0;
  const departures = new Departures(
    (tenure) => {
      looks += 1;
      return leaving.has(tenure);
    },
    (callback) => ends.push(callback),
  );
  const gone: number[] = [];
  const leave = (number: number): Tenure => {
    const tenure = new Tenure('r', number, 0);
    leaving.add(tenure);
    void departures.over(tenure).then(() => gone.push(number));
    return tenure;
  };
  const endTurn = async (): Promise<number> => {
    looks = 0;
    for (const end of ends.splice(0)) end();
    await Promise.resolve();
    return looks;
  };
  return { departures, leaving, leave, gone, ends, endTurn };
}

describe('leases that are given back', () => {
  it('are waited for until there is nothing to tell any more', async () => {
    const { departures, leave, leaving, gone, endTurn } = bench();
    const [one, two] = [leave(1), leave(2)];
    await endTurn();
    expect(gone).toEqual([]);
    leaving.delete(two);
    departures.look();
    await endTurn();
    expect(gone).toEqual([2]);
    leaving.delete(one);
    departures.look();
    await endTurn();
    expect(gone).toEqual([1, 2].reverse());
    expect(departures.size).toBe(0);
  });

  it('are all found in the end, however many there are, and few are looked at in a turn', async () => {
    const { departures, leave, leaving, gone, ends, endTurn } = bench();
    for (let number = 0; number < 2_000; number += 1) leave(number);
    while (ends.length > 0) expect(await endTurn()).toBeLessThanOrEqual(256);
    leaving.clear();
    departures.look();
    while (ends.length > 0) expect(await endTurn()).toBeLessThanOrEqual(256);
    expect(gone).toHaveLength(2_000);
  });

  it('are not looked at when nothing happens', async () => {
    const { leave, ends, endTurn } = bench();
    leave(1);
    await endTurn();
    expect(ends).toEqual([]);
  });

  it('are over one by one, and then all of them', async () => {
    const { departures, leave, leaving, gone, endTurn } = bench();
    await departures.allOver();
    leave(1);
    const all = departures.allOver().then(() => gone.push(0));
    await endTurn();
    leaving.clear();
    departures.look();
    await all;
    expect(gone).toEqual([1, 0]);
  });

  it('are over when everything is', async () => {
    const { departures, leave, gone } = bench();
    leave(1);
    departures.end();
    await Promise.resolve();
    expect(gone).toEqual([1]);
  });
});
