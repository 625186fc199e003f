import { describe, expect, it } from 'vitest';
import { type ManagerScriptOptions, playManager } from './manager-script.ts';
import { LED, ONE_OWNER, TWO_OWNERS } from './openings-script.ts';

// In these scripts a hold lasts 9750 ms. `manager-script.ts` says how they are read.
function plays(script: string, options: ManagerScriptOptions = {}): void {
  const { went, written } = playManager(script, options);
  expect(went).toBe(written);
}

describe('a leader', () => {
  it('first writes a batch of nothing, so that all who follow learn of its term', () =>
    plays(`
      0     elected 3 2000000
              > append 1 term 3
      1     appended
    `));

  it('commits before anyone hears, owner or look-up', () =>
    plays(`${LED}
      2     sync l 1
              > l: changes 1 0..1 answers=1 0-16:-#0
      10    report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      11    report a 2?
              > a: refused BUSY for now
      12    sync l 2 seen=1.1
              > l: changes 1 1..1 answers=2
      20    appended
              > a: update ack=2 0-16#2
              > l: changes 1 0..2 0-16:a#2
    `));

  it('says nothing of what is being written to those it renews meanwhile', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      110   report b 3? heard
              > b: update ack=3
      111   report a 4? heard 0-8#2 released:8-16#2
              > a: update ack=4 0-8#2 8-16#2!
    `));

  it('vouches for nothing while a batch is on its way for longer than a leader lease: it may be committed', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      2099  sync l 1
              > l: changes 1 0..3 answers=1 0-16:a#2
      2100  sync l 2
      2101  report b 3? heard
              > b: update ack=3
      2400  appended
              > a: update ack=3 0-8#2
              > b: update ack=3 8-16#4
              > l: changes 1 3..4 8-16:b#4~4
      2401  sync l 3 seen=1.4
              > l: changes 1 4..4 answers=3
    `));

  it('vouches again when it knows that the batch was not written', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      2100  sync l 1
      2360  refused
      2370  sync l 2
              > l: changes 1 0..3 answers=2 0-16:a#2
    `));

  it('lets what it hears while a batch is being written wait for the next', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0?
              > a: update ack=0 candidate
      11    report b 0?
              > b: update ack=0 candidate
      12    report a 1? heard
      13    report b 1? heard
      20    appended
              > append 2 term 1 join:a join:b grant:a:0-8 grant:b:8-16
      30    appended
              > a: update ack=1 0-8#2
              > b: update ack=1 8-16#2
    `));

  it('decides anew when a batch was surely not written, after a pause', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     refused
      501   wake
              > append 1 term 1
      510   appended
    `));

  it('decides from what it knows by then', () =>
    plays(`${LED}
      10    report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      20    refused
      30    report b 0?
              > b: update ack=0 candidate
      30    report b 1? heard
      519   wake
      520   wake
              > append 2 term 1 join:a join:b grant:a:0-8 grant:b:8-16
    `));

  it('carries out in several batches what does not fit into one', () =>
    plays(
      `
      0     log 1 1 join:a join:b
      0     elected 2 2000000
              > append 2 term 2 grant:a:0-8
      10    appended
              > append 3 term 2 grant:b:8-16
      20    appended
    `,
      { maxSpansPerBatch: 1 },
    ));

  it('lets no more join in one batch than fit either', () =>
    plays(
      `
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0?
              > a: update ack=0 candidate
      11    report b 0?
              > b: update ack=0 candidate
      12    report a 1? heard
      13    report b 1? heard
      20    appended
              > append 2 term 1 join:a grant:a:0-16
      30    appended
              > a: update ack=1 0-16#2
              > append 3 term 1 join:b
      40    appended
              > b: update ack=1
      50    report a 2 heard 0-16#2
              > a: update ack=2 0-8#2 8-16#2!
    `,
      { maxSpansPerBatch: 1 },
    ));

  it('replaces the beginning of a long log by a snapshot', () =>
    plays(
      `
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
              > compact 2
      30    report b 0?
              > b: update ack=0 candidate
      30    report b 1? heard
              > append 3 term 1 join:b
      40    appended
              > b: update ack=1
    `,
      { compactEveryBatches: 2 },
    ));
});

describe('a renewal', () => {
  it('is the answer to every report that wants one', () =>
    plays(`${ONE_OWNER}
      1500  report a 3? heard 0-16#2
              > a: update ack=3 0-16#2
      3000  report a 4? heard 0-16#2
              > a: update ack=4 0-16#2
    `));

  it('acknowledges the latest report, also when an earlier one comes after it', () =>
    plays(`${ONE_OWNER}
      1500  report a 4? heard 0-16#2
              > a: update ack=4 0-16#2
      1510  report a 3? heard 0-16#2
              > a: update ack=4 0-16#2
    `));

  it('is given only while the leader lease is valid', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      10    report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      4999  report a 2? heard 0-16#2
              > a: update ack=2 0-16#2
      5000  report a 3? heard 0-16#2
      5001  sync l 1
      5002  extended 9000
      5003  report a 4? heard 0-16#2
              > a: update ack=4 0-16#2
      5004  sync l 2
              > l: changes 1 0..2 answers=2 0-16:a#2
    `));

  it('is not given to an owner whose removal is being written, until the outcome is known', () =>
    plays(`${ONE_OWNER}
      5000  report a 3? 0-16#2
              > a: update ack=3 0-16#2
      5010  report a 4 heard 0-16#2
      14750 wake
              > append 3 term 1 leave:a:expired
      14751 report a 5? 0-16#2
      14752 refused
      14753 report a 6? 0-16#2
              > a: update ack=6 0-16#2
    `));

  it('is never given to an owner that was removed: that owner is a candidate, and joins', () =>
    plays(`${ONE_OWNER}
      9780  wake
              > append 3 term 1 leave:a:expired
      9781  report a 3? 0-16#2
      9790  appended
      9791  report a 4? 0-16#2
              > a: update ack=4 candidate
      9792  report a 5 heard lapsed:0-16#2
              > append 4 term 1 join:a grant:a:0-16
    `));
});

