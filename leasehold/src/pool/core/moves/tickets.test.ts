/** The tickets of one pool, with sessions in place of owners; `../manager/moves.test.ts` has them behind a whole Manager. */

import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../../runtime/time.ts';
import { Session } from '../manager/session.ts';
import type { Report, TicketSpan } from '../messages.ts';
import { numbered, showNumbered, span } from '../script.ts';
import { PoolTable, type TableRecord } from '../table.ts';
import type { MovableName } from './seam.ts';
import { Tickets, type WantedMove } from './tickets.ts';

const TERM = 7;
const RENEW_EVERY_MS = 1_500;
const NOW = instant(0);
/** `a` has 0-8 under 2. */
const TABLE = PoolTable.empty
  .apply(
    ['a', 'b', 'c'].map((name): TableRecord => {
      const member = { incarnation: name, name: name.toUpperCase(), url: name, proof: undefined };
      return { kind: 'join', member };
    }),
    1,
  )
  .apply([{ kind: 'grant', incarnation: 'a', spans: [span('0-8')] }, { kind: 'moves' }], 2);

type Words = Pick<Report, 'moving' | 'receiving' | 'handed'>;

class Pool {
  readonly sessions = new Map<string, Session>();
  table = TABLE;
  lastSent = 4;
  #issued = 0;
  readonly ended: string[] = [];
  readonly tickets = new Tickets({
    term: TERM,
    ended: (how) => this.ended.push(how),
    nextId: () => `t${(this.#issued += 1)}`,
    sessions: () => this.sessions,
    lastSent: () => this.lastSent,
    renewEveryMs: () => RENEW_EVERY_MS,
  });

  /** Every owner has heard this term, moves its keys and says nothing of tickets. */
  constructor() {
    for (const name of ['a', 'b', 'c']) this.says(name, {});
  }

  /** The last report of an owner, and who is to be told something because of it. */
  says(name: string, more: Partial<Report>, now: Instant = NOW): readonly string[] {
    const report: Report = {
      ...{ kind: 'report', pool: 'p', incarnation: name, name, url: name, proof: undefined, sequence: 1 },
      ...{ wantsAnswer: true, seen: undefined, held: [], letGo: [], leaving: false, load: 0 },
      ...{ heard: { term: TERM, sequence: 5 }, transfer: { address: `${name}:1`, names: [] } },
      ...more,
    };
    const session = new Session(name, report, now);
    this.sessions.set(name, session);
    return [...this.tickets.hear(session, this.table, now)];
  }

  wants(...moves: readonly string[]): readonly WantedMove[] {
    return moves.map((text) => {
      const [place = '', from = '', to = ''] = text.split(/[ >]/);
      return { ...numbered(place), from, to };
    });
  }

  plan(moves: readonly string[], now: Instant = NOW): void {
    this.tickets.plan(this.wants(...moves), this.table, now);
  }

  /** What each owner is told now. */
  get told(): readonly string[] {
    return [...this.sessions.values()].flatMap((session) => {
      const { moves, incoming } = this.tickets.newsFor(session, this.table);
      const show = (one: TicketSpan): string => `${one.ticket}:${showNumbered(one)}`;
      return [
        ...moves.map(
          (one) => `${session.identity.incarnation}: ${show(one)} to ${one.toName} at ${one.address}`,
        ),
        ...incoming.map((one) => `${session.identity.incarnation}: ${show(one)} from ${one.fromName}`),
      ];
    });
  }

  get voids(): readonly string[] {
    return [...this.tickets.words()].filter(({ isVoid }) => isVoid).map(({ word }) => word.ticket);
  }
}

const T1 = { ...numbered('0-8#2'), ticket: 't1' };
const RECEIVING: Words = { receiving: [{ ...T1, from: 'a', digest: undefined }] };
const MOVING: Words = { moving: [{ ...T1, to: 'b', bytes: 0 }] };
const HANDED: Words = { handed: [{ ...T1, to: 'b', digest: 'd', bytes: 9 }] };

