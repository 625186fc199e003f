import { describe, expect, it } from 'vitest';
import { ManagerState } from '../../core/state.ts';
import { ManagerCounters } from './counters.ts';
import { EventLog } from '../../../node/service/event-log.ts';
import type { ManagerLogEvent } from './event-log.ts';
import { type Glimpse, Recorder } from './recorder.ts';
import { threeOwners } from './source-script.ts';

const { state } = threeOwners();

function watched(...glimpses: readonly Partial<Glimpse>[]): {
  readonly kinds: string[];
  readonly counters: ManagerCounters;
} {
  const events = new EventLog<ManagerLogEvent>({ epoch: 'life1' });
  const counters = new ManagerCounters();
  const recorder = new Recorder(events, counters, () => 5);
  for (const glimpse of glimpses) {
    recorder.see({
      id: 'm1',
      role: 'standby',
      haltedBecause: undefined,
      term: 1,
      history: 'h1',
      state: ManagerState.empty,
      ...glimpse,
    });
  }
  return { kinds: events.recent(100).map(({ kind }) => kind), counters };
}

describe('a recorder', () => {
  it('does not tell as news what it finds in the log', () => {
    const unread = { history: undefined };
    expect(watched(unread, { state }).kinds).toEqual([]);
    expect(watched(unread, { role: 'leading', state }).kinds).toEqual(['manager.elected']);
  });

  it('tells what happens in an empty log also if it only follows it', () => {
    expect(watched({}, { state }).kinds).toEqual([
      ...Array(3).fill('pool.joined'),
      ...Array(3).fill('pool.granted'),
    ]);
  });

  it('does not tell that anybody left when it leads no more and has forgotten who is there', () => {
    const forgot = { history: undefined };
    const { kinds, counters } = watched({ role: 'leading', state }, forgot);
    expect(kinds).toEqual(['manager.elected', 'manager.deposed']);
    expect(counters.left.unknown).toBe(0);
  });

  it('tells what happened meanwhile once it has read the same log again', () => {
    const later = threeOwners();
    later.commit('presence', [{ kind: 'leave', incarnation: 'presence-1.1', why: 'left' }]);
    const [led, forgot] = [{ role: 'leading', state } as const, { history: undefined }];
    expect(watched(led, forgot, { state }).kinds).toEqual(['manager.elected', 'manager.deposed']);
    expect(watched(led, forgot, { state: later.state }).kinds).toEqual([
      'manager.elected',
      'manager.deposed',
      'pool.left',
      'pool.lost',
    ]);
  });

  it('begins anew with another log, if it had forgotten the one before', () => {
    const led = { role: 'leading', state } as const;
    const again = { role: 'leading', term: 5, history: 'h2' } as const;
    expect(watched(led, { history: undefined }, again, { ...again, state }).kinds).toEqual([
      ...['manager.elected', 'manager.deposed', 'manager.elected'],
      ...[...Array(3).fill('pool.joined'), ...Array(3).fill('pool.granted')],
    ]);
  });

  it('tells that all are gone if another log comes in the place of the one that it follows', () => {
    expect(watched({ state }, { history: 'h2' }).kinds).toEqual(Array(3).fill('pool.left'));
  });

  it('tells what happens in an empty log from the first commit', () => {
    const { kinds, counters } = watched({ role: 'leading' }, { role: 'leading', state });
    expect(kinds).toEqual([
      'manager.elected',
      ...Array(3).fill('pool.joined'),
      ...Array(3).fill('pool.granted'),
    ]);
    expect(counters).toMatchObject({ elections: 1, joined: 3, losses: 0 });
  });

  it('tells of elections, depositions and halts once each', () => {
    const { kinds, counters } = watched(
      { role: 'leading' },
      { role: 'leading' },
      { role: 'leading', term: 4 },
      {},
      { term: 7 },
      { role: 'halted', haltedBecause: 'the store went back' },
      { role: 'halted', haltedBecause: 'the store went back' },
    );
    expect(kinds).toEqual([
      'manager.elected',
      'manager.deposed',
      'manager.elected',
      'manager.deposed',
      'manager.halted',
    ]);
    expect(counters).toMatchObject({ elections: 2, depositions: 2 });
  });

  it('counts who left by why, and losses', () => {
    const manager = threeOwners();
    manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-1.1', why: 'expired' }]);
    expect(manager.counters.left).toMatchObject({ expired: 1, left: 0 });
    expect(manager.counters.losses).toBe(1);
  });
});
