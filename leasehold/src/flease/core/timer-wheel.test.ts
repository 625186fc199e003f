import { describe, expect, it } from 'vitest';
import { TimerWheel } from './timer-wheel.ts';

describe('a timer wheel', () => {
  it('hands out timers that are due, up to one slot late and never early', () => {
    const wheel = new TimerWheel<string>(10);
    wheel.add(25, 'later');
    wheel.add(11, 'first');
    wheel.add(19, 'second');
    expect(wheel.nextMs).toBe(20);
    expect(wheel.due(19)).toEqual([]);
    expect(wheel.due(20)).toEqual(['first', 'second']);
    expect(wheel.nextMs).toBe(30);
    expect(wheel.due(1_000)).toEqual(['later']);
    expect(wheel.nextMs).toBe(Number.POSITIVE_INFINITY);
  });

  it('hands out everything that has become due meanwhile, the soonest first', () => {
    const wheel = new TimerWheel<number>(10);
    for (const ms of [35, 5, 15, 95]) wheel.add(ms, ms);
    expect(wheel.due(50)).toEqual([5, 15, 35]);
  });

  it('can be cleared', () => {
    const wheel = new TimerWheel<string>(10);
    wheel.add(5, 'gone');
    wheel.clear();
    expect(wheel.nextMs).toBe(Number.POSITIVE_INFINITY);
    expect(wheel.due(100)).toEqual([]);
  });
});
