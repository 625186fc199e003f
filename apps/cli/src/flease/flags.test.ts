import { InvalidOptionError, joinFlease, type JoinFleaseOptions } from 'leasehold/flease';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../failure.ts';
import { asUsage, inFlags } from './flags.ts';

const PEERS = { ada: '127.0.0.1:7500', ben: '127.0.0.1:7501' };

describe('an option that makes no sense', () => {
  it.each<[string, Partial<JoinFleaseOptions>, string]>([
    [
      'a skew',
      { clockSkewMs: 6_000 },
      '--skew is 6000 ms, but it must be less than half of --lease, which is 10000 ms: with clocks',
    ],
    ['a small skew', { clockSkewMs: 1 }, '--skew is 1 ms, but it must be at least 2 ms: clocks are read'],
    [
      'a grace',
      { noticeMs: 20_000 },
      '--grace is 20000 ms, but it must not be negative, and at most 5000 ms, so',
    ],
    ['a lease', { leaseMs: 5 }, '--lease is 5 ms, but it must be from 20 ms to a day'],
    [
      'a time for an answer that follows from others',
      { clockSkewMs: 4_900 },
      'the time for an answer, which is a tenth of --lease and at most 1 s, is 1000 ms, but it must be positive and at most --lease / 2 - --skew, which is 100 ms',
    ],
    ['a view', { before: PEERS }, '--view is 1, but it must be at least 2 where --before is given'],
    ['an address', { peers: { ada: 'here' } }, 'ada in --peers is here, but it must be host:port'],
    ['an empty name', { group: '' }, '--group is empty, but'],
  ])('is said by its flag: %s', async (_, options, complaint) => {
    const joining = inFlags(joinFlease({ id: 'ada', peers: PEERS, ...options }));
    await expect(joining).rejects.toThrow(UsageError);
    await expect(joining).rejects.toThrow(complaint);
  });

  it('keeps its name where there is no flag', () => {
    expect(asUsage(new InvalidOptionError('other', 3, 'no')).message).toBe('other is 3, but no');
  });

  it('is all that is said in other words', async () => {
    const error = new Error('something else');
    await expect(inFlags(Promise.reject(error))).rejects.toBe(error);
  });
});
