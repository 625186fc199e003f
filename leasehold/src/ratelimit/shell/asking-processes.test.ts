import { describe, expect, it } from 'vitest';
import { AskingProcesses } from './asking-processes.ts';

describe('the connections of processes that ask', () => {
  it('are forgotten when they end', () => {
    const asking = new AskingProcesses();
    for (let run = 0; run < 1_000; run += 1) {
      asking.asked(`ada#${run}`, `p${run}`);
      asking.disconnected(`ada#${run}`, `p${run}`);
    }
    expect(asking.size).toBe(0);
  });

  it('are kept when an earlier connection of the process ends late', () => {
    const asking = new AskingProcesses();
    asking.asked('ada#1', 'p1');
    asking.asked('ada#1', 'p2');
    asking.disconnected('ada#1', 'p1');
    expect(asking.connectionOf('ada#1')).toBe('p2');
  });
});
