import { describe, expect, it } from 'vitest';
import { type ManagerScriptOptions, playManager } from './manager-script.ts';

// In these scripts a hold lasts 9750 ms. `manager-script.ts` says how they are read.
function plays(script: string, options: ManagerScriptOptions = {}): void {
  const { went, written } = playManager(script, options);
  expect(went).toBe(written);
}

/** A leader with the owner a, which has everything and has said so. */
const ONE_OWNER = `
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 1?
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update 1.1 ack=1 0-16#2
      30    report a 2 heard=1.1 0-16#2`;

/** And b, which waits for its half. */
const TWO_OWNERS = `${ONE_OWNER}
      40    report b 1?
              > append 3 term 1 join:b
      50    appended
              > a: update 1.2 ack=2 0-8#2 8-16#2!
              > b: update 1.3 ack=1
      60    report b 2 heard=1.3`;

describe('a leader', () => {
  it('first writes a batch of nothing, so that all who follow learn of its term', () =>
    plays(`
      0     elected 3 2000000
              > append 1 term 3
      1     appended
    `));

  it('writes above the floor that an operator has set', () =>
    plays(
      `
      0     elected 3 2000000
              > append 501 term 3
      1     appended
      2     report a 1?
              > append 502 term 3 join:a grant:a:0-16
    `,
      { floor: 500 },
    ));

  it('commits before anyone hears, owner or look-up', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      2     sync l 1
              > l: changes 1 0..1 answers=1 0-16:-#0
      10    report a 1?
              > append 2 term 1 join:a grant:a:0-16
      11    report a 2?
      12    sync l 2 seen=1.1
              > l: changes 1 1..1 answers=2
      20    appended
              > a: update 1.1 ack=2 0-16#2
              > l: changes 1 0..2 0-16:a#2
    `));

  it('lets what it hears while a batch is being written wait for the next', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 1?
      11    report b 1?
      20    appended
              > append 2 term 1 join:a join:b grant:a:0-8 grant:b:8-16
      30    appended
              > a: update 1.1 ack=1 0-8#2
              > b: update 1.2 ack=1 8-16#2
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
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 1?
              > append 2 term 1 join:a grant:a:0-16
      20    refused
      30    report b 1?
              > append 2 term 1 join:a join:b grant:a:0-8 grant:b:8-16
    `));

  it('carries out in several batches what does not fit into one', () =>
    plays(
      `
      0     elected 1 2000000
              > append 1 term 1
      10    report a 1?
      11    report b 1?
      20    appended
              > append 2 term 1 join:a join:b grant:a:0-8
      30    appended
              > a: update 1.1 ack=1 0-8#2
              > b: update 1.2 ack=1
              > append 3 term 1 grant:b:8-16
      40    appended
      50    report b 2 heard=1.2
              > b: update 1.3 ack=2 8-16#3
    `,
      { maxSpansPerBatch: 1 },
    ));

  it('replaces the beginning of a long log by a snapshot', () =>
    plays(
      `
      0     elected 1 2000000
              > append 1 term 1
      1     appended
      10    report a 1?
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update 1.1 ack=1 0-16#2
              > compact 2
      30    report b 1?
              > append 3 term 1 join:b
      40    appended
              > b: update 1.2 ack=1
    `,
      { compactEveryBatches: 2 },
    ));
});

