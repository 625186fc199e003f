import { describe, expect, it } from 'vitest';
import type { HeldLease } from './held-lease.ts';
import type { Lease } from './lease.ts';
import type { Item } from './messages.ts';
import { accepted, holding, LoneMember, promised, WALL_MS, OTHER } from '../testing/lone-member.ts';

// A lease is 1000 ms, clocks are within 50, an answer is awaited for 100; whoever begins is silent for 1100.

describe('a member that begins', () => {
  it('asks nothing and promises nothing for a lease and two skews', () => {
    const group = new LoneMember();
    group.acquire(1);
    group.at(1_100);
    group.hears('b', [{ kind: 'read', attempt: 1, resource: 'job', askedMs: WALL_MS + 1_100, round: 1 }]);
    expect(group.sent.flatMap(({ packet }) => packet.items)).toMatchObject([
      { kind: 'refused', of: 'read', why: 'recovering' },
    ]);
    group.at(1_101);
    expect(group.told('ready')).toHaveLength(1);
    expect(group.saidTo('b').map(({ kind }) => kind)).toEqual(['refused', 'read']);
  });

  it('does so in a group of one as well', () => {
    const group = new LoneMember(['a']);
    group.acquire(1);
    group.at(1_100);
    expect(group.told('granted')).toEqual([]);
    group.at(1_101);
    expect(group.told('granted')).toHaveLength(1);
  });
});

describe('an answer to a question of this incarnation', () => {
  const asking = (): LoneMember => {
    const group = new LoneMember();
    group.at(1_101);
    group.acquire(1);
    return group;
  };
  const hasRead = (group: LoneMember): boolean => group.saidTo('c').some(({ kind }) => kind === 'write');

  it('counts towards a majority', () => {
    const group = asking();
    group.hears('b', [promised(1)]);
    expect(hasRead(group)).toBe(true);
  });

  it.each([
    ['to an earlier incarnation', { toIncarnation: 6 }],
    ['in another view', { view: 3 }],
    ['of another group', { group: 'h' }],
    ['of one with other peers in the same view', { digest: OTHER }],
    ['of a member whose clock is ahead for certain', { sentMs: WALL_MS + 1_152 }],
  ])('%s counts for nothing', (_, changes) => {
    const group = asking();
    group.hears('b', [promised(1)], changes);
    expect(hasRead(group)).toBe(false);
  });
});

describe('a peer that restarts between two questions of one turn', () => {
  it('is answered in its present incarnation, and not what it asked in the one before', () => {
    const group = new LoneMember();
    group.at(1_101);
    group.sent.length = 0;
    const read = (attempt: number): Item => ({
      ...{ kind: 'read', attempt, resource: `job ${attempt}`, askedMs: WALL_MS + 1_101, round: 1 },
    });
    group.hearsInTheSameTurn('b', [read(1)], { incarnation: 1, sentMs: WALL_MS + 1_100 });
    group.hears('b', [read(2)], { incarnation: 2, sentMs: WALL_MS + 1_101 });
    expect(group.sent.map(({ packet }) => packet)).toMatchObject([
      { toIncarnation: 2, items: [{ kind: 'promised', attempt: 2 }] },
    ]);
  });
});

describe('a holder', () => {
  it('has it until a lease after it asked, not after it was answered', () => {
    const group = new LoneMember();
    group.at(1_101);
    group.acquire(1);
    group.clock.ms = 1_190;
    group.hears('b', [promised(1)]);
    group.hears('b', [accepted(1)]);
    expect([...group.member.heldLeases][0]?.untilMs).toBe(WALL_MS + 2_101);
  });

  it('is told that it ends, and that it has ended, if it cannot renew', () => {
    const group = holding();
    for (let ms = 1_102; ms < 2_103; ms += 1) group.at(ms);
    expect(group.told('ending')).toHaveLength(1);
    expect(group.told('ended')).toMatchObject([{ held: { ended: 'lapsed' } }]);
  });

  it('loses it at once when its clock jumps, before it has heard anything of that', () => {
    const group = holding();
    const [held] = group.member.heldLeases;
    group.clock.aheadMs = -500;
    expect(group.member.timeAt(group.reading())).toBeUndefined();
    group.at(1_110);
    expect(held?.ended).toBe('clock');
    expect(group.member.recovery).toEqual({ why: 'clock-jumped', forMs: 1_100 });
  });

  it('does not wait by a clock that was wrong for what it wanted then', () => {
    const group = new LoneMember();
    group.clock.aheadMs = 1e9;
    group.at(1);
    group.at(1_200);
    group.acquire(1);
    group.hears('b', [{ kind: 'refused', attempt: 1, of: 'read', why: 'early', detail: 0 }]);
    group.hears('c', [{ kind: 'refused', attempt: 1, of: 'read', why: 'early', detail: 0 }]);
    group.clock.aheadMs = 0;
    group.at(1_201);
    group.sent.length = 0;
    group.at(2_400);
    expect(group.saidTo('b').map(({ kind }) => kind)).toContain('read');
  });
});

