import { describe, expect, it } from 'vitest';
import { AssertionError } from '../runtime/assert.ts';
import { BrokenPromise, COMES_TO_AN_END, World } from './world.ts';

describe('a world', () => {
  it('lets events happen in the order of their times, and of being scheduled at the same time', () => {
    const world = new World({ seed: 1 });
    const seen: string[] = [];
    world.at(20, () => seen.push(`d at ${world.trueMs}`));
    world.at(10, () => seen.push(`a at ${world.trueMs}`));
    world.at(10, () => {
      seen.push(`b at ${world.trueMs}`);
      world.after(0, () => seen.push(`c at ${world.trueMs}`));
    });
    world.run({ untilMs: 100 });
    expect(seen).toEqual(['a at 10', 'b at 10', 'c at 10', 'd at 20']);
    expect(world.trueMs).toBe(100);
    expect(world.events).toBe(4);
  });

  it('stops at the time given, and goes on from there', () => {
    const world = new World({ seed: 1 });
    const seen: number[] = [];
    for (const at of [10, 20, 30]) world.at(at, () => seen.push(at));
    world.run({ untilMs: 20 });
    expect(seen).toEqual([10, 20]);
    world.run({ untilMs: 50 });
    expect(seen).toEqual([10, 20, 30]);
  });

  it('takes a time that has passed for now, and refuses one that is none', () => {
    const world = new World({ seed: 1 });
    world.run({ untilMs: 100 });
    const seen: number[] = [];
    world.at(50, () => seen.push(world.trueMs));
    world.at(Number.POSITIVE_INFINITY, () => seen.push(-1));
    world.run({ untilMs: 200 });
    expect(seen).toEqual([100]);
    expect(() => world.at(Number.NaN, () => undefined)).toThrow(AssertionError);
  });

  it('forgets what was cancelled: it is not even counted', () => {
    const world = new World({ seed: 1 });
    const event = world.at(10, () => expect.fail());
    event[Symbol.dispose]();
    event[Symbol.dispose]();
    world.run({ untilMs: 100 });
    expect(world.events).toBe(0);
  });

  it('repeats until told not to, also from within', () => {
    const world = new World({ seed: 1 });
    let outside = 0;
    let inside = 0;
    const one = world.every([10, 20], () => (outside += 1));
    const two = world.every([10, 20], () => {
      inside += 1;
      two[Symbol.dispose]();
    });
    world.run({ untilMs: 1_000 });
    one[Symbol.dispose]();
    world.run({ untilMs: 2_000 });
    expect(outside).toBeGreaterThanOrEqual(50);
    expect(outside).toBeLessThanOrEqual(100);
    expect(inside).toBe(1);
  });

  it('runs every check after every event, until that is disposed of', () => {
    const world = new World({ seed: 1 });
    const checkedAt: number[] = [];
    const check = world.afterEach(() => checkedAt.push(world.trueMs));
    world.at(10, () => undefined);
    world.at(20, () => undefined);
    world.run({ untilMs: 25 });
    check[Symbol.dispose]();
    world.at(30, () => undefined);
    world.run({ untilMs: 100 });
    expect(checkedAt).toEqual([10, 20]);
  });

  it('ends the run when a check finds a promise broken, and says which, when and for which seed', () => {
    const world = new World({ seed: 168 });
    let holders = 0;
    world.afterEach(() => {
      if (holders > 1) throw world.broken('one-holder', 'a and b both hold it');
    });
    world.every([1_000, 1_000], () => (holders += 1));
    let caught: unknown;
    try {
      world.run({ untilMs: 10_000 });
    } catch (error) {
      caught = error;
    }
    expect(caught).toBeInstanceOf(BrokenPromise);
    expect(caught).toMatchObject({ promise: 'one-holder', atMs: 2_000, seed: 168 });
    expect(String(caught)).toBe(
      'BrokenPromise: one-holder broken at 2.000 s of seed 168: a and b both hold it',
    );
  });

  it('takes a run with too many events for one that is stuck in a loop', () => {
    const world = new World({ seed: 1 });
    const again = (): void => void world.after(0, again);
    again();
    expect(() => world.run({ untilMs: 10, maxEvents: 100 })).toThrow(
      expect.objectContaining({ promise: COMES_TO_AN_END }),
    );
  });

  it('counts the events of a run', () => {
    const world = new World({ seed: 1 });
    world.count('grants');
    world.count('bytes', 20);
    world.count('grants');
    expect([...world.counts]).toEqual([
      ['grants', 2],
      ['bytes', 20],
    ]);
  });
});

describe('the story of a world', () => {
  it('has one aligned line for each note', () => {
    const world = new World({ seed: 1, trace: true });
    world.at(12_345.4, () =>
      world.note('manager-1', { what: 'elected', facts: { term: 3, position: 17, left: undefined } }),
    );
    world.at(100_000, () => world.note('a', { what: 'crashed', facts: {} }));
    world.run({ untilMs: 1e6 });
    expect(world.story()).toEqual([
      '   12.345 s  manager-1      elected            term=3 position=17',
      '  100.000 s  a              crashed',
    ]);
  });

  it('is empty unless the world is tracing', () => {
    const world = new World({ seed: 1 });
    world.note('a', { what: 'crashed', facts: {} });
    expect(world.tracing).toBe(false);
    expect(world.story()).toEqual([]);
  });
});

describe('a world that waits for promises', () => {
  const drain = async (): Promise<void> => {
    for (let i = 0; i < 10; i++) await Promise.resolve();
  };

  it('lets what an event set off come to rest before the next event, and before the checks', async () => {
    const world = new World({ seed: 1 });
    const seen: string[] = [];
    const later = async (what: string): Promise<void> => {
      await Promise.resolve();
      await Promise.resolve();
      seen.push(what);
    };
    world.afterEach(() => seen.push('check'));
    world.at(10, () => void later('a'));
    world.at(10, () => void later('b'));
    await world.runAsync({ untilMs: 100, drain });
    expect(seen).toEqual(['a', 'check', 'b', 'check']);
    expect(world.trueMs).toBe(100);
  });

  it('sees what a continuation schedules', async () => {
    const world = new World({ seed: 1 });
    const sleep = (ms: number): Promise<void> => new Promise((resolve) => void world.after(ms, resolve));
    const seen: number[] = [];
    const loop = async (): Promise<void> => {
      for (let i = 0; i < 3; i++) {
        await sleep(10);
        seen.push(world.trueMs);
      }
    };
    void loop();
    await world.runAsync({ untilMs: 100, drain });
    expect(seen).toEqual([10, 20, 30]);
  });
});
