import { describe, expect, it } from 'vitest';
import { digest } from '../../../runtime/digest.ts';
import { instant } from '../../../runtime/time.ts';
import type { Report, Sync } from '../messages.ts';
import { resolveDurations } from '../options.ts';
import { ManagerState } from '../state.ts';
import { Subscribers } from './subscribers.ts';
import { OwnerSessions } from './owner-sessions.ts';
import { Deaths } from './deaths.ts';
import { MANAGER_LIMITS } from './settings.ts';
import { Stamps } from './stamps.ts';

const sync = (pool: string): Sync => ({ kind: 'sync', pool, lookup: 'l.1', sequence: 1, seen: undefined });

describe('the memory of a leader for death certificates', () => {
  const limits = { certificates: 6, certificatesPerConnection: 3 };
  const bring = (deaths: Deaths, from: string, numbers: readonly number[], isMember = false): void => {
    for (const number of numbers) deaths.hear(`${from} ${number}`, from, instant(0), () => isMember);
  };
  const has = (deaths: Deaths, from: string, numbers: readonly number[]): boolean[] =>
    numbers.map((number) => deaths.has(digest(`${from} ${number}`)));

  it('is no more than so many proofs of unknown processes from one connection, the latest', () => {
    const deaths = new Deaths(
      () => 1_000,
      () => limits,
    );
    bring(deaths, 'noisy', [1, 2, 3, 4]);
    bring(deaths, 'noisy', [5, 6, 7, 8, 9], true);
    expect(has(deaths, 'noisy', [1, 2, 4, 5, 9])).toEqual([false, true, true, true, true]);
  });

  it('is no more than so many in sum, at the cost of the connection with the most', () => {
    const deaths = new Deaths(
      () => 1_000,
      () => limits,
    );
    bring(deaths, 'noisy', [1, 2, 3]);
    bring(deaths, 'honest', [1]);
    bring(deaths, 'second', [1, 2]);
    bring(deaths, 'newcomer', [1]);
    expect([...has(deaths, 'noisy', [1, 2, 3]), ...has(deaths, 'honest', [1])]).toEqual([
      false,
      true,
      true,
      true,
    ]);
  });

  it('confirms each once, and only when it has taken effect', () => {
    const deaths = new Deaths(
      () => 1_000,
      () => limits,
    );
    const proof = deaths.hear('secret', 's', instant(0), () => false);
    expect(deaths.confirm(() => true)).toEqual([]);
    expect(deaths.confirm(() => false)).toEqual([{ to: 's', proof }]);
    expect(deaths.confirm(() => false)).toEqual([]);
    deaths.forget(instant(1_000));
    expect(deaths.has(proof)).toBe(false);
  });
});

const durations = resolveDurations();
const newOwnerSessions = (): OwnerSessions =>
  new OwnerSessions({
    ...{ stamps: new Stamps({ history: 'h' }), term: 1 },
    durations: () => durations,
    limits: () => MANAGER_LIMITS,
    originOf: (connection) => connection,
    due: () => undefined,
    moves: () => undefined,
    toldMoves: () => undefined,
  });
const reportOf = (incarnation: string): Report => ({
  ...{ kind: 'report', pool: 'p', incarnation, name: incarnation, url: `http://${incarnation}` },
  ...{ proof: undefined, sequence: 1, wantsAnswer: true, heard: undefined, seen: undefined },
  ...{ held: [{ start: 0n, end: 1n, number: 7 }], letGo: [], leaving: false, load: 0 },
});

