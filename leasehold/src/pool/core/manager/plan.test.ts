import { describe, expect, it } from 'vitest';
import type { Placement } from '../policy/policy.ts';
import { numbered, showNumbered, showSpan, span } from '../script.ts';
import type { Row } from '../table.ts';
import { plan } from './plan.ts';

/** `0-4#7 a` is a row of a's, `0-4#7` one of nobody's. */
const rows = (...texts: string[]): Row[] =>
  texts.map((text) => {
    const [piece = '', owner] = text.split(' ');
    return { ...numbered(piece), owner, lostAt: 0, changedAt: 0, continues: [], ticket: undefined };
  });
const target = (...texts: string[]): Placement[] =>
  texts.map((text) => {
    const [place = '', incarnation = ''] = text.split(' ');
    return { ...span(place), incarnation };
  });

/** The steps, one a line. */
function steps(table: Row[], target: Placement[], mayMerge: (row: Row) => boolean = () => true): string[] {
  const { grants, recalls, merges } = plan(table, target, mayMerge);
  return [
    ...[...grants].map(([owner, spans]) => `grant ${owner} ${spans.map(showSpan).join(' ')}`),
    ...[...recalls].map(([owner, spans]) => `recall ${owner} ${spans.map(showNumbered).join(' ')}`),
    ...merges.map((merged) => `merge ${showSpan(merged)}`),
  ];
}

describe('from a target placement to steps', () => {
  it('there is nothing to do when the table equals the target', () => {
    expect(steps(rows('0-8#1 a', '8-16#2 b'), target('0-8 a', '8-16 b'))).toEqual([]);
  });

  it('there is nothing to do when there is nobody to give to', () => {
    expect(steps(rows('0-16#0'), target())).toEqual([]);
  });

  it('keys without an owner are granted, cut as the target cuts them', () => {
    expect(steps(rows('0-16#0'), target('0-4 a', '4-8 b', '8-16 a'))).toEqual([
      'grant a 0-4 8-16',
      'grant b 4-8',
    ]);
  });

  it('keys of another owner are recalled under their number, and not yet granted', () => {
    expect(steps(rows('0-16#3 a'), target('0-4 a', '4-6 b', '6-16 a'))).toEqual(['recall a 4-6#3']);
  });

  it('does all of it in one walk, as the picture in the source has it', () => {
    expect(
      steps(rows('0-6#1 a', '6-10#1', '10-16#2 b'), target('0-3 a', '3-10 c', '10-14 b', '14-16 c')),
    ).toEqual(['grant c 6-10', 'recall a 3-6#1', 'recall b 14-16#2']);
  });

  it('merges rows of one owner that lie in one target span', () => {
    expect(steps(rows('0-4#1 a', '4-8#2 a', '8-12#3 a', '12-16#4 b'), target('0-12 a', '12-16 b'))).toEqual([
      'merge 0-12',
    ]);
  });

  it('merges nothing across the edge of a target span', () => {
    expect(steps(rows('0-4#1 a', '4-8#2 a', '8-16#3 a'), target('0-4 a', '4-16 a'))).toEqual(['merge 4-16']);
  });

  it('merges nothing that a row of another, of nobody, or only half inside lies between', () => {
    expect(
      steps(
        rows('0-2#1 a', '2-4#2 b', '4-6#3 a', '6-8#3', '8-10#4 a', '10-16#5 a'),
        target('0-12 a', '12-16 b'),
      ),
    ).toEqual(['grant a 6-8', 'recall b 2-4#2', 'recall a 12-16#5']);
  });

  it('merges nothing of which the owner does not know the present number', () => {
    const table = rows('0-4#1 a', '4-8#2 a', '8-12#3 a', '12-16#4 a');
    expect(steps(table, target('0-16 a'), ({ number }) => number !== 2)).toEqual(['merge 8-16']);
    expect(steps(table, target('0-16 a'), () => false)).toEqual([]);
  });
});
