import { describe, expect, it } from 'vitest';
import { AssertionError } from '../../runtime/assert.ts';
import { instant } from '../../runtime/time.ts';
import { resolveDurations } from '../options.ts';
import { Manager } from './manager.ts';
import { evenShares, type ManagerScriptOptions, playManager } from './manager-script.ts';

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

/** The log of another leader, in which a has everything. */
const LOG = `
      0     log 1 1 join:a:secret grant:a:0-16`;

/** A leader with the owner a, which has everything and whose death the word "secret" would prove. */
const ONE_OWNER = `
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 0? proof=secret
              > a: update ack=0 stranger
      10    report a 1? heard proof=secret
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      30    report a 2 heard proof=secret 0-16#2`;

describe('a leader that takes over', () => {
  it('keeps every lease that it finds for a hold and a leader lease', () =>
    plays(`${LOG}
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      13247 wake
      13248 wake
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
              > append 3 term 2 free:0-16
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

describe('a leader on a store that was restored, with its counters raised above what it has', () => {
  it('answers nobody until all that may be leased has run out, then removes everybody', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      1010  report a 7? seen=8.400 0-16#390
      1020  sync l 1 seen=8.400
      13247 wake
      13248 wake
              > append 501 term 9 leave:a:recovered
      13250 appended
              > l: changes 9 1..501 0-16:-#1~501
      13260 report a 8? seen=8.400 lapsed:0-16#390
              > a: update ack=8 stranger
      13270 report a 9 heard seen=9.501
              > append 502 term 9 join:a grant:a:0-16
    `,
      { floor: 500 },
    ));

  it('still halts for somebody who has seen more than the counters were raised to', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      1010  report a 7? seen=8.501 0-16#390
              > halt: somebody has seen position 501 of this log, which ends at 500: the store went back in time
              > resign
    `,
      { floor: 500 },
    ));

  it('tries again if its first batch was refused', () =>
    plays(
      `${LOG}
      1000  elected 9 2000000
      13248 wake
              > append 501 term 9 leave:a:recovered
      13250 refused
      13750 wake
              > append 501 term 9 leave:a:recovered
    `,
      { floor: 500 },
    ));
});

describe('a standby', () => {
  it('answers a sync when it has read the head of the log after the sync came', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
    `));

  it('answers only when it has followed up to there', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.1
              > ask-head
      20    head 3 10
      30    followed 2 1 renumber:0-16
              > l: changes 1 1..2 0-16:a#2
      40    followed 3 1 free:0-4
              > l: changes 1 2..3 0-4:-#2~3
              > l: changes 1 1..3 answers=1 0-4:-#2~3 4-16:a#2
    `));

  it('does not call fresh what it read before the sync came, but reads again for all who wait', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      15    sync k 1
      16    sync j 1
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
              > ask-head
      30    head 1 20
              > k: changes 1 0..1 answers=1 0-16:a#1
              > j: changes 1 0..1 answers=1 0-16:a#1
    `));

  it('answers the latest of two syncs of one look-up', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      12    sync l 2
      20    head 1 10
              > ask-head
      30    head 1 20
              > l: changes 1 0..1 answers=2 0-16:a#1
    `));

  it('does not answer one that knows more than it does', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.7
              > ask-head
      20    head 1 10
    `));

  it('does not answer before it knows the log at all', () =>
    plays(`${LOG}
      10    sync l 1
              > ask-head
      20    head 1 10
      30    reset
              > l: changes 1 0..1 answers=1 0-16:a#1
    `));

  it('never answers owners or supervisors', () =>
    plays(`${LOG}
      0     reset
      10    report a 2? 0-16#1
      20    certificate secret
      30    wake
    `));

  it('takes no notice of a batch that it has already', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
      30    followed 1 1 free:0-16
      40    followed 2 2
    `));

  it('stops pushing to a look-up that has not synced for four intervals', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1
              > ask-head
      20    head 1 10
              > l: changes 1 0..1 answers=1 0-16:a#1
      40010 followed 2 1 renumber:0-16
              > l: changes 1 1..2 0-16:a#2
      40011 followed 3 1 renumber:0-16
    `));
});

