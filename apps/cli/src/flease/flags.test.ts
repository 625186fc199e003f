import { joinFlease, type JoinFleaseOptions, silent } from 'leasehold/flease';
import { invalidOption } from 'leasehold/internal';
import { type FleaseGroup, startManager, type StartManagerOptions } from 'leasehold/manager';
import { describe, expect, it } from 'vitest';
import { UsageError } from '../failure.ts';
import { inFlags, MANAGER_FLAGS } from './flags.ts';

const PEERS = { ada: '127.0.0.1:7500', ben: '127.0.0.1:7501' };

describe('an option that makes no sense', () => {
  it.each<[string, Partial<JoinFleaseOptions>, string]>([
    [
      'a skew',
      { clockSkewMs: 6_000 },
      '--clock-skew is 6000 ms, but it must be less than half of --lease, which is 10000 ms: with clocks',
    ],
    ['a small skew', { clockSkewMs: 1 }, '--clock-skew is 1 ms, but it must be at least 2 ms'],
    ['a grace', { noticeMs: 20_000 }, '--notice is 20000 ms, but it must be at most 5000 ms, so'],
    ['a lease', { leaseMs: 5 }, '--lease is 5 ms, but it must be from 20 to 86,400,000 ms'],
    [
      'a time for an answer that follows from others',
      { clockSkewMs: 4_900 },
      'the time for an answer, which is a tenth of --lease and at most 1 s, is 1000 ms, but it must be at most --lease / 2 - --clock-skew, which is 100 ms',
    ],
    [
      'a version',
      { peersBefore: PEERS },
      '--peers-version is 1, but it must be at least 2 where --peers-before is given',
    ],
    ['an address', { peers: { ada: 'here' } }, 'ada in --peers is here, but it must be host:port'],
    ['an empty name', { cell: '' }, '--cell is empty, but'],
  ])('is said by its flag: %s', async (_, options, complaint) => {
    const joining = inFlags(joinFlease({ name: 'ada', peers: PEERS, ...options }));
    await expect(joining).rejects.toThrow(UsageError);
    await expect(joining).rejects.toThrow(complaint);
  });

  it.each<[string, Partial<FleaseGroup>, string]>([
    [
      'a skew',
      { clockSkewMs: 501 },
      '--clock-skew is 501 ms, but it must be at most a quarter of leaderLeaseMs, which is 2000 ms: a leader',
    ],
    [
      'a large skew',
      { clockSkewMs: 1_200 },
      '--clock-skew is 1200 ms, but it must be at most a quarter of leaderLeaseMs, which is 2000 ms: a leader',
    ],
    ['a takeover', { takeoverMs: 0 }, '--takeover is 0 ms, but it must be a positive number'],
    ['an address', { peers: { ada: 'here' } }, 'ada in --peers is here, but it must be host:port'],
    [
      'a version',
      { peersBefore: PEERS },
      '--peers-version is 1, but it must be at least 2 where --peers-before is given',
    ],
    ['a name', { name: 'dan' }, '--name is dan, but it must be one of the peers'],
    [
      'a place to listen',
      { listen: '0.0.0.0:7500' },
      '--cell-listen is 0.0.0.0:7500, but everybody who can connect there could take part: give a token (LEASEHOLD_TOKEN_FILE, tls, --token-file; leasehold token create makes one), listen on 127.0.0.1, or say --insecure if',
    ],
  ])('is said by the flag of a Manager: %s', async (_, group, complaint) => {
    const store = { flease: { name: 'ada', peers: PEERS, ...group } };
    const starting = inFlags(
      startManager({
        listen: '127.0.0.1:0',
        logger: silent,
        store,
        defaults: { leaderLeaseMs: 2_000 },
      }),
      MANAGER_FLAGS,
    );
    await expect(starting).rejects.toThrow(UsageError);
    await expect(starting).rejects.toThrow(complaint);
  });

  it.each<[string, StartManagerOptions, string]>([
    [
      'where it listens',
      { listen: '0.0.0.0:0' },
      '--listen is 0.0.0.0, but everybody who can connect there could take part: give a token (LEASEHOLD_TOKEN_FILE',
    ],
    ['an address for others', { advertise: 'here' }, '--advertise is here, but'],
  ])('is said by the flag of a Manager, whatever it keeps its log in: %s', async (_, options, complaint) => {
    const starting = inFlags(
      startManager({ listen: '127.0.0.1:0', logger: silent, ...options }),
      MANAGER_FLAGS,
    );
    await expect(starting).rejects.toThrow(UsageError);
    await expect(starting).rejects.toThrow(complaint);
  });

  it.each([invalidOption('other', 3, 'no'), new Error('something else')])(
    'is said as it is where there is no flag, and so is everything else: %s',
    async (error) => {
      await expect(inFlags(Promise.reject(error))).rejects.toBe(error);
    },
  );
});
