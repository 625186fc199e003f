import { describe, expect, it } from 'vitest';
import { type ManagerScriptOptions, playManager } from './manager-script.ts';
import { LED } from './openings-script.ts';

function plays(script: string, options: ManagerScriptOptions = {}): void {
  const { went, written } = playManager(script, options);
  expect(went).toBe(written);
}

/** Leads since 1000; a has everything and is known to hear. */
const LEADING = `
      0     log 1 1 join:a:secret grant:a:0-16
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      1020  report a 9? seen=1.1 0-16#1
              > a: update ack=9 0-16#1
      1030  report a 10 heard 0-16#1`;

describe('a leader that is told of longer leases', () => {
  it('has the log tell its successors before it gives one', () =>
    plays(`${LEADING}
      2000  configure lease=18000
              > append 3 term 2 takeover=23958.7
      2010  report a 11? heard 0-16#1
      2020  appended
      2500  report a 12? heard 0-16#1
              > a: update ack=12 lease=18000 0-16#1
    `));

  it('holds for as long as the lease that it gave', () =>
    plays(`${LEADING}
      2000  configure lease=18000
              > append 3 term 2 takeover=23958.7
      2010  appended
      2500  report a 12? heard 0-16#1
              > a: update ack=12 lease=18000 0-16#1
      2510  report a 13 heard 0-16#1
      21999 wake
      22000 wake
              > append 4 term 2 takeover=23958.7 leave:a:expired
    `));
});

describe('a leader that is told of longer leases while a batch with shorter ones is on its way', () => {
  it('gives none before the log says the longer time again, although it said it before', () =>
    plays(`
      0     log 1 1 takeover=25000 join:a:secret grant:a:0-16
      1000  elected 2 2000000
              > append 2 term 2 takeover=25000
      1010  appended
      2000  report a 10? proof=secret 0-16#1
              > a: update ack=10 0-16#1
      20000 report a 11? heard proof=secret 0-16#1
              > a: update ack=11 0-16#1
      27000 report a 12? heard proof=secret 0-16#1
              > a: update ack=12 0-16#1
      27010 report b 1?
              > b: update ack=1 candidate
      27020 report b 2 heard
              > append 3 term 2 join:b
      27030 configure lease=18000
      27040 report a 13? heard proof=secret 0-16#1
      27050 appended
              > append 4 term 2 takeover=23958.7
      27060 report a 14? heard proof=secret 0-16#1
      27070 appended
      27080 report a 15? heard proof=secret 0-16#1
              > a: update ack=15 lease=18000 0-8#1 8-16#1!
    `));
});

describe('a leader that is told of shorter leases', () => {
  it('gives them at once, and keeps the longer hold it has promised', () =>
    plays(`${LEADING}
      9000  report a 11? heard 0-16#1
              > a: update ack=11 0-16#1
      9010  configure lease=3000
      18749 wake
      18750 wake
              > append 3 term 2 leave:a:expired
    `));

  it('lets its successors wait for the longer ones as long as there may be one', () =>
    plays(`${LEADING}
      2000  configure lease=3000
      13900 report b 1?
              > b: update ack=1 lease=3000 candidate
      13910 report b 2 heard
              > append 3 term 2 join:b leave:a:expired grant:b:0-16
      13920 appended
              > b: update ack=2 lease=3000 0-16#3
      13930 report b 3 heard 0-16#3
      13970 report c 1?
              > c: update ack=1 lease=3000 candidate
      13980 report c 2 heard
              > append 4 term 2 takeover=3993.1 join:c
    `));
});

describe('a leader with declared pools', () => {
  it('refuses owners and look-ups of any other', () =>
    plays(
      `
      0     elected 1 2000000
              > append 1 term 1
      10    appended
      20    report a 1? pool=sessions
              > a: refused UNKNOWN_POOL
      30    sync l 1 pool=sessions
              > l: refused UNKNOWN_POOL
      40    report b 1? pool=presence
              > b: update ack=1 candidate
    `,
      { declared: ['presence'] },
    ));
});

describe('a leader with two owners of one url', () => {
  it('refuses the later one for as long as the first is there', () =>
    plays(`${LEADING}
      2000  report b 1? url=a
              > b: refused URL_IN_USE for now
    `));

  it('says of a restart under the same name that the name is in use', () =>
    plays(`${LEADING}
      2000  report a.2 1?
              > a.2: update ack=1 candidate
              > a.2: refused NAME_IN_USE for now
    `));

  it('takes one of two that come at the same time', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 1?
              > a: update ack=1 candidate
      11    report b 1? url=a
              > b: update ack=1 candidate
      12    report a 2 heard
      13    report b 2 heard url=a
      20    appended
              > append 2 term 1 join:a grant:a:0-16
      30    appended
              > a: update ack=2 0-16#2
      40    report b 3? heard url=a
              > b: refused URL_IN_USE for now
    `));
});

describe('a leader whose log takes small batches', () => {
  it('divides what it has to write', () =>
    plays(
      `
      0     log 1 1 join:a grant:a:0-2,4-6,8-10,12-14
      0     elected 2 2000000
              > append 2 term 2 grant:a:2-4
      10    appended
              > append 3 term 2 grant:a:6-8
      20    appended
              > append 4 term 2 grant:a:10-12
    `,
      { maxBatchBytes: 160 },
    ));
});

describe('an owner that is no longer known to hear', () => {
  it('is told of the lease that its hold was set for, though leases are longer now', () =>
    plays(`${LEADING}
      10000 report a 11? 0-16#1
              > a: update ack=11 0-16#1
      10790 report a 12? 0-16#1
              > a: update ack=11 0-16#1
      10800 configure lease=9200
              > append 3 term 2 takeover=12245.5
      10810 appended
      11200 report a 13? 0-16#1
              > a: update ack=11 0-16#1
    `));
});

describe('an incarnation in two pools', () => {
  it('is heard only in the one it is in, also by a leader that has not heard it before', () =>
    plays(`
      0     log 1 1 join:a grant:a:0-16
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      1020  report a 9? pool=q
              > two pools
      1030  report a 10? seen=1.1 0-16#1
              > a: update ack=10 0-16#1
    `));
});

describe('an incarnation that changes its identity', () => {
  it('is heard as a candidate only under the identity of its first report', () =>
    plays(`${LED}
      10    report a 0? url=first
              > a: update ack=0 candidate
      20    report a 1? heard url=second
              > two identities
      30    report a 2? heard url=first proof=secret
              > two identities
    `));

  it('is heard as a member only under the identity in the log, also by a leader that has not heard it before', () =>
    plays(`
      0     log 1 1 join:a:secret grant:a:0-16
      1000  elected 2 2000000
              > append 2 term 2
      1010  appended
      1020  report a 9? url=other
              > two identities
      1030  report a 10? url=a seen=1.1 0-16#1
              > a: update ack=10 0-16#1
    `));
});
