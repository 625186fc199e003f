import { describe, expect, it } from 'vitest';
import { UnavailableError } from '../../runtime/errors.ts';
import type { Item } from './messages.ts';
import { accepted, holding, LoneMember, promised, WALL_MS, OTHER } from '../testing/lone-member.ts';
import { digestOf } from './view-digest.ts';

// A lease is 1000 ms, clocks are within 50, an answer is awaited for 100; whoever begins is silent for 1100.

const read: Item = { kind: 'read', attempt: 1, resource: 'job', askedMs: WALL_MS + 1_101, round: 1 };

describe('a change of the group', () => {
  it('is refused before the last one is settled', () => {
    const group = new LoneMember(['a', 'b', 'c'], ['a', 'b', 'd']);
    expect(() => group.input((member, reading) => member.move(['a', 'b', 'e'], reading))).toThrow(
      UnavailableError,
    );
  });

  it('is settled a lease and two skews after most of those before were known to have moved', () => {
    const group = new LoneMember(['a', 'b', 'c'], ['a', 'b', 'd']);
    group.at(500);
    group.hears('b', []);
    group.at(1_600);
    expect(group.told('settled')).toEqual([]);
    group.at(1_601);
    expect(group.told('settled')).toEqual([{ kind: 'settled', view: 2 }]);
    expect(group.member.view.before).toBeUndefined();
  });

  it('is settled by one that is alone, as where it has another address, when it begins and when its clock jumped', () => {
    const group = new LoneMember(['a'], ['a']);
    for (let ms = 0; ms <= 500; ms += 50) group.at(ms);
    group.clock.aheadMs = -500;
    for (let ms = 550; ms <= 3_000; ms += 50) group.at(ms);
    expect(group.told('recovering')).toHaveLength(2);
    expect(group.told('settled')).toEqual([{ kind: 'settled', view: 2 }]);
  });

  it('is settled anew when it begins anew: who had moved to the view before has not moved to this one', () => {
    const group = new LoneMember(['a', 'b', 'c'], ['a', 'b', 'd']);
    group.hears('b', []);
    group.at(1_101);
    expect(group.told('settled')).toHaveLength(1);
    group.input((member, reading) => member.move(['a', 'b', 'e'], reading));
    group.at(9_000);
    expect(group.told('settled')).toHaveLength(1);
  });

  it('is settled only if the others mean the same by it, also those who moved before us', () => {
    const group = new LoneMember();
    group.at(1_101);
    const digest = digestOf({ members: ['a', 'b', 'e'], before: ['a', 'b', 'c'] });
    for (const peer of ['b', 'c']) group.hears(peer, [], { view: 3, digest });
    group.input((member, reading) => member.move(['a', 'b', 'd'], reading));
    group.at(9_000);
    expect(group.told('settled')).toEqual([]);
  });

  const questions: readonly Item[] = [
    { kind: 'read', attempt: 1, resource: 'job', askedMs: WALL_MS + 1_101, round: 1 },
    { kind: 'query', attempt: 1, resource: 'job' },
    {
      ...{ kind: 'write', attempt: 1, resource: 'job', askedMs: WALL_MS + 1_101, round: 1 },
      lease: {
        ...{ holder: 'b', incarnation: 1, number: (WALL_MS + 1_101) * 1_000, untilMs: WALL_MS + 2_101 },
        ...{ state: 'held', successor: undefined },
      },
    },
  ];

  it.each(questions)('leaves those alone who have not moved: $kind', (item) => {
    const group = new LoneMember();
    group.at(1_101);
    group.saidTo('b');
    group.hears('b', [item], { view: 1 });
    expect(group.saidTo('b')).toMatchObject([{ kind: 'refused', why: 'other-view' }]);
    expect(group.member.registersKept).toBe(0);
  });

  it('ends what was begun among those before, and nothing of that is said any more', () => {
    const group = new LoneMember();
    group.at(1_101);
    group.sent.length = 0;
    group.input((member, reading) => member.request('job', { kind: 'acquire', id: 1 }, reading));
    group.input((member, reading) => member.move(['a', 'b', 'd'], reading));
    group.take();
    expect(group.saidTo('b')).toEqual([]);
    const digest = digestOf({ members: ['a', 'b', 'd'], before: ['a', 'b', 'c'] });
    group.hears('b', [promised(1)], { view: 3, digest });
    expect(group.saidTo('b').some(({ kind }) => kind === 'write')).toBe(false);
  });
});