describe('an owner that is not heard', () => {
  it('is removed when its hold is over, counted from its last answered report', () =>
    plays(`${ONE_OWNER}
      5000  report a 3? heard 0-16#2
              > a: update ack=3 0-16#2
      14749 wake
      14750 wake
              > append 3 term 1 leave:a:expired
      14760 appended
    `));

  it('is not kept by reports that were not answered', () =>
    plays(`${ONE_OWNER}
      5000  report a 3 heard 0-16#2
      9760  wake
              > append 3 term 1 leave:a:expired
    `));

  it('has lost its keys, and look-ups hear of it, also when nobody is there to take them', () =>
    plays(`${ONE_OWNER}
      100   sync l 1
              > l: changes 1 0..2 answers=1 0-16:a#2
      9760  wake
              > append 3 term 1 leave:a:expired
      9770  appended
              > l: changes 1 2..3 0-16:-#2~3
    `));

  it('is not late by a gap in our own leader lease: every hold begins again after it', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      10    report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      30    report a 2 heard 0-16#2
      9760  wake
      12000 extended 99999
      21749 wake
      21750 wake
              > append 3 term 1 leave:a:expired
    `));

  it('joins again when it comes back, and is told so by a later update than any it has heard', () =>
    plays(`${ONE_OWNER}
      1500  report a 3? heard 0-16#2
              > a: update ack=3 0-16#2
      1510  report a 4 heard 0-16#2
      11250 wake
              > append 3 term 1 leave:a:expired
      11260 appended
      20000 report a 5? lapsed:0-16#2
              > a: update ack=5 candidate
      20010 report a 6 heard lapsed:0-16#2
              > append 4 term 1 join:a grant:a:0-16
      20020 appended
              > a: update ack=6 0-16#4
    `));
});

describe('a candidate', () => {
  it('becomes a member when it has shown that it hears: its report may be old, its answer cannot', () =>
    plays(`${LED}
      10    report a 1?
              > a: update ack=1 candidate
      500   report a 2?
              > a: update ack=2 candidate
      510   report a 3 heard
              > append 2 term 1 join:a grant:a:0-16
    `));

  it('has to show it to this leader: what it heard of another proves nothing', () =>
    plays(`
      0     log 1 1
      0     elected 2 2000000
              > append 2 term 2
      1     appended
      10    report a 7? seen=1.1
              > a: update ack=7 candidate
      20    report b 1?
              > b: update ack=1 candidate
    `));

  it('is forgotten if it has not shown it for a hold', () =>
    plays(`${LED}
      10    report a 1?
              > a: update ack=1 candidate
      9760  wake
      9761  report a 2 heard
              > a: update ack=2 candidate
      9770  report a 3 heard
              > append 2 term 1 join:a grant:a:0-16
    `));
});

describe('a leader that has just taken over', () => {
  it('gives no lease before the log tells a successor how long to wait for it', () =>
    plays(`
      0     log 1 1 join:a grant:a:0-16
      0     elected 2 2000000
              > append 2 term 2
      10    report a 1? 0-16#1
      20    appended
              > a: update ack=1 0-16#1
    `));
});

describe('an owner that reports but confirms nothing', () => {
  it('is told what it has, but nothing is acknowledged, when it has confirmed nothing for a hold: its hold ends', () =>
    plays(`${ONE_OWNER}
      5000  report a 3? 0-16#2
              > a: update ack=3 0-16#2
      9779  report a 4? 0-16#2
              > a: update ack=4 0-16#2
      9780  report a 5? 0-16#2
              > a: update ack=4 0-16#2
      19528 wake
      19529 wake
              > append 3 term 1 leave:a:expired
    `));

  it('is renewed again when it confirms something', () =>
    plays(`${ONE_OWNER}
      9779  report a 3? 0-16#2
              > a: update ack=3 0-16#2
      9780  report a 4? 0-16#2
              > a: update ack=3 0-16#2
      9790  report a 5? heard 0-16#2
              > a: update ack=5 0-16#2
    `));

  it('does not become unconfirmed by a gap in our own leader lease', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      2     report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      30    report a 2 heard 0-16#2
      12000 extended 99999
      12010 report a 3? 0-16#2
              > a: update ack=3 0-16#2
    `));
});

