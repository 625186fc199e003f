import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../../runtime/assert.ts';
import { digest } from '../../../runtime/digest.ts';
import { instant } from '../../../runtime/time.ts';
import type { Seen } from '../messages.ts';
import { resolveDurations } from '../options.ts';
import { encodeBatch } from '../state.ts';
import { Manager } from './manager.ts';
import { evenShares, type ManagerScriptOptions, playManager } from './manager-script.ts';
import { LOG } from './openings-script.ts';
import { Stamps } from './stamps.ts';

// In these scripts a hold lasts 9750 ms. `manager-script.ts` says how they are read.
function plays(script: string, options: ManagerScriptOptions = {}): void {
  const { went, written } = playManager(script, options);
  expect(went).toBe(written);
}

const managerOf = (): Manager =>
  new Manager({
    id: 'm1',
    durations: resolveDurations(),
    policy: evenShares,
    maxSpansPerBatch: 100,
    compactEveryBatches: 100,
  });

const HISTORY = { history: 'h', key: digest('the key of h') };
const seenAt = (term: number, position: number): Seen => {
  return { history: 'h', term, position, stamp: new Stamps(HISTORY).of(term, position) };
};

/** Somebody joins the pool p. */
const batchOf = (run: number): Uint8Array => {
  const member = { incarnation: `a.${run}`, name: 'a', url: 'http://a', proof: undefined };
  const pools = [{ pool: 'p', records: [{ kind: 'join', member } as const] }];
  return encodeBatch({ term: 1, leader: 'm9', takeoverMs: 0, pools });
};

describe('a leader that takes over', () => {
  it('keeps every lease that it finds for a hold and a leader lease', () =>
    plays(`${LOG}
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      12979 wake
      12980 wake
              > append 3 term 2 leave:a:expired
    `));

  it('keeps one that it has answered for a hold from that report, if that is later', () =>
    plays(`${LOG}
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      5000  report a 9? seen=1.1 0-16#1
              > a: update ack=9 0-16#1
      5010  report a 10 heard 0-16#1
      14749 wake
      14750 wake
              > append 3 term 2 leave:a:expired
    `));

  it('does not wait for what an owner has let go of', () =>
    plays(`${LOG}
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      1020  report a 9? seen=1.1 released:0-16#1 leaving
              > a: update ack=9 0-16#1
              > append 3 term 2 free:0-16 leave:a:left
    `));

  it('does not wait if a death is proved', () =>
    plays(`${LOG}
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      1020  certificate secret
              > append 3 term 2 leave:a:certified
      1030  appended
              > supervisor: certified
    `));
});

describe('a leader that has not heard an owner since it took over', () => {
  const SILENT = `
      0     log 1 1 join:a:secret grant:a:0-16
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      4600  wake
              > append 3 term 2 silent:a:3600`;

  it('says so in the log, and renews it only when the log says that it was heard', () =>
    plays(`${SILENT}
      4610  appended
      4700  report a 1? seen=1.1 0-16#1
              > append 4 term 2 heard:a
      4710  appended
              > a: update ack=1 0-16#1
    `));

  it('does not renew it while that is on its way', () =>
    plays(`${SILENT}
      4605  report a 1? seen=1.1 0-16#1
      4610  appended
              > append 4 term 2 heard:a
      4710  appended
              > a: update ack=1 0-16#1
    `));
});

