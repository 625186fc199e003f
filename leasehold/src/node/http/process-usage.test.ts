import { describe, expect, it } from 'vitest';
import { ProcessMonitor } from './process-usage.ts';

describe('what a process uses', () => {
  it('grows by what it does, and shows that it stood still', async () => {
    using monitor = new ProcessMonitor();
    const before = monitor.usage();
    const until = performance.now() + 120;
    // The monitor measures from one of its ticks to the next, so it needs one before and one after.
    await new Promise((resolve) => setTimeout(resolve, 60));
    while (performance.now() < until + 60);
    await expect.poll(() => monitor.usage().eventLoopDelaySeconds).toBeGreaterThan(0.05);
    const after = monitor.usage();
    expect(after.cpuSeconds).toBeGreaterThan(before.cpuSeconds);
    expect(after.residentBytes).toBeGreaterThan(1_000_000);
  });
});
