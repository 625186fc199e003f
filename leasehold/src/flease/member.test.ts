import { describe, expect, it } from 'vitest';
import { instant } from '../runtime/time.ts';
import { GroupChangeError } from './errors.ts';
import { Member, type MemberEvent } from './member.ts';
import type { Item, Packet } from './messages.ts';
import { resolveFleaseDurations } from './options.ts';

// A lease is 1000 ms, clocks are within 50, an answer is awaited for 100; whoever begins is silent for 1100.
const DURATIONS = resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 });
const WALL_MS = 1_750_000_000_000;

/** One member, a, and whatever others say to it. */
function bench(members: readonly string[] = ['a', 'b', 'c'], before?: readonly string[]) {
  const clock = { ms: 0, aheadMs: 0 };
  const reading = () => ({ now: instant(clock.ms), wallMs: WALL_MS + clock.ms + clock.aheadMs });
  const member = new Member(
    {
      ...{ group: 'g', id: 'a', life: 7, durations: DURATIONS, random: () => 0.5 },
      view: { number: 2, members, before },
    },
    reading(),
  );
  const events: MemberEvent[] = [];
  const sent: { to: string; packet: Packet }[] = [];
  const take = (): void => {
    const outcome = member.take();
    events.push(...outcome.events);
    sent.push(...outcome.packets);
  };
  const at = (ms: number): void => {
    clock.ms = ms;
    member.wake(reading());
    take();
  };
  return {
    ...{ member, clock, reading, events, sent, take, at },
    /** What was sent to somebody since this was last asked. */
    saidTo: (to: string): Item[] => {
      const items = sent.filter((one) => one.to === to).flatMap(({ packet }) => packet.items);
      for (let place = sent.length - 1; place >= 0; place--)
        if (sent[place]?.to === to) sent.splice(place, 1);
      return items;
    },
    told: (kind: MemberEvent['kind']) => events.filter((event) => event.kind === kind),
    hears: (from: string, items: readonly Item[], changes: Partial<Packet> = {}): void => {
      const sentMs = WALL_MS + clock.ms + clock.aheadMs;
      member.receive(
        {
          ...{ group: 'g', view: 2, from, life: 1, toLife: 7, sentMs, echo: undefined },
          ...{ leaseMs: 1_000, clockSkewMs: 50, items },
          ...changes,
        },
        reading(),
      );
      take();
    },
    acquire: (id: number): void => {
      member.request('job', { kind: 'acquire', id }, reading());
      take();
    },
    release: (heir?: string): void => {
      for (const tenure of member.tenures) member.release(tenure, reading(), heir);
      take();
    },
  };
}

type Bench = ReturnType<typeof bench>;

const promised = (attempt: number): Item => ({
  kind: 'promised',
  attempt,
  written: undefined,
  lease: undefined,
});
const accepted = (attempt: number): Item => ({ kind: 'accepted', attempt });

/** It has been silent for long enough, and has the lease under attempt 1. */
function holding(): Bench {
  const group = bench();
  group.at(1_101);
  group.acquire(1);
  group.hears('b', [promised(1)]);
  group.hears('b', [accepted(1)]);
  expect(group.told('granted')).toHaveLength(1);
  return group;
}

describe('a member that begins', () => {
  it('asks nothing and promises nothing for a lease and two skews', () => {
    const group = bench();
    group.acquire(1);
    group.at(1_100);
    group.hears('b', [{ kind: 'read', attempt: 1, resource: 'job', askedMs: WALL_MS + 1_100, round: 1 }]);
    expect(group.sent.flatMap(({ packet }) => packet.items)).toMatchObject([
      { kind: 'refused', of: 'read', why: 'recovering' },
    ]);
    group.at(1_101);
    expect(group.told('speaking')).toHaveLength(1);
    expect(group.saidTo('b').map(({ kind }) => kind)).toEqual(['refused', 'read']);
  });

  it('does so in a group of one as well', () => {
    const group = bench(['a']);
    group.acquire(1);
    group.at(1_100);
    expect(group.told('granted')).toEqual([]);
    group.at(1_101);
    expect(group.told('granted')).toHaveLength(1);
  });
});

describe('an answer', () => {
  const asking = (): Bench => {
    const group = bench();
    group.at(1_101);
    group.acquire(1);
    return group;
  };
  const hasRead = (group: Bench): boolean => group.saidTo('c').some(({ kind }) => kind === 'write');

  it('counts', () => {
    const group = asking();
    group.hears('b', [promised(1)]);
    expect(hasRead(group)).toBe(true);
  });

  it.each([
    ['to an earlier life', { toLife: 6 }],
    ['in another view', { view: 3 }],
    ['of another group', { group: 'h' }],
    ['of a member whose clock is ahead for certain', { sentMs: WALL_MS + 1_152 }],
  ])('%s counts for nothing', (_, changes) => {
    const group = asking();
    group.hears('b', [promised(1)], changes);
    expect(hasRead(group)).toBe(false);
  });
});