describe('a lease that is let go of', () => {
  const letGo = (successor?: string) => {
    const group = holding();
    const [held] = group.member.heldLeases;
    group.release(successor);
    group.saidTo('b');
    return { group, held };
  };
  const found = (group: LoneMember, attempt: number, changes: Partial<Lease> = {}): Item => {
    const { held } = group.told('granted')[0] as { held: HeldLease };
    const { number, untilMs } = held;
    const written = { askedMs: WALL_MS + 1_101, round: 1, member: 'a', incarnation: 7, attempt: 1 };
    const lease = {
      holder: 'a',
      incarnation: 7,
      number,
      untilMs,
      state: 'held' as const,
      successor: undefined,
    };
    return { kind: 'promised', attempt, written, lease: { ...lease, ...changes } };
  };

  it('is given back when a majority has that written, and not before', () => {
    const { group, held } = letGo('c');
    group.hears('b', [found(group, 2)]);
    expect(held?.state).not.toBe('given-back');
    group.hears('b', [accepted(2)]);
    expect(held?.state).toBe('given-back');
    expect(group.member.hasUnfinished).toBe(false);
  });

  it('is given back by the next attempt if the first was written in part', () => {
    const { group, held } = letGo('c');
    group.hears('b', [found(group, 2)]);
    group.at(1_250); // Nobody but a itself has it written.
    group.at(1_400);
    const reads = group.saidTo('b').flatMap((item) => (item.kind === 'read' ? [item.attempt] : []));
    const last = reads.at(-1) ?? 0;
    expect(last).toBeGreaterThan(2);
    group.hears('b', [found(group, last)]);
    group.hears('b', [accepted(last)]);
    expect(held?.state).toBe('given-back');
  });

  it('is given back, too, if its successor has it although the release was written in part', () => {
    const { group, held } = letGo('c');
    group.hears('b', [found(group, 2)]);
    group.at(1_250); // Nobody but a itself has it written, as far as it knows.
    group.at(1_400);
    const reads = group.saidTo('b').flatMap((item) => (item.kind === 'read' ? [item.attempt] : []));
    const last = reads.at(-1) ?? 0;
    const written = { askedMs: WALL_MS + 1_300, round: 9, member: 'c', incarnation: 9, attempt: 1 };
    const lease: Lease = {
      ...{ holder: 'c', incarnation: 9, number: (held?.number ?? 0) + 1, untilMs: WALL_MS + 2_300 },
      ...{ state: 'held', successor: undefined },
    };
    group.hears('b', [{ kind: 'promised', attempt: last, written, lease }]);
    expect(held?.state).toBe('given-back');
    expect(group.told('left')).toHaveLength(1);
  });

  it('was given back, too, if its successor has had it, and another member has it by now', () => {
    const { group, held } = letGo('c');
    group.hears('b', [found(group, 2)]);
    group.at(1_250);
    group.at(1_400);
    const reads = group.saidTo('b').flatMap((item) => (item.kind === 'read' ? [item.attempt] : []));
    const written = { askedMs: WALL_MS + 1_300, round: 9, member: 'b', incarnation: 9, attempt: 1 };
    const lease: Lease = {
      ...{ holder: 'b', incarnation: 9, number: (held?.number ?? 0) + 1, untilMs: WALL_MS + 2_300 },
      ...{ state: 'held', successor: undefined },
    };
    group.hears('b', [{ kind: 'promised', attempt: reads.at(-1) ?? 0, written, lease }]);
    expect(held?.state).toBe('given-back');
  });

  it('was not, if it ran out before', () => {
    const { group, held } = letGo();
    for (let ms = 1_150; ms <= 2_400; ms += 50) group.at(ms);
    expect(group.member.hasUnfinished).toBe(false);
    expect(held?.state).not.toBe('given-back');
  });
});

