import { setTimeout as pause } from 'node:timers/promises';
import { describe, expect, it } from 'vitest';
import { WorkMark } from './work-mark.ts';

const turn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('marked work', () => {
  it('is found by what it calls, and by what it awaits', async () => {
    const mark = new WorkMark();
    const helper = async (depth: number): Promise<boolean> => {
      await turn();
      return depth === 0 ? mark.isOnStack() : await helper(depth - 1);
    };
    expect(await mark.run(async () => mark.isOnStack())).toBe(true);
    expect(await mark.run(() => helper(0))).toBe(true);
    expect(await mark.run(() => helper(50))).toBe(true);
    expect(await mark.run(async () => (await Promise.all([turn(), helper(2)]))[1])).toBe(true);
  });

  it('is not found from outside, nor by other work', async () => {
    const [mark, other] = [new WorkMark(), new WorkMark()];
    const running = mark.run(() => pause(1));
    expect(mark.isOnStack()).toBe(false);
    expect(await other.run(async () => (await turn(), mark.isOnStack()))).toBe(false);
    await running;
    expect(mark.isOnStack()).toBe(false);
  });

  it('is not found by what it has started and does not await, nor by a callback', async () => {
    const mark = new WorkMark();
    const detached = (async () => (await turn(), mark.isOnStack()))();
    expect(await mark.run(() => detached)).toBe(true);
    let alone: Promise<boolean> | undefined;
    await mark.run(async () => void (alone = turn().then(() => mark.isOnStack())));
    expect(await alone).toBe(false);
    const called = mark.run(() => new Promise((resolve) => setImmediate(() => resolve(mark.isOnStack()))));
    expect(await called).toBe(false);
  });

  it('leaves the settings of stack traces as they were, and does not depend on them', async () => {
    const before = [Error.stackTraceLimit, Error.prepareStackTrace];
    const mark = new WorkMark();
    Error.stackTraceLimit = 0;
    try {
      expect(await mark.run(async () => (await turn(), mark.isOnStack()))).toBe(true);
      expect(Error.stackTraceLimit).toBe(0);
    } finally {
      Error.stackTraceLimit = before[0] as number;
    }
    expect([Error.stackTraceLimit, Error.prepareStackTrace]).toEqual(before);
  });
});
