import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../../runtime/errors.ts';
import { checkView, majorityOf, Quorums } from './view.ts';

const setOf = (quorums: Quorums, members: string): number =>
  [...members].reduce((set, member) => quorums.with(set, member), 0);

describe('a majority', () => {
  it('is more than half', () => {
    expect([1, 2, 3, 4, 5, 7].map(majorityOf)).toEqual([1, 2, 2, 3, 3, 4]);
  });

  it('counts each member once, and nobody else', () => {
    const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
    expect(quorums.suffices(setOf(quorums, 'aa'))).toBe(false);
    expect(quorums.suffices(setOf(quorums, 'ax'))).toBe(false);
    expect(quorums.suffices(setOf(quorums, 'ac'))).toBe(true);
  });

  it('is out of reach when too many have refused', () => {
    const quorums = new Quorums({ members: ['a', 'b', 'c'], before: undefined });
    expect(quorums.canSuffice(setOf(quorums, 'b'))).toBe(true);
    expect(quorums.canSuffice(setOf(quorums, 'bc'))).toBe(false);
  });
});

describe('while a change is not settled', () => {
  const quorums = new Quorums({ members: ['a', 'b', 'd'], before: ['a', 'b', 'c'] });

  it('everybody of both views is asked', () => {
    expect(quorums.everybody).toEqual(['a', 'b', 'd', 'c']);
  });

  it('a majority of each is needed', () => {
    expect(quorums.suffices(setOf(quorums, 'ad'))).toBe(false);
    expect(quorums.suffices(setOf(quorums, 'ac'))).toBe(false);
    expect(quorums.suffices(setOf(quorums, 'acd'))).toBe(true);
    expect(quorums.suffices(setOf(quorums, 'ab'))).toBe(true);
  });

  it('each majority is of its own size, also when the group shrinks', () => {
    const shrinking = new Quorums({ members: ['a', 'b', 'c'], before: ['a', 'b', 'c', 'd'] });
    expect(shrinking.suffices(setOf(shrinking, 'ab'))).toBe(false);
    expect(shrinking.suffices(setOf(shrinking, 'abd'))).toBe(true);
    const growing = new Quorums({ members: ['a', 'b', 'c', 'd'], before: ['a', 'b', 'c'] });
    expect(growing.suffices(setOf(growing, 'ab'))).toBe(false);
    expect(growing.suffices(setOf(growing, 'abd'))).toBe(true);
  });

  it('a majority is out of reach when that of one view is', () => {
    expect(quorums.canSuffice(setOf(quorums, 'ac'))).toBe(false);
    expect(quorums.canSuffice(setOf(quorums, 'cd'))).toBe(true);
  });
});

describe('a view is refused', () => {
  const members = ['a', 'b'];
  it.each([
    ['with a number below 1', { number: 0, members, before: undefined }],
    ['with half a number', { number: 1.5, members, before: undefined }],
    ['without members', { number: 1, members: [], before: undefined }],
    ['with a member that has no name', { number: 1, members: [''], before: undefined }],
    ['with one name twice', { number: 1, members: ['a', 'a'], before: undefined }],
    ['with too many', { number: 1, members: [...'abcdefghijklmnop'], before: undefined }],
    ['if the one before breaks a rule', { number: 2, members, before: [] }],
  ])('%s', (_, view) => {
    expect(() => checkView(view)).toThrow(InvalidArgumentError);
  });
});
