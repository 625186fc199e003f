import { describe, expect, it, vi } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import type { Report } from '../messages.ts';
import type { Placement } from '../policy/policy.ts';
import { letGo, list, numbered, showNumbered, showSpan, span } from '../script.ts';
import { type LeaveReason, PoolTable, type Row, type TableRecord } from '../table.ts';
import { decide, type Facts } from './decision.ts';
import { Session } from './session.ts';

const join = (name: string): TableRecord => ({
  kind: 'join',
  member: { incarnation: name, name, url: `http://${name}`, proof: undefined },
});
const grant = (incarnation: string, ...spans: string[]): TableRecord => ({
  kind: 'grant',
  incarnation,
  spans: spans.map(span),
});

function says(name: string, parts: { held?: string[]; letGo?: string[]; leaving?: boolean } = {}): Session {
  const report: Report = {
    kind: 'report',
    pool: 'p',
    incarnation: name,
    name,
    url: `http://${name}`,
    proof: undefined,
    sequence: 1,
    wantsAnswer: true,
    heard: undefined,
    seen: undefined,
    held: (parts.held ?? []).map(numbered),
    letGo: (parts.letGo ?? []).map(letGo),
    leaving: parts.leaving ?? false,
    load: 0,
  };
  return new Session(name, report, instant(0));
}

interface Situation {
  readonly sessions?: readonly Session[];
  readonly absent?: readonly string[];
  readonly gone?: Readonly<Record<string, LeaveReason>>;
  readonly target?: readonly string[];
  readonly most?: number;
  readonly position?: number;
  readonly isToBeRemoved?: boolean;
}

/** What is decided, one line a record, then what is recalled. */
function decided(table: PoolTable, situation: Situation): string[] {
  const { sessions = [], absent = [], gone = {}, target = [], most = 100, position = 9 } = situation;
  const facts: Facts = {
    sessions: new Map(sessions.map((session) => [session.identity.incarnation, session])),
    mayJoin: ({ identity }) => !absent.includes(identity.incarnation),
    whyGone: ({ incarnation }) => gone[incarnation],
    silences: () => [],
    target: () =>
      target.map((text): Placement => {
        const [place = '', incarnation = ''] = text.split(' ');
        return { ...span(place), incarnation };
      }),
    maxSpansPerBatch: most,
    isToBeRemoved: situation.isToBeRemoved,
  };
  const decision = decide(table, position, facts);
  table.apply(decision.records, position); // It can be carried out.
  return [
    ...decision.records.map(showRecord),
    ...[...decision.recalls].map(([owner, spans]) => `(recall ${owner}${list(spans, showNumbered)})`),
    ...decision.condemned.map((owner) => `(condemned ${owner})`),
    ...(decision.unfinished ? ['(unfinished)'] : []),
  ];
}

function showRecord(record: TableRecord): string {
  switch (record.kind) {
    case 'join':
      return `join ${record.member.incarnation}`;
    case 'leave':
      return `leave ${record.incarnation} ${record.why}`;
    case 'silent':
    case 'heard':
      return `${record.kind} ${record.incarnations.join(' ')}`;
    case 'grant':
    case 'move':
      return `${record.kind} ${record.incarnation}${list(record.spans, showSpan)}`;
    case 'order':
      return `order ${record.incarnation} ${record.order}`;
    case 'remove':
    case 'moves':
      return record.kind;
    default:
      return `${record.kind}${list(record.spans, showSpan)}`;
  }
}

const table = PoolTable.empty
  .apply([join('a'), join('b')], 1)
  .apply([grant('a', '0-8')], 2)
  .apply([grant('b', '8-16')], 3);
const AS_IT_IS = ['0-8 a', '8-16 b'];

describe('a pool that an operator wants removed', () => {
  it('is removed if nobody is in it', () => {
    const left = table.apply(
      [
        { kind: 'leave', incarnation: 'a', why: 'left' },
        { kind: 'leave', incarnation: 'b', why: 'left' },
      ],
      4,
    );
    expect(decided(left, { isToBeRemoved: true })).toEqual(['remove']);
    expect(decided(left, { isToBeRemoved: true, sessions: [says('c', { leaving: true })] })).toEqual([
      'remove',
    ]);
  });

  it('is not removed while somebody is in it, may hold keys, or is about to join', () => {
    expect(decided(table, { isToBeRemoved: true, target: AS_IT_IS })).toEqual([]);
    expect(decided(table, { isToBeRemoved: true, gone: { a: 'expired', b: 'expired' } })).toContain(
      'leave a expired',
    );
    expect(decided(PoolTable.empty, { isToBeRemoved: true, sessions: [says('c')] })).toEqual(['join c']);
  });
});

