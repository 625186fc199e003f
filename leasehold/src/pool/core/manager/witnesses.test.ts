import { describe, expect, it } from 'vitest';
import { playManager } from './manager-script.ts';

/** What an earlier process wrote: all keys are a's. The script's durations let clients tell for 4,500 ms. */
const FOUND = `
      0     log 1 1 join:a grant:a:0-16
      0     elected 2 2000000
              > append 2 term 2
      1     appended`;

describe('a process that finds a log', () => {
  it('says at once that it leads and renews leases, but admits nobody before clients could tell what they have seen', () => {
    const script = `${FOUND}
      10    report a 1? 0-16#1
              > a: update ack=1 0-16#1
      10    report b 0?
              > b: update ack=0 candidate
      11    report b 1 heard
      12    report a 2 heard 0-16#1
      4499  wake
      4500  wake
              > append 3 term 2 join:b
    `;
    const { went, written } = playManager(script, { openedAt: 0 });
    expect(went).toBe(written);
  });

  it('does not wait if it has followed the log for that long', () => {
    const script = `${FOUND.replaceAll(/^ {6}(\d)/gm, '      500$1')}
      5010  report a 1? 0-16#1
              > a: update ack=1 0-16#1
      5010  report b 0?
              > b: update ack=0 candidate
      5011  report b 1 heard
              > append 3 term 2 join:b
    `;
    const { went, written } = playManager(script, { openedAt: 0 });
    expect(went).toBe(written);
  });
});

/** The log begins above the clock, and its operator says that there was none before. */
const FIRST = { openedAt: 0, firstStart: true, floor: 100 };

describe('a process that begins a log which is said to be the first', () => {
  it('answers nobody before clients of an earlier log could tell that there was one', () => {
    const script = `
      0     elected 1 2000000
      10    report b 0?
      4499  wake
      4500  wake
              > append 101 term 1
      4501  appended
      4600  report b 1?
              > b: update ack=1 candidate
      4601  report b 2 heard
              > append 102 term 1 join:b grant:b:0-16
    `;
    const { went, written } = playManager(script, FIRST);
    expect(went).toBe(written);
  });

  it.each([
    ['an owner', 'report a 1? 0-16#1 seen=1.90 history=x'],
    ['a look-up', 'sync l 1 seen=1.90 history=x'],
  ])('waits for every lease of an earlier log if %s has seen that log', (_, said) => {
    const script = `
      0     elected 1 2000000
      10    report b 0?
      4400  ${said}
              > not the first log
      4500  wake
      11979 wake
      11980 wake
              > append 101 term 1
    `;
    const { went, written } = playManager(script, FIRST);
    expect(went).toBe(written);
  });

  it('still waits if the same process is elected again after a client told of an earlier log', () => {
    const script = `
      0     elected 1 2000000
      10    report a 1? seen=1.90 history=x
              > not the first log
      20    deposed
      5000  elected 2 2000000
      6000  report b 0?
      11979 wake
      11980 wake
              > append 101 term 2
    `;
    const { went, written } = playManager(script, FIRST);
    expect(went).toBe(written);
  });

  it('begins at once at an address that no earlier client can know, and grants no more if such a client comes', () => {
    const script = `
      0     elected 1 2000000
              > append 101 term 1
      1     appended
      10    report b 0?
              > b: update ack=0 candidate
      11    report b 1 heard
              > append 102 term 1 join:b grant:b:0-16
      12    appended
              > b: update ack=1 0-16#102
      20    report a 1? seen=1.90 history=x
              > not the first log
              > a: update ack=1 candidate
      21    report a 2 heard
      3000  report b 2? heard 0-16#102
              > b: update ack=2 0-16#102
      9000  report a 3?
              > a: update ack=3 candidate
              > a: refused BUSY for now
      9001  report a 4 heard
      9002  report b 3? 0-16#102
              > b: update ack=3 0-16#102
      11979 wake
      11980 wake
              > append 103 term 1 join:a
    `;
    const { went, written } = playManager(script, { ...FIRST, isAddressNew: true });
    expect(went).toBe(written);
  });
});