function issued(): Pool {
  const pool = new Pool();
  pool.plan(['0-8#2 a>b']);
  return pool;
}

describe('a ticket', () => {
  it('is told to the target first, and to the source when the target names it', () => {
    const pool = issued();
    expect(pool.told).toEqual(['b: t1:0-8#2 from A']);
    expect(pool.says('b', RECEIVING)).toEqual(['a']);
    expect(pool.told).toEqual(['a: t1:0-8#2 to B at b:1', 'b: t1:0-8#2 from A']);
  });

  it('is told until the committed table shows another number', () => {
    const pool = issued();
    pool.says('b', RECEIVING);
    pool.says('a', HANDED);
    expect(pool.told).toHaveLength(2);
    pool.table = pool.table.apply(
      [{ kind: 'move', incarnation: 'b', spans: [span('0-8')], ticket: 't1' }],
      3,
    );
    expect(pool.told).toEqual([]);
    pool.tickets.committed(pool.table, NOW);
    expect(pool.tickets.underway).toEqual([]);
  });

  it('is over when a source that heard of it names it nowhere; then the keys rest', () => {
    const pool = issued();
    pool.says('b', RECEIVING);
    pool.tickets.instructed([{ ...T1, to: 'b', toName: 'B', address: 'b:1' }], 6);
    expect(pool.says('a', { heard: { term: TERM, sequence: 5 } })).toEqual([]);
    expect(pool.says('a', { heard: { term: TERM, sequence: 6 } })).toEqual(['b']);
    expect(pool.told).toEqual([]);
    pool.plan(['0-8#2 a>b'], instant(499));
    expect(pool.told).toEqual([]);
    pool.plan(['0-8#2 a>b'], instant(500));
    expect(pool.told).toEqual(['b: t2:0-8#2 from A']);
  });

  it('that was withdrawn is void: what the source says of it later is not committed', () => {
    const pool = issued();
    pool.says('b', RECEIVING);
    pool.plan([]);
    expect(pool.told).toEqual([]);
    pool.says('a', HANDED);
    expect(pool.voids).toEqual(['t1']);
  });

  it('is not withdrawn before the source was heard in this term: it may have handed the keys over', () => {
    const pool = issued();
    pool.says('b', RECEIVING);
    pool.says('a', { heard: { term: TERM - 1, sequence: 9 } });
    pool.plan([]);
    expect(pool.told).toHaveLength(2);
  });

  it('that the target does not name within four renewals is withdrawn', () => {
    const pool = issued();
    pool.plan(['0-8#2 a>b'], instant(4 * RENEW_EVERY_MS - 1));
    expect(pool.told).toHaveLength(1);
    for (const name of ['a', 'b']) pool.says(name, {}, instant(4 * RENEW_EVERY_MS));
    pool.plan(['0-8#2 a>b'], instant(4 * RENEW_EVERY_MS));
    expect(pool.told).toEqual([]);
  });
});

describe('a leader that hears of a ticket that it does not know', () => {
  it.each([
    ['the source', 'a', MOVING],
    ['the target', 'b', RECEIVING],
  ])('takes it over from %s', (_, name, words) => {
    const pool = new Pool();
    if (name === 'b') pool.sessions.delete('a');
    pool.says(name, words);
    expect(pool.tickets.underway).toMatchObject([
      { ticket: 't1', from: 'a', fromName: 'A', to: 'b', toName: 'B' },
    ]);
  });

  it('does not take it over from a target if a source that has heard this term does not name it', () => {
    const pool = new Pool();
    pool.says('b', RECEIVING);
    expect(pool.tickets.underway).toEqual([]);
    pool.says('a', HANDED);
    expect(pool.voids).toEqual(['t1']);
  });

  it('does not take it over if the table does not have the keys as it says', () => {
    const pool = new Pool();
    pool.says('a', { moving: [{ ...numbered('0-8#1'), ticket: 't1', to: 'b', bytes: 0 }] });
    expect(pool.tickets.underway).toEqual([]);
  });

  it('does not take it over from an owner that joins: as a candidate it was told of none', () => {
    const pool = new Pool();
    pool.sessions.delete('a');
    pool.sessions.set('b', new Session('b', { ...reportOf(pool, 'b'), ...RECEIVING }, NOW));
    pool.tickets.admitted('b');
    pool.says('b', RECEIVING);
    expect(pool.tickets.underway).toEqual([]);
  });
});

