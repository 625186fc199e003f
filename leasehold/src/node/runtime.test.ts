import { describe, expect, it, vi } from 'vitest';
import { instant, later } from '../runtime/time.ts';
import { nodeRuntime, randomId } from './runtime.ts';

/** A runtime whose clock says these things, one after the other, and then the last of them. */
function reading(...readings: number[]) {
  const wentBack: number[] = [];
  let index = 0;
  const clock = (): number => readings[Math.min(index++, readings.length - 1)] ?? 0;
  return { runtime: nodeRuntime({ clock, onBackwards: (ms) => wentBack.push(ms) }), wentBack };
}

describe('the clock', () => {
  it('takes the immense time that Node shows for one before its start for what it is', () => {
    const wentBack: number[] = [];
    const read = vi.spyOn(performance, 'now').mockReturnValue(2_000);
    const runtime = nodeRuntime({ onBackwards: (ms) => wentBack.push(ms) });
    read.mockReturnValue(2 ** 64 / 1e6 - 4_000);
    expect(runtime.now()).toBe(2_000);
    read.mockReturnValue(2_001);
    expect(runtime.now()).toBe(2_001);
    read.mockRestore();
    expect(wentBack.map(Math.round)).toEqual([6_000]);
  });

  it('stands still when the one it follows goes back, until that has caught up', () => {
    const { runtime, wentBack } = reading(1, 1, 2, 5, 2, 3, 3, 6, 7, 4, 8);
    const seen = Array.from({ length: 10 }, () => runtime.now());
    expect(seen).toEqual([1, 2, 5, 5, 5, 5, 6, 7, 7, 8]);
    expect(wentBack).toEqual([3, 3]);
  });

  it('follows the real one, and knows the wall and the time since boot', () => {
    const runtime = nodeRuntime();
    const [first, second] = [runtime.now(), runtime.now()];
    expect(second).toBeGreaterThanOrEqual(first);
    expect(Math.abs(runtime.wallMs() - Date.now())).toBeLessThan(60_000);
    expect(runtime.uptimeMs()).toBeGreaterThan(1_000);
    expect(runtime.random()).toBeLessThan(1);
  });
});

describe('a timer', () => {
  it('never goes off early', async () => {
    const runtime = nodeRuntime();
    const early = await Promise.all(
      Array.from({ length: 200 }, (_, index) => {
        const at = later(runtime.now(), index / 7);
        return new Promise<boolean>((resolve) => runtime.wakeAt(at, () => resolve(runtime.now() < at)));
      }),
    );
    expect(early.filter(Boolean)).toEqual([]);
  });

  it('is set again when the clock says that it went off early', async () => {
    // Set at 0 for 3; asked at 2 and 2.5, which is too early; then at 3.
    const { runtime } = reading(0, 0, 2, 2.5, 3);
    await new Promise<void>((resolve) => void runtime.wakeAt(instant(3), resolve));
    expect(runtime.now()).toBe(3);
  });

  it('that is due goes off, but not before the caller is done', async () => {
    const runtime = nodeRuntime();
    const order: string[] = [];
    const woken = new Promise<void>((resolve) => {
      runtime.wakeAt(instant(Number.NEGATIVE_INFINITY), () => resolve(void order.push('woken')));
    });
    order.push('set');
    await woken;
    expect(order).toEqual(['set', 'woken']);
  });

  it('may be set for weeks, or for never, and is cancelled by disposing', async () => {
    const runtime = nodeRuntime();
    const woken: string[] = [];
    const far = runtime.wakeAt(later(runtime.now(), 2 ** 33), () => woken.push('far'));
    const never = runtime.wakeAt(instant(Number.POSITIVE_INFINITY), () => woken.push('never'));
    const cancelled = runtime.wakeAt(later(runtime.now(), 2), () => woken.push('cancelled'));
    cancelled[Symbol.dispose]();
    await new Promise<void>((resolve) => void runtime.wakeAt(later(runtime.now(), 20), resolve));
    for (const timer of [far, never, cancelled]) timer[Symbol.dispose]();
    expect(woken).toEqual([]);
  });
});

describe('an id', () => {
  it('is drawn anew each time, two digits a byte', () => {
    expect(randomId()).toMatch(/^[0-9a-f]{32}$/);
    expect(randomId(4)).toMatch(/^[0-9a-f]{8}$/);
    expect(randomId()).not.toBe(randomId());
  });
});