describe('the memory of a leader for owners that are no members', () => {
  const nobody = ManagerState.empty;
  const member = { incarnation: 'm.1', name: 'm.1', url: 'http://m.1', proof: undefined };
  const pools = [{ pool: 'p', records: [{ kind: 'join', member } as const] }];
  const onlyM = nobody.apply(1, { term: 1, leader: 'm1', takeoverMs: 0, pools });

  /** Ten thousand candidates were heard at instant 0, each over a connection of its own. */
  function crowded() {
    const ownerSessions = newOwnerSessions();
    const hear = (incarnation: string, state: ManagerState, at: number) =>
      ownerSessions.hear(incarnation, reportOf(incarnation), state, instant(at));
    for (let index = 0; index < 9_999; index += 1) hear(`a.${index}`, nobody, 0);
    hear('last.1', nobody, 1);
    return { ownerSessions, hear };
  }

  it('is no more than ten thousand: the oldest that has confirmed nothing makes room', () => {
    const { ownerSessions, hear } = crowded();
    expect(hear('late.1', nobody, 2)).toMatchObject({ displaced: { address: 'a.0' } });
    expect(ownerSessions.sessions.size).toBe(10_000);
    expect(ownerSessions.sessions.has('a.0')).toBe(false);
  });

  it('has room again when those are forgotten who have said nothing for a hold', () => {
    const { ownerSessions, hear } = crowded();
    ownerSessions.forgetCandidates(nobody, instant(durations.holdMs));
    expect([...ownerSessions.sessions.keys()]).toEqual(['last.1']);
    expect(hear('late.1', nobody, durations.holdMs)).toMatchObject({ isMember: false, isFirst: true });
  });

  it('keeps no member out, however much it is', () => {
    const { hear } = crowded();
    expect(hear('m.1', onlyM, 2)).toMatchObject({ isMember: true, isFirst: true });
    expect(hear('late.1', onlyM, 2)).toMatchObject({ displaced: { address: 'a.0' } });
  });

  it('is nothing of what they claim to hold', () => {
    const { ownerSessions } = crowded();
    expect(ownerSessions.sessions.get('last.1')?.report.held).toEqual([]);
  });
});

describe('the memory of a leader for the report of a member', () => {
  const member = { incarnation: 'm.1', name: 'm.1', url: 'http://m.1', proof: undefined };
  const spans = [
    { start: 0n, end: 100_000n },
    { start: 200_000n, end: 200_004n },
  ];
  const records = [{ kind: 'join', member } as const, { kind: 'grant', incarnation: 'm.1', spans } as const];
  const state = ManagerState.empty.apply(7, {
    ...{ term: 1, leader: 'm1', takeoverMs: 0, pools: [{ pool: 'p', records }] },
  });
  const kept = (parts: Partial<Report>): Report | undefined => {
    const ownerSessions = newOwnerSessions();
    ownerSessions.hear('m.1', { ...reportOf('m.1'), ...parts }, state, instant(0));
    return ownerSessions.sessions.get('m.1')?.report;
  };
  const released = (start: bigint, end: bigint, number = 7) => ({
    ...{ start, end, number, how: 'released' as const },
  });

  it('is of the released spans only the parts that its rows have under that number', () => {
    const letGo = [
      released(0n, 1n, 6),
      released(1n, 2n),
      released(99_999n, 200_001n),
      released(300_000n, 300_001n),
    ];
    expect(kept({ letGo })?.letGo).toEqual([
      released(1n, 2n),
      released(99_999n, 100_000n),
      released(200_000n, 200_001n),
    ]);
  });

  it('is no more than ten thousand released spans, the first', () => {
    const letGo = Array.from({ length: 10_001 }, (_, index) =>
      released(BigInt(2 * index), BigInt(2 * index + 1)),
    );
    expect(kept({ letGo })?.letGo).toEqual(letGo.slice(0, 10_000));
  });

  it('is of the held spans only the rows that are held whole', () => {
    const held = [
      ...Array.from({ length: 1_000 }, (_, index) => ({
        ...{ start: BigInt(2 * index), end: BigInt(2 * index + 1), number: 7 },
      })),
      { start: 200_000n, end: 200_002n, number: 7 },
      { start: 200_002n, end: 200_004n, number: 7 },
      { start: 300_000n, end: 300_001n, number: 7 },
    ];
    expect(kept({ held })?.held).toMatchObject([{ start: 200_000n, end: 200_004n, number: 7 }]);
  });
});

describe('the memory of a leader for look-ups', () => {
  it('is forgotten when they have not asked for long, whatever pool they asked for', () => {
    const subscribers = new Subscribers(() => 1_000);
    subscribers.hear('one', sync('p'), instant(0));
    subscribers.hear('two', sync('q'), instant(3_000));
    subscribers.forget(instant(4_001));
    expect([...subscribers.listeners()].map(({ address }) => address)).toEqual(['two']);
    subscribers.forget(instant(7_001));
    expect([...subscribers.listeners()]).toEqual([]);
  });

  it('is no more than two hundred thousand, and has room again when some are forgotten', () => {
    const subscribers = new Subscribers(() => 1_000);
    for (let index = 0; index <= 200_000; index += 1) subscribers.hear('one', sync(`p${index}`), instant(0));
    expect([...subscribers.listeners()]).toHaveLength(200_000);
    subscribers.forget(instant(5_000));
    subscribers.hear('one', sync('p'), instant(5_000));
    expect([...subscribers.listeners()]).toHaveLength(1);
  });
});