const reportOf = ({ sessions }: Pool, name: string): Report => (sessions.get(name) as Session).report;

describe('who is given a ticket', () => {
  const transfer = (...names: readonly MovableName[]) => ({ transfer: { address: 'x:1', names } });
  const presence = (version: number, ...reads: number[]): MovableName => ({
    name: 'presence',
    version,
    reads,
  });

  it('is no target without each name of the source, in a form that it reads', () => {
    const pool = new Pool();
    pool.says('a', transfer(presence(2)));
    for (const names of [[], [presence(1)], [presence(3)], [{ ...presence(2), name: 'rooms' }]]) {
      pool.says('b', transfer(...names));
      pool.plan(['0-8#2 a>b']);
      expect(pool.told).toEqual([]);
    }
    pool.says('b', transfer(presence(3, 1, 2)));
    pool.plan(['0-8#2 a>b']);
    expect(pool.told).toHaveLength(1);
  });

  it.each([
    ['moves nothing', { transfer: undefined }],
    ['is cordoned', { intent: 'cordoned' as const }],
    ['is to be emptied', { intent: 'emptying' as const }],
    ['drains', { intent: 'draining' as const }],
    ['leaves', { leaving: true }],
    ['has not heard this leader', { heard: { term: TERM - 1, sequence: 9 } }],
  ])('is no target that %s', (_, more) => {
    const pool = new Pool();
    pool.says('b', more);
    pool.plan(['0-8#2 a>b']);
    expect([pool.told, pool.tickets.isWaiting]).toEqual([[], true]);
  });

  it('is another target if the keys must go and the wanted one cannot take them, and none if they may stay', () => {
    const pool = new Pool();
    pool.says('b', { intent: 'cordoned' });
    pool.plan(['0-8#2 a>b']);
    expect(pool.told).toEqual([]);
    pool.says('a', { intent: 'draining' });
    pool.plan(['0-8#2 a>b']);
    expect(pool.told).toEqual(['c: t1:0-8#2 from A']);
  });

  describe('after an attempt that came to nothing', () => {
    /** `a` drains, and has abandoned what it was to bring to `b`. */
    const failed = (): Pool => {
      const pool = issued();
      pool.says('b', RECEIVING);
      pool.tickets.instructed([{ ...T1, to: 'b', toName: 'B', address: 'b:1' }], 6);
      pool.says('a', { intent: 'draining', heard: { term: TERM, sequence: 6 } });
      return pool;
    };
    const plannedAt = (pool: Pool, now: Instant): readonly string[] => {
      pool.says('a', { intent: 'draining' }, now);
      pool.plan(['0-8#2 a>b'], now);
      return pool.told;
    };

    it('is another target than the one it failed with, as long as that was lately', () => {
      expect(plannedAt(failed(), instant(500))).toEqual(['c: t2:0-8#2 from A']);
      expect(plannedAt(failed(), instant(30_499))).toEqual(['c: t2:0-8#2 from A']);
    });

    it('is the wanted one again when the trouble is of another day', () =>
      expect(plannedAt(failed(), instant(30_500))).toEqual(['b: t2:0-8#2 from A']));

    it('is the wanted one again for keys that have been elsewhere meanwhile', () => {
      const pool = failed();
      for (const [at, owner] of [
        [3, 'c'],
        [4, 'a'],
      ] as const) {
        const moved: TableRecord = {
          kind: 'move',
          incarnation: owner,
          spans: [span('0-8')],
          ticket: `x${at}`,
        };
        pool.table = pool.table.apply([moved], at);
        pool.tickets.committed(pool.table, NOW);
      }
      pool.plan(['0-8#4 a>b'], instant(100));
      expect(pool.told).toEqual(['b: t2:0-8#4 from A']);
    });
  });

  it('is no source that has not reported lately, and none that has two tickets under way', () => {
    const pool = new Pool();
    pool.plan(['0-8#2 a>b'], instant(2 * RENEW_EVERY_MS));
    expect(pool.told).toEqual([]);
    pool.plan(['0-2#2 a>b', '2-4#2 a>c', '4-6#2 a>c']);
    expect(pool.told).toEqual(['b: t1:0-2#2 from A', 'c: t2:2-4#2 from A']);
  });

  it('is no target with two ranges that have arrived and were not confirmed, until it confirms one', () => {
    const pool = new Pool();
    const moved = ['0-2', '2-4'].map((place): TableRecord => {
      return { kind: 'move', incarnation: 'b', spans: [span(place)], ticket: `x${place}` };
    });
    pool.table = pool.table.apply(moved, 3);
    pool.plan(['4-6#2 a>b']);
    expect([pool.told, pool.tickets.isWaiting]).toEqual([[], true]);
    pool.says('b', { held: [numbered('0-2#3')] });
    pool.plan(['4-6#2 a>b']);
    expect(pool.told).toEqual(['b: t1:4-6#2 from A']);
  });
});

