import { describe, expect, it } from 'vitest';
import { chokePoint } from './choke-point.ts';

const MEMBERS = ['a', 'b', 'c', 'd', 'e'];

describe('a choke point', () => {
  it('is none in a view without blacklists, nor with one cut link in a group of five', () => {
    expect(chokePoint(MEMBERS, new Map())).toBeUndefined();
    expect(chokePoint(MEMBERS, new Map([['a', ['b']]]))).toBeUndefined();
  });

  it('is the member between two sides that reach each other through it alone', () => {
    const blacklists = new Map([
      ['a', ['d', 'e']],
      ['b', ['d', 'e']],
    ]);
    expect(chokePoint(MEMBERS, blacklists)).toEqual({ side: ['d', 'e'], through: ['c'] });
  });

  it('is no member if only the overlay connects the sides', () => {
    const others = ['b', 'c', 'd', 'e'];
    expect(chokePoint(MEMBERS, new Map([['a', others]]))).toEqual({ side: ['a'], through: [] });
  });

  it('is found by the blacklist of either side of a link', () => {
    expect(chokePoint(['a', 'b', 'c'], new Map([['b', ['a']]]))).toEqual({ side: ['b'], through: ['c'] });
  });
});
