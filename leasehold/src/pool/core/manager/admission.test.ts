import { describe, expect, it } from 'vitest';
import { instant } from '../../../runtime/time.ts';
import { Admissions } from './admission.ts';
import { type ManagerScriptOptions, playManager } from './manager-script.ts';
import { LED } from './openings-script.ts';

// In these scripts a lease lasts 9000 ms and a hold 9750. `manager-script.ts` says how they are read.
function plays(script: string, options: ManagerScriptOptions = {}): void {
  const { went, written } = playManager(script, options);
  expect(went).toBe(written);
}

describe('a join that was given up', () => {
  it('is not written when the candidate has withdrawn before', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0?
              > a: update ack=0 candidate
      11    report a 1? heard
      12    report a 2? leaving
              > a: update ack=2 candidate
      20    appended
    `));

  it('is undone in the next batch when the candidate withdrew while it was being written', () =>
    plays(`${LED}
      10    report a 0?
              > a: update ack=0 candidate
      10    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      11    report a 2? leaving
      20    appended
              > append 3 term 1 leave:a:left
      25    report a 3? leaving
      30    appended
              > a: update ack=3 candidate
    `));

  it('leaves its keys to the others in that batch', () =>
    plays(`${LED}
      10    report a 0?
              > a: update ack=0 candidate
      11    report b 0?
              > b: update ack=0 candidate
      12    report a 1? heard
              > append 2 term 1 join:a grant:a:0-16
      13    report b 1? heard
      14    report a 2? leaving
      20    appended
              > append 3 term 1 join:b leave:a:left grant:b:0-16
      30    appended
              > a: update ack=2 candidate
              > b: update ack=1 0-16#3
    `));
});

describe('a candidate', () => {
  it('is not admitted on a report on which no lease could rest any more', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0?
              > a: update ack=0 candidate
      11    report a 1? heard
      9010  appended
      9020  report a 2?
              > a: update ack=2 candidate
      9030  report a 3 heard
              > append 2 term 1 join:a grant:a:0-16
    `));

  it('stays admissible while it goes on confirming what it is told', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0?
              > a: update ack=0 candidate
      11    report a 1? heard
      5000  report a 2? heard
              > a: update ack=2 candidate
              > a: refused BUSY for now
      5001  report a 3 heard
      9500  appended
              > append 2 term 1 join:a grant:a:0-16
    `));

  it('is told that it is in line when it asks again before it could be admitted', () =>
    plays(`
      0     elected 1 2000000
              > append 1 term 1
      10    report a 0?
              > a: update ack=0 candidate
      11    report a 1 heard
      510   report a 2? heard
              > a: update ack=2 candidate
              > a: refused BUSY for now
    `));
});

describe('a pool that has admitted owners', () => {
  const DURATIONS = { leaseMs: 9_000, renewEveryMs: 1_500 };

  it('rests for as long as its members need, if no candidate comes', () => {
    const admissions = new Admissions();
    expect(admissions.admitted('p', 100, DURATIONS, instant(0))).toBe(200);
    expect(admissions.restsUntil('p', instant(199))).toBe(200);
    expect([admissions.rested(instant(200)), admissions.restsUntil('p', instant(200))]).toEqual([
      ['p'],
      undefined,
    ]);
  });

  it('goes on resting while candidates come, and admits all of them when no more do', () => {
    const admissions = new Admissions();
    admissions.admitted('p', 100, DURATIONS, instant(0));
    for (let at = 5; at <= 1_000; at += 5) admissions.candidateCame('p', instant(at));
    expect(admissions.restsUntil('p', instant(1_000))).toBe(1_200);
  });

  it('rests for three seconds at most, however many candidates come', () => {
    const admissions = new Admissions();
    admissions.admitted('p', 100, DURATIONS, instant(0));
    for (let at = 5; at < 3_000; at += 5) admissions.candidateCame('p', instant(at));
    expect([admissions.restsUntil('p', instant(2_999)), admissions.nextAt]).toEqual([3_000, 3_000]);
  });

  it('does not rest if it has few members', () =>
    expect(new Admissions().admitted('p', 9, DURATIONS, instant(0))).toBeUndefined());
});
