import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { CheckIn, type CheckInOptions } from './check-in.ts';
import { type Configuration, initialConfiguration, UNKNOWN_CELL } from './configuration.ts';
import type { CheckedIn } from './messages.ts';
import { recover } from './recovery.ts';

const cell = (...storages: readonly string[]): Configuration => ({
  ...initialConfiguration(
    storages.map((storage, seat) => ({ seat, storage })),
    { mode: 'all' },
  ),
  quorum: 'majority',
});

const NONCE = 7;
const answer = (votes: number, slot = 0, configuration = cell('a', 'b', 'c')): CheckedIn => ({
  ...{ kind: 'checked-in', nonce: NONCE, votes, slot, configuration, promised: 0, reached: 0, holdMs: 0 },
});

/** Replica `a`, which has 10 frames with votes. */
function started(options: Partial<CheckInOptions> = {}): CheckIn {
  const recovery = recover([]);
  if (recovery.kind !== 'recovered') throw new Error('nothing is damaged');
  const recovered = { ...recovery.state, votes: 10 };
  return new CheckIn(
    {
      ...{
        self: 'a',
        recovered,
        initial: cell('a', 'b', 'c'),
        contacts: ['d'],
        isCopy: false,
        isNew: false,
      },
      ...{ electionMs: 100, leaseMs: 1_000, nonce: NONCE, ...options },
    },
    instant(0),
  );
}

describe('a replica that has started', () => {
  it('asks every other member, and again those that have not answered', () => {
    const checkIn = started();
    const ask = (to: string) => ({ do: 'send', to, message: { kind: 'check-in', nonce: NONCE } });
    expect(checkIn.wake(instant(0))).toEqual([ask('b'), ask('c')]);
    checkIn.receive('b', answer(10), instant(1));
    expect(checkIn.wake(instant(30))).toEqual([ask('c')]);
  });

  it('is confirmed by all others at once, and by a majority after an election time', () => {
    const all = started();
    for (const member of ['b', 'c']) all.receive(member, answer(10), instant(1));
    expect(all.verdict.is).toBe('confirmed');
    const majority = started();
    majority.receive('b', answer(9), instant(99));
    expect(majority.verdict.is).toBe('open');
    majority.wake(instant(100));
    expect(majority.verdict.is).toBe('confirmed');
  });

  it('is confirmed by nobody less than all others if its directory is a copy', () => {
    const copy = started({ isCopy: true });
    copy.receive('b', answer(10), instant(1));
    copy.wake(instant(1_000_000));
    expect(copy.verdict.is).toBe('open');
    copy.receive('c', answer(10), instant(1_000_001));
    for (const member of ['b', 'c'])
      copy.receive(member, { ...answer(10), nonce: NONCE + 1 }, instant(1_000_002));
    expect(copy.verdict.is).toBe('confirmed');
  });

  it('takes over, if its directory is a copy, what all others say after all have answered once', () => {
    const copy = started({ isCopy: true });
    const state = (promised: number, reached: number, holdMs: number) => ({ promised, reached, holdMs });
    copy.receive('b', { ...answer(10), ...state(99, 50, 999) }, instant(1));
    copy.receive('c', answer(10), instant(2));
    expect(copy.verdict.is).toBe('open'); // The original may have been heard until now.
    expect(copy.awaited).toEqual(['b', 'c']);
    copy.receive('b', { ...answer(10), ...state(99, 50, 999) }, instant(3)); // Too late.
    expect(copy.awaited).toEqual(['b', 'c']);
    const again = { ...answer(10), nonce: NONCE + 1 };
    copy.receive('b', { ...again, ...state(33, 7, 400) }, instant(4));
    copy.receive('c', { ...again, ...state(65, 5, 300) }, instant(5));
    expect(copy.verdict).toEqual({ is: 'confirmed', takenOver: state(65, 5, 400) });
  });

  it('is refused as a copy by a member that restarts between the two questions and remembers more', () => {
    const copy = started({ isCopy: true });
    for (const member of ['b', 'c']) copy.receive(member, answer(10), instant(1));
    copy.receive('c', { ...answer(11), nonce: NONCE + 1 }, instant(2));
    expect(copy.verdict).toEqual({ is: 'refused', by: 'c' });
  });

  it('asks nobody if its storage id was just drawn, and everybody if it has just founded the cell', () => {
    expect(started({ isNew: true, initial: UNKNOWN_CELL }).verdict.is).toBe('confirmed');
    const founder = started({ isNew: true, isCopy: true });
    expect(founder.awaited).toEqual(['b', 'c']);
    founder.receive('b', answer(11), instant(1));
    expect(founder.verdict).toEqual({ is: 'refused', by: 'b' });
  });

  it('is refused by a member that heard of more votes than it has', () => {
    const checkIn = started();
    checkIn.receive('c', answer(11), instant(1));
    expect(checkIn.verdict).toEqual({ is: 'refused', by: 'c' });
  });

  it('believes no answer to another start, and no stranger', () => {
    const checkIn = started();
    checkIn.receive('b', { ...answer(11), nonce: 6 }, instant(1));
    checkIn.receive('x', answer(11, 99, cell('x')), instant(1));
    checkIn.wake(instant(100));
    expect(checkIn.verdict.is).toBe('open');
  });

  it('goes by the newest configuration that a member names', () => {
    const checkIn = started({ isCopy: true });
    checkIn.receive('b', answer(10, 5, cell('a', 'b', 'd')), instant(1));
    expect(checkIn.awaited).toEqual(['d']);
    checkIn.receive('d', answer(10, 5, cell('a', 'b', 'd')), instant(2));
    for (const member of ['b', 'd'])
      checkIn.receive(member, { ...answer(10, 5, cell('a', 'b', 'd')), nonce: NONCE + 1 }, instant(3));
    expect(checkIn.verdict.is).toBe('confirmed');
  });

  it('asks its contacts who the members are if nobody answers for long', () => {
    const checkIn = started();
    checkIn.wake(instant(400));
    checkIn.receive('d', answer(0, 5, cell('a', 'd', 'e')), instant(401));
    expect(checkIn.awaited).toEqual(['e']);
  });

  it('answers the same question of others from what its disk says', () => {
    const [effect] = started().receive('b', { kind: 'check-in', nonce: 3 }, instant(1));
    expect(effect).toMatchObject({
      do: 'send',
      to: 'b',
      message: { kind: 'checked-in', nonce: 3, votes: 0 },
    });
  });
});
