import { InvalidOptionError, joinFlease, type JoinFleaseOptions, silent } from 'leasehold/flease';
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
      '--skew is 6000 ms, but it must be less than half of --lease, which is 10000 ms: with clocks',
    ],
    ['a small skew', { clockSkewMs: 1 }, '--skew is 1 ms, but it must be at least 2 ms'],
    ['a grace', { noticeMs: 20_000 }, '--grace is 20000 ms, but it must be at most 5000 ms, so'],
    ['a lease', { leaseMs: 5 }, '--lease is 5 ms, but it must be from 20 to 86,400,000 ms'],
    [
      'a time for an answer that follows from others',
      { clockSkewMs: 4_900 },
      'the time for an answer, which is a tenth of --lease and at most 1 s, is 1000 ms, but it must be at most --lease / 2 - --skew, which is 100 ms',
    ],
    ['a view', { before: PEERS }, '--view is 1, but it must be at least 2 where --before is given'],
    ['an address', { peers: { ada: 'here' } }, 'ada in --peers is here, but it must be host:port'],
    ['an empty name', { group: '' }, '--group is empty, but'],
  ])('is said by its flag: %s', async (_, options, complaint) => {
    const joining = inFlags(joinFlease({ id: 'ada', peers: PEERS, ...options }));
    await expect(joining).rejects.toThrow(UsageError);
    await expect(joining).rejects.toThrow(complaint);
  });

  it.each<[string, Partial<FleaseGroup>, string]>([
    [
      'a skew',
      { clockSkewMs: 501 },
      '--flease-skew is 501 ms, but it must be at most a quarter of leaderLeaseMs, which is 2000 ms: a leader',
    ],
    [
      'a large skew',
      { clockSkewMs: 1_200 },
      '--flease-skew is 1200 ms, but it must be at most a quarter of leaderLeaseMs, which is 2000 ms: a leader',
    ],
    ['a takeover', { takeoverMs: 0 }, '--flease-takeover is 0 ms, but it must be a positive number'],
    ['an address', { peers: { ada: 'here' } }, 'ada in --flease-peers is here, but it must be host:port'],
    [
      'a view',
      { before: PEERS },
      '--flease-view is 1, but it must be at least 2 where --flease-before is given',
    ],
    ['a name', { id: 'dan' }, '--flease-id is dan, but it must be one of the peers'],
    [
      'a place to listen',
      { listen: '0.0.0.0:7500' },
      '--flease-listen is 0.0.0.0:7500, but everybody who can connect there could take part; listen on 127.0.0.1, give tls (--store-ca, --store-cert, --store-key), or',
    ],
  ])('is said by the flag of a Manager: %s', async (_, group, complaint) => {
    const store = { flease: { id: 'ada', peers: PEERS, ...group } };
    const starting = inFlags(
      startManager({ port: 0, http: false, logger: silent, store, defaults: { leaderLeaseMs: 2_000 } }),
      MANAGER_FLAGS,
    );
    await expect(starting).rejects.toThrow(UsageError);
    await expect(starting).rejects.toThrow(complaint);
  });

  it.each<[string, StartManagerOptions, string]>([
    [
      'a host',
      { host: '0.0.0.0' },
      '--host is 0.0.0.0, but everybody who can connect there could do everything; listen on 127.0.0.1, or say --insecure if the network',
    ],
    ['a host for people', { http: { host: '0.0.0.0' } }, '--http-host is 0.0.0.0, but everybody who can'],
    ['an address for others', { advertise: 'here' }, '--advertise is here, but'],
  ])('is said by the flag of a Manager, whatever it keeps its log in: %s', async (_, options, complaint) => {
    const starting = inFlags(startManager({ port: 0, logger: silent, ...options }), MANAGER_FLAGS);
    await expect(starting).rejects.toThrow(UsageError);
    await expect(starting).rejects.toThrow(complaint);
  });

  it.each([new InvalidOptionError('other', 3, 'no'), new Error('something else')])(
    'is said as it is where there is no flag, and so is everything else: %s',
    async (error) => {
      await expect(inFlags(Promise.reject(error))).rejects.toBe(error);
    },
  );
});