describe('members that wait for a held lease', () => {
  const enqueue = (member: string): Item => ({ kind: 'enqueue', resource: 'job', member });

  it('are given it in the order in which they came, and the first is told of the others', () => {
    const group = holding();
    group.hears('c', [enqueue('c')]);
    group.hears('b', [enqueue('b')]);
    group.sent.length = 0;
    group.release();
    group.hears('b', [written(2)]);
    expect(group.saidTo('c')).toMatchObject([
      { kind: 'read' },
      { kind: 'write', lease: { state: 'left', successor: 'c', number: (WALL_MS + 1_101) * 1_000 } },
    ]);
    group.hears('b', [accepted(2)]);
    expect(group.saidTo('c')).toEqual([enqueue('b'), { kind: 'notify', resource: 'job' }]);
  });

  it('are passed over if they no longer wait', () => {
    const group = holding();
    group.hears('c', [enqueue('c')]);
    group.hears('b', [enqueue('b')]);
    group.hears('c', [{ kind: 'dequeue', resource: 'job', member: 'c' }]);
    group.release();
    group.hears('b', [written(2)]);
    expect(group.saidTo('b').at(-1)).toMatchObject({
      kind: 'write',
      lease: { state: 'left', successor: 'b' },
    });
  });

  it('wait longer if it was handed over to somebody by name', () => {
    const group = holding();
    group.hears('c', [enqueue('c')]);
    group.release('b');
    group.hears('b', [written(2)]);
    expect(group.saidTo('b').at(-1)).toMatchObject({
      kind: 'write',
      lease: { state: 'left', successor: 'b' },
    });
  });

  it('come after those of this process who came before them', () => {
    const group = holding();
    group.acquire(2);
    group.hears('c', [enqueue('c')]);
    group.release();
    group.hears('b', [written(2)]);
    group.hears('b', [accepted(2)]);
    expect(group.told('granted').map((event) => 'request' in event && event.request)).toEqual([1, 2]);
  });

  /** b has what a holds. */
  function written(attempt: number): Item {
    const number = (WALL_MS + 1_101) * 1_000;
    const untilMs = WALL_MS + 2_101;
    return {
      ...{ kind: 'promised', attempt },
      written: { askedMs: WALL_MS + 1_101, round: 1, member: 'a', incarnation: 7, attempt: 1 },
      lease: { holder: 'a', incarnation: 7, number, untilMs, state: 'held', successor: undefined },
    };
  }
});

describe('a holder that is outbid', () => {
  it('soon leaps over the rival that outbids it', () => {
    const group = holding();
    group.sent.length = 0;
    const rounds: number[] = [];
    for (let ms = 1_502; rounds.length < 4; ms += 10) {
      group.at(ms);
      for (const item of group.saidTo('b')) {
        if (item.kind !== 'read') continue;
        rounds.push(item.round);
        const { attempt, round } = item;
        for (const name of ['b', 'c']) {
          group.hears(name, [{ kind: 'refused', attempt, of: 'read', why: 'outbid', detail: round }]);
        }
      }
    }
    expect(rounds).toEqual([1, 1 + 4, 5 + 16, 21 + 64]);
  });
});

describe('an answer in the outbox', () => {
  it('is dropped if the peer has begun another incarnation before the end of the turn; other items stay', () => {
    const group = new LoneMember();
    group.at(1_101);
    const read = (attempt: number, resource: string): Item => ({
      ...{ kind: 'read', attempt, resource, askedMs: WALL_MS + 1_101, round: 1 },
    });
    group.hearsInTheSameTurn('b', [read(1, 'r1'), { kind: 'enqueue', resource: 'r2', member: 'b' }]);
    const later = { incarnation: 2, sentMs: WALL_MS + 1_102 };
    group.hearsInTheSameTurn('b', [read(1, 'r1')], later);
    group.take();
    const packet = group.sent.findLast(({ to }) => to === 'b')?.packet;
    expect(packet?.toIncarnation).toBe(2);
    expect(packet?.items.map(({ kind }) => kind)).toEqual(['notify', 'promised']);
    group.hears('b', [{ kind: 'enqueue', resource: 'r2', member: 'b' }], later);
    expect(group.sent.findLast(({ to }) => to === 'b')?.packet).toMatchObject({
      ...{ toIncarnation: 0, items: [{ kind: 'notify' }] },
    });
  });
});

