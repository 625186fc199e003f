import { describe, expect, it } from 'vitest';
import { QuorumPicker } from './quorum-picker.ts';
import { Quorums } from './view.ts';

const ofThree = () => new QuorumPicker('a', new Quorums({ members: ['a', 'b', 'c'], before: undefined }), 2);

describe('the set of members to ask', () => {
  it('is everybody while there is little to do', () => {
    expect(ofThree().pick(0)).toEqual(['a', 'b', 'c']);
    expect(ofThree().pick(1)).toEqual(['a', 'b', 'c']);
  });

  it('is no more than a majority while there is much, ourselves among it', () => {
    const members = ['c', 'b', 'a', 'e', 'd'];
    expect(ofThree().pick(2)).toEqual(['a', 'b']);
    expect(new QuorumPicker('a', new Quorums({ members, before: undefined }), 0).pick(0)).toEqual([
      'a',
      'c',
      'b',
    ]);
  });

  it('has the members that were quick', () => {
    const picker = ofThree();
    picker.wasQuick('c');
    expect(picker.pick(9)).toEqual(['a', 'c']);
    picker.wasQuick('a');
    picker.wasQuick('c');
    expect(picker.pick(9)).toEqual(['a', 'c']);
  });

  it('has no member that was late, if there are others', () => {
    const picker = ofThree();
    picker.wasLate('b');
    expect(picker.pick(9)).toEqual(['a', 'c']);
    picker.wasLate('c');
    expect(picker.pick(9)).toEqual(['a', 'b']);
    picker.wasLate('a');
    expect(picker.pick(9)).toEqual(['a', 'b']);
  });

  it('is as many as are enough for both groups while one becomes the other', () => {
    const quorums = new Quorums({ members: ['a', 'd', 'e'], before: ['a', 'b', 'c'] });
    expect(new QuorumPicker('a', quorums, 0).pick(0)).toEqual(['a', 'd', 'e', 'b']);
  });

  it('is a majority of the group, for a member that leaves the group', () => {
    const quorums = new Quorums({ members: ['b', 'c', 'd'], before: undefined });
    expect(new QuorumPicker('a', quorums, 0).pick(0)).toEqual(['b', 'c']);
  });
});
