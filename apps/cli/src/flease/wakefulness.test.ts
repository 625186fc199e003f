import { describe, expect, it } from 'vitest';
import { Wakefulness } from './wakefulness.ts';

const LEASE_MS = 10_000;
const RENEWAL_MS = 5_000;

/** Its clock goes on only by these. */
function sleeper() {
  let nowMs = 1_000;
  const wakefulness = new Wakefulness({ leaseMs: LEASE_MS, renewalMs: RENEWAL_MS, clock: () => nowMs });
  return {
    wakefulness,
    stop: (forMs: number) => void (nowMs += forMs),
    live(forMs: number) {
      for (const endMs = nowMs + forMs; nowMs < endMs; wakefulness.look()) nowMs += wakefulness.everyMs;
    },
  };
}

describe('a process that did not renew its lease', () => {
  it('has overslept if it stood still when it should have', () => {
    const { wakefulness, live, stop } = sleeper();
    live(3_000);
    stop(8_000);
    expect(wakefulness.hasOverslept).toBe(true);
    expect(wakefulness.stoodStillMs).toBe(8_000);
  });

  it('has also if it stood still often, and never for long', () => {
    const { wakefulness, live, stop } = sleeper();
    for (let times = 0; times < 4; times += 1) {
      live(500);
      stop(2_000);
      wakefulness.look();
    }
    expect([wakefulness.hasOverslept, wakefulness.stoodStillMs]).toEqual([true, 8_000]);
  });

  it('has not if it was awake, as where the network is cut', () => {
    const { wakefulness, live } = sleeper();
    live(9_000);
    expect([wakefulness.hasOverslept, wakefulness.stoodStillMs]).toEqual([false, 0]);
  });

  it('has not if it stood still only after it had asked in vain', () => {
    const { wakefulness, live, stop } = sleeper();
    live(6_000);
    stop(8_000);
    expect([wakefulness.hasOverslept, wakefulness.stoodStillMs]).toEqual([false, 8_000]);
  });

  it('has not if it was only a little late to look, on a machine that has much to do', () => {
    const { wakefulness, stop } = sleeper();
    for (let looks = 0; looks < 4; looks += 1) {
      stop(wakefulness.everyMs * 2);
      wakefulness.look();
    }
    expect([wakefulness.hasOverslept, wakefulness.stoodStillMs]).toEqual([false, 0]);
  });

  it('is judged by what was after the last renewal', () => {
    const { wakefulness, live, stop } = sleeper();
    live(3_000);
    stop(4_000);
    wakefulness.renewed();
    expect(wakefulness.stoodStillMs).toBe(0);
    live(9_000);
    expect(wakefulness.hasOverslept).toBe(false);
  });

  it('is remembered to have stood still until the renewal after the next', () => {
    const { wakefulness, live, stop } = sleeper();
    stop(4_000);
    wakefulness.renewed();
    expect(wakefulness.stoodStillLatelyMs).toBe(4_000);
    live(3_000);
    wakefulness.renewed();
    expect(wakefulness.stoodStillLatelyMs).toBe(0);
  });
});