describe('a member that only looks', () => {
  const look = (group: LoneMember, kind: 'ask' | 'try'): void => {
    group.input((member, reading) => member.request('job', { kind, id: 1 }, reading));
    group.take();
  };
  const found = (attempt: number, holder: string) => ({
    ...{ kind: 'found' as const, attempt },
    written: { askedMs: WALL_MS + 1_000, round: 1, member: holder, incarnation: 1, attempt: 1 },
    lease: {
      ...{
        holder,
        incarnation: 1,
        number: 7,
        untilMs: WALL_MS + 2_000,
        state: 'held' as const,
        successor: undefined,
      },
    },
  });
  const FREE = { kind: 'found', written: undefined, lease: undefined } as const;

  /** That it has asked them, once, and for no promise. */
  const expectOnlyQueries = (group: LoneMember): void => {
    for (const name of ['b', 'c']) {
      expect(group.saidTo(name)).toEqual([{ kind: 'query', attempt: 1, resource: 'job' }]);
    }
  };

  it('asks for no promise when it tries and another member has the lease, whichever members know of that', () => {
    const group = new LoneMember();
    group.at(1_101);
    look(group, 'try');
    group.hears('b', [found(1, 'c')]);
    expect(group.told('held')).toMatchObject([{ request: 1, lease: { holder: 'c' } }]);
    expectOnlyQueries(group);
  });

  it('to ask, asks for no promise if a majority has the very same of somebody', () => {
    const group = new LoneMember();
    group.at(1_101);
    const { written, lease } = found(1, 'c');
    const ballot = { attempt: 1, resource: 'job', askedMs: written.askedMs, round: written.round };
    group.hears('c', [
      { kind: 'read', ...ballot },
      { kind: 'write', ...ballot, lease },
    ]);
    expect(group.saidTo('c').map(({ kind }) => kind)).toEqual(['promised', 'accepted']);
    look(group, 'ask');
    group.hears('b', [found(1, 'c')]);
    expect(group.told('told')).toEqual([{ kind: 'told', request: 1, lease }]);
    expectOnlyQueries(group);
  });

  it('to ask, asks for no promise if a majority has nothing', () => {
    const group = new LoneMember();
    group.at(1_101);
    look(group, 'ask');
    group.hears('b', [{ ...FREE, attempt: 1 }]);
    expect(group.told('told')).toEqual([{ kind: 'told', request: 1, lease: undefined }]);
    expectOnlyQueries(group);
  });

  it('to try, goes on to read if it can be taken', () => {
    const group = new LoneMember();
    group.at(1_101);
    look(group, 'try');
    group.hears('b', [{ ...FREE, attempt: 1 }]);
    expect(group.saidTo('b').map(({ kind }) => kind)).toEqual(['query', 'read']);
    group.hears('b', [promised(2)]);
    group.hears('b', [accepted(2)]);
    expect(group.told('granted')).toHaveLength(1);
  });

  it('to ask, goes on to read if the answers differ each time', () => {
    const group = new LoneMember();
    group.at(1_101);
    look(group, 'ask');
    // It has nothing itself.
    for (const attempt of [1, 2, 3]) {
      group.hears('b', [found(attempt, 'c')]);
      group.at(1_101 + 10 * attempt);
    }
    expect(group.saidTo('b').map(({ kind }) => kind)).toEqual(['query', 'query', 'query', 'read']);
    expect(group.told('told')).toEqual([]);
  });

  it('waits for as long as a majority answers, for three times to answer, and not for three attempts', () => {
    const group = new LoneMember();
    group.at(1_101);
    look(group, 'try');
    let attempts = 0;
    for (let ms = 1_101; group.told('failed').length === 0; ms += 2) {
      group.at(ms);
      for (const item of group.saidTo('b')) {
        if (item.kind === 'query') group.hears('b', [{ ...FREE, attempt: item.attempt }]);
        if (item.kind !== 'read') continue;
        attempts += 1;
        const { attempt } = item;
        for (const name of ['b', 'c']) {
          group.hears(name, [{ kind: 'refused', attempt, of: 'read', why: 'outbid', detail: 1 }]);
        }
      }
    }
    expect(attempts).toBeGreaterThan(3);
    expect(group.clock.ms).toBeGreaterThanOrEqual(1_101 + 300);
    expect(group.clock.ms).toBeLessThan(1_101 + 500);
  });

  it('has nothing promised to it by those it asks', () => {
    const group = holding();
    group.sent.length = 0;
    group.hears('b', [{ kind: 'query', attempt: 5, resource: 'job' }]);
    expect(group.saidTo('b')).toMatchObject([{ kind: 'found', attempt: 5, lease: { holder: 'a' } }]);
  });
});