describe('owners that come and go', () => {
  it('an owner that reports and is no member joins, and can be granted keys in the same batch', () => {
    expect(decided(PoolTable.empty, { sessions: [says('c')], target: ['0-16 c'] })).toEqual([
      'join c',
      'grant c 0-16',
    ]);
  });

  it('an owner that has not shown that it lives does not join', () => {
    expect(decided(PoolTable.empty, { sessions: [says('c')], absent: ['c'] })).toEqual([]);
    expect(decided(table, { sessions: [says('a')], absent: ['a'], target: AS_IT_IS })).toEqual([]);
  });

  it('an owner that wants to leave does not join', () => {
    expect(decided(PoolTable.empty, { sessions: [says('c', { leaving: true })] })).toEqual([]);
  });

  it('an owner that is gone leaves, with the reason; its keys are free for others at once', () => {
    expect(decided(table, { gone: { a: 'expired' }, target: ['0-16 b'] })).toEqual([
      'leave a expired',
      'grant b 0-8',
      '(condemned a)',
    ]);
    expect(decided(table, { gone: { a: 'certified' } })).toEqual(['leave a certified', '(condemned a)']);
  });

  it('an owner that wants to leave leaves when it has no keys any more, not before', () => {
    const leaving = [says('a', { leaving: true, held: ['0-8#2'] })];
    expect(decided(table, { sessions: leaving, target: ['0-16 b'] })).toEqual(['(recall a 0-8#2)']);
    const empty = table.apply([{ kind: 'free', spans: [span('0-8')] }], 4);
    expect(decided(empty, { sessions: leaving, target: ['0-16 b'] })).toEqual([
      'leave a left',
      'grant b 0-8',
      '(condemned a)',
    ]);
  });

  it('an owner that wants to leave leaves in the batch that takes back its last keys', () => {
    const leaving = (...parts: string[]) => [says('a', { leaving: true, letGo: parts })];
    expect(decided(table, { sessions: leaving('released:0-8#2'), target: ['0-16 b'] })).toEqual([
      'free 0-8',
      'leave a left',
      'grant b 0-8',
      '(condemned a)',
    ]);
    expect(decided(table, { sessions: leaving('released:0-4#2'), target: ['0-16 b'] })).toEqual([
      'free 0-4',
      'grant b 0-4',
      '(recall a 4-8#2)',
    ]);
  });
});

describe('a released span', () => {
  it('is free if it was released, and is granted again in the same batch', () => {
    const sessions = [says('a', { letGo: ['released:0-4#2'] })];
    expect(decided(table, { sessions, target: ['0-4 b', '4-8 a', '8-16 b'] })).toEqual([
      'free 0-4',
      'grant b 0-4',
    ]);
  });

  it('gets a new number if it lapsed: nobody else can have held it', () => {
    const sessions = [says('a', { letGo: ['lapsed:0-4#2'] })];
    expect(decided(table, { sessions, target: AS_IT_IS })).toEqual(['renumber 0-4']);
  });

  it('is free if it lapsed and the owner wants to leave', () => {
    const sessions = [says('a', { letGo: ['lapsed:0-8#2'], leaving: true })];
    expect(decided(table, { sessions, target: ['0-16 b'] })).toEqual([
      'free 0-8',
      'leave a left',
      'grant b 0-8',
      '(condemned a)',
    ]);
  });

  it('means nothing under a number that the keys no longer have', () => {
    const sessions = [says('a', { letGo: ['released:0-4#1', 'lapsed:4-8#1'] })];
    expect(decided(table, { sessions, target: AS_IT_IS })).toEqual([]);
  });

  it('means nothing for keys of another', () => {
    const sessions = [says('a', { letGo: ['released:8-16#3'] }), says('b', { letGo: ['released:0-8#2'] })];
    expect(decided(table, { sessions, target: AS_IT_IS })).toEqual([]);
  });

  it('is taken back only where the row still is: the rest of the span is left aside', () => {
    const sessions = [says('a', { letGo: ['released:4-12#2'] })];
    expect(decided(table, { sessions, target: [] })).toEqual(['free 4-8']);
  });

  it('costs one pass over the list and the rows, however long a list a member sends', () => {
    let reads = 0;
    const rows = Array.from({ length: 100 }, (_, index) => {
      const [row] = table.rowsOf('a');
      const start = BigInt(20 * index);
      const end = start + 1n;
      const counted = {
        ...row,
        start,
        number: 2,
        get end() {
          reads += 1;
          return end;
        },
      };
      return counted as Row;
    });
    // They lie between the rows, under the number of the rows.
    const between = rows.flatMap(({ start }) =>
      Array.from({ length: 10 }, (_, index) => {
        const at = start + BigInt(index) + 1n;
        return { start: at, end: at + 1n, number: 2, how: 'released' as const };
      }),
    );
    const session = says('a');
    session.report = { ...session.report, letGo: between };
    const rowsOf = vi.spyOn(PoolTable.prototype, 'rowsOf').mockReturnValue(rows);
    expect(decided(table, { sessions: [session], target: [] })).toEqual([]);
    rowsOf.mockRestore();
    expect(reads).toBeLessThan(2 * (rows.length + between.length));
  });

  it('is put in order when several owners let go at once', () => {
    const sessions = [says('b', { letGo: ['released:8-9#3'] }), says('a', { letGo: ['released:0-1#2'] })];
    expect(decided(table, { sessions, target: [] })).toEqual(['free 0-1 8-9']);
  });

  it('is not missed by being absent: what a report does not mention means nothing', () => {
    expect(decided(table, { sessions: [says('a'), says('b')], target: AS_IT_IS })).toEqual([]);
  });

  it('is not taken back twice from an owner that leaves against its will', () => {
    const sessions = [says('a', { letGo: ['released:0-8#2'] })];
    expect(decided(table, { sessions, gone: { a: 'expired' } })).toEqual([
      'leave a expired',
      '(condemned a)',
    ]);
  });
});

