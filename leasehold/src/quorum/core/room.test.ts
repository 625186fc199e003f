import { describe, expect, it } from 'vitest';
import { instant } from '../../runtime/time.ts';
import { initialConfiguration, UNKNOWN_CELL } from './configuration.ts';
import { put } from './operation.ts';
import { DEFAULT_LIMITS, resolveQuorumDurations } from './options.ts';
import { recover } from './recovery.ts';
import { Replica } from './replica.ts';
import { Room } from './room.ts';
import { LEASE_MS, Trio } from './testing/trio.ts';

const value = new Uint8Array([1]);

const counting = [
  initialConfiguration(
    ['a', 'b', 'c'].map((storage, seat) => ({ seat, storage })),
    { mode: 'all' },
  ),
].map((each) => ({ ...each, quorum: 'majority' as const }));

describe('the room on the disks of a cell', () => {
  it('is a majority until two of three say that their disks are full', () => {
    const room = new Room('a', 100);
    room.hear('b', true, instant(0));
    expect(room.isEnough(counting, instant(1))).toBe(true);
    room.isFull = true;
    expect(room.isEnough(counting, instant(1))).toBe(false);
    room.hear('b', false, instant(2));
    expect(room.isEnough(counting, instant(3))).toBe(true);
  });

  it('forgets a word about a full disk that is not repeated', () => {
    const room = new Room('a', 100);
    room.hear('b', true, instant(0));
    expect(room.isFullAt('b', instant(299))).toBe(true);
    expect(room.isFullAt('b', instant(300))).toBe(false);
  });
});

describe('a replica whose disk is full', () => {
  const sent = (trio: Trio, name: string): string[] =>
    (trio.effects.get(name) ?? []).flatMap((effect) => (effect.do === 'send' ? [effect.message.kind] : []));

  it('ends a claim before the release, and asks for no promise until there is room', () => {
    const trio = new Trio();
    const { follower } = trio;
    trio.claimed(follower);
    trio.setFull(follower, true);
    trio.submit(trio.leader, put('k', value));
    const effects = trio.effects.get(follower) ?? [];
    const end = effects.findIndex((effect) => effect.do === 'claim-ended');
    const release = effects.findIndex((effect) => effect.do === 'send' && effect.message.kind === 'release');
    expect(effects[end]).toMatchObject({ why: 'dropped' });
    expect(end).toBeLessThan(release);
    expect(trio.replica(follower).isLeased(['k'], trio.now)).toBe(false);
    effects.splice(0);
    trio.pass(2 * LEASE_MS);
    expect(sent(trio, follower)).toContain('release');
    expect(sent(trio, follower)).not.toContain('ask');
    trio.setFull(follower, false);
    trio.pass(LEASE_MS / 2); // The next question that names everything that is written.
    expect(trio.replica(follower).isLeased(['k'], trio.now)).toBe(true);
  });

  it('delays no write of the others, although it held every key', () => {
    const trio = new Trio();
    trio.setFull(trio.follower, true);
    expect(trio.submit(trio.leader, put('k', value))).toHaveProperty('revision'); // Within 100 ms.
    expect(trio.submit(trio.leader, put('k', value))).toHaveProperty('revision');
  });

  it('hands the leadership to another one, and stands in no election', () => {
    const trio = new Trio();
    const full = trio.leader;
    trio.setFull(full, true);
    trio.begin(full, { kind: 'open-session' });
    trio.pass(50);
    expect(trio.leader).not.toBe(full);
    trio.effects.get(full)?.splice(0);
    trio.pass(2 * LEASE_MS);
    expect(trio.replica(full).role).toBe('follower');
    expect(sent(trio, full)).not.toContain('prepare');
  });
});

describe('a newcomer that knows no members yet', () => {
  it('answers a write with not-ready, and says nothing of disks', () => {
    const recovery = recover([]);
    if (recovery.kind !== 'recovered') return expect.unreachable();
    const durations = resolveQuorumDurations();
    const newcomer = new Replica(
      {
        ...{ self: 'n', life: 1, recovered: recovery.state, initial: UNKNOWN_CELL, contacts: ['a'] },
        ...{ durations, limits: DEFAULT_LIMITS, random: () => 0 },
      },
      instant(0),
    );
    const submission = { session: 1, number: 1, answeredBelow: 0, command: put('k', value) };
    expect(newcomer.submit(1, submission, instant(1))).toContainEqual({
      ...{ do: 'answer', id: 1, answer: { kind: 'refused', why: 'not-ready' } },
    });
  });
});
