import { describe, expect, it } from 'vitest';
import { CREDIT, Credits } from './credits.ts';

const member = (name: string): { name: string; incarnation: { startedMs: number; nonce: number } } => ({
  name,
  incarnation: { startedMs: 1, nonce: 1 },
});
const asks = (name: string, demand: number, credits: number, parts = 1): Parameters<Credits['hear']>[0] => ({
  ...{ id: member(name), demand, credits: credits * CREDIT, parts },
});

describe('credits', () => {
  it('go to a poorer asker, half of the difference, and leave the giver at once', () => {
    const credits = new Credits();
    credits.hear(asks('b', 3, 1));
    const gifts = credits.gifts(1);
    // Even would be 0.5 and 1.5.
    expect(gifts).toEqual([{ to: member('b'), amount: 0.25 * CREDIT }]);
    expect(credits.held).toBe(0.75 * CREDIT);
  });

  it('are shared out among all poorer askers of an epoch, and never more than the surplus', () => {
    const credits = new Credits();
    for (const name of ['b', 'c', 'd', 'e']) credits.hear(asks(name, 1_000, 0));
    const given = credits.gifts(1).reduce((sum, { amount }) => sum + amount, 0);
    expect(given + credits.held).toBe(CREDIT);
    expect(credits.held).toBeGreaterThan(0);
  });

  it('do not go to a richer asker, nor to one that asked in an earlier epoch', () => {
    const credits = new Credits();
    credits.hear(asks('b', 1, 2));
    expect(credits.gifts(1)).toEqual([]);
    credits.hear(asks('b', 3, 0));
    credits.restart();
    expect(credits.gifts(1)).toEqual([]);
  });

  it('are given once for a question that arrives twice', () => {
    const credits = new Credits();
    credits.hear(asks('b', 3, 1));
    credits.hear(asks('b', 3, 1));
    expect(credits.gifts(1)).toHaveLength(1);
  });

  it('are not poisoned by a demand that is no number', () => {
    const credits = new Credits();
    credits.hear(asks('b', Number.POSITIVE_INFINITY, 0));
    credits.gifts(1);
    expect(credits.held).toBe(CREDIT);
  });

  it('are asked for eight times as eagerly by a member with far less than others for its demand', () => {
    const credits = new Credits();
    expect(credits.partsFor(10)).toBe(1);
    credits.hear(asks('b', 1, 1));
    credits.gifts(10);
    expect(credits.partsFor(1)).toBe(1);
    expect(credits.partsFor(10)).toBe(8);
  });
});
