import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import type { NumberedSpan, Report } from '../messages.ts';
import { at, numbered, showGranted } from '../script.ts';
import type { Row } from '../table.ts';
import { Session } from './session.ts';
import { covers } from '../spans.ts';

const report = (sequence: number, held: readonly NumberedSpan[] = []): Report => ({
  kind: 'report',
  pool: 'p',
  incarnation: 'a.1',
  name: 'a',
  url: 'http://a',
  proof: 'digest',
  sequence,
  wantsAnswer: true,
  heard: undefined,
  seen: undefined,
  held,
  letGo: [],
  leaving: false,
  load: 0,
});
const row = (text: string, ...continues: string[]): Row => ({
  ...numbered(text),
  owner: 'a.1',
  lostAt: 0,
  changedAt: 0,
  continues: continues.map(numbered),
  ticket: undefined,
});
const session = () => new Session('address', report(1), instant(100));

describe('an owner knows a row', () => {
  const held = ['0-4#1', '4-8#1', '8-12#2'].map(numbered);
  const isKnown = (text: string): boolean => covers(held, numbered(text));

  it('if it holds the whole row under that number, in however many pieces', () => {
    expect(['0-4#1', '0-8#1', '2-6#1', '8-12#2', '9-10#2'].map(isKnown)).toEqual([
      true,
      true,
      true,
      true,
      true,
    ]);
  });

  it('does not know a row if it holds the row under another number, or only a part of it', () => {
    expect(['0-4#2', '4-12#1', '8-13#2', '12-14#2'].map(isKnown)).toEqual([false, false, false, false]);
    expect(covers([], numbered('0-1#1'))).toBe(false);
    expect(covers(['0-2#1', '3-4#1'].map(numbered), numbered('0-4#1'))).toBe(false);
  });

  it('exactly when each of its keys is held under its number', () => {
    const pieces = fc.array(fc.constantFrom(0, 1, 2), { minLength: 16, maxLength: 16 });
    fc.assert(
      fc.property(pieces, fc.nat(15), fc.nat(15), (numbers, one, other) => {
        const [first, last] = [Math.min(one, other), Math.max(one, other)];
        // Number 0 stands for not held.
        const some = numbers.flatMap((number, key) =>
          number === 0 ? [] : [{ start: at(key), end: at(key + 1), number }],
        );
        const wanted = { start: at(first), end: at(last + 1), number: 1 };
        expect(covers(some, wanted)).toBe(numbers.slice(first, last + 1).every((number) => number === 1));
      }),
      { numRuns: 300 },
    );
  });
});

describe('the content of an update', () => {
  it('is every row, and nothing twice unless it has changed', () => {
    const owner = session();
    const rows = [row('0-4#1'), row('8-16#2', '8-16#1')];
    expect(owner.compose(rows, [])).toBe(true);
    expect(owner.spans.map(showGranted)).toEqual(['0-4#1', '8-16#2<8-16#1']);
    expect(owner.compose([...rows], [])).toBe(false);
    expect(owner.compose(rows.slice(1), [])).toBe(true);
    expect(owner.spans.map(showGranted)).toEqual(['8-16#2<8-16#1']);
  });

  it('begins with nothing new if the owner has nothing', () => {
    const owner = session();
    expect(owner.compose([], [])).toBe(false);
    expect(owner.spans).toEqual([]);
  });

  it('cuts rows where something is recalled, and what they continue with them', () => {
    const owner = session();
    owner.compose(
      [row('0-8#2', '0-4#1', '4-8#0'), row('8-16#3')],
      ['2-5#2', '8-9#3', '15-16#3'].map(numbered),
    );
    expect(owner.spans.map(showGranted)).toEqual([
      '0-2#2<0-2#1',
      '2-5#2!<2-4#1,4-5#0',
      '5-8#2<5-8#0',
      '8-9#3!',
      '9-15#3',
      '15-16#3!',
    ]);
  });

  it('does not recall under a number that the row no longer has', () => {
    const owner = session();
    owner.compose([row('0-8#5')], [numbered('0-4#2')]);
    expect(owner.spans.map(showGranted)).toEqual(['0-8#5']);
  });

  it('has changed when only the recalls have', () => {
    const owner = session();
    const rows = [row('0-8#5')];
    owner.compose(rows, []);
    expect(owner.compose(rows, [numbered('0-4#5')])).toBe(true);
    expect(owner.compose(rows, [numbered('0-4#5')])).toBe(false);
    expect(owner.compose(rows, [])).toBe(true);
    expect(owner.spans.map(showGranted)).toEqual(['0-8#5']);
  });
});

describe('a session', () => {
  it('hears the later of two reports, in whatever order they come', () => {
    const owner = session();
    owner.hear('elsewhere', report(3), instant(200));
    owner.hear('address', report(2), instant(300));
    owner.hear('address', report(3), instant(400));
    expect([owner.report.sequence, owner.receivedAt, owner.address]).toEqual([3, 200, 'elsewhere']);
  });

  it('says whether the owner holds something else than before', () => {
    const owner = session();
    expect(owner.hear('x', report(2, [numbered('0-4#1')]), instant(200))).toBe(true);
    expect(owner.hear('x', report(3, [numbered('0-4#1')]), instant(300))).toBe(false);
    expect(owner.hear('x', report(4, [numbered('0-4#2')]), instant(400))).toBe(true);
    expect(owner.hear('x', report(4, []), instant(500))).toBe(false);
  });

  it('takes for proof that it is heard what a report has heard, and only of this term', () => {
    const owner = session();
    owner.hear('x', { ...report(2), heard: { term: 3, sequence: 7 } }, instant(200));
    expect([owner.hasHeard(3, 6), owner.hasHeard(3, 7), owner.hasHeard(3, 8)]).toEqual([true, true, false]);
    expect([owner.hasHeard(4, 1), owner.hasHeard(3, 0), session().hasHeard(3, 1)]).toEqual([
      false,
      false,
      false,
    ]);
  });

  it('proves that it hears by having heard more, not by speaking', () => {
    const owner = session();
    owner.hear('x', report(2), instant(200));
    expect(owner.provenAt).toBe(100);
    owner.hear('x', { ...report(3), heard: { term: 1, sequence: 1 } }, instant(300));
    expect(owner.provenAt).toBe(300);
    owner.hear('x', { ...report(4), heard: { term: 1, sequence: 1 } }, instant(400));
    expect(owner.provenAt).toBe(300);
    owner.hear('x', { ...report(5), heard: { term: 2, sequence: 1 } }, instant(500));
    expect(owner.provenAt).toBe(500);
  });

  it('knows who it is with from the first report on', () => {
    expect(session().identity).toEqual({ incarnation: 'a.1', name: 'a', url: 'http://a', proof: 'digest' });
  });
});