describe('a holder', () => {
  it('has it until a lease after it asked, not after it was answered', () => {
    const group = bench();
    group.at(1_101);
    group.acquire(1);
    group.clock.ms = 1_190;
    group.hears('b', [promised(1)]);
    group.hears('b', [accepted(1)]);
    expect([...group.member.tenures][0]?.untilMs).toBe(WALL_MS + 2_101);
  });

  it('is told that it ends, and that it has ended, if it cannot renew', () => {
    const group = holding();
    for (let ms = 1_102; ms < 2_103; ms += 1) group.at(ms);
    expect(group.told('ending')).toHaveLength(1);
    expect(group.told('ended')).toMatchObject([{ tenure: { ended: 'lapsed' } }]);
  });

  it('loses it at once when its clock jumps, before it has heard anything of that', () => {
    const group = holding();
    const [tenure] = group.member.tenures;
    group.clock.aheadMs = -500;
    expect(group.member.timeAt(group.reading())).toBeUndefined();
    group.at(1_110);
    expect(tenure?.ended).toBe('clock');
    expect(group.member.silence).toEqual({ why: 'clock-jumped', forMs: 1_100 });
  });

  it('does not wait by a clock that was wrong for what it wanted then', () => {
    const group = bench();
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

describe('those who wait for what it holds', () => {
  const wish = (member: string): Item => ({ kind: 'wish', resource: 'job', member });

  it('are given it in the order in which they came, and the first is told of the others', () => {
    const group = holding();
    group.hears('c', [wish('c')]);
    group.hears('b', [wish('b')]);
    group.sent.length = 0;
    group.release();
    group.hears('b', [written(2)]);
    expect(group.saidTo('c')).toMatchObject([
      { kind: 'read' },
      { kind: 'write', lease: { state: 'left', heir: 'c', number: (WALL_MS + 1_101) * 1_000 } },
    ]);
    group.hears('b', [accepted(2)]);
    expect(group.saidTo('c')).toEqual([wish('b'), { kind: 'freed', resource: 'job' }]);
  });

  it('are passed over if they no longer wait', () => {
    const group = holding();
    group.hears('c', [wish('c')]);
    group.hears('b', [wish('b')]);
    group.hears('c', [{ kind: 'unwish', resource: 'job', member: 'c' }]);
    group.release();
    group.hears('b', [written(2)]);
    expect(group.saidTo('b').at(-1)).toMatchObject({ kind: 'write', lease: { state: 'left', heir: 'b' } });
  });

  it('wait longer if it was handed over to somebody by name', () => {
    const group = holding();
    group.hears('c', [wish('c')]);
    group.release('b');
    group.hears('b', [written(2)]);
    expect(group.saidTo('b').at(-1)).toMatchObject({ kind: 'write', lease: { state: 'left', heir: 'b' } });
  });

  it('come after those of this process who came before them', () => {
    const group = holding();
    group.acquire(2);
    group.hears('c', [wish('c')]);
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
      written: { askedMs: WALL_MS + 1_101, round: 1, member: 'a', life: 7, attempt: 1 },
      lease: { holder: 'a', life: 7, number, untilMs, state: 'held', heir: undefined },
    };
  }
});

describe('a member that waits and loses heart', () => {
  it('says so to everybody, for it does not know who has the line', () => {
    const group = bench();
    group.at(1_101);
    group.acquire(1);
    group.sent.length = 0;
    group.member.cancel('job', 1, group.reading());
    group.take();
    for (const name of ['b', 'c']) {
      expect(group.saidTo(name)).toEqual([{ kind: 'unwish', resource: 'job', member: 'a' }]);
    }
  });
});

describe('a change of the group', () => {
  it('is refused before the last one is settled', () => {
    const group = bench(['a', 'b', 'c'], ['a', 'b', 'd']);
    expect(() => group.member.move(['a', 'b', 'e'], group.reading())).toThrow(GroupChangeError);
  });

  it('is settled a lease and two skews after most of those before were known to have moved', () => {
    const group = bench(['a', 'b', 'c'], ['a', 'b', 'd']);
    group.at(500);
    group.hears('b', []);
    group.at(1_600);
    expect(group.told('settled')).toEqual([]);
    group.at(1_601);
    expect(group.told('settled')).toEqual([{ kind: 'settled', view: 2 }]);
    expect(group.member.view.before).toBeUndefined();
  });

  it('ends what was begun among those before, and nothing of that is said any more', () => {
    const group = bench();
    group.at(1_101);
    group.sent.length = 0;
    group.member.request('job', { kind: 'acquire', id: 1 }, group.reading());
    group.member.move(['a', 'b', 'd'], group.reading());
    group.take();
    expect(group.saidTo('b')).toEqual([]);
    group.hears('b', [promised(1)], { view: 3 });
    expect(group.saidTo('b').some(({ kind }) => kind === 'write')).toBe(false);
  });
});

describe('a member that wants very many at once', () => {
  const MANY = 10_000;
  const reads = (items: readonly Item[]): number[] =>
    items.flatMap((item) => (item.kind === 'read' ? [item.attempt] : []));

  it('asks for some thousands, and for the next as they are answered, until it has them all', () => {
    const group = bench();
    group.at(1_101);
    for (let id = 0; id < MANY; id++) {
      group.member.request(`job ${id}`, { kind: 'acquire', id }, group.reading());
    }
    group.take();
    const sizes: number[] = [];
    for (let asked = reads(group.saidTo('b')); asked.length > 0; asked = reads(group.saidTo('b'))) {
      sizes.push(asked.length);
      group.hears('b', asked.map(promised));
      group.hears('b', asked.map(accepted));
    }
    expect(sizes).toEqual([4_096, 4_096, MANY - 2 * 4_096]);
    expect(group.told('granted')).toHaveLength(MANY);
  });

  it('looks no further after those whose turn never came', () => {
    const group = bench();
    group.at(1_101);
    for (let id = 0; id < MANY; id++) {
      group.member.request(`job ${id}`, { kind: 'acquire', id }, group.reading());
    }
    for (let id = 0; id < MANY; id++) group.member.cancel(`job ${id}`, id, group.reading());
    group.take();
    group.hears('b', reads(group.saidTo('b')).map(promised));
    expect(group.told('granted')).toHaveLength(0);
  });
});
