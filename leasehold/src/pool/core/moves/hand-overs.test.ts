import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { Session } from '../manager/session.ts';
import type { Report } from '../messages.ts';
import { numbered, showSpan, span } from '../script.ts';
import { PoolTable, type TableRecord } from '../table.ts';
import { type HandedWord, handOvers } from './hand-overs.ts';

const TERM = 7;
const member = (incarnation: string) => ({
  incarnation,
  name: incarnation,
  url: incarnation,
  proof: undefined,
});
/** `a` has 0-8 under 2. */
const table = PoolTable.empty
  .apply(
    ['a', 'b'].map((each) => ({ kind: 'join', member: member(each) })),
    1,
  )
  .apply([{ kind: 'grant', incarnation: 'a', spans: [span('0-8')] }], 2);

const reportOf = (incarnation: string, more: Partial<Report>): Report => ({
  ...{ kind: 'report', pool: 'p', incarnation, name: incarnation, url: incarnation, proof: undefined },
  ...{ sequence: 1, wantsAnswer: true, seen: undefined, held: [], letGo: [], leaving: false, load: 0 },
  heard: { term: TERM, sequence: 5 },
  ...more,
});

const digest = 'd';
const said = { ...numbered('0-8#2'), ticket: 't', from: 'a', digest };

/** The target's last report. */
const target = (more: Partial<Report> = {}): Session =>
  new Session('b', reportOf('b', { receiving: [said], ...more }), instant(0));

const word = (more: Partial<HandedWord> = {}, place = '0-8#2'): HandedWord => ({
  word: { ...numbered(place), ticket: 't', to: 'b', digest, bytes: 0 },
  ...{ from: 'a', isSourceLeaving: false, heardAt: instant(0), heardAfter: 4, isVoid: false },
  ...more,
});

interface Given {
  readonly word?: HandedWord;
  readonly target?: Session | undefined;
  readonly now?: number;
  readonly isGone?: boolean;
  readonly isDeaf?: boolean;
  readonly table?: PoolTable;
}

function decided(given: Given): string {
  const sessions = new Map(
    'target' in given && given.target === undefined ? [] : [['b', given.target ?? target()]],
  );
  const facts = {
    ...{ sessions, term: TERM, now: instant(given.now ?? 10), confirmTimeoutMs: 100, renewEveryMs: 50 },
    isGone: () => given.isGone === true,
    isDeaf: () => given.isDeaf === true,
  };
  const { records, dueAt } = handOvers(given.table ?? table, [given.word ?? word()], facts, 10);
  const show = (record: TableRecord): string =>
    'spans' in record ? `${record.kind} ${record.spans.map(showSpan).join(',')}` : record.kind;
  return records.length > 0
    ? records.map(show).join('; ')
    : `wait${dueAt.length > 0 ? ` until ${dueAt[0]}` : ''}`;
}

describe('a hand-over', () => {
  it('is committed as a move when source and target have said the same digest', () => {
    expect(decided({})).toBe('move 0-8');
  });

  it('waits for the target, and gives the keys back when the target is late', () => {
    const without = target({ receiving: [] });
    expect(decided({ target: without })).toBe('wait until 100');
    expect(decided({ target: without, now: 100 })).toBe('renumber 0-8');
  });

  it('does not count what the target said before it heard this term', () => {
    const old = target({ heard: { term: TERM - 1, sequence: 90 } });
    expect(decided({ target: old })).toBe('wait until 150');
    expect(decided({ target: old, now: 150 })).toBe('renumber 0-8');
  });

  it('waits longer for a target that this leader has not heard yet', () => {
    expect(decided({ target: undefined, now: 120 })).toBe('wait until 150');
  });

  it('needs the same digest', () => {
    expect(decided({ target: target({ receiving: [{ ...said, digest: 'e' }] }), now: 100 })).toBe(
      'renumber 0-8',
    );
  });

  it('goes back to the source at once if the target is gone, the ticket void, or a part of the keys has another number', () => {
    expect(decided({ isGone: true })).toBe('renumber 0-8');
    expect(decided({ word: word({ isVoid: true }) })).toBe('renumber 0-8');
    const cut = table.apply([{ kind: 'renumber', spans: [span('0-4')] }], 3);
    expect(decided({ table: cut })).toBe('renumber 4-8');
  });

  it('is not made to a target that hears nothing', () => {
    expect(decided({ isDeaf: true })).toBe('wait until 100');
    expect(decided({ isDeaf: true, now: 100 })).toBe('renumber 0-8');
  });

  it('is over when the table shows another number', () => {
    const moved = table.apply([{ kind: 'move', incarnation: 'b', spans: [span('0-8')], ticket: 't' }], 3);
    expect(decided({ table: moved })).toBe('wait');
  });
});

describe('a hand-over of a source that leaves', () => {
  const leaving = word({ isSourceLeaving: true });

  it('waits for the target however late it is', () => {
    const silent = target({ receiving: [], heard: { term: TERM, sequence: 4 } });
    expect(decided({ word: leaving, target: silent, now: 10_000 })).toBe('wait');
  });

  it('is a loss when the target lacks the digest in a report that follows from the word of the source', () => {
    const denies = target({ receiving: [], heard: { term: TERM, sequence: 5 } });
    expect(decided({ word: leaving, target: denies })).toBe('free 0-8');
  });

  it('is a loss when the target is gone', () => {
    expect(decided({ word: leaving, isGone: true })).toBe('free 0-8');
  });

  it('is committed as a move when the target has said its word', () => {
    expect(decided({ word: leaving })).toBe('move 0-8');
  });
});
