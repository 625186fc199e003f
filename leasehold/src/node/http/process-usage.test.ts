import { describe, expect, it } from 'vitest';
import { ProcessMonitor } from './process-usage.ts';

/** Lets the event loop stand still. */
function block(ms: number): void {
  const until = performance.now() + ms;
  while (performance.now() < until);
}

describe('the usage of a process', () => {
  it('grows by what it does, and shows that the event loop stood still', async () => {
    using monitor = new ProcessMonitor();
    const before = monitor.usage();
    const delay = (): number => {
      block(400);
      return monitor.usage().eventLoopDelaySeconds;
    };
    await expect.poll(delay, { timeout: 4_000 }).toBeGreaterThan(0.2);
    const after = monitor.usage();
    expect(after.cpuSeconds).toBeGreaterThan(before.cpuSeconds);
    expect(after.residentBytes).toBeGreaterThan(1_000_000);
  });
});
