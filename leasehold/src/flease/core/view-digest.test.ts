import { describe, expect, it } from 'vitest';
import { contradict, digestOf } from './view-digest.ts';

const of = (members: string, before?: string) =>
  digestOf({ members: [...members], before: before === undefined ? undefined : [...before] });

describe('the digest of a view', () => {
  it('is the same in whatever order its members are named', () => {
    expect(of('cab', 'dba')).toEqual(of('abc', 'abd'));
  });

  it('is what others compute, too', () => {
    expect(of('abc')).toEqual({ members: 0xc5d8_9bfc, before: 0 });
    expect(of('abd', 'abc')).toEqual({ members: 0xc5e5_67ef, before: 0xc5d8_9bfc });
  });

  it('tells where one name ends and the next begins', () => {
    expect(digestOf({ members: ['ab', 'c'], before: undefined })).not.toEqual(
      digestOf({ members: ['a', 'bc'], before: undefined }),
    );
  });
});

describe('two views of one number', () => {
  it.each([
    ['with the same members', of('abc'), of('abc')],
    ['one of which was told of those before', of('abd', 'abc'), of('abd')],
    ['with the same members before', of('abd', 'abc'), of('abd', 'abc')],
  ])('%s can be the same', (_, one, other) => {
    expect(contradict(one, other)).toBe(false);
    expect(contradict(other, one)).toBe(false);
  });

  it.each([
    ['with other members', of('abc'), of('abd')],
    ['with one member more', of('abc'), of('abcd')],
    ['with other members before', of('abd', 'abc'), of('abd', 'abe')],
  ])('%s contradict each other', (_, one, other) => {
    expect(contradict(one, other)).toBe(true);
    expect(contradict(other, one)).toBe(true);
  });
});
