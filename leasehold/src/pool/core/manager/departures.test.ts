import { describe, expect, it } from 'vitest';
import { playManager } from './manager-script.ts';
import { LED, ONE_OWNER, TWO_OWNERS } from './openings-script.ts';

// In these scripts a hold lasts 9750 ms. `manager-script.ts` says how they are read.
function plays(script: string): void {
  const { went, written } = playManager(script);
  expect(went).toBe(written);
}

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
              > b.1: update ack=0 candidate
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
              > b: update ack=0 candidate
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
    plays(`${LED}
      10    certificate secret
              > supervisor: certified
      20    report a 1? proof=secret
      9759  wake
      9759  report a 2? proof=secret
      9760  wake
      9761  report a 3? proof=secret
              > a: update ack=3 candidate
    `));

  it('that comes while the dead is about to join keeps it out', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0? proof=secret
              > a: update ack=0 candidate
      11    report a 1? heard proof=secret
      20    certificate secret
      30    appended
              > supervisor: certified
      40    wake
      50    report b 0?
              > b: update ack=0 candidate
      50    report b 1? heard
              > append 2 term 1 join:b grant:b:0-16
    `));

  it('that comes while its joining is being written takes effect right after', () =>
    plays(`${LED}
      10    report a 0? proof=secret
              > a: update ack=0 candidate
      10    report a 1? heard proof=secret
              > append 2 term 1 join:a grant:a:0-16
      20    certificate secret
      30    appended
              > append 3 term 1 leave:a:certified
      40    appended
              > supervisor: certified
    `));

  it('is confirmed only while the leader lease is valid: a later leader may know of one who joined', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      5000  certificate forged
      5001  extended 9000
      5002  certificate forged
              > supervisor: certified
    `));

  it('is not confirmed when its effect is committed too late for the leader lease, but when it is shown again', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      10    report a 0? proof=secret
              > a: update ack=0 candidate
      10    report a 1? heard proof=secret
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      4990  certificate secret
              > append 3 term 1 leave:a:certified
      5000  appended
      5001  extended 9000
      5490  certificate secret
              > supervisor: certified
    `));
});

describe('an owner that leaves', () => {
  const leaving = `${ONE_OWNER}
      40    report a 3? heard proof=secret released:0-16#2 leaving
              > a: update ack=3 0-16#2
              > append 3 term 1 free:0-16 leave:a:left
      50    appended
              > a: update ack=3 candidate`;

  it('is removed with the last keys that it gives back, and told when that is committed', () =>
    plays(leaving));

  it('is told once more however often it asks', () =>
    plays(`${leaving}
      550   report a 4? proof=secret released:0-16#2 leaving
              > a: update ack=4 candidate
      1050  report a 5? proof=secret released:0-16#2 leaving
              > a: update ack=5 candidate
    `));

  it('is removed when it has given back the last, not before', () =>
    plays(`${ONE_OWNER}
      40    report a 3? heard proof=secret 8-16#2 released:0-8#2 leaving
              > a: update ack=3 0-16#2
              > append 3 term 1 free:0-8
      50    appended
              > a: update ack=3 8-16#2
      60    report a 4 heard proof=secret 8-16#2 leaving
      70    report a 5 heard proof=secret released:8-16#2 leaving
              > append 4 term 1 free:8-16 leave:a:left
      80    appended
              > a: update ack=5 candidate
    `));

  it('is told nothing of its removal without a leader lease', () =>
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
      4990  report a 2 heard released:0-16#2 leaving
              > append 3 term 1 free:0-16 leave:a:left
      5000  appended
      5001  extended 9000
      5500  report a 3? released:0-16#2 leaving
              > a: update ack=3 candidate
    `));

  it('is told at once if it is a candidate', () =>
    plays(`${ONE_OWNER}
      40    report b 1? leaving
              > b: update ack=1 candidate
    `));
});

