import { describe, expect, it } from 'vitest';
import { HeldLease } from '../core/held-lease.ts';
import { PendingReleases } from './pending-releases.ts';

const leaving = (number: number): HeldLease => {
  const held = new HeldLease('r', { number, untilMs: 0 });
  held.leaving();
  return held;
};

describe('pending releases', () => {
  it('end one by one, each for every caller that waits for it', async () => {
    const releases = new PendingReleases();
    const said: string[] = [];
    const [one, two] = [leaving(1), leaving(2)];
    const waiting = [
      releases.over(one).then(() => said.push('one')),
      releases.over(one).then(() => said.push('one, too')),
      releases.over(two).then(() => said.push('two')),
    ];
    releases.left(two);
    await waiting[2];
    expect(said).toEqual(['two']);
    releases.left(one);
    await Promise.all(waiting);
    expect(said).toEqual(['two', 'one', 'one, too']);
  });

  it('are not waited for if the other members know, or if no caller waits', async () => {
    const releases = new PendingReleases();
    await releases.over(new HeldLease('r', { number: 1, untilMs: 0 }));
    releases.left(leaving(2));
    expect(releases.size).toBe(0);
  });

  it('all end when the member closes', async () => {
    const releases = new PendingReleases();
    const over = releases.over(leaving(1));
    releases.end();
    await over;
  });
});