describe('somebody who has seen more of the log than there is', () => {
  it('makes a leader of the same term halt, for good: the store went back in time', () =>
    plays(`${ONE_OWNER}
      40    report b 1? seen=1.3
              > halt: somebody has seen position 3 of this log, which ends at 2: the store went back in time
              > resign
      50    report a 3? 0-16#2
      60    sync l 1
      70    certificate secret
      80    elected 2 2000000
              > resign
    `));

  it('is believed if it is a look-up', () =>
    plays(`${ONE_OWNER}
      40    sync l 1 seen=1.3
              > halt: somebody has seen position 3 of this log, which ends at 2: the store went back in time
              > resign
    `));

  it('may have seen what is just being written, from a standby that was quicker', () =>
    plays(`${ONE_OWNER}
      40    report b 0?
              > b: update ack=0 stranger
      40    report b 1? heard
              > append 3 term 1 join:b
      50    sync l 1 seen=1.3
    `));

  it('makes a leader of an earlier term resign: it was deposed and did not know', () =>
    plays(`${ONE_OWNER}
      40    report b 1? seen=2.3
              > resign
      50    report a 3? 0-16#2
    `));

  it('is remembered until the election, and then makes the winner halt', () =>
    plays(`${LOG}
      0     reset
      10    sync l 1 seen=1.9
              > ask-head
      20    elected 2 2000000
              > halt: elected for term 2 at position 1, but somebody has seen term 1 and position 9: the store went back in time
              > resign
    `));

  it('makes the winner halt also if it was not the log but the term that went back', () =>
    plays(`${LOG}
      0     reset
      10    report a 7? seen=2.1
      20    elected 2 2000000
              > halt: elected for term 2 at position 1, but somebody has seen term 2 and position 1: the store went back in time
              > resign
    `));

  it('is of no concern if it speaks of another history', () =>
    plays(`${ONE_OWNER}
      40    sync l 1 seen=7.99 history=old
              > l: changes 1 0..2 answers=1 0-16:a#2
    `));
});

describe('a leader that is one no longer', () => {
  it('answers nobody until it has followed the log', () =>
    plays(`${ONE_OWNER}
      40    deposed
      50    report a 3? 0-16#2
      60    sync l 1
              > ask-head
      70    head 2 60
      80    reset
              > l: changes 1 0..2 answers=1 0-16:a#2
    `));

  it('resigns when its machine was suspended: its leader lease may have run out unseen', () =>
    plays(`${ONE_OWNER}
      40    suspended
              > resign
      50    report a 3? 0-16#2
      60    suspended
    `));

  it('forgets what it was writing: the log knows', () =>
    plays(`${ONE_OWNER}
      40    report b 0?
              > b: update ack=0 stranger
      40    report b 1? heard
              > append 3 term 1 join:b
      50    deposed
      60    elected 3 2000000
              > append 3 term 3
    `));
});

