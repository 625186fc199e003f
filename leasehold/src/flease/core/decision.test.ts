import { describe, expect, it } from 'vitest';
import { decideToFree, decideToRenew, decideToTake, decideToTell, type Reading } from './decision.ts';
import type { Lease } from './lease.ts';
import { resolveFleaseDurations } from './options.ts';

// A lease is 1000 ms, clocks are within 50, an answer is awaited for 100.
const SELF = {
  id: 'a',
  incarnation: 3,
  durations: resolveFleaseDurations({ leaseMs: 1_000, clockSkewMs: 50 }),
};

const lease = (changes: Partial<Lease> = {}): Lease => ({
  ...{ holder: 'b', incarnation: 1, number: 7, untilMs: 2_000, state: 'held', successor: undefined },
  ...changes,
});
const reading = (found: Lease | undefined, nowMs: number, isCertain = true): Reading => ({
  ...{ askedMs: nowMs - 20, nowMs, found, isCertain },
});
const ours = (changes: Partial<Lease> = {}): Lease => lease({ holder: 'a', incarnation: 3, ...changes });
const NOBODY = { named: undefined, first: undefined };

describe('a member that wants to take a lease', () => {
  it('writes its own where there is none, from when it asked and under the number of that instant', () => {
    expect(decideToTake(SELF, reading(undefined, 520))).toEqual({
      do: 'write',
      lease: ours({ number: 500_000, untilMs: 1_500 }),
    });
  });

  it.each([
    ['is held', lease(), 1_900],
    ['is over by our clock, but perhaps not by that of its holder', lease(), 2_050],
    ['is left for somebody else', lease({ state: 'left', successor: 'c' }), 1_900],
    ['was ours, and is left for somebody else', ours({ state: 'left', successor: 'c' }), 1_900],
    ['was ours in an earlier incarnation', ours({ incarnation: 2 }), 1_900],
  ])('leaves it if it %s', (_, found, nowMs) => {
    expect(decideToTake(SELF, reading(found, nowMs))).toEqual({ do: 'leave', lease: found, takeAtMs: 2_050 });
  });

  it.each([
    ['over since the skew', lease(), 2_050.1],
    ['free', lease({ state: 'free' }), 1_000],
    ['left for us', lease({ state: 'left', successor: 'a' }), 1_000],
    ['written for us, who do not hold it', ours(), 1_000],
  ])('writes its own if it is %s', (_, found, nowMs) => {
    expect(decideToTake(SELF, reading(found, nowMs))).toMatchObject({ do: 'write', lease: { holder: 'a' } });
  });

  it('never takes up a lease that it has released: it writes a new one, under a higher number', () => {
    const decision = decideToTake(SELF, reading(ours({ number: 990_000 }), 1_000));
    expect(decision).toMatchObject({ do: 'write', lease: { number: 990_001 } });
  });

  it('waits for its clock if the number it found is too far ahead of it', () => {
    const found = lease({ state: 'free', number: 9_000_000 });
    expect(decideToTake(SELF, reading(found, 1_000))).toEqual({ do: 'try-later' });
  });
});

describe('a member that wants to renew its lease', () => {
  it('writes it with a later end and nothing else changed', () => {
    expect(decideToRenew(SELF, 7, reading(ours(), 1_420))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 2_400 }),
    });
  });

  it.each([
    ['nothing', undefined],
    ["somebody else's", lease()],
    ['that of an earlier incarnation', ours({ incarnation: 2 })],
    ['another number', ours({ number: 8 })],
    ['that it was given back', ours({ state: 'free' })],
  ])('gives up if it finds %s', (_, found) => {
    expect(decideToRenew(SELF, 7, reading(found, 1_420))).toEqual({ do: 'give-up' });
  });
});

describe('a member that releases a lease', () => {
  it('writes that it is free, if nobody waits', () => {
    expect(decideToFree(SELF, 7, NOBODY, reading(ours(), 1_420))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 2_400, state: 'free' }),
    });
  });

  it('leaves it for the member that has waited longest, for as long as that member takes to come', () => {
    expect(decideToFree(SELF, 7, { named: undefined, first: 'b' }, reading(ours(), 1_420))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 1_700, state: 'left', successor: 'b' }),
    });
  });

  it('leaves it for nobody for longer than a lease, which no acceptor would write', () => {
    const slow = { ...SELF, durations: { ...SELF.durations, answerTimeoutMs: 450 } };
    expect(decideToFree(slow, 7, { named: undefined, first: 'b' }, reading(ours(), 1_420))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 2_400, state: 'left', successor: 'b' }),
    });
  });

  it('frees the one before, if nothing is found of the one that was to be taken after it', () => {
    expect(decideToFree(SELF, 8, NOBODY, reading(ours(), 1_420))).toMatchObject({
      do: 'write',
      lease: { number: 7, state: 'free' },
    });
    expect(decideToFree(SELF, 6, NOBODY, reading(ours(), 1_420))).toEqual({ do: 'give-up' });
  });

  it('leaves it for the named successor, for a lease, although others wait', () => {
    expect(decideToFree(SELF, 7, { named: 'c', first: 'b' }, reading(ours(), 1_420))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 2_400, state: 'left', successor: 'c' }),
    });
  });

  it('says so again if only some of them have it written, to the same successor or to another', () => {
    const found = ours({ state: 'left', successor: 'c', untilMs: 1_700 });
    expect(decideToFree(SELF, 7, { named: 'c', first: undefined }, reading(found, 1_420, false))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 2_400, state: 'left', successor: 'c' }),
    });
    expect(decideToFree(SELF, 7, NOBODY, reading(found, 1_420, false))).toEqual({
      do: 'write',
      lease: ours({ untilMs: 2_400, state: 'free' }),
    });
  });

  it('says nothing if it is no longer there', () => {
    expect(decideToFree(SELF, 7, NOBODY, reading(lease(), 1_420))).toEqual({ do: 'give-up' });
  });
});

describe('a member that asks for the holder', () => {
  it('asks again if it was not over when it asked, and is by now: it may have been renewed meanwhile', () => {
    expect(decideToTell(SELF, reading(lease(), 2_050.1))).toEqual({ do: 'try-later' });
  });

  it('is told of it, if a majority has the very same', () => {
    expect(decideToTell(SELF, reading(lease(), 1_000))).toEqual({ do: 'say', lease: lease() });
  });

  it('has it written by a majority first, if not', () => {
    expect(decideToTell(SELF, reading(lease(), 1_000, false))).toEqual({ do: 'write', lease: lease() });
  });

  it.each([
    ['there is none', undefined, 1_000],
    ['it is free', lease({ state: 'free' }), 1_000],
    ['it was over since the skew when we asked', lease(), 2_070.1],
  ])('is told that there is nobody, if %s', (_, found, nowMs) => {
    expect(decideToTell(SELF, reading(found, nowMs, false))).toEqual({ do: 'say', lease: undefined });
  });
});