describe('an update with news for an owner', () => {
  it('is said once and then again until it was heard, one message at a time', () =>
    plays(`${TWO_OWNERS}
      549   wake
      550   wake
              > a: update ack=2 0-8#2 8-16#2!
      560   report a 3 heard 0-8#2 8-16#2
      1100  wake
    `));

  it('waits while something unheard is on its way, and then comes in one', () =>
    plays(`${TWO_OWNERS}
      100   report c 0?
              > c: update ack=0 candidate
      100   report c 1? heard
              > append 4 term 1 join:c
      110   appended
              > c: update ack=1
      120   report d 0?
              > d: update ack=0 candidate
      120   report d 1? heard
              > append 5 term 1 join:d
      130   appended
              > d: update ack=1
      140   report a 3 heard 0-8#2 8-16#2
              > a: update ack=3 0-4#2 4-8#2! 8-12#2! 12-16#2!
    `));

  it('is a recall, which asks and takes nothing; what was released is granted at once', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      110   appended
              > a: update ack=3 0-8#2
              > b: update ack=2 8-16#4
    `));

  it('is not undone by a release that is heard a second time', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      110   appended
              > a: update ack=3 0-8#2
              > b: update ack=2 8-16#4
      120   report a 4 heard 0-8#2 released:8-16#2
      130   report a 3 heard 0-8#2 released:8-16#2
    `));
});

describe('a lapse', () => {
  it('is not a loss: the keys get a new number that continues the old one', () =>
    plays(`${ONE_OWNER}
      40    sync l 1
              > l: changes 1 0..2 answers=1 0-16:a#2
      9100  report a 3? heard lapsed:0-16#2
              > a: update ack=3 0-16#2
              > append 3 term 1 renumber:0-16
      9110  appended
              > a: update ack=3 0-16#3<0-16#2
              > l: changes 1 2..3 0-16:a#3
    `));

  it('is a loss if the owner released what it should continue', () =>
    plays(`${ONE_OWNER}
      9100  report a 3? heard lapsed:0-16#2
              > a: update ack=3 0-16#2
              > append 3 term 1 renumber:0-16
      9110  appended
              > a: update ack=3 0-16#3<0-16#2
      9120  report a 4? heard released:0-16#3
              > a: update ack=4 0-16#3<0-16#2
              > append 4 term 1 free:0-16 grant:a:0-16
    `));
});

describe('fragments', () => {
  it('are merged when the owner has said that it holds them, under a number that continues each', () =>
    plays(`
      0     log 1 1 join:a grant:a:0-8
      0     log 2 1 grant:a:8-16
      0     elected 2 2000000
              > append 3 term 2
      1     appended
      10    report a 7? 0-8#1
              > a: update ack=7 0-8#1 8-16#2
      20    report a 8 heard 0-8#1 8-16#2
              > append 4 term 2 merge:0-16
      30    appended
              > a: update ack=8 0-16#4<0-8#1,8-16#2
    `));
});