describe('a death certificate', () => {
  it('frees what the process held at once, and is confirmed when that is committed', () =>
    plays(`${ONE_OWNER}
      40    certificate secret
              > append 3 term 1 leave:a:certified
      50    appended
              > supervisor: certified
    `));

  it('is confirmed again, at once, if it is shown again', () =>
    plays(`${ONE_OWNER}
      40    certificate secret
              > append 3 term 1 leave:a:certified
      50    appended
              > supervisor: certified
      60    certificate secret
              > supervisor: certified
    `));

  it('covers every incarnation of the process', () =>
    plays(`${ONE_OWNER}
      40    report b.1 0? proof=secret
              > b.1: update ack=0 stranger
      40    report b.1 1? heard proof=secret
              > append 3 term 1 join:b.1
      50    appended
              > a: update ack=2 0-8#2 8-16#2!
              > b.1: update ack=1
      60    certificate secret
              > append 4 term 1 leave:a:certified leave:b.1:certified
    `));

  it('that nobody knows frees nothing', () =>
    plays(`${ONE_OWNER}
      40    certificate forged
              > supervisor: certified
      50    report a 3? heard proof=secret 0-16#2
              > a: update ack=3 0-16#2
    `));

  it('does not touch an owner without a secret, whatever is shown', () =>
    plays(`${ONE_OWNER}
      40    report b 0?
              > b: update ack=0 stranger
      40    report b 1? heard
              > append 3 term 1 join:b
      50    appended
              > a: update ack=2 0-8#2 8-16#2!
              > b: update ack=1
      60    certificate undefined
              > supervisor: certified
      70    wake
    `));

  it('that comes before the first report is kept for a hold, and the dead do not join', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    certificate secret
              > supervisor: certified
      20    report a 1? proof=secret
      9759  wake
      9759  report a 2? proof=secret
      9760  wake
      9761  report a 3? proof=secret
              > a: update ack=3 stranger
    `));

  it('that comes while the dead is about to join keeps it out', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0? proof=secret
              > a: update ack=0 stranger
      11    report a 1? heard proof=secret
      20    certificate secret
      30    appended
              > supervisor: certified
      40    wake
      50    report b 0?
              > b: update ack=0 stranger
      50    report b 1? heard
              > append 2 term 1 join:b grant:b:0-16
    `));

  it('that comes while its joining is being written takes effect right after', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 0? proof=secret
              > a: update ack=0 stranger
      10    report a 1? heard proof=secret
              > append 2 term 1 join:a grant:a:0-16
      20    certificate secret
      30    appended
              > append 3 term 1 leave:a:certified
      40    appended
              > supervisor: certified
    `));
});

describe('an owner that leaves', () => {
  const leaving = `${ONE_OWNER}
      40    report a 3? heard proof=secret released:0-16#2 leaving
              > a: update ack=3 0-16#2
              > append 3 term 1 free:0-16
      50    appended
              > a: update ack=3`;

  it('is told when what it gave back is committed', () => plays(leaving));

  it('is removed at its next word, and told once more however often it asks', () =>
    plays(`${leaving}
      550   report a 4? proof=secret released:0-16#2 leaving
              > a: update ack=4
              > append 4 term 1 leave:a:left
      560   appended
      1050  report a 5? proof=secret released:0-16#2 leaving
              > a: update ack=5 stranger
      1550  report a 6? proof=secret released:0-16#2 leaving
              > a: update ack=6 stranger
    `));

  it('is told at once if it is a stranger', () =>
    plays(`${ONE_OWNER}
      40    report b 1? leaving
              > b: update ack=1 stranger
    `));
});

describe('two lives of one owner', () => {
  it('are two owners, of which the later is given what the earlier gives back', () =>
    plays(`${ONE_OWNER}
      40    report a.2 0?
              > a.2: update ack=0 stranger
      40    report a.2 1? heard
              > append 3 term 1 join:a.2
      50    appended
              > a: update ack=2 0-16#2!
              > a.2: update ack=1
    `));

  it('cannot be in two pools under one incarnation', () =>
    plays(`${ONE_OWNER}
      40    report a 3? pool=other
              > two pools
    `));
});

describe('a Manager', () => {
  it('says what it is, and why it halted', () => {
    const manager = managerOf();
    expect([manager.role, manager.term, manager.wakeAt]).toEqual(['standby', undefined, undefined]);
    manager.elected(
      4,
      { history: 'h', snapshot: undefined, batches: [], floor: 0 },
      instant(100),
      instant(0),
    );
    expect([manager.role, manager.term]).toEqual(['leading', 4]);
    manager.receive(
      'l',
      { kind: 'sync', pool: 'p', lookup: 'l', sequence: 1, seen: { history: 'h', term: 4, position: 9 } },
      instant(1),
    );
    expect(manager.role).toBe('halted');
    expect(manager.haltedBecause).toContain('position 9');
    expect(manager.state.position).toBe(0);
  });

  it('lives by a clock that never goes back', () => {
    const manager = managerOf();
    manager.wake(instant(10));
    expect(() => manager.wake(instant(9))).toThrow(AssertionError);
  });
});