/** The owners a and b, each with its half. Then a.2 is started under the name of a. */
const A_IS_RESTARTED = `${TWO_OWNERS}
      70    report a 3? heard 0-8#2 released:8-16#2
              > a: update ack=3 0-8#2 8-16#2!
              > append 4 term 1 free:8-16 grant:b:8-16
      80    appended
              > a: update ack=3 0-8#2
              > b: update ack=2 8-16#4
      90    report a 4 heard 0-8#2
      5000  report a.2 0?
              > a.2: update ack=0 candidate
              > a.2: refused NAME_IN_USE for now
      5001  report a.2 1 heard
      9000  report b 3? heard 8-16#4
              > b: update ack=3 8-16#4`;

describe('two lives of one owner', () => {
  it('are two owners: the later is refused while the earlier lives, each time it asks', () =>
    plays(`${ONE_OWNER}
      40    report a.2 0?
              > a.2: update ack=0 candidate
              > a.2: refused NAME_IN_USE for now
      50    report a.2 1 heard
      60    report a.2 2?
              > a.2: update ack=2 candidate
              > a.2: refused NAME_IN_USE for now
    `));

  it('are two owners: the later is let in when the earlier leaves', () =>
    plays(`${ONE_OWNER}
      40    report a.2 0?
              > a.2: update ack=0 candidate
              > a.2: refused NAME_IN_USE for now
      50    report a 3? heard released:0-16#2 leaving
              > a: update ack=3 0-16#2
              > append 3 term 1 free:0-16 leave:a:left
      60    appended
              > a: update ack=3 candidate
      70    report a.2 1 heard
              > append 4 term 1 join:a.2 grant:a.2:0-16
    `));

  it('change places in one batch when the hold of the earlier is over, and nobody else is given its keys', () =>
    plays(`${A_IS_RESTARTED}
      9810  report a.2 2?
              > a.2: update ack=2 candidate
              > a.2: refused NAME_IN_USE for now
      9811  report a.2 3 heard
      9820  wake
              > append 5 term 1 join:a.2 leave:a:expired grant:a.2:0-8
      9830  appended
              > a.2: update ack=3 0-8#5
    `));

  it('change places in one batch when the earlier is proved dead', () =>
    plays(`${A_IS_RESTARTED}
      9010  report a.2 2?
              > a.2: update ack=2 candidate
              > a.2: refused NAME_IN_USE for now
      9011  report a.2 3 heard
      9020  certificate secret
              > append 5 term 1 join:a.2 leave:a:certified grant:a.2:0-8
    `));

  it('change places in one batch when the earlier has given everything back', () =>
    plays(`${A_IS_RESTARTED}
      9010  report a.2 2?
              > a.2: update ack=2 candidate
              > a.2: refused NAME_IN_USE for now
      9011  report a.2 3 heard
      9020  report a 5 heard released:0-8#2 leaving
              > append 5 term 1 join:a.2 free:0-8 leave:a:left grant:a.2:0-8
    `));

  it('do not change places if the later has not confirmed lately: it may be gone too', () =>
    plays(`${A_IS_RESTARTED}
      9820  wake
              > append 5 term 1 leave:a:expired grant:b:0-8
      9830  appended
              > b: update ack=3 0-8#5 8-16#4
      9900  report a.2 2? heard
              > append 6 term 1 join:a.2
    `));

  it('are three if the later was restarted as well: the one that confirmed last is let in', () =>
    plays(`${A_IS_RESTARTED}
      9000  report a.2 2?
              > a.2: update ack=2 candidate
              > a.2: refused NAME_IN_USE for now
      9001  report a.2 3 heard
      9500  report a.3 0?
              > a.3: update ack=0 candidate
              > a.3: refused NAME_IN_USE for now
      9501  report a.3 1 heard
      9820  wake
              > append 5 term 1 join:a.3 leave:a:expired grant:a.3:0-8
    `));

  it('are one admission if both come at the same time', () =>
    plays(`${LED}
      40    report a 0?
              > a: update ack=0 candidate
      41    report a.2 0?
              > a.2: update ack=0 candidate
      42    report a 1 heard
              > append 2 term 1 join:a grant:a:0-16
      43    report a.2 1 heard
      50    appended
              > a: update ack=1 0-16#2
      60    report a.2 2?
              > a.2: update ack=2 candidate
              > a.2: refused NAME_IN_USE for now
    `));

  it('cannot be in two pools under one incarnation', () =>
    plays(`${ONE_OWNER}
      40    report a 3? pool=other
              > two pools
    `));
});
