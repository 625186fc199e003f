import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Instant, instant } from '../../runtime/time.ts';
import { type Due, DueQueue } from './due-queue.ts';

const entry = (): Due => ({ dueAt: undefined, place: -1 });

describe('a queue of what is due', () => {
  it('gives entries in the order of their times, however often they were set and taken out', () => {
    const steps = fc.array(fc.tuple(fc.nat(9), fc.option(fc.nat(50), { nil: undefined })), { maxLength: 60 });
    fc.assert(
      fc.property(steps, (settings) => {
        const queue = new DueQueue<Due>();
        const entries = Array.from({ length: 10 }, entry);
        for (const [index, at] of settings)
          queue.set(entries[index] as Due, at === undefined ? undefined : instant(at));
        const wanted = entries.map(({ dueAt }) => dueAt).filter((at): at is Instant => at !== undefined);
        expect(queue.nextAt).toBe(wanted.length === 0 ? undefined : Math.min(...wanted));
        const taken: number[] = [];
        for (let next = queue.nextAt; next !== undefined; next = queue.nextAt) {
          taken.push(next);
          expect(queue.take(instant(next - 1))).toBeUndefined();
          expect(queue.take(next)).toMatchObject({ dueAt: undefined, place: -1 });
        }
        expect(taken).toEqual(wanted.sort((one, other) => one - other));
      }),
    );
  });
});