describe('a peer that was started with other peers in the same view', () => {
  it('is promised nothing, and not answered at all', () => {
    const group = new LoneMember();
    group.at(1_101);
    group.saidTo('b');
    group.hears('b', [read], { digest: OTHER });
    expect(group.saidTo('b')).toEqual([]);
    expect(group.member.registersKept).toBe(0);
    expect(group.told('trouble')).toEqual([
      { kind: 'trouble', peer: 'b', trouble: { why: 'other-members' } },
    ]);
  });

  it('takes nothing from one that was there before', () => {
    const group = holding();
    group.hears('c', [], { digest: OTHER });
    expect(group.member.recovery).toBeUndefined();
    expect([...group.member.heldLeases]).toHaveLength(1);
  });

  it('does not count for a change to be settled', () => {
    const group = new LoneMember(['a', 'b', 'c'], ['a', 'b', 'd']);
    const digest = digestOf({ members: ['a', 'b', 'c'], before: ['a', 'b', 'e'] });
    for (let ms = 500; ms <= 3_000; ms += 250) {
      group.at(ms);
      group.hears('b', [], { digest });
    }
    expect(group.told('settled')).toEqual([]);
  });

  it('keeps one that begins from taking part until it says otherwise, and for a whole silence more', () => {
    const group = new LoneMember();
    group.acquire(1);
    group.at(500);
    group.hears('b', [], { digest: OTHER });
    expect(group.member.recovery).toEqual({ why: 'other-members', forMs: Number.POSITIVE_INFINITY });
    for (let ms = 1_000; ms < 9_000; ms += 1_000) {
      group.at(ms);
      group.hears('b', [], { digest: OTHER });
    }
    group.at(9_000);
    group.hears('c', [read]);
    expect(group.saidTo('c').at(-1)).toMatchObject({ kind: 'refused', why: 'recovering' });
    expect(group.told('ready')).toEqual([]);
    group.hears('b', [], { incarnation: 2 });
    group.at(10_100);
    expect(group.told('ready')).toEqual([]);
    group.at(10_101);
    expect(group.told('ready')).toHaveLength(1);
  });

  it('keeps one from taking part whose clock jumped since', () => {
    const group = holding();
    group.hears('c', [], { digest: OTHER });
    group.clock.aheadMs = -500;
    group.at(1_110);
    expect(group.member.recovery?.why).toBe('other-members');
  });

  it('is told apart although this member has settled since', () => {
    const group = new LoneMember(['a', 'b', 'c'], ['a', 'b', 'd']);
    group.hears('b', []);
    group.at(1_101);
    expect(group.told('settled')).toHaveLength(1);
    group.sent.length = 0;
    group.hears('c', [read], { digest: digestOf({ members: ['a', 'b', 'c'], before: ['a', 'b', 'e'] }) });
    expect(group.saidTo('c')).toEqual([]);
    group.hears('c', [read], { digest: digestOf({ members: ['a', 'b', 'c'], before: undefined }) });
    expect(group.saidTo('c')).toMatchObject([{ kind: 'promised' }]);
  });
});

describe('a peer that contradicts what a member was told of the group, and is heard no more', () => {
  it.each([
    ['other members', { digest: OTHER }],
    ['an earlier view', { view: 1, digest: OTHER }],
  ])('keeps it from taking part for a silence, and one more: %s', (_, word) => {
    const group = new LoneMember();
    group.at(500);
    group.hears('b', [], word);
    group.at(1_600);
    expect(group.member.recovery?.forMs).toBe(Number.POSITIVE_INFINITY);
    expect(group.member.wakeAt).toBeCloseTo(1_600, 0);
    group.at(1_601);
    expect(group.member.recovery?.forMs).toBe(1_100);
    group.at(2_701);
    expect(group.told('ready')).toEqual([]);
    group.at(2_702);
    expect(group.told('ready')).toHaveLength(1);
  });

  it('is of no account long after, when the clock of one that takes part has jumped', () => {
    const group = holding();
    group.hears('c', [], { digest: OTHER });
    group.at(60_000);
    group.clock.aheadMs = -500;
    group.at(60_010);
    expect(group.member.recovery).toMatchObject({ why: 'clock-jumped', forMs: 1_100 });
  });
});

describe('a peer in an earlier view, at a member that was started without those before', () => {
  const EARLIER = { view: 1, digest: OTHER };

  it('keeps one that begins from taking part until it has moved, and for a whole silence more', () => {
    const group = new LoneMember();
    group.acquire(1);
    group.at(500);
    group.hears('b', [read], EARLIER);
    expect(group.saidTo('b').at(-1)).toMatchObject({ kind: 'refused', why: 'recovering' });
    expect(group.member.recovery).toEqual({ why: 'earlier-view', forMs: Number.POSITIVE_INFINITY });
    for (let ms = 1_000; ms < 9_000; ms += 1_000) {
      group.at(ms);
      group.hears('b', [], EARLIER);
    }
    group.at(9_000);
    expect(group.told('ready')).toEqual([]);
    group.hears('b', [], { incarnation: 2 });
    group.at(10_100);
    expect(group.told('ready')).toEqual([]);
    group.at(10_101);
    expect(group.told('ready')).toHaveLength(1);
  });

  it('takes nothing from one that takes part, and is only reported', () => {
    const group = holding();
    group.hears('c', [], EARLIER);
    expect(group.member.recovery).toBeUndefined();
    expect([...group.member.heldLeases]).toHaveLength(1);
    const trouble = { why: 'earlier-view', view: 1 };
    expect(group.told('trouble')).toEqual([{ kind: 'trouble', peer: 'c', trouble }]);
  });

  it('keeps nobody from anything that was told of those before, or has moved by itself', () => {
    const told = new LoneMember(['a', 'b', 'c'], ['a', 'b', 'd']);
    told.hears('b', [], EARLIER);
    expect([told.member.recovery?.why, told.told('trouble')]).toEqual(['began', []]);
    const moved = new LoneMember();
    moved.input((member, reading) => member.move(['a', 'b', 'd'], reading));
    moved.hears('b', []);
    expect([moved.member.recovery?.why, moved.told('trouble')]).toEqual(['began', []]);
  });
});