describe('a leader that takes over from one with other durations', () => {
  const SLOWER = `
      0     log 1 1 takeover=20000 join:a:secret grant:a:0-16`;

  it('waits as long as that one said, if that is longer', () =>
    plays(`${SLOWER}
      1000  elected 2 2000000
              > append 2 term 2 takeover=20000
      1010  appended
      20999 wake
      21000 wake
              > append 3 term 2 leave:a:expired
    `));

  it('says the same to its own successor, until it has waited', () =>
    plays(`${SLOWER}
      1000  elected 2 2000000
              > append 2 term 2 takeover=20000
      1010  appended
      11000 report b 0?
              > b: update ack=0 candidate
      11010 report b 1? heard
              > append 3 term 2 takeover=20000 join:b silent:a:10010
      11020 appended
              > b: update ack=1
      15000 deposed
      15010 elected 3 2000000
              > append 4 term 3 takeover=20000
      15020 appended
      24999 report b 2? heard
              > b: update ack=2
      25000 wake
              > append 5 term 3 takeover=20000 leave:a:expired grant:b:0-16
    `));

  it('waits as long as itself would have others wait, if that is longer', () =>
    plays(`
      0     log 1 1 takeover=5000 join:a:secret grant:a:0-16
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      12979 wake
      12980 wake
              > append 3 term 2 leave:a:expired
    `));
});

