import { describe, expect, it } from 'vitest';
import { playManager } from './manager-script.ts';
import { LED, ONE_OWNER } from './openings-script.ts';

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
    plays(`${LED}
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
    plays(`${LED}
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
              > a: update ack=0 stranger
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
              > a: update ack=3 stranger`;

  it('is removed with the last keys that it gives back, and told when that is committed', () =>
    plays(leaving));

  it('is told once more however often it asks', () =>
    plays(`${leaving}
      550   report a 4? proof=secret released:0-16#2 leaving
              > a: update ack=4 stranger
      1050  report a 5? proof=secret released:0-16#2 leaving
              > a: update ack=5 stranger
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
              > a: update ack=5 stranger
    `));

  it('is told nothing of its removal without a leader lease', () =>
    plays(`
      0     elected 1 5000
              > append 1 term 1
      1     appended
      10    report a 0?
              > a: update ack=0 stranger
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      20    appended
              > a: update ack=1 0-16#2
      4990  report a 2 heard released:0-16#2 leaving
              > append 3 term 1 free:0-16 leave:a:left
      5000  appended
      5001  extended 9000
      5500  report a 3? released:0-16#2 leaving
              > a: update ack=3 stranger
    `));

  it('is told at once if it is a stranger', () =>
    plays(`${ONE_OWNER}
      40    report b 1? leaving
              > b: update ack=1 stranger
    `));

  it('is not told so while its joining is being written: first it comes, then it goes', () =>
    plays(`${LED}
      10    report a 0?
              > a: update ack=0 stranger
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      15    report a 2? leaving
      20    appended
              > a: update ack=2 0-16#2
      30    report a 3 heard released:0-16#2 leaving
              > append 3 term 1 free:0-16 leave:a:left
      40    appended
              > a: update ack=3 stranger
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
