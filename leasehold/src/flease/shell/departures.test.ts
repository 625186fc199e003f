import { describe, expect, it } from 'vitest';
import { HeldLease } from '../held-lease.ts';
import { Departures } from './departures.ts';

const leaving = (number: number): HeldLease => {
  const held = new HeldLease('r', { number, untilMs: 0 });
  held.leaving();
  return held;
};

describe('leases that are given back', () => {
  it('are over one by one, each for all who wait for it', async () => {
    const departures = new Departures();
    const said: string[] = [];
    const [one, two] = [leaving(1), leaving(2)];
    const waiting = [
      departures.over(one).then(() => said.push('one')),
      departures.over(one).then(() => said.push('one, too')),
      departures.over(two).then(() => said.push('two')),
    ];
    departures.left(two);
    await waiting[2];
    expect(said).toEqual(['two']);
    departures.left(one);
    await Promise.all(waiting);
    expect(said).toEqual(['two', 'one', 'one, too']);
  });

  it('need not be waited for if the others know, or nobody waits', async () => {
    const departures = new Departures();
    await departures.over(new HeldLease('r', { number: 1, untilMs: 0 }));
    departures.left(leaving(2));
    expect(departures.size).toBe(0);
  });

  it('are over when everything is', async () => {
    const departures = new Departures();
    const over = departures.over(leaving(1));
    departures.end();
    await over;
  });
});
