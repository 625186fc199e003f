import { describe, expect, it } from 'vitest';
import { SuspensionGuard } from './suspension.ts';
import { instant } from './time.ts';

const TOLERANCE_MS = 100;

/** Three clocks moved by hand. */
class Clocks {
  #now = 5_000;
  #wallMs = 1_750_000_000_000;
  #uptimeMs = 777_000;
  /** How often the slow one was read. */
  uptimeReads = 0;
  /** For how long the process stands still just before it next reads the slow one. */
  pauseMs = 0;

  now() {
    return instant(this.#now);
  }

  wallMs(): number {
    return this.#wallMs;
  }

  uptimeMs(): number {
    this.uptimeReads += 1;
    const { pauseMs } = this;
    this.pauseMs = 0;
    this.pass(pauseMs);
    return this.#uptimeMs;
  }

  pass(ms: number): void {
    this.#now += ms;
    this.suspend(ms);
  }

  suspend(ms: number): void {
    this.#wallMs += ms;
    this.#uptimeMs += ms;
  }

  /** The whole machine stands still, the time since boot included; afterwards the wall clock is put right. */
  freeze(ms: number): void {
    this.#wallMs += ms;
  }

  setWall(byMs: number): void {
    this.#wallMs += byMs;
  }
}

function bench(): { readonly clocks: Clocks; readonly guard: SuspensionGuard } {
  const clocks = new Clocks();
  return { clocks, guard: new SuspensionGuard(clocks, TOLERANCE_MS) };
}

describe('a machine that was suspended', () => {
  it('is noticed, once', () => {
    const { clocks, guard } = bench();
    clocks.pass(1_000);
    clocks.suspend(5_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
    expect(guard.wasSuspended(clocks.now())).toBe(false);
    clocks.suspend(5_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
  });

  it('is noticed from the tolerance on, not below', () => {
    const { clocks, guard } = bench();
    clocks.suspend(TOLERANCE_MS - 1);
    expect(guard.wasSuspended(clocks.now())).toBe(false);
    clocks.suspend(1);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
  });

  it('is noticed when many short suspensions have come to a long one', () => {
    const { clocks, guard } = bench();
    const noticed = [1, 2, 3, 4, 5, 6, 7, 8].map(() => {
      clocks.pass(1_000);
      clocks.suspend(TOLERANCE_MS / 4);
      return guard.wasSuspended(clocks.now());
    });
    expect(noticed).toEqual([false, false, false, true, false, false, false, true]);
  });

  it('is noticed although somebody set the wall clock back meanwhile', () => {
    const { clocks, guard } = bench();
    clocks.suspend(5_000);
    clocks.setWall(-9_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
  });

  it('is noticed when short suspensions add up across a wall clock that was set', () => {
    const { clocks, guard } = bench();
    clocks.suspend(60);
    clocks.setWall(10_000);
    expect(guard.wasSuspended(clocks.now())).toBe(false);
    clocks.suspend(60);
    clocks.setWall(10_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
  });

  it('can be asked about without taking note', () => {
    const { clocks, guard } = bench();
    expect(guard.looksSuspended(clocks.now())).toBe(false);
    clocks.suspend(5_000);
    expect([
      guard.looksSuspended(clocks.now()),
      guard.looksSuspended(clocks.now()),
      guard.wasSuspended(clocks.now()),
    ]).toEqual([true, true, true]);
    expect(guard.looksSuspended(clocks.now())).toBe(false);
  });
});

describe('a machine that was not suspended', () => {
  it('is not taken for one because time passes, and the slow clock is not even read', () => {
    const { clocks, guard } = bench();
    const reads = clocks.uptimeReads;
    for (let hour = 0; hour < 1_000; hour += 1) {
      clocks.pass(3_600_000);
      expect(guard.wasSuspended(clocks.now())).toBe(false);
    }
    expect(clocks.uptimeReads).toBe(reads);
  });

  it.each([5_000, -5_000])('is not taken for one because somebody sets the wall clock by %i', (byMs) => {
    const { clocks, guard } = bench();
    clocks.setWall(byMs);
    expect([
      guard.looksSuspended(clocks.now()),
      guard.wasSuspended(clocks.now()),
      guard.wasSuspended(clocks.now()),
    ]).toEqual([false, false, false]);
    const reads = clocks.uptimeReads;
    guard.wasSuspended(clocks.now());
    expect(clocks.uptimeReads).toBe(reads);
  });

  it('is not taken for one because the wall clock is slewed', () => {
    const { clocks, guard } = bench();
    for (let step = 0; step < 50; step += 1) {
      clocks.pass(1_000);
      clocks.setWall(30);
      expect(guard.wasSuspended(clocks.now())).toBe(false);
    }
  });
});

describe('a process that is paused between reading one clock and the next', () => {
  it('notices a shorter suspension later on', () => {
    const { clocks, guard } = bench();
    clocks.suspend(TOLERANCE_MS);
    clocks.pauseMs = 5_000;
    expect(guard.wasSuspended(clocks.now())).toBe(true);
    clocks.suspend(3_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
  });

  it('notices a shorter suspension later on, if it was paused at the start', () => {
    const clocks = new Clocks();
    clocks.pauseMs = 5_000;
    const guard = new SuspensionGuard(clocks, TOLERANCE_MS);
    clocks.suspend(3_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
  });

  it('does not take that for a suspension, and notices one just as long', () => {
    const { clocks, guard } = bench();
    const now = clocks.now();
    clocks.pass(5_000);
    expect(guard.wasSuspended(now)).toBe(false);
    clocks.suspend(5_000);
    expect(guard.wasSuspended(clocks.now())).toBe(true);
    expect(guard.wasSuspended(clocks.now())).toBe(false);
  });

  it('does not take it for a suspension when the wall clock was set and it is paused once more', () => {
    const { clocks, guard } = bench();
    clocks.setWall(5_000);
    clocks.pauseMs = 5_000;
    expect(guard.wasSuspended(clocks.now())).toBe(false);
  });
});

describe('a suspension that cannot be seen from inside', () => {
  it('is a pause that stops the time since boot as well', () => {
    const { clocks, guard } = bench();
    clocks.freeze(5_000);
    expect(guard.wasSuspended(clocks.now())).toBe(false);
  });

  it('is a suspension during which the wall clock was set back by just as much', () => {
    const { clocks, guard } = bench();
    clocks.suspend(5_000);
    clocks.setWall(-5_000);
    expect(guard.wasSuspended(clocks.now())).toBe(false);
  });
});
