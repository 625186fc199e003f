import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { InvalidArgumentError } from '../runtime/errors.ts';
import { instant, later } from '../runtime/time.ts';
import { SimClock } from './clock.ts';

const rate = fc.double({ min: 0.5, max: 2, noNaN: true });
// Not fc.double, which mostly draws numbers next to zero.
const ms = fc.integer({ min: 0, max: 7e7 }).map((n) => n / 7);
const change = fc.oneof(
  fc.record({ do: fc.constant('rate' as const), rate }),
  fc.record({ do: fc.constant('suspend' as const), freezeUptime: fc.boolean() }),
  fc.record({ do: fc.constant('resume' as const) }),
  fc.record({ do: fc.constant('step' as const), byMs: fc.double({ min: -1e6, max: 1e6, noNaN: true }) }),
);
/** A clock to which some things have happened, and the true time after the last of them. */
const wornClock = fc
  .record({
    options: fc.record({ rate, originMs: ms, wallOriginMs: ms, uptimeOriginMs: ms }),
    changes: fc.array(fc.tuple(ms, change), { maxLength: 8 }),
  })
  .map(({ options, changes }) => {
    const clock = new SimClock(options);
    let trueMs = 0;
    for (const [passed, what] of changes) {
      trueMs += passed;
      if (what.do === 'rate') clock.setRate(trueMs, what.rate);
      else if (what.do === 'suspend') clock.suspend(trueMs, what);
      else if (what.do === 'resume') clock.resume(trueMs);
      else clock.stepWall(trueMs, what.byMs);
    }
    return { clock, trueMs };
  });

describe('a monotonic clock', () => {
  it('runs at its own rate from its own origin', () => {
    const clock = new SimClock({ rate: 0.93, originMs: 5_000 });
    expect(clock.now(0)).toBe(5_000);
    expect(clock.now(10_000)).toBeCloseTo(14_300);
  });

  it('does not jump when its rate changes', () => {
    const clock = new SimClock({ rate: 2 });
    clock.setRate(100, 0.5);
    expect(clock.now(100)).toBe(200);
    expect(clock.now(200)).toBe(250);
  });

  it('stands still while the machine is suspended, while wall clock and uptime go on', () => {
    const clock = new SimClock({ originMs: 0, wallOriginMs: 1_000, uptimeOriginMs: 2_000 });
    clock.suspend(100);
    expect([clock.now(150), clock.wallMs(150), clock.uptimeMs(150)]).toEqual([100, 1_150, 2_150]);
    clock.resume(200);
    expect([clock.now(250), clock.wallMs(250), clock.uptimeMs(250)]).toEqual([150, 1_250, 2_250]);
  });

  it('and uptime stand still in a virtual machine that is paused', () => {
    const clock = new SimClock({ originMs: 0, wallOriginMs: 1_000, uptimeOriginMs: 2_000 });
    clock.suspend(100, { freezeUptime: true });
    clock.resume(200);
    expect([clock.now(250), clock.wallMs(250), clock.uptimeMs(250)]).toEqual([150, 1_250, 2_150]);
  });

  it('is not moved when the wall clock is', () => {
    const clock = new SimClock({ wallOriginMs: 1_000 });
    clock.stepWall(100, -30_000);
    expect([clock.now(100), clock.uptimeMs(100), clock.wallMs(100)]).toEqual([100, 100, -28_900]);
  });

  it('stands still until the last of several suspensions ends', () => {
    const clock = new SimClock();
    const first = clock.suspend(100);
    const second = clock.suspend(200);
    clock.resume(300, first);
    expect(clock.suspended).toBe(true);
    clock.resume(400, second);
    expect(clock.now(500)).toBe(200);
  });

  it('refuses to run backwards', () => {
    expect(() => new SimClock({ rate: 0 })).toThrow(InvalidArgumentError);
    expect(() => new SimClock().setRate(0, -1)).toThrow(InvalidArgumentError);
  });
});

describe('a clock, after any changes', () => {
  it('never goes back, nor does the uptime', () =>
    fc.assert(
      fc.property(wornClock, ms, ms, ({ clock, trueMs }, passed, more) => {
        const at = trueMs + passed;
        const [now, uptime] = [clock.now(at), clock.uptimeMs(at)];
        clock.suspend(at);
        expect(clock.now(at)).toBe(now);
        expect(clock.now(at + more)).toBe(now);
        clock.resume(at + more);
        clock.setRate(at + more, 1.5);
        expect(clock.now(at + more)).toBe(now);
        expect(clock.uptimeMs(at + more)).toBeGreaterThanOrEqual(uptime);
      }),
    ));

  it('shows an instant at the true time of that instant, and not before', () =>
    fc.assert(
      fc.property(wornClock, ms, ({ clock, trueMs }, ahead) => {
        const at = later(clock.now(trueMs), ahead);
        const then = clock.trueMsOf(at);
        if (clock.suspended && at > clock.now(trueMs)) {
          expect(then).toBe(Number.POSITIVE_INFINITY);
          return;
        }
        expect(clock.now(then)).toBeGreaterThanOrEqual(at);
        if (ahead > 1) expect(clock.now(then - 0.001)).toBeLessThan(at);
      }),
    ));

  it('has an instant long past behind it', () => {
    const clock = new SimClock({ originMs: 1_000 });
    clock.setRate(500, 1.1);
    expect(clock.trueMsOf(instant(3))).toBe(500);
  });

  it('tells each listener of every change', () => {
    const clock = new SimClock();
    let told = 0;
    clock.onChange(() => (told += 1));
    clock.setRate(1, 2);
    clock.suspend(2);
    clock.resume(3);
    clock.stepWall(4, 5);
    expect(told).toBe(4);
  });
});
