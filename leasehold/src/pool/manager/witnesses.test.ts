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
