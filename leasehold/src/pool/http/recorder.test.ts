import { describe, expect, it } from 'vitest';
import { ManagerState } from '../state.ts';
import { ManagerCounters } from './counters.ts';
import { EventLog } from './event-log.ts';
import { type Glimpse, Recorder } from './recorder.ts';
import { threeOwners } from './source-script.ts';

const { state } = threeOwners();

function watched(...glimpses: readonly Partial<Glimpse>[]): {
  readonly kinds: string[];
  readonly counters: ManagerCounters;
} {
  const events = new EventLog({ epoch: 'life1' });
  const counters = new ManagerCounters();
  const recorder = new Recorder(events, counters, () => 5);
  for (const glimpse of glimpses) {
    recorder.see({
      id: 'm1',
      role: 'standby',
      haltedBecause: undefined,
      term: 1,
      state: ManagerState.empty,
      ...glimpse,
    });
  }
  return { kinds: events.recent(100).map(({ kind }) => kind), counters };
}

describe('a recorder', () => {
  it('does not tell as news what it finds in the log', () => {
    expect(watched({}, { state }).kinds).toEqual([]);
    expect(watched({}, { role: 'leading', state }).kinds).toEqual(['elected']);
  });

  it('tells what happens in an empty log from the first commit', () => {
    const { kinds, counters } = watched({ role: 'leading' }, { role: 'leading', state });
    expect(kinds).toEqual(['elected', ...Array(3).fill('joined'), ...Array(3).fill('granted')]);
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
    expect(kinds).toEqual(['elected', 'deposed', 'elected', 'deposed', 'halted']);
    expect(counters).toMatchObject({ elections: 2, depositions: 2 });
  });

  it('counts who left by why, and losses', () => {
    const manager = threeOwners();
    manager.commit('presence', [{ kind: 'leave', incarnation: 'presence-1.1', why: 'expired' }]);
    expect(manager.counters.left).toMatchObject({ expired: 1, left: 0 });
    expect(manager.counters.losses).toBe(1);
  });
});