describe('a packet that cannot be true', () => {
  const NOW_MS = WALL_MS + 1_101;
  const lie = (untilMs: number, askedMs: number, number: number): Item => ({
    ...{ kind: 'promised', attempt: 1 },
    written: { askedMs, round: 1, member: 'b', incarnation: 1, attempt: 1 },
    lease: { holder: 'b', incarnation: 1, number, untilMs, state: 'held', successor: undefined },
  });

  it.each([
    ['a lease that ends later than any can', lie(NOW_MS + 1_100.1, NOW_MS, 7)],
    ['a ballot of a time to come', lie(NOW_MS + 1_000, NOW_MS + 100.1, 7)],
    ['a number of a time to come', lie(NOW_MS + 1_000, NOW_MS, (NOW_MS + 151) * 1_000)],
  ])('is not believed: %s', (_, item) => {
    const group = new LoneMember();
    group.at(1_101);
    group.acquire(1);
    group.hears('b', [item]);
    expect(group.member.waitingFor('job').seen).toBeUndefined();
    group.hears('c', [promised(1)]);
    group.hears('c', [accepted(1)]);
    expect(group.told('granted')).toHaveLength(1);
  });

  it('a round to exceed is forgotten with its interval', () => {
    const group = new LoneMember();
    group.at(1_101);
    group.acquire(1);
    const outbid = (attempt: number): Item => ({
      ...{ kind: 'refused', attempt, of: 'read', why: 'outbid', detail: 2 ** 32 },
    });
    const rounds = (): number[] =>
      group.saidTo('b').flatMap((item) => (item.kind === 'read' ? [item.round] : []));
    for (const name of ['b', 'c']) group.hears(name, [outbid(1)]);
    group.at(1_110);
    for (const name of ['b', 'c']) {
      group.hears(name, [{ kind: 'found', attempt: 2, written: undefined, lease: undefined }]);
    }
    expect(rounds()).toEqual([1, 2 ** 32]);
    for (const name of ['b', 'c']) group.hears(name, [outbid(3)]);
    group.at(1_600);
    for (const name of ['b', 'c']) {
      group.hears(name, [{ kind: 'found', attempt: 4, written: undefined, lease: undefined }]);
    }
    expect(rounds()).toEqual([16]); // A leap, but from the ground.
  });

  it('a stranger does not stand in line', () => {
    const group = holding();
    group.hears('b', [{ kind: 'enqueue', resource: 'job', member: 'x' }]);
    group.release();
    const number = (WALL_MS + 1_101) * 1_000;
    group.hears('b', [
      {
        ...{ kind: 'promised', attempt: 2 },
        written: { askedMs: WALL_MS + 1_101, round: 1, member: 'a', incarnation: 7, attempt: 1 },
        lease: {
          holder: 'a',
          incarnation: 7,
          number,
          untilMs: WALL_MS + 2_101,
          state: 'held',
          successor: undefined,
        },
      },
    ]);
    expect(group.saidTo('b').at(-1)).toMatchObject({ kind: 'write', lease: { state: 'free' } });
  });
});

describe('a member that waits and loses heart', () => {
  it('says so to everybody, for it does not know who has the line', () => {
    const group = new LoneMember();
    group.at(1_101);
    group.acquire(1);
    group.sent.length = 0;
    group.input((member, reading) => member.cancel('job', 1, reading));
    group.take();
    for (const name of ['b', 'c']) {
      expect(group.saidTo(name)).toEqual([{ kind: 'dequeue', resource: 'job', member: 'a' }]);
    }
  });
});