describe('where keys should be', () => {
  it('keys that another owner should have are asked back first', () => {
    expect(decided(table, { target: ['0-4 b', '4-8 a', '8-16 b'] })).toEqual(['(recall a 0-4#2)']);
  });

  it('fragments are merged, once the owner has said that it holds them all', () => {
    const fragments = table.apply([{ kind: 'free', spans: [span('0-4')] }], 4).apply([grant('a', '0-4')], 5);
    const merged = (held: string[]) =>
      decided(fragments, { sessions: [says('a', { held })], target: AS_IT_IS });
    expect(merged(['0-4#5', '4-8#2'])).toEqual(['merge 0-8']);
    expect(merged(['0-4#2', '4-8#2'])).toEqual([]);
    expect(merged(['4-8#2'])).toEqual([]);
    expect(decided(fragments, { sessions: [], target: AS_IT_IS })).toEqual([]);
  });

  it('does not merge what is given a new number in the same batch', () => {
    const fragments = table.apply([{ kind: 'free', spans: [span('0-4')] }], 4).apply([grant('a', '0-4')], 5);
    const sessions = [says('a', { held: ['4-8#2'], letGo: ['lapsed:0-4#5'] })];
    expect(decided(fragments, { sessions, target: AS_IT_IS })).toEqual(['renumber 0-4']);
  });
});

describe('more than fits into a batch', () => {
  const target = ['0-2 a', '2-4 b', '4-6 a', '6-8 b', '8-10 a', '10-16 b'];
  const empty = PoolTable.empty.apply([join('a'), join('b')], 1);

  it('waits for the next', () => {
    expect(decided(empty, { target, most: 2 })).toEqual(['grant a 0-2 4-6', '(unfinished)']);
    expect(decided(empty, { target, most: 4 })).toEqual([
      'grant a 0-2 4-6 8-10',
      'grant b 2-4',
      '(unfinished)',
    ]);
  });

  it('is finished when it just fits', () => {
    expect(decided(empty, { target, most: 6 })).toEqual(['grant a 0-2 4-6 8-10', 'grant b 2-4 6-8 10-16']);
  });

  it('includes joins', () => {
    const sessions = [says('c'), says('d'), says('e')];
    const joining = (most: number) => decided(table, { sessions, target: AS_IT_IS, most });
    expect(joining(2)).toEqual(['join c', 'join d', '(unfinished)']);
    expect(joining(3)).toEqual(['join c', 'join d', 'join e']);
  });

  it('includes released keys', () => {
    const parts = (how: string) => [`${how}:0-1#2`, `${how}:2-3#2`, `${how}:4-5#2`];
    const letting = (how: string, most: number) =>
      decided(table, { sessions: [says('a', { letGo: parts(how) })], most });
    expect(letting('released', 2)).toEqual(['free 0-1 2-3', '(unfinished)']);
    expect(letting('released', 3)).toEqual(['free 0-1 2-3 4-5']);
    expect(letting('lapsed', 2)).toEqual(['renumber 0-1 2-3', '(unfinished)']);
    expect(letting('lapsed', 3)).toEqual(['renumber 0-1 2-3 4-5']);
  });

  it('begins with the released keys, of whichever owner', () => {
    const sessions = [says('b', { letGo: ['released:8-9#3'] }), says('a', { letGo: ['released:0-1#2'] })];
    expect(decided(table, { sessions, most: 1 })).toEqual(['free 0-1', '(unfinished)']);
  });

  it('keeps who wants to leave until all that it had is free', () => {
    const sessions = [says('a', { leaving: true, letGo: ['released:0-4#2', 'released:4-8#2'] })];
    expect(decided(table, { sessions, most: 1 })).toEqual(['free 0-4', '(unfinished)']);
  });

  it('includes merges', () => {
    let fragments = empty;
    for (let key = 0; key < 16; key += 1)
      fragments = fragments.apply([grant('a', `${key}-${key + 1}`)], key + 2);
    const held = [...Array(16).keys()].map((key) => `${key}-${key + 1}#${key + 2}`);
    const situation = { sessions: [says('a', { held })], target: ['0-4 a', '4-8 a', '8-16 a'], position: 20 };
    expect(decided(fragments, { ...situation, most: 2 })).toEqual(['merge 0-4 4-8', '(unfinished)']);
    expect(decided(fragments, { ...situation, most: 3 })).toEqual(['merge 0-4 4-8 8-16']);
  });
});

describe('a decision', () => {
  it('is the same for the same facts', () => {
    const situation = { sessions: [says('a', { letGo: ['released:0-4#2'] })], target: ['0-16 b'] };
    expect(decided(table, situation)).toEqual(decided(table, situation));
  });
});