describe('what becomes of a ticket', () => {
  const after = (pool: Pool, record: TableRecord): readonly string[] => {
    pool.table = pool.table.apply([record], 3);
    pool.tickets.committed(pool.table, NOW);
    return pool.ended;
  };

  it('is counted once: moved, or returned after the source had handed the keys over', () => {
    const [moved, returned, merged] = [issued(), issued(), issued()];
    for (const pool of [moved, returned]) {
      pool.says('b', RECEIVING);
      pool.says('a', HANDED);
    }
    const spans = [span('0-8')];
    expect(after(moved, { kind: 'move', incarnation: 'b', spans, ticket: 't1' })).toEqual(['moved']);
    expect(after(returned, { kind: 'renumber', spans })).toEqual(['returned']);
    expect(after(merged, { kind: 'renumber', spans })).toEqual(['void']);
    for (const pool of [moved, returned, merged]) pool.tickets.committed(pool.table, NOW);
    expect([moved, returned, merged].map(({ ended }) => ended.length)).toEqual([1, 1, 1]);
  });

  it('is void, once, if it is withdrawn or was not taken over', () => {
    const withdrawn = issued();
    withdrawn.plan([]);
    withdrawn.says('a', HANDED);
    expect(withdrawn.ended).toEqual(['void']);
    const unknown = new Pool();
    unknown.says('b', RECEIVING);
    unknown.says('b', RECEIVING);
    expect(unknown.ended).toEqual(['void']);
  });

  it('is void if its source is gone', () => {
    const pool = issued();
    expect(after(pool, { kind: 'leave', incarnation: 'a', why: 'expired' })).toEqual(['void']);
  });
});

describe('what a source has sent', () => {
  it('is added up over the tickets of this term, also of those that are over', () => {
    const pool = issued();
    pool.says('b', RECEIVING);
    pool.says('a', { moving: [{ ...T1, to: 'b', bytes: 5 }] });
    expect(pool.tickets.observe()).toMatchObject([{ ticket: 't1', bytes: 5 }]);
    pool.says('a', HANDED);
    expect(pool.tickets.sentBy('a')).toBe(9);
    pool.says('a', {});
    expect([pool.tickets.sentBy('a'), pool.tickets.sentBy('b')]).toEqual([9, 0]);
  });
});