describe('a renewal', () => {
  it('is the answer to every report that wants one', () =>
    plays(`${ONE_OWNER}
      1500  report a 3? heard=1.1 0-16#2
              > a: update 1.2 ack=3 0-16#2
      3000  report a 4? heard=1.2 0-16#2
              > a: update 1.3 ack=4 0-16#2
    `));

  it('acknowledges the latest report, also when an earlier one comes after it', () =>
    plays(`${ONE_OWNER}
      1500  report a 4? heard=1.1 0-16#2
              > a: update 1.2 ack=4 0-16#2
      1510  report a 3? heard=1.1 0-16#2
              > a: update 1.3 ack=4 0-16#2
    `));

  it('is given only while the leader lease is valid', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      10    report a 1?
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update 1.1 ack=1 0-16#2
      4999  report a 2? heard=1.1 0-16#2
              > a: update 1.2 ack=2 0-16#2
      5000  report a 3? heard=1.1 0-16#2
      5001  sync l 1
      5002  extended 9000
      5003  report a 4? heard=1.1 0-16#2
              > a: update 1.3 ack=4 0-16#2
      5004  sync l 2
              > l: changes 1 0..2 answers=2 0-16:a#2
    `));

  it('is not given to an owner whose removal is being written, until the outcome is known', () =>
    plays(`${ONE_OWNER}
      9780  wake
              > append 3 term 1 leave:a:expired
      9781  report a 3? heard=1.1 0-16#2
      9790  refused
      9791  report a 4? heard=1.1 0-16#2
              > a: update 1.2 ack=4 0-16#2
    `));

  it('is never given to one that was removed: it is a stranger, and joins', () =>
    plays(`${ONE_OWNER}
      9780  wake
              > append 3 term 1 leave:a:expired
      9781  report a 3? heard=1.1 0-16#2
      9790  appended
      9791  report a 4? heard=1.1 0-16#2
              > append 4 term 1 join:a grant:a:0-16
    `));
});

describe('an owner that is not heard', () => {
  it('is removed when its hold is over, counted from its last answered report', () =>
    plays(`${ONE_OWNER}
      5000  report a 3? heard=1.1 0-16#2
              > a: update 1.2 ack=3 0-16#2
      14749 wake
      14750 wake
              > append 3 term 1 leave:a:expired
      14760 appended
    `));

  it('is not kept by reports that were not answered', () =>
    plays(`${ONE_OWNER}
      5000  report a 3 heard=1.1 0-16#2
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
      10    report a 1?
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update 1.1 ack=1 0-16#2
      30    report a 2 heard=1.1 0-16#2
      9760  wake
      12000 extended 99999
      21749 wake
      21750 wake
              > append 3 term 1 leave:a:expired
    `));

  it('joins again when it comes back, and hears so although it has heard more before', () =>
    plays(`${ONE_OWNER}
      1500  report a 3? heard=1.1 0-16#2
              > a: update 1.2 ack=3 0-16#2
      1510  report a 4 heard=1.2 0-16#2
      11250 wake
              > append 3 term 1 leave:a:expired
      11260 appended
      20000 report a 5? heard=1.2 lapsed:0-16#2
              > append 4 term 1 join:a grant:a:0-16
      20010 appended
              > a: update 1.3 ack=5 0-16#4
    `));
});

describe('what is new to an owner', () => {
  it('is said once and then again until it was heard, one message at a time', () =>
    plays(`${TWO_OWNERS}
      549   wake
      550   wake
              > a: update 1.4 ack=2 0-8#2 8-16#2!
      560   report a 3 heard=1.4 0-8#2 8-16#2
      1100  wake
    `));

  it('waits while something unheard is on its way, and then comes in one', () =>
    plays(`${TWO_OWNERS}
      100   report c 1?
              > append 4 term 1 join:c
      110   appended
              > c: update 1.4 ack=1
      120   report d 1?
              > append 5 term 1 join:d
      130   appended
              > d: update 1.5 ack=1
      140   report a 3 heard=1.2 0-8#2 8-16#2
              > a: update 1.6 ack=3 0-4#2 4-8#2! 8-12#2! 12-16#2!
    `));

  it('is a recall, which asks and takes nothing; what was released is granted at once', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard=1.2 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      110   appended
              > a: update 1.4 ack=3 0-8#2
              > b: update 1.5 ack=2 8-16#4
    `));

  it('is not undone by a release that is heard a second time', () =>
    plays(`${TWO_OWNERS}
      100   report a 3 heard=1.2 0-8#2 released:8-16#2
              > append 4 term 1 free:8-16 grant:b:8-16
      110   appended
              > a: update 1.4 ack=3 0-8#2
              > b: update 1.5 ack=2 8-16#4
      120   report a 4 heard=1.2 0-8#2 released:8-16#2
      130   report a 3 heard=1.2 0-8#2 released:8-16#2
    `));
});

describe('a lapse', () => {
  it('is not a loss: the keys get a new number that continues the old one', () =>
    plays(`${ONE_OWNER}
      40    sync l 1
              > l: changes 1 0..2 answers=1 0-16:a#2
      9100  report a 3? heard=1.1 lapsed:0-16#2
              > a: update 1.2 ack=3 0-16#2
              > append 3 term 1 renumber:0-16
      9110  appended
              > a: update 1.3 ack=3 0-16#3<0-16#2
              > l: changes 1 2..3 0-16:a#3
    `));

  it('is a loss if the owner released what it should continue', () =>
    plays(`${ONE_OWNER}
      9100  report a 3? heard=1.1 lapsed:0-16#2
              > a: update 1.2 ack=3 0-16#2
              > append 3 term 1 renumber:0-16
      9110  appended
              > a: update 1.3 ack=3 0-16#3<0-16#2
      9120  report a 4? heard=1.3 released:0-16#3
              > a: update 1.4 ack=4 0-16#3<0-16#2
              > append 4 term 1 free:0-16 grant:a:0-16
    `));
});

describe('splinters', () => {
  it('are merged when the owner has said that it holds them, under a number that continues each', () =>
    plays(`
      0     log 1 1 join:a grant:a:0-8
      0     log 2 1 grant:a:8-16
      0     elected 2 2000000
              > append 3 term 2
      1     appended
      10    report a 7? 0-8#1
              > a: update 2.1 ack=7 0-8#1 8-16#2
      20    report a 8 heard=2.1 0-8#1 8-16#2
              > append 4 term 2 merge:0-16
      30    appended
              > a: update 2.2 ack=8 0-16#4<0-8#1,8-16#2
    `));
});
