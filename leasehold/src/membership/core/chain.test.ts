import { describe, expect, it } from 'vitest';
import { chainAfter, UNKNOWN_CHAIN } from './chain.ts';
import type { Membership } from './incarnation.ts';

const set = (key: string): Membership => ({ key, members: [] });
const keys = (chain: readonly Membership[]): string => chain.map(({ key }) => key).join(' ');

describe('the chain of views', () => {
  it('begins with a view whose hold was over', () => {
    expect(keys(chainAfter(UNKNOWN_CHAIN, set('a'), true))).toBe('a');
    expect(keys(chainAfter([set('a'), set('b')], set('c'), true))).toBe('c');
  });

  it('goes on with every view whose hold was not over', () => {
    expect(keys(chainAfter([set('a')], set('b'), false))).toBe('a b');
    expect(keys(chainAfter([set('a'), set('b')], set('b'), false))).toBe('a b');
  });

  it('stays unknown until the hold of a view is over', () => {
    expect(chainAfter(UNKNOWN_CHAIN, set('a'), false)).toEqual(UNKNOWN_CHAIN);
  });

  it('is given up when it grows too long', () => {
    let chain = chainAfter(UNKNOWN_CHAIN, set('0'), true);
    for (let i = 1; i < 8; i++) chain = chainAfter(chain, set(`${i}`), false);
    expect(chain).toHaveLength(8);
    expect(chainAfter(chain, set('8'), false)).toEqual(UNKNOWN_CHAIN);
  });
});
