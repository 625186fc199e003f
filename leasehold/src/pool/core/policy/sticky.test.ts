import { describe, expect, it } from 'vitest';
import type { Intent } from '../messages.ts';
import { numbered, showSpan } from '../script.ts';
import type { Row } from '../table.ts';
import { sticky } from './sticky.ts';

/** `0-4 a` is a row of a's, `0-4` a row without an owner; members are `a`, `b:draining`, `b.2` (called b). */
function placed(rows: readonly string[], members: readonly string[]): string[] {
  const placements = sticky.place({
    rows: rows.map((text): Row => {
      const [place = '', owner] = text.split(' ');
      return { ...numbered(`${place}#1`), owner, lostAt: 0, changedAt: 0, continues: [], ticket: undefined };
    }),
    members: members.map((text) => {
      const [incarnation = '', intent] = text.split(':');
      const [name = ''] = incarnation.split('.');
      return { incarnation, name, load: undefined, intent: intent as Intent | undefined };
    }),
  });
  return placements.map((each) => `${showSpan(each)} ${each.incarnation}`);
}

describe('the sticky policy', () => {
  it('leaves keys where they are, however uneven that is', () => {
    expect(placed(['0-12 a', '12-16 b'], ['a', 'b', 'c'])).toEqual(['0-12 a', '12-16 b']);
  });

  it('leaves the keys of an owner that states no intent, because it moves nothing, where they are', () => {
    expect(placed(['0-4 b', '4-16 a'], ['a:stay', 'b', 'c:stay'])).toEqual(['0-4 b', '4-16 a']);
  });

  it('gives the keys of an owner that drains to the owners with the least part of the ring', () => {
    expect(placed(['0-8 a', '8-10 b', '10-14 c', '14-16 c'], ['a', 'b', 'c:draining'])).toEqual([
      '0-8 a',
      '8-10 b',
      '10-14 b',
      '14-16 b',
    ]);
  });

  it('gives the keys of an owner that drains to the next process under its name', () => {
    expect(placed(['0-8 a', '8-16 b'], ['a:draining', 'b', 'a.2'])).toEqual(['0-8 a.2', '8-16 b']);
  });

  it('gives keys without an owner to an owner that takes keys', () => {
    expect(placed(['0-8 a', '8-16'], ['a', 'b:cordoned', 'c'])).toEqual(['0-8 a', '8-16 c']);
  });

  it('leaves the keys of a cordoned owner, and of the last one that drains, where they are', () => {
    expect(placed(['0-8 a', '8-16 b'], ['a:cordoned', 'b:draining'])).toEqual(['0-8 a', '8-16 b']);
  });

  it('wants nothing with keys that no member can take', () => {
    expect(placed(['0-8 a', '8-16'], ['a:draining'])).toEqual(['0-8 a']);
  });
});