describe('a peer with longer durations', () => {
  const LONGER = { leaseMs: 3_000, takeoverMs: 2_000 }; // 3,000 + 2 × 50 + 2,000

  it('makes a recovering member wait as long as they demand, from when it was last heard with them', () => {
    const group = new LoneMember();
    group.at(500);
    group.hears('b', [read], LONGER);
    expect(group.member.recovery).toEqual({ why: 'began', forMs: 5_100 });
    group.at(600);
    group.hears('b', [], { incarnation: 2 });
    group.at(5_600);
    expect(group.told('ready')).toEqual([]);
    group.at(5_601);
    expect(group.told('ready')).toHaveLength(1);
  });

  it('is waited for also where the clock of the recovering member jumps meanwhile', () => {
    const group = new LoneMember();
    group.hears('b', [], LONGER);
    group.clock.aheadMs = 60_000;
    group.at(10);
    expect(group.member.recovery).toEqual({ why: 'clock-jumped', forMs: 5_100 });
  });

  it('takes nothing from a member that takes part, and is of no account when it was heard long ago', () => {
    const group = holding();
    group.hears('c', [], LONGER);
    expect(group.member.recovery).toBeUndefined();
    expect([...group.member.heldLeases]).toHaveLength(1);
    group.at(60_000);
    group.clock.aheadMs = -500;
    group.at(60_010);
    expect(group.member.recovery).toMatchObject({ why: 'clock-jumped', forMs: 1_100 });
  });

  it('alone matters: one with shorter durations keeps nobody waiting', () => {
    const group = new LoneMember();
    group.hears('b', [], { leaseMs: 500 });
    expect(group.member.recovery).toEqual({ why: 'began', forMs: 1_100 });
  });
});

describe('a member that wants very many at once', () => {
  const MANY = 10_000;
  const reads = (items: readonly Item[]): number[] =>
    items.flatMap((item) => (item.kind === 'read' ? [item.attempt] : []));

  it('asks for some thousands, and for the next as they are answered, until it has them all', () => {
    const group = new LoneMember();
    group.at(1_101);
    for (let id = 0; id < MANY; id++) {
      group.input((member, reading) => member.request(`job ${id}`, { kind: 'acquire', id }, reading));
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

  it('renews what it holds before it asks for any other', () => {
    const group = holding();
    for (let id = 0; id < MANY; id++) {
      group.input((member, reading) => member.request(`job ${id}`, { kind: 'acquire', id }, reading));
    }
    group.take();
    const [first = 0] = reads(group.saidTo('b')).slice(-1);
    // The lease is due to be renewed, and others have waited for longer.
    group.at(1_101 + 400);
    const asked = group.saidTo('b').flatMap((item) => (item.kind === 'read' ? [item] : []));
    expect(asked.some(({ attempt, resource }) => attempt > first && resource === 'job')).toBe(true);
  });

  it('asks for none that was given up before its turn, but for those behind it', () => {
    const group = new LoneMember();
    group.at(1_101);
    for (let id = 0; id < MANY; id++) {
      group.input((member, reading) => member.request(`job ${id}`, { kind: 'acquire', id }, reading));
    }
    for (let id = 0; id < MANY - 2; id++)
      group.input((member, reading) => member.cancel(`job ${id}`, id, reading));
    group.take();
    const asked = new Set<string>();
    for (let said = group.saidTo('b'); said.length > 0; said = group.saidTo('b')) {
      for (const item of said) if (item.kind === 'read') asked.add(item.resource);
      group.hears('b', reads(said).map(promised));
      group.hears('b', reads(said).map(accepted));
    }
    const underWay = Array.from({ length: 4_096 }, (_, id) => `job ${id}`);
    expect([...asked]).toEqual([...underWay, `job ${MANY - 2}`, `job ${MANY - 1}`]);
    expect(group.told('granted')).toMatchObject([{ request: MANY - 2 }, { request: MANY - 1 }]);
  });
});