describe('a leader on a store that was restored, with its counters raised above what it has', () => {
  it('answers nobody until all that may be leased has run out, then removes everybody', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      1010  report a 7? seen=8.400 0-16#390
      1020  sync l 1 seen=8.400
      12979 wake
      12980 wake
              > append 501 term 9 leave:a:recovered
      13250 appended
              > l: changes 9 1..501 0-16:-#1~501
      13260 report a 8? seen=8.400 lapsed:0-16#390
              > a: update ack=8 candidate
      13270 report a 9 heard seen=9.501
              > append 502 term 9 join:a grant:a:0-16
    `,
      { floor: 500 },
    ));

  it('has not recovered until the last is removed, and says so to the next leader', () =>
    plays(
      `
      0     log 1 1 join:a grant:a:0-8 join:b grant:b:8-16
      1000  elected 9 2000000
      12980 wake
              > append 501 term 9 leave:a:recovered
      12990 appended
              > append 502 term 9 leave:b:recovered
      13000 report b 7? seen=8.400 8-16#1
      13010 deposed
      14000 elected 10 2000000
      14010 report b 8? seen=8.400 8-16#1
      25979 wake
      25980 wake
              > append 502 term 10 leave:b:recovered
      25990 appended
      26000 report b 9? seen=8.400 8-16#1
              > b: update ack=9 candidate
    `,
      { floor: 500, maxSpansPerBatch: 1 },
    ));

  it('has recovered also if those that were left for the next batch have left by themselves', () =>
    plays(
      `
      0     log 1 1 join:a grant:a:0-16 join:b
      1000  elected 9 2000000
      12970 report b 7? leaving
      12980 wake
              > append 501 term 9 leave:a:recovered leave:b:left
      12990 appended
              > append 502 term 9
      13000 appended
      13010 report a 8? lapsed:0-16#1
              > a: update ack=8 candidate
    `,
      { floor: 500, maxSpansPerBatch: 1 },
    ));

  it('removes everybody after as long as the log says, if that is longer', () =>
    plays(
      `
      0     log 1 1 takeover=20000 join:a:secret grant:a:0-16
      1000  elected 9 2000000
      20999 wake
      20999 report b 1? leaving
      20999 certificate secret
      21000 wake
              > append 501 term 9 leave:a:recovered
      21010 appended
              > supervisor: certified
    `,
      { floor: 500 },
    ));

  it('removes also those that have proved to be alive, and nobody later', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      12900 report a 7? seen=1.1 0-16#1
      12980 wake
              > append 501 term 9 leave:a:recovered
      13249 report a 8? seen=1.1 0-16#1
      13250 appended
      13260 report a 9? seen=1.1 lapsed:0-16#1
              > a: update ack=9 candidate
      13270 report a 10? heard
              > append 502 term 9 join:a grant:a:0-16
      13280 appended
              > a: update ack=10 0-16#502
      13290 report a 11? heard 0-16#502
              > a: update ack=11 0-16#502
    `,
      { floor: 500 },
    ));

  it('has recovered already if the floor is not above what the log has', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
              > append 2 term 9
      1010  appended
      1020  report a 7? seen=8.1 0-16#1
              > a: update ack=7 0-16#1
    `,
      { floor: 1 },
    ));

  it('still halts for somebody who has seen more than the counters were raised to', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      1010  report a 7? seen=8.501 0-16#390
              > halt: a client has seen position 501 of this log, which ends at 500: the store went back in time
              > resign
    `,
      { floor: 500 },
    ));

  it('tries again if its first batch was refused', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      12980 wake
              > append 501 term 9 leave:a:recovered
      13250 refused
      13750 wake
              > append 501 term 9 leave:a:recovered
    `,
      { floor: 500 },
    ));
});

describe('a Manager', () => {
  it('says what it is, and why it halted', () => {
    const manager = managerOf();
    expect([manager.role, manager.term, manager.wakeAt]).toEqual(['standby', undefined, undefined]);
    manager.elected(4, { ...HISTORY, snapshot: undefined, batches: [], floor: 0 }, instant(100), instant(0));
    expect([manager.role, manager.term]).toEqual(['leading', 4]);
    manager.receive(
      'l',
      { kind: 'sync', pool: 'p', lookup: 'l', sequence: 1, seen: seenAt(4, 9) },
      instant(1),
    );
    expect(manager.role).toBe('halted');
    expect(manager.haltedBecause).toContain('position 9');
    expect(manager.state.position).toBe(0);
  });

  it('that stands by shows of the owners what the log says, and nothing that only a leader hears', () => {
    const manager = managerOf();
    const batches = [{ position: 1, bytes: batchOf(1) }];
    manager.reset({ history: 'h', snapshot: undefined, batches, floor: 0 }, instant(0));
    expect(manager.observe().owners).toEqual([
      {
        ...{ pool: 'p', incarnation: 'a.1', name: 'a', url: 'http://a', isMember: true, isProvable: false },
        ...{ isLeaving: false, lastHeardAt: undefined, holdUntil: undefined, load: undefined, recalled: [] },
      },
    ]);
  });

  describe('a Manager that has halted', () => {
    const batches = [1, 2].map((position) => ({ position, bytes: batchOf(position) }));
    const start = { ...HISTORY, snapshot: undefined, batches, floor: 0 };
    const shown = (manager: Manager) => {
      const { role, history, term, state, leadsUntil } = manager.observe();
      return { role, history, term, position: state.position, pools: [...state.pools.keys()], leadsUntil };
    };
    const hears = (manager: Manager, term: number, position: number): void =>
      void manager.receive(
        'l',
        { kind: 'sync', pool: 'p', lookup: 'l', sequence: 1, seen: seenAt(term, position) },
        instant(1),
      );
    const halted = { role: 'halted', history: 'h', position: 2, pools: ['p'], leadsUntil: undefined };

    it('still shows what it knew as a leader', () => {
      const manager = managerOf();
      manager.elected(4, start, instant(100), instant(0));
      hears(manager, 4, 9);
      expect(shown(manager)).toEqual({ ...halted, term: 4 });
      expect(manager.state.position).toBe(2);
    });

    it('still shows what it knew as a standby', () => {
      const manager = managerOf();
      manager.reset(start, instant(0));
      manager.reset({ ...start, batches: batches.slice(0, 1) }, instant(1));
      expect(shown(manager)).toEqual({ ...halted, term: 1 });
    });

    it('shows the log that it was elected on, if it had followed no further', () => {
      const manager = managerOf();
      manager.reset(start, instant(0));
      hears(manager, 3, 9);
      manager.elected(4, start, instant(100), instant(2));
      expect(shown(manager)).toEqual({ ...halted, term: 4 });
    });

    it('answers nobody from it', () => {
      const manager = managerOf();
      manager.elected(4, start, instant(100), instant(0));
      hears(manager, 4, 9);
      const sync = { kind: 'sync', pool: 'p', lookup: 'l', sequence: 2, seen: undefined } as const;
      expect(manager.receive('l', sync, instant(2))).toEqual([]);
    });
  });

  it('lives by a clock that never goes back', () => {
    const manager = managerOf();
    manager.wake(instant(10));
    expect(() => manager.wake(instant(9))).toThrow(AssertionError);
  });
});
